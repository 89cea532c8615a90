// SPDX-License-Identifier: BSD-3-Clause
// Derived types that are so many elements of a predefined one in a row: ranks may use the one for the other's data.
#ifndef TESTS_GROUPED_H
#define TESTS_GROUPED_H

#include <map>
#include <mutex>
#include <utility>
#include <weft/weft.h>

// Committed, and kept to the end of the program. Any thread.
inline const weft_datatype *grouped(const weft_datatype *type, size_t count) {
    struct Made {
        std::mutex mutex;
        std::map<std::pair<const weft_datatype *, size_t>, weft_datatype *> groups;
        ~Made() {
            for (auto &one : groups)
                weft_type_free(&one.second);
        }
    };
    static Made made;
    std::lock_guard<std::mutex> lock(made.mutex);
    weft_datatype *&group = made.groups[{type, count}];
    if (!group && (weft_type_contiguous(count, type, &group) || weft_type_commit(&group)))
        return nullptr;
    return group;
}

#endif
