// SPDX-License-Identifier: BSD-3-Clause
// What the tests of wrong use share: the expected code, and a sentence that names what it must.
#ifndef TESTS_HIER_MISUSE_H
#define TESTS_HIER_MISUSE_H

#include "intra/threads.h"

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <thread>
#include <vector>
#include <weft/weft.h>

namespace misuse {

using words = std::vector<std::string>;

inline void expect_sentence(const words &expected, const char *what) {
    std::string sentence = weft_last_error();
    EXPECT_FALSE(sentence.empty()) << what;
    for (const std::string &word : expected)
        EXPECT_NE(sentence.find(word), std::string::npos)
            << what << ": the sentence \"" << sentence << "\" does not name \"" << word << "\"";
}

inline void expect_error(int expected, int code, const words &named, const char *what) {
    EXPECT_EQ(std::string(weft_strerror(expected)), weft_strerror(code)) << what << ": " << weft_last_error();
    if (code == expected)
        expect_sentence(named, what);
}

// The call fails with the code, and weft_last_error() contains each of the words that follow.
#define EXPECT_ERROR(code, call, ...) misuse::expect_error(code, call, {__VA_ARGS__}, #call)
#define EXPECT_OK(call)               EXPECT_EQ(WEFT_SUCCESS, call) << weft_last_error()

// Runs in a thread of its own, to its end.
inline void elsewhere(const std::function<void()> &run) {
    std::thread(run).join();
}

// The threads of a new team of this process, or of all, run `calls` with their communicators and numbers.
inline void in_team(int count, const std::function<void(weft_comm *, int)> &calls) {
    weft_team *team = nullptr;
    EXPECT_OK(weft_team_create(weft_process_comm(), count, &team));
    threads::run(count, [&](int thread) {
        weft_comm *comm = nullptr;
        EXPECT_OK(weft_team_enter(team, thread, &comm));
        calls(comm, thread);
        EXPECT_OK(weft_team_leave(&comm));
    });
    EXPECT_OK(weft_team_free(&team));
}

// Every collective with right arguments for an int a rank; `elements` has room for twice the size of the communicator.
struct call {
    const char *name;
    std::function<int(weft_comm *)> run;
};

inline std::vector<call> all_collectives(int *elements, int size) {
    int *send = elements, *recv = elements + size;
    static const std::vector<size_t> counts(4096, 1);
    static const std::vector<ptrdiff_t> displs = [] {
        std::vector<ptrdiff_t> made(4096);
        for (size_t i = 0; i < made.size(); i++)
            made[i] = (ptrdiff_t)i;
        return made;
    }();
    return {
        {"weft_barrier", [](weft_comm *c) { return weft_barrier(c); }},
        {"weft_bcast", [=](weft_comm *c) { return weft_bcast(recv, 1, WEFT_INT, 0, c); }},
        {"weft_reduce", [=](weft_comm *c) { return weft_reduce(send, recv, 1, WEFT_INT, WEFT_SUM, 0, c); }},
        {"weft_allreduce", [=](weft_comm *c) { return weft_allreduce(send, recv, 1, WEFT_INT, WEFT_SUM, c); }},
        {"weft_gather", [=](weft_comm *c) { return weft_gather(send, 1, WEFT_INT, recv, 1, WEFT_INT, 0, c); }},
        {"weft_scatter", [=](weft_comm *c) { return weft_scatter(send, 1, WEFT_INT, recv, 1, WEFT_INT, 0, c); }},
        {"weft_allgather", [=](weft_comm *c) { return weft_allgather(send, 1, WEFT_INT, recv, 1, WEFT_INT, c); }},
        {"weft_alltoall", [=](weft_comm *c) { return weft_alltoall(send, 1, WEFT_INT, recv, 1, WEFT_INT, c); }},
        {"weft_alltoallv",
         [=](weft_comm *c) {
             return weft_alltoallv(send, counts.data(), displs.data(), WEFT_INT, recv, counts.data(), displs.data(),
                                   WEFT_INT, c);
         }},
    };
}

} // namespace misuse

#endif
