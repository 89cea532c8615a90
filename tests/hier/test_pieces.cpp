// SPDX-License-Identifier: BSD-3-Clause
// Long vectors in pieces, so that threads and network are at different ones: right in all forms, really at once, and nobody waits
// for a piece that does not come.
#include "effort.h"
#include "overlap.h"
#include <algorithm>
#include <numeric>
extern "C" {
#include <weft/weft.h>
}

namespace {

constexpr size_t count = 12345; // words: a dozen pieces of two threads, the last one short
const char *const algorithms[] = {"bcast=nbFT:1K/flags,reduce=MST:1000/slices,allreduce=nbBDE:1K/slices",
                                  "bcast=CHAIN:8K/flags,reduce=CHAIN:3K/slices,allreduce=MSTReduce+nbFTBcast:7K/slices",
                                  "bcast=MST:24K/flags,reduce=RAB:16K/slices,allreduce=RAB:16K/slices"};
using Words = std::vector<uint64_t>;

// Maps x → ax + b, a the upper half and odd: to apply one after the other does not commute.
uint64_t then(uint64_t first, uint64_t second) {
    uint64_t a = (first >> 32) * (second >> 32), b = (second >> 32) * (first & UINT32_MAX) + second;
    return a << 32 | (b & UINT32_MAX);
}

void compose(const void *in, void *inout, size_t elements, const weft_datatype *) {
    const uint64_t *left = static_cast<const uint64_t *>(in);
    uint64_t *right = static_cast<uint64_t *>(inout);
    for (size_t i = 0; i < elements; i++)
        right[i] = then(left[i], right[i]);
}

uint64_t word(int rank, size_t index, uint64_t call) {
    uint64_t mixed = (uint64_t(rank) * 1000003 + index) * 7919 + call * 104729;
    return (mixed % 1000 * 2 + 1) << 32 | mixed % 65521;
}

// What a rank brings to call number `call`, and what must come of it.
Words operands(int rank, uint64_t call) {
    Words words(count);
    for (size_t i = 0; i < count; i++)
        words[i] = word(rank, i, call);
    return words;
}

Words composed(int ranks, uint64_t call) {
    Words result = operands(0, call);
    for (int rank = 1; rank < ranks; rank++)
        for (size_t i = 0; i < count; i++)
            result[i] = then(result[i], word(rank, i, call));
    return result;
}

// One rank's bcast, reduce or allreduce, in its place: `call` says which, and whose root.
class Collective {
  public:
    Collective(weft_comm *comm, const weft_op *op, uint64_t call)
        : comm_(comm), op_(op), call_(call), root_(int(call * 5) % weft_size(comm)),
          words_(operands(weft_rank(comm), call)), result_(count) {}

    int block() {
        switch (call_ % 3) {
        case 0:
            return weft_bcast(words_.data(), count, WEFT_UINT64_T, root_, comm_);
        case 1:
            return weft_reduce(send(), result_.data(), count, WEFT_UINT64_T, op_, root_, comm_);
        default:
            return weft_allreduce(WEFT_IN_PLACE, words_.data(), count, WEFT_UINT64_T, op_, comm_);
        }
    }
    int start(weft_request **request) {
        switch (call_ % 3) {
        case 0:
            return weft_ibcast(words_.data(), count, WEFT_UINT64_T, root_, comm_, request);
        case 1:
            return weft_ireduce(send(), result_.data(), count, WEFT_UINT64_T, op_, root_, comm_, request);
        default:
            return weft_iallreduce(send(), result_.data(), count, WEFT_UINT64_T, op_, comm_, request);
        }
    }
    int prepare(weft_request **request) {
        switch (call_ % 3) {
        case 0:
            return weft_bcast_init(words_.data(), count, WEFT_UINT64_T, root_, comm_, request);
        case 1:
            return weft_reduce_init(send(), result_.data(), count, WEFT_UINT64_T, op_, root_, comm_, request);
        default:
            return weft_allreduce_init(send(), result_.data(), count, WEFT_UINT64_T, op_, comm_, request);
        }
    }
    // Before another start.
    void refill() {
        Words again = operands(weft_rank(comm_), call_);
        std::copy(again.begin(), again.end(), words_.begin()); // where they were
    }
    void check() const {
        bool broadcast = call_ % 3 == 0, has_result = call_ % 3 == 2 || weft_rank(comm_) == root_;
        bool right = broadcast ? words_ == operands(root_, call_) : !has_result || is_composed();
        EXPECT_TRUE(right) << "call " << call_ << ", rank " << weft_rank(comm_);
    }

