// SPDX-License-Identifier: BSD-3-Clause
// The waiting policies as a test parameter.
#ifndef TESTS_INTRA_POLICIES_H
#define TESTS_INTRA_POLICIES_H

#include "threads.h"
#include <stdatomic.h>
extern "C" {
#include <core/wait.h>
}

struct Policy {
    const char *name;
    weft_wait_policy policy;
    bool oversubscribed; // what WEFT_WAIT_AUTO is told
    bool spins;          // does not give the core away, or late

    core_waiting waiting() const {
        return core_waiting_resolve(policy, oversubscribed);
    }
};

inline std::ostream &operator<<(std::ostream &out, const Policy &policy) {
    return out << policy.name;
}

inline const Policy policies[] = {{"spin", WEFT_WAIT_SPIN, false, true},
                                  {"yield", WEFT_WAIT_YIELD, false, false},
                                  {"block", WEFT_WAIT_BLOCK, false, false},
                                  {"auto_free", WEFT_WAIT_AUTO, false, true},
                                  {"auto_crowded", WEFT_WAIT_AUTO, true, false}};

#endif
