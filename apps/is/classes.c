// SPDX-License-Identifier: BSD-3-Clause
#include "classes.h"

#include <stddef.h>

/* A bucket of the larger classes spans few enough key values that their counters stay in the first-level cache. */
static const struct is_class classes[] = {
    {'S',
     16,
     11,
     9,
     {{48427, 0, 1, 0}, {17148, 18, 1, 0}, {23627, 346, 1, 0}, {62548, 64917, -1, 0}, {4431, 65463, -1, 0}}},
    {'W',
     20,
     16,
     10,
     {{357773, 1249, 1, -2},
      {934767, 11698, 1, -2},
      {875723, 1039987, -1, 0},
      {898999, 1043896, -1, 0},
      {404505, 1048018, -1, 0}}},
    {'A',
     23,
     19,
     10,
     {{2112377, 104, 1, -1},
      {662041, 17523, 1, -1},
      {5336171, 123928, 1, -1},
      {3642833, 8288932, -1, 1},
      {4250760, 8388264, -1, 1}}},
    {'B',
     25,
     21,
     10,
     {{41869, 33422937, -1, 0},
      {812306, 10244, 1, 0},
      {5102857, 59149, 1, 0},
      {18232239, 33135281, -1, 0},
      {26860214, 99, 1, 0}}},
    {'C',
     27,
     23,
     10,
     {{44172927, 61147, 1, 0},
      {72999161, 882988, 1, 0},
      {74326391, 266290, 1, 0},
      {129606274, 133997595, -1, 0},
      {21736814, 133525895, -1, 0}}},
};

const struct is_class *is_class_find(const char *name) {
    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++)
        if (name[0] == classes[i].name && name[1] == '\0')
            return &classes[i];
    return NULL;
}

int64_t is_class_expected_rank(const struct is_class *spec, int probe, int iteration) {
    const struct is_probe *p = &spec->probes[probe];
    return p->rank + (int64_t)p->slope * iteration + p->offset;
}