  private:
    const void *send() const {
        return words_.data();
    }
    // The blocking allreduce is in place.
    bool is_composed() const {
        Words expected = composed(weft_size(comm_), call_);
        return result_ == expected || words_ == expected;
    }

    weft_comm *comm_;
    const weft_op *op_;
    uint64_t call_;
    int root_;
    Words words_, result_;
};

class Operation {
  public:
    explicit Operation(weft_op_function *function, bool commutes = false) {
        EXPECT_EQ(weft_op_create(function, commutes, &op_), WEFT_SUCCESS);
    }
    ~Operation() {
        EXPECT_EQ(weft_op_free(&op_), WEFT_SUCCESS);
    }
    Operation(const Operation &) = delete;
    const weft_op *get() const {
        return op_;
    }

  private:
    weft_op *op_ = nullptr;
};

void blocking(weft_comm *comm, const weft_op *op) {
    for (uint64_t call = 0; call < 6; call++) {
        Collective collective(comm, op, call);
        EXPECT_EQ(collective.block(), WEFT_SUCCESS) << weft_last_error();
        collective.check();
    }
}

void nonblocking(weft_comm *comm, const weft_op *op) {
    std::vector<Collective> under_way;
    std::vector<weft_request *> requests(6);
    for (uint64_t call = 0; call < requests.size(); call++)
        under_way.emplace_back(comm, op, call);
    for (size_t i = 0; i < requests.size(); i++)
        EXPECT_EQ(under_way[i].start(&requests[i]), WEFT_SUCCESS);
    for (size_t i = requests.size(); i-- > 0;) // the last one first
        EXPECT_EQ(weft_wait(&requests[i], WEFT_STATUS_IGNORE), WEFT_SUCCESS);
    for (const Collective &collective : under_way)
        collective.check();
}

void persistent(weft_comm *comm, const weft_op *op) {
    for (uint64_t call = 0; call < 3; call++) {
        Collective collective(comm, op, call);
        weft_request *request = nullptr;
        ASSERT_EQ(collective.prepare(&request), WEFT_SUCCESS);
        for (int round = 0; round < 2; round++) {
            collective.refill();
            EXPECT_EQ(weft_start(&request), WEFT_SUCCESS);
            EXPECT_EQ(weft_wait(&request, WEFT_STATUS_IGNORE), WEFT_SUCCESS);
            collective.check();
        }
        EXPECT_EQ(weft_request_free(&request), WEFT_SUCCESS);
    }
}

class Pieces : public ::testing::TestWithParam<Threads> {};

} // namespace

TEST_P(Pieces, AreRightInEveryForm) {
    threads::Watchdog watchdog(280);
    Operation op(compose);
    weft_thread_level other = WEFT_THREAD_SERIALIZED;
    size_t turn = GetParam().size(); // with sanitizers at one of the two levels
    for (const char *algorithm : algorithms) {
        other = other == WEFT_THREAD_SERIALIZED ? WEFT_THREAD_MULTIPLE : WEFT_THREAD_SERIALIZED;
        std::vector<weft_thread_level> levels = {WEFT_THREAD_FUNNELED, other};
        for (weft_thread_level level : effort::part_of(levels, turn++, effort::sanitized ? 2 : 1)) {
            JobShape shape{GetParam(), level};
            shape.algorithm = algorithm;
            shape.slots = 4;
            shape.seed = uint64_t(level);
            SCOPED_TRACE(::testing::Message() << shape);
            SimWorlds(shape).run([&](weft_comm *comm) {
                blocking(comm, op.get());
                nonblocking(comm, op.get());
                persistent(comm, op.get());
            });
            ASSERT_FALSE(HasFailure());
        }
    }
}

TEST_P(Pieces, AreRightUnderEveryPolicyOfWaiting) {
    threads::Watchdog watchdog(280);
    Operation op(compose);
    for (weft_wait_policy policy : {WEFT_WAIT_YIELD, WEFT_WAIT_BLOCK}) {
        JobShape shape{GetParam(), WEFT_THREAD_SERIALIZED, policy};
        shape.algorithm = algorithms[0];
        SCOPED_TRACE(::testing::Message() << shape);
        SimWorlds(shape).run([&](weft_comm *comm) {
            blocking(comm, op.get());
            nonblocking(comm, op.get());
        });
    }
}

INSTANTIATE_TEST_SUITE_P(Sim, Pieces,
                         ::testing::Values(Threads{2, 2}, Threads{1, 3, 2}, Threads{4, 1}, Threads{2, 2, 2, 2, 2},
                                           Threads{9, 9}),
                         shape_name);

