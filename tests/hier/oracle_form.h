// SPDX-License-Identifier: BSD-3-Clause
// The oracle's collectives in the form that ORACLE_FORM names: blocking (without), nonblocking or persistent.
#ifndef TESTS_HIER_ORACLE_FORM_H
#define TESTS_HIER_ORACLE_FORM_H

#include <cstdlib>
#include <cstring>
#include <weft/weft.h>

namespace oracle {

inline bool is_form(const char *name) {
    const char *asked = getenv("ORACLE_FORM");
    return asked && strcmp(asked, name) == 0;
}

template <class Block, class Begin, class Prepare, class... Arguments>
int in_form(Block block, Begin begin, Prepare prepare, Arguments... arguments) {
    static const bool nonblocking = is_form("nonblocking"), persistent = is_form("persistent");
    weft_request *request = WEFT_REQUEST_NULL;
    if (!nonblocking && !persistent)
        return block(arguments...);
    int code = persistent ? prepare(arguments..., &request) : begin(arguments..., &request);
    if (!code && persistent)
        code = weft_start(&request);
    if (!code)
        code = weft_wait(&request, WEFT_STATUS_IGNORE);
    int freed = persistent && request ? weft_request_free(&request) : WEFT_SUCCESS;
    return code ? code : freed;
}

inline weft_request **request_of(weft_request **request) {
    return request;
}
template <class First, class... Rest> weft_request **request_of(First, Rest... rest) {
    return request_of(rest...);
}

template <class Begin, class Prepare, class... Arguments>
int start_in_form(Begin begin, Prepare prepare, Arguments... arguments) {
    static const bool persistent = is_form("persistent");
    if (!persistent)
        return begin(arguments...);
    int code = prepare(arguments...);
    return code ? code : weft_start(request_of(arguments...));
}

} // namespace oracle

// FORM(bcast)(buffer, count, type, root, comm)
#define FORM(name)                                                                                                     \
    [](auto... arguments) { return oracle::in_form(weft_##name, weft_i##name, weft_##name##_init, arguments...); }

// START(bcast)(buffer, count, type, root, comm, &request): without waiting, hence nonblocking where ORACLE_FORM says nothing
#define START(name)                                                                                                    \
    [](auto... arguments) { return oracle::start_in_form(weft_i##name, weft_##name##_init, arguments...); }

#endif
