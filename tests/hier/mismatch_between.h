// SPDX-License-Identifier: BSD-3-Clause
// What each rank must see when processes call collectives that do not belong together: WEFT_ERR_MISMATCH, in that call or, who
// could leave it, in the next one that needs all; a sentence that names two ranks and both calls; and so it stays.
#ifndef TESTS_HIER_MISMATCH_BETWEEN_H
#define TESTS_HIER_MISMATCH_BETWEEN_H

#include "mismatch_calls.h"
#include "misuse.h"
#include <cstring>
#include <regex>

namespace mismatch {

// Does every rank need something of every other one, so that no rank comes through?
inline bool needs_all(const one_call &call) {
    const std::string name = call.name;
    for (const char *family : {"barrier", "all", "reduce_scatter", "comm_"})
        if (name.compare(0, strlen(family), family) == 0)
            return true;
    return false;
}

// Runs `mine` on buffers of its own, and expects a mismatch there or in the barrier after it; returns the sentence.
inline std::string expect_between(weft_comm *comm, const one_call &mine, const std::string &what) {
    std::vector<int> both(4 * many, 1);
    int code = mine.run(comm, both.data(), both.data() + 2 * many);
    if (needs_all(mine)) {
        EXPECT_NE(code, WEFT_SUCCESS) << what << ", without what all others bring";
    }
    if (code == WEFT_SUCCESS)
        code = weft_barrier(comm);
    EXPECT_STREQ(weft_strerror(WEFT_ERR_MISMATCH), weft_strerror(code)) << what << ": " << weft_last_error();
    std::string sentence = weft_last_error();
    int sum = 0;
    for (int again = 0; again < 2; again++)
        EXPECT_EQ(WEFT_ERR_MISMATCH, weft_allreduce(&again, &sum, 1, WEFT_INT, WEFT_SUM, comm)) << what;
    return sentence;
}

// A call with what it has in parentheses, or one that has neither a root nor a size that is every rank's.
inline const std::string described =
    "weft_\\w+ \\([^)]*\\)|weft_i?(?:barrier|alltoall[vw]|allgatherv|comm_\\w+)(?:_init)?";

// Two different ranks, and two calls that are not the same text; unless it is the next collective that tells apart what was prepared.
inline void expect_two_calls(const std::string &sentence, const std::string &what) {
    if (oracle::is_form("persistent") && sentence.find("after collectives that were not the same") != std::string::npos)
        return;
    static const std::regex both("rank (\\d+) called (" + described + "), but rank (\\d+) called (" + described + ")");
    std::smatch found;
    ASSERT_TRUE(std::regex_search(sentence, found, both)) << what << ": " << sentence;
    EXPECT_NE(found[1], found[3]) << what << ": " << sentence;
    EXPECT_NE(found[2], found[4]) << what << ": " << sentence;
}

inline void expect_works(weft_comm *comm, const std::string &what) {
    int one = 1, sum = 0;
    EXPECT_OK(weft_allreduce(&one, &sum, 1, WEFT_INT, WEFT_SUM, comm)) << what;
    EXPECT_EQ(sum, weft_size(comm)) << what;
}

// The second and the last of a process's four threads differ, while the others wait for a message that those send when they have found out.
// Who comes late takes part in the same call as one of them, whose memory is gone.
inline void expect_without_others(weft_comm *comm, const one_call &second, const one_call &last,
                                  const std::string &what) {
    const int thread = weft_thread(comm), other = thread ^ 1;
    const int peer = weft_rank(comm) - thread + other;
    const one_call &mine = thread < 2 ? second : last;
    int word = 0;
    if (thread % 2 == 0) {
        EXPECT_OK(weft_recv(&word, 1, WEFT_INT, peer, 0, comm, nullptr)) << what;
    }
    {
        std::vector<int> both(4 * many, 1);
        int code = mine.run(comm, both.data(), both.data() + 2 * many);
        if (code == WEFT_SUCCESS)
            code = weft_barrier(comm);
        EXPECT_STREQ(weft_strerror(WEFT_ERR_MISMATCH), weft_strerror(code)) << what << ": " << weft_last_error();
    }
    const std::string sentence = weft_last_error();
    if (sentence.find("after collectives that were not the same") ==
        std::string::npos) // nobody waited in the first one
        expect_two_calls(sentence, what);
    if (thread % 2) {
        EXPECT_OK(weft_send(&word, 1, WEFT_INT, peer, 0, comm)) << what;
    }
}

// Those of which one differs from another in one thing only, and all in some.
inline const one_call alike[] = {
    {"bcast", false, [](weft_comm *c, int *, int *b) { return weft_bcast(b, 2, WEFT_INT, 0, c); }},
    {"another root", false, [](weft_comm *c, int *, int *b) { return weft_bcast(b, 2, WEFT_INT, 1, c); }},
    {"another count", false, [](weft_comm *c, int *, int *b) { return weft_bcast(b, 3, WEFT_INT, 0, c); }},
    {"floats", false, [](weft_comm *c, int *, int *b) { return weft_bcast(b, 2, WEFT_FLOAT, 0, c); }},
    {"sum", true, [](weft_comm *c, int *a, int *b) { return weft_allreduce(a, b, 2, WEFT_INT, WEFT_SUM, c); }},
    {"max", true, [](weft_comm *c, int *a, int *b) { return weft_allreduce(a, b, 2, WEFT_INT, WEFT_MAX, c); }},
    {"unsigned", true,
     [](weft_comm *c, int *a, int *b) { return weft_allreduce(a, b, 2, WEFT_UNSIGNED, WEFT_SUM, c); }},
    {"gather", true, [](weft_comm *c, int *a, int *b) { return weft_gather(a, 1, WEFT_INT, b, 1, WEFT_INT, 0, c); }},
};

// Both in this order, or in the other.
inline const one_call in_order{"barrier, bcast", false, [](weft_comm *c, int *, int *b) {
                                   int code = weft_barrier(c);
                                   return code ? code : weft_bcast(b, 1, WEFT_INT, 0, c);
                               }};
inline const one_call swapped{"bcast, barrier", false, [](weft_comm *c, int *, int *b) {
                                  int code = weft_bcast(b, 1, WEFT_INT, 0, c);
                                  return code ? code : weft_barrier(c);
                              }};
inline const one_call skipping{"bcast", false,
                               [](weft_comm *c, int *, int *b) { return weft_bcast(b, 1, WEFT_INT, 0, c); }};
// Many that need nobody else's answer, and one that does.
inline const one_call ahead{"bcasts", false, [](weft_comm *c, int *, int *b) {
                                int code = WEFT_SUCCESS;
                                for (int i = 0; i < 2000 && !code; i++)
                                    code = weft_bcast(b, 1 + size_t(i) % 3, WEFT_INT, 0, c);
                                return code;
                            }};
inline const one_call ahead_late{"a barrier, bcasts", false, [](weft_comm *c, int *a, int *b) {
                                     int code = weft_barrier(c);
                                     return code ? code : ahead.run(c, a, b);
                                 }};

struct two_calls {
    const one_call &odd, &usual;
};

inline std::vector<two_calls> special_pairs() {
    std::vector<two_calls> pairs = {
        {in_order, swapped}, {swapped, in_order}, {skipping, in_order}, {in_order, skipping}};
    for (const one_call &one : alike)
        for (const one_call &other : alike)
            if (&one != &other)
                pairs.push_back({one, other});
    return pairs;
}

// Messages of a process communicator that is broken, from each rank to the next.
inline void expect_messages(weft_comm *comm) {
    int rank = weft_rank(comm), size = weft_size(comm), got = -1;
    EXPECT_OK(weft_sendrecv(&rank, 1, WEFT_INT, (rank + 1) % size, 3, &got, 1, WEFT_INT, (rank + size - 1) % size, 3,
                            comm, nullptr));
    EXPECT_EQ(got, (rank + size - 1) % size);
}

// A hundred under way; in the midst of them one process starts another than the others. All end, and so do those that are started
// later. `named`: what the sentence has in it.
inline void mismatch_nonblocking(weft_comm *comm, bool odd, const char *named = "WEFT_FLOAT") {
    std::vector<int> send(100, 1), recv(200);
    std::vector<weft_request *> requests(100);
    for (size_t i = 0; i < 100; i++) {
        bool other = odd && i == 50;
        EXPECT_OK(
            weft_iallreduce(&send[i], &recv[2 * i], 1, other ? WEFT_FLOAT : WEFT_INT, WEFT_SUM, comm, &requests[i]));
    }
    EXPECT_ERROR(WEFT_ERR_MISMATCH, weft_waitall(100, requests.data(), nullptr), "weft_iallreduce", named);
    for (weft_request *request : requests)
        EXPECT_EQ(request, WEFT_REQUEST_NULL);
    EXPECT_OK(weft_ibarrier(comm, &requests[0]));
    EXPECT_ERROR(WEFT_ERR_MISMATCH, weft_wait(&requests[0], nullptr), "weft_ibarrier", "called");
}

inline void mismatch_persistent(weft_comm *comm, bool odd) {
    int send = 1, recv = 0;
    weft_request *one = nullptr, *other = nullptr;
    EXPECT_OK(weft_allreduce_init(&send, &recv, 1, WEFT_INT, WEFT_SUM, comm, &one));
    EXPECT_OK(weft_allreduce_init(&send, &recv, 1, WEFT_INT, odd ? WEFT_MAX : WEFT_SUM, comm, &other));
    for (int again = 0; again < 3; again++) {
        EXPECT_OK(weft_start(&one));
        EXPECT_OK(weft_wait(&one, nullptr));
    }
    for (int again = 0; again < 2; again++) {
        EXPECT_OK(weft_start(&other));
        EXPECT_ERROR(WEFT_ERR_MISMATCH, weft_wait(&other, nullptr), "weft_allreduce_init", "WEFT_MAX", "WEFT_SUM");
    }
    EXPECT_EQ(WEFT_ERR_MISMATCH, weft_barrier(comm));
    EXPECT_OK(weft_request_free(&one));
    EXPECT_OK(weft_request_free(&other));
}

// The same, started only.
struct one_start {
    const char *name;
    int (*run)(weft_comm *, const int *send, int *recv, weft_request **request);
};

using where = weft_request **;
inline const one_start started[] = {
    {"barrier", [](weft_comm *c, const int *, int *, where r) { return START(barrier)(c, r); }},
    {"bcast", [](weft_comm *c, const int *, int *b, where r) { return START(bcast)(b, 2, WEFT_INT, 0, c, r); }},
    {"bcast root 1", [](weft_comm *c, const int *, int *b, where r) { return START(bcast)(b, 2, WEFT_INT, 1, c, r); }},
    {"bcast long", [](weft_comm *c, const int *, int *b, where r) { return START(bcast)(b, many, WEFT_INT, 0, c, r); }},
    {"reduce",
     [](weft_comm *c, const int *a, int *b, where r) { return START(reduce)(a, b, 2, WEFT_INT, WEFT_SUM, 0, c, r); }},
    {"reduce long", [](weft_comm *c, const int *a, int *b,
                       where r) { return START(reduce)(a, b, many, WEFT_INT, WEFT_SUM, 0, c, r); }},
    {"allreduce",
     [](weft_comm *c, const int *a, int *b, where r) { return START(allreduce)(a, b, 2, WEFT_INT, WEFT_SUM, c, r); }},
    {"allreduce long", [](weft_comm *c, const int *a, int *b,
                          where r) { return START(allreduce)(a, b, many, WEFT_INT, WEFT_MAX, c, r); }},
    {"gather", [](weft_comm *c, const int *a, int *b,
                  where r) { return START(gather)(a, 2, WEFT_INT, b, 2, WEFT_INT, 0, c, r); }},
    {"scatter", [](weft_comm *c, const int *a, int *b,
                   where r) { return START(scatter)(a, 2, WEFT_INT, b, 2, WEFT_INT, 1, c, r); }},
    {"allgather", [](weft_comm *c, const int *a, int *b,
                     where r) { return START(allgather)(a, 2, WEFT_INT, b, 2, WEFT_INT, c, r); }},
    {"alltoall",
     [](weft_comm *c, const int *a, int *b, where r) { return START(alltoall)(a, 2, WEFT_INT, b, 2, WEFT_INT, c, r); }},
    {"scan",
     [](weft_comm *c, const int *a, int *b, where r) { return START(scan)(a, b, 2, WEFT_INT, WEFT_SUM, c, r); }},
};

// Three under way, the one in the middle of which is `mine`, and a barrier: ranks of even number wait, the others test. The barrier
// fails, and so do all after it.
inline void expect_started(weft_comm *comm, const one_start &mine) {
    std::vector<int> both(8 * many, 1);
    int one = 1, sums[2];
    weft_request *requests[4];
    EXPECT_OK(weft_iallreduce(&one, &sums[0], 1, WEFT_INT, WEFT_SUM, comm, &requests[0]));
    EXPECT_OK(mine.run(comm, both.data(), both.data() + 4 * many, &requests[1])) << mine.name;
    EXPECT_OK(weft_iallreduce(&one, &sums[1], 1, WEFT_INT, WEFT_SUM, comm, &requests[2]));
    EXPECT_OK(weft_ibarrier(comm, &requests[3]));
    int code = WEFT_SUCCESS;
    for (weft_request *&request : requests) {
        int flag = weft_rank(comm) % 2 == 0;
        if (flag)
            code = weft_wait(&request, nullptr);
        while (!flag)
            code = weft_test(&request, &flag, nullptr);
        EXPECT_TRUE(code == WEFT_SUCCESS || code == WEFT_ERR_MISMATCH) << mine.name << ": " << weft_last_error();
    }
    if (requests[1]) { /* persistent */
        EXPECT_OK(weft_request_free(&requests[1]));
    }
    EXPECT_STREQ(weft_strerror(WEFT_ERR_MISMATCH), weft_strerror(code)) << mine.name << ": " << weft_last_error();
    EXPECT_EQ(WEFT_ERR_MISMATCH, weft_barrier(comm)) << mine.name;
}

} // namespace mismatch

#endif
