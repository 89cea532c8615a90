// SPDX-License-Identifier: BSD-3-Clause
// The threads of a process call collectives that do not belong together. Each of them returns, with WEFT_ERR_MISMATCH or
// well, and at least one notices where the two calls need each other; all do in the next in which they meet.
#include "effort.h"
#include "mismatch_between.h"
#include "mismatch_blocks.h"
#include "misuse.h"
#include "thread_algorithms.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <unistd.h>

namespace {

using namespace mismatch;

// A hang would only be a time-out; this says which pair it was.
char under_way[512];
void say_what_hangs(int) {
    ssize_t written = write(STDERR_FILENO, under_way, strnlen(under_way, sizeof(under_way)));
    _exit(written > 0 ? 1 : 2);
}

// "bcast root 0" is weft_bcast, and so is "nothing".
std::string function_of(const one_call &call) {
    std::string name = strcmp(call.name, "nothing") ? call.name : "bcast";
    return (oracle::is_form("nonblocking") ? "weft_i" : "weft_") + name.substr(0, name.find(' '));
}

// One thread calls `odd`, the others `usual`. A team of its own each time: after a mismatch it is only good to be freed.
// `exact`: at least one notices where every rank of one of the calls waits for another, and who returns may free its memory.
// Whoever gets an error gets both ranks and both calls with it.
void meet(int threads, int odd_thread, const one_call &odd, const one_call &usual, bool exact) {
    if (!comparable(odd, usual))
        return;
    snprintf(under_way, sizeof(under_way), "hangs: thread %d of %d calls %s, the others %s\n", odd_thread, threads,
             odd.name, usual.name);
    alarm(100);
    std::atomic<int> mismatches{0}, others{0};
    std::vector<std::vector<int>> memory((size_t)threads);
    bool same = strcmp(odd.name, usual.name) == 0;
    // Where nobody needs the others they meet in the barrier.
    std::vector<std::string> told = {"rank " + std::to_string(odd_thread) + " called weft_", " called weft_"};
    if (odd.meets || usual.meets)
        told = {"rank " + std::to_string(odd_thread) + " called " + function_of(odd), " called " + function_of(usual)};
    misuse::in_team(threads, [&](weft_comm *comm, int thread) {
        std::vector<int> &both = memory[(size_t)thread];
        both.assign(6 * many, 1);
        const one_call &mine = thread == odd_thread ? odd : usual;
        int code = mine.run(comm, both.data(), both.data() + 3 * many);
        if (exact)
            std::vector<int>().swap(both);
        if (code == WEFT_ERR_MISMATCH) {
            mismatches++;
            misuse::expect_sentence(told, under_way);
        } else if (code != WEFT_SUCCESS) {
            others++;
            ADD_FAILURE() << under_way << " got " << weft_last_error();
        }
        if (exact && !same) {
            EXPECT_EQ(weft_barrier(comm), WEFT_ERR_MISMATCH) << under_way;
            misuse::expect_sentence(told, under_way);
        }
    });
    alarm(0);
    EXPECT_TRUE(same ? mismatches == 0 : mismatches > 0 || !exact || !(odd.meets || usual.meets)) << under_way;
}

class Mismatch : public ::testing::TestWithParam<const char *> {
  protected:
    // Each list of algorithms has another part of the pairs.
    const size_t shift_ = strlen(GetParam());
};

TEST_P(Mismatch, EveryPair) {
    weft_options options = {};
    options.algorithm = GetParam();
    signal(SIGALRM, say_what_hangs);
    ASSERT_EQ(WEFT_SUCCESS, weft_init(&options)) << weft_last_error();
    for (size_t i = 0; i < std::size(calls); i++)
        for (size_t j = (i + shift_) % effort::parts; j < std::size(calls); j += effort::parts) {
            const one_call &odd = calls[i], &usual = calls[j];
            // Counters of different collectives may add up to the number that one of them waits for.
            bool exact = !strstr(GetParam(), "counter");
            // A pair has two threads here and three there; with the selector's own choice both.
            bool all = GetParam()[0] == '\0';
            if (all || (i + j / effort::parts) % 2)
                meet(2, 1, odd, usual, exact);
            if (all || (i + j / effort::parts) % 2 == 0)
                meet(3, 0, odd, usual, exact);
        }
    EXPECT_OK(weft_finalize());
}

INSTANTIATE_TEST_SUITE_P(
    Algorithms, Mismatch,
    ::testing::Values("", "barrier=/counter,bcast=/counter,reduce=/counter,allreduce=/counter",
                      "barrier=/tree,bcast=/tree,reduce=/tree,allreduce=/tree",
                      "bcast=/flags,reduce=/flags,allreduce=/flags,scan=/flags,exscan=/flags,reduce_scatter=/flags",
                      "allgather=/slices,alltoall=/slices,reduce=/slices,allreduce=/slices,scan=/slices,exscan=/"
                      "slices,reduce_scatter=/slices"));

// More threads than look at each other's flags directly.
TEST(MismatchOfMany, EveryPair) {
    signal(SIGALRM, say_what_hangs);
    for (const std::string &algorithm : {std::string(), everything_by(HIER_FLAGS), everything_by(HIER_SLICES)}) {
        weft_options options = {};
        options.algorithm = algorithm.c_str();
        ASSERT_EQ(WEFT_SUCCESS, weft_init(&options)) << weft_last_error();
        for (size_t i = algorithm.size() % effort::parts; i < std::size(calls); i += effort::parts)
            meet(most_ranks, 1 + (int)i % (most_ranks - 1), calls[i], calls[(i * 7 + 3) % std::size(calls)], true);
        EXPECT_OK(weft_finalize());
    }
}

// Each counts up to where the other one waits.
TEST(MismatchOfCounters, BarrierAndReduce) {
    weft_options options = {};
    options.algorithm = "barrier=/counter,reduce=/counter";
    ASSERT_EQ(WEFT_SUCCESS, weft_init(&options)) << weft_last_error();
    std::atomic<bool> in_reduce{false};
    misuse::in_team(2, [&](weft_comm *comm, int) {
        int one = 1, sum = 0;
        if (weft_rank(comm)) {
            in_reduce = true;
            EXPECT_EQ(weft_reduce(&one, &sum, 1, WEFT_INT, WEFT_SUM, 0, comm), WEFT_ERR_MISMATCH);
        } else {
            while (!in_reduce)
                std::this_thread::yield();
            std::this_thread::sleep_for(std::chrono::milliseconds(5)); // it has counted, in all likelihood
            EXPECT_EQ(weft_barrier(comm), WEFT_ERR_MISMATCH);
        }
    });
    EXPECT_OK(weft_finalize());
}

// Two differ, and those for whom they wait come only when they have found out. Another part of the pairs by each list of algorithms.
TEST_P(Mismatch, WithoutTheOthers) {
    signal(SIGALRM, say_what_hangs);
    weft_options options = {};
    options.algorithm = GetParam();
    ASSERT_EQ(WEFT_SUCCESS, weft_init(&options)) << weft_last_error();
    for (size_t i = 0; i < std::size(calls); i++)
        for (size_t j = (i + shift_) % (2 * effort::parts); j < std::size(calls); j += 2 * effort::parts) {
            if (i == j || !comparable(calls[i], calls[j]))
                continue;
            snprintf(under_way, sizeof(under_way), "hangs: %s and %s, without the others\n", calls[i].name,
                     calls[j].name);
            alarm(100);
            misuse::in_team(4,
                            [&](weft_comm *comm, int) { expect_without_others(comm, calls[i], calls[j], under_way); });
            alarm(0);
        }
    EXPECT_OK(weft_finalize());
}

// One has found a mismatch, but has an earlier collective under way, which needs the other; who then waits for one that never comes.
TEST(MismatchOfRequests, EndsWhatComesAfterOneThatWentBefore) {
    signal(SIGALRM, say_what_hangs);
    ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
    for (bool blocking : {true, false})
        for (int late_ms : {0, 5}) {
            snprintf(under_way, sizeof(under_way), "hangs: requests, %d ms late\n", late_ms);
            alarm(100);
            misuse::in_team(2, [&](weft_comm *comm, int thread) {
                std::vector<int> mine(many, 1), sum(many), other(4);
                weft_request *requests[3] = {};
                EXPECT_OK(weft_iallreduce(mine.data(), sum.data(), many, WEFT_INT, WEFT_SUM, comm, &requests[0]));
                if (thread == 0 && blocking) {
                    EXPECT_EQ(weft_bcast(other.data(), 2, WEFT_INT, 1, comm), WEFT_ERR_MISMATCH);
                } else {
                    EXPECT_OK(weft_ibcast(other.data(), thread ? 4 : 2, WEFT_INT, 1, comm, &requests[1]));
                    if (thread) {
                        EXPECT_OK(weft_ibarrier(comm, &requests[2]));
                    }
                }
                if (thread)
                    std::this_thread::sleep_for(std::chrono::milliseconds(late_ms));
                EXPECT_EQ(weft_waitall(3, requests, nullptr) == WEFT_ERR_MISMATCH, thread || !blocking);
            });
            alarm(0);
        }
    EXPECT_OK(weft_finalize());
}

// Two threads find it out at once, and a third one comes to the next collective: they are not awaited there.
TEST(MismatchOfRequests, FoundByTwoAtOnce) {
    signal(SIGALRM, say_what_hangs);
    snprintf(under_way, sizeof(under_way), "hangs: found by two at once\n");
    alarm(100);
    ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
    misuse::in_team(3, [&](weft_comm *comm, int thread) {
        for (int round = 0; round < 300; round++) {
            int mine = 1, all[3];
            weft_comm *copy = nullptr;
            weft_request *request = nullptr;
            EXPECT_OK(weft_comm_dup(comm, &copy));
            EXPECT_OK(weft_gather_init(&mine, 1, WEFT_INT, all, 1, WEFT_INT, thread == 2 ? 2 : 1, copy, &request));
            int code = WEFT_SUCCESS;
            for (int again = 0; again < 2 && !code; again++) {
                EXPECT_OK(weft_start(&request));
                code = weft_wait(&request, nullptr);
            }
            EXPECT_OK(weft_request_free(&request));
            for (int again = 0; again < 2 && !code; again++)
                code = weft_barrier(copy);
            EXPECT_EQ(code, WEFT_ERR_MISMATCH);
            EXPECT_OK(weft_barrier(comm));
            EXPECT_OK(weft_comm_free(&copy));
        }
    });
    EXPECT_OK(weft_finalize());
    alarm(0);
}

TEST(MismatchOfBlocks, BetweenThreads) {
    signal(SIGALRM, say_what_hangs);
    ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
    for (with_blocks which : all_with_blocks)
        for (auto lengths : wrong_lengths)
            for (auto ranks : {std::pair{2, 0}, std::pair{0, 2}, std::pair{1, 2}}) {
                snprintf(under_way, sizeof(under_way), "hangs: %s, %zu ints\n", name_of(which).c_str(), lengths.sent);
                alarm(100);
                misuse::in_team(3, [&](weft_comm *comm, int) {
                    expect_wrong_block(which, {ranks.first, ranks.second, lengths.sent, lengths.expected}, comm, true);
                });
                alarm(0);
            }
    EXPECT_OK(weft_finalize());
}

// Who has a wrong block returns though another thread comes only when it has heard of him.
TEST(MismatchOfBlocks, WaitsForNobody) {
    signal(SIGALRM, say_what_hangs);
    ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
    for (size_t ints : {size_t(2), many})
        for (bool waits : {true, false}) {
            snprintf(under_way, sizeof(under_way), "hangs: scatterv of %zu ints\n", ints);
            alarm(100);
            misuse::in_team(3, [&](weft_comm *comm, int thread) {
                std::vector<int> all(3 * ints, 1), mine(ints + 1);
                const size_t counts[] = {ints, ints, ints};
                const ptrdiff_t displs[] = {0, ptrdiff_t(ints), ptrdiff_t(2 * ints)};
                int word = 0, code = WEFT_SUCCESS;
                weft_request *request = nullptr;
                if (thread == 1) {
                    EXPECT_OK(weft_recv(&word, 1, WEFT_INT, 2, 0, comm, nullptr));
                }
                if (waits) {
                    code = weft_scatterv(all.data(), counts, displs, WEFT_INT, mine.data(), ints + (thread == 2),
                                         WEFT_INT, 0, comm);
                } else {
                    EXPECT_OK(weft_iscatterv(all.data(), counts, displs, WEFT_INT, mine.data(), ints + (thread == 2),
                                             WEFT_INT, 0, comm, &request));
                    code = weft_wait(&request, nullptr);
                }
                EXPECT_TRUE(code || thread < 2);
                if (thread == 2) {
                    EXPECT_OK(weft_send(&word, 1, WEFT_INT, 1, 0, comm));
                }
                EXPECT_EQ(code ? code : weft_barrier(comm), WEFT_ERR_MISMATCH);
            });
            alarm(0);
        }
    EXPECT_OK(weft_finalize());
}

// All blocks together are as long, but the last thread counts them in another way.
TEST(MismatchOfCounts, ThatHaveTheSameSum) {
    ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
    for (bool gathers : {false, true})
        misuse::in_team(3, [&](weft_comm *comm, int thread) {
            std::vector<int> one(2400, 1), other(2400);
            size_t counts[] = {800, 800, 800};
            const ptrdiff_t displs[] = {0, 1000, 1400};
            if (thread == 2)
                counts[0] = 600, counts[1] = 1000;
            EXPECT_EQ(gathers ? weft_allgatherv(one.data(), 800, WEFT_INT, other.data(), counts, displs, WEFT_INT, comm)
                              : weft_reduce_scatter(one.data(), other.data(), counts, WEFT_INT, WEFT_SUM, comm),
                      WEFT_ERR_MISMATCH);
            misuse::expect_sentence({"rank 2 called", "with other counts"}, gathers ? "allgatherv" : "reduce_scatter");
        });
    EXPECT_OK(weft_finalize());
}

// The blocks are as many and as long, but the last thread has them of another type.
TEST(MismatchOfCounts, OfAnotherType) {
    ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
    misuse::in_team(3, [&](weft_comm *comm, int thread) {
        std::vector<int> one(800, 1), other(2400);
        const size_t counts[] = {800, 800, 800};
        const ptrdiff_t displs[] = {0, 800, 1600};
        const weft_datatype *type = thread == 2 ? WEFT_FLOAT : WEFT_INT;
        EXPECT_EQ(weft_allgatherv(one.data(), 800, type, other.data(), counts, displs, type, comm), WEFT_ERR_MISMATCH);
        misuse::expect_sentence({"rank 2 called"}, "allgatherv");
    });
    EXPECT_OK(weft_finalize());
}

void add_pairs(const void *in, void *inout, size_t count, const weft_datatype *) {
    for (size_t i = 0; i < count; i++)
        static_cast<int *>(inout)[i] += static_cast<const int *>(in)[i];
}

// Of elements that have one word, wherever it lies.
void add_words(const void *in, void *inout, size_t count, const weft_datatype *type) {
    ptrdiff_t begin, length, lower, extent;
    EXPECT_OK(weft_type_true_extent(type, &begin, &length));
    EXPECT_OK(weft_type_extent(type, &lower, &extent));
    for (size_t i = 0; i < count; i++) {
        uintptr_t at = uintptr_t(begin) + i * uintptr_t(extent);     /* from a buffer that may be no memory */
        *reinterpret_cast<uint64_t *>(uintptr_t(inout) + at) +=      /* NOLINT(performance-no-int-to-ptr) */
            *reinterpret_cast<const uint64_t *>(uintptr_t(in) + at); /* NOLINT(performance-no-int-to-ptr) */
    }
}

// Other algorithms do what must not be reordered.
TEST(MismatchOfOperations, ThatCommuteOrNot) {
    ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
    weft_op *ops[2] = {};
    for (int commutes : {0, 1})
        EXPECT_OK(weft_op_create(add_pairs, commutes, &ops[commutes]));
    for (size_t count : {size_t(2), many})
        misuse::in_team(3, [&](weft_comm *comm, int thread) {
            std::vector<int> one(count, 1), other(count);
            EXPECT_EQ(weft_allreduce(one.data(), other.data(), count, WEFT_INT, ops[thread == 1], comm),
                      WEFT_ERR_MISMATCH);
            misuse::expect_sentence({"rank 1 called"}, "weft_allreduce");
        });
    for (weft_op *&op : ops)
        EXPECT_OK(weft_op_free(&op));
    EXPECT_OK(weft_finalize());
}

// As many bytes of data in each, but one element begins where the other has its end.
TEST(MismatchOfBounds, OfDerivedOperands) {
    ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
    weft_op *op = nullptr;
    weft_datatype *pair = nullptr, *wide = nullptr;
    EXPECT_OK(weft_op_create(add_pairs, 1, &op));
    EXPECT_OK(weft_type_contiguous(2, WEFT_INT, &pair));
    EXPECT_OK(weft_type_resized(pair, 0, 12, &wide));
    EXPECT_OK(weft_type_commit(&pair));
    EXPECT_OK(weft_type_commit(&wide));
    misuse::in_team(2, [&](weft_comm *comm, int thread) {
        std::vector<int> one(3000, 1), other(3000);
        EXPECT_EQ(weft_allreduce(one.data(), other.data(), 1000, thread ? wide : pair, op, comm), WEFT_ERR_MISMATCH);
        misuse::expect_sentence({"rank 1 called", "rank 0 called"}, "weft_allreduce");
    });
    EXPECT_OK(weft_type_free(&pair));
    EXPECT_OK(weft_type_free(&wide));
    EXPECT_OK(weft_op_free(&op));
    EXPECT_OK(weft_finalize());
}

// One word, so many bytes behind the buffer. `extent`: 0: that of the word.
weft_datatype *word_at(ptrdiff_t displ_bytes, ptrdiff_t extent) {
    const size_t one = 1;
    weft_datatype *word = nullptr, *type = nullptr;
    EXPECT_OK(weft_type_hindexed(1, &one, &displ_bytes, WEFT_UINT64_T, &word));
    EXPECT_OK(extent ? weft_type_resized(word, 0, extent, &type) : weft_type_dup(word, &type));
    EXPECT_OK(weft_type_commit(&type));
    EXPECT_OK(weft_type_free(&word));
    return type;
}

// Where the words begin differs by what may be a difference of addresses: both in their arrays, and one behind them.
TEST(MismatchOfBounds, OfWordsFarApart) {
    ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
    weft_op *op = nullptr;
    EXPECT_OK(weft_op_create(add_words, 1, &op));
    for (ptrdiff_t extent : {1 << 17, 16})
        misuse::in_team(2, [&](weft_comm *comm, int thread) {
            std::vector<uint64_t> one(1 << 15, 1), other(1 << 15);
            weft_datatype *type = word_at(thread ? 1 << 16 : 0, extent);
            EXPECT_EQ(weft_allreduce(one.data(), other.data(), 1, type, op, comm), WEFT_ERR_MISMATCH);
            EXPECT_OK(weft_type_free(&type));
        });
    EXPECT_OK(weft_op_free(&op));
    EXPECT_OK(weft_finalize());
}

// Addresses differ from rank to rank, by what is no multiple of what data may be aligned to.
TEST(MismatchOfBounds, IsNoneOfAddresses) {
    ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
    weft_op *op = nullptr;
    EXPECT_OK(weft_op_create(add_words, 1, &op));
    misuse::in_team(2, [&](weft_comm *comm, int thread) {
        alignas(16) uint64_t words[] = {5, 7};
        weft_datatype *type = word_at(ptrdiff_t(uintptr_t(&words[thread])), 0);
        EXPECT_OK(weft_allreduce(WEFT_IN_PLACE, nullptr, 1, type, op, comm));
        EXPECT_EQ(words[thread], 12u);
        EXPECT_EQ(words[!thread], thread ? 5u : 7u);
        EXPECT_OK(weft_type_free(&type));
    });
    EXPECT_OK(weft_op_free(&op));
    EXPECT_OK(weft_finalize());
}

} // namespace
