// SPDX-License-Identifier: BSD-3-Clause
#include <weft/version.h>

#define TEXT(number)  #number
#define VALUE(number) TEXT(number)

const char *weft_version(void) {
    return VALUE(WEFT_VERSION_MAJOR) "." VALUE(WEFT_VERSION_MINOR) "." VALUE(WEFT_VERSION_PATCH);
}