namespace {

constexpr size_t piece = 1024; // words of two threads, 4 KiB each: one strand of "8K"
constexpr size_t pieces = 4, long_count = pieces * piece;

void largest(const void *in, void *inout, size_t elements, const weft_datatype *) {
    const uint64_t *left = static_cast<const uint64_t *>(in);
    uint64_t *right = static_cast<uint64_t *>(inout);
    // The leader combines the second half of a piece of two threads only when it has come from another process.
    if (thread == 0 && left[0] < piece && left[elements - 1] >= piece / 2)
        between_processes[node] = true;
    if (thread == 1 && left[0] >= (pieces - 1) * piece)
        hold_until_on_the_wire();
    keep_larger(left, right, elements);
}

} // namespace

// A thread does not go on to its last piece until the first one has been on the wire.
TEST(Overlap, FirstPieceIsOnTheWireWhileTheLastIsReduced) {
    threads::Watchdog watchdog(100);
    Operation op(largest, true);
    for (const char *algorithm : {"allreduce=nbBDE:8K/slices", "allreduce=nbBDE:3000/slices"}) {
        forget_calls();
        SimWorlds(two_by_two(algorithm)).run([&](weft_comm *comm) {
            call_as(comm);
            Words words(long_count), result(long_count);
            std::iota(words.begin(), words.end(), uint64_t(0));
            EXPECT_EQ(weft_allreduce(words.data(), result.data(), long_count, WEFT_UINT64_T, op.get(), comm),
                      WEFT_SUCCESS);
            EXPECT_EQ(result, words);
        });
        EXPECT_TRUE(held[0] && held[1]);
    }
}

// The root starts a broadcast of more strands than are under way at once, and then moves nothing until the others' threads have
// been told of a piece.
TEST(Overlap, PiecesAreToldOfBeforeTheBroadcastIsOver) {
    threads::Watchdog watchdog(100);
    PieceCounter counter;
    const size_t bytes = size_t(20) * 8192;
    SimWorlds(two_by_two("bcast=nbFT:8K/flags")).run([&](weft_comm *comm) {
        std::vector<unsigned char> data(bytes, weft_rank(comm) == 0 ? 7 : 0);
        weft_request *request = nullptr;
        if (weft_rank(comm) == 2)
            counter.watch(comm);
        EXPECT_EQ(weft_ibcast(data.data(), bytes, WEFT_BYTE, 0, comm, &request), WEFT_SUCCESS);
        if (weft_rank(comm) == 0) {
            EXPECT_TRUE(comes([&] { return counter.tells_of_some(); }));
        }
        EXPECT_EQ(weft_wait(&request, WEFT_STATUS_IGNORE), WEFT_SUCCESS);
        EXPECT_EQ(data, std::vector<unsigned char>(bytes, 7));
    });
}

namespace {

std::atomic<bool> refused;

// On node 1 thread 1 takes until node 0 has been told that the calls differ.
void slow(const void *, void *, size_t, const weft_datatype *) {
    if (node == 1 && thread == 1) {
        EXPECT_TRUE(comes(refused));
    }
}

} // namespace

// A strand that waits for a thread when the call is found to be wrong is not started any more, and all ranks are told.
TEST(Errors, EndACallThatWaitsForAPiece) {
    threads::Watchdog watchdog(100);
    Operation op(slow);
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED})
        for (bool blocks : {true, false}) {
            refused = false;
            JobShape shape = two_by_two("allreduce=nbBDE:8K/slices");
            shape.level = level;
            SimWorlds(shape).run([&](weft_comm *comm) {
                call_as(comm);
                Words words(long_count + size_t(node)), result(long_count + 1);
                weft_request *request = nullptr;
                int code =
                    blocks ? weft_allreduce(words.data(), result.data(), words.size(), WEFT_UINT64_T, op.get(), comm)
                           : weft_iallreduce(words.data(), result.data(), words.size(), WEFT_UINT64_T, op.get(), comm,
                                             &request);
                EXPECT_EQ(blocks ? code : weft_wait(&request, WEFT_STATUS_IGNORE), WEFT_ERR_MISMATCH);
                refused = true;
            });
        }
}

// Nor does anybody wait for a piece that will not come.
TEST(Errors, EndAWaitForAPieceThatDoesNotCome) {
    threads::Watchdog watchdog(100);
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED}) {
        JobShape shape = two_by_two("bcast=nbFT:8K/flags");
        shape.level = level;
        SimWorlds(shape).run([&](weft_comm *comm) {
            Words words(long_count + size_t(weft_node(comm)));
            int code = weft_bcast(words.data(), words.size(), WEFT_UINT64_T, 0, comm);
            if (weft_rank(comm) != 1) { // who may be through before anybody knows: it had the data from rank 0's memory
                EXPECT_EQ(code, WEFT_ERR_MISMATCH);
            }
        });
    }
}
