// SPDX-License-Identifier: BSD-3-Clause
// Collectives of long blocks in pieces, so that threads and network are at different ones: right in all forms, really at once, and
// nobody waits for a piece that does not come.
#include "overlap.h"
#include <algorithm>
#include <memory>
#include <mutex>
#include <numeric>
extern "C" {
#include <weft/weft.h>
}

namespace {

using Words = std::vector<uint64_t>;

uint64_t word(int from, int to, size_t index, uint64_t call) {
    return uint64_t(from) * 1000003 + uint64_t(to) * 10007 + index * 31 + call * 104729;
}

// One rank's part in a collective; every other call is in place.
class Collective {
  public:
    Collective(weft_comm *comm, uint64_t call)
        : comm_(comm), call_(call), rank_(weft_rank(comm)), ranks_(weft_size(comm)) {}
    virtual ~Collective() = default;
    virtual int block() = 0;
    virtual int start(weft_request **request) = 0;
    virtual int prepare(weft_request **request) = 0;
    virtual void refill() = 0; // before each start
    void check() const {
        EXPECT_TRUE(is_right()) << "call " << call_ << ", rank " << rank_;
    }

  protected:
    virtual bool is_right() const = 0;
    bool in_place() const {
        return call_ % 2;
    }
    const void *send() const {
        return in_place() ? WEFT_IN_PLACE : send_.data();
    }

    weft_comm *comm_;
    uint64_t call_;
    int rank_, ranks_;
    Words send_, recv_;
};

class Allgather : public Collective {
  public:
    Allgather(weft_comm *comm, uint64_t call) : Collective(comm, call) {
        send_.resize(count);
        recv_.resize(count * size_t(ranks_));
    }
    int block() override {
        return weft_allgather(send(), count, WEFT_UINT64_T, recv_.data(), count, WEFT_UINT64_T, comm_);
    }
    int start(weft_request **request) override {
        return weft_iallgather(send(), count, WEFT_UINT64_T, recv_.data(), count, WEFT_UINT64_T, comm_, request);
    }
    int prepare(weft_request **request) override {
        return weft_allgather_init(send(), count, WEFT_UINT64_T, recv_.data(), count, WEFT_UINT64_T, comm_, request);
    }
    void refill() override {
        std::fill(recv_.begin(), recv_.end(), 0);
        uint64_t *own = in_place() ? &recv_[size_t(rank_) * count] : send_.data();
        for (size_t i = 0; i < count; i++)
            own[i] = word(rank_, 0, i, call_);
    }

  protected:
    bool is_right() const override {
        bool right = true;
        for (int from = 0; from < ranks_; from++)
            for (size_t i = 0; i < count; i++)
                right &= recv_[size_t(from) * count + i] == word(from, 0, i, call_);
        return right;
    }

  private:
    static constexpr size_t count = 3001; // words: pieces end within the blocks of ranks
};

class Alltoall : public Collective {
  public:
    Alltoall(weft_comm *comm, uint64_t call) : Collective(comm, call), count_(12003 / size_t(ranks_)) {
        send_.resize(count_ * size_t(ranks_));
        recv_.resize(count_ * size_t(ranks_));
    }
    int block() override {
        return weft_alltoall(send(), count_, WEFT_UINT64_T, recv_.data(), count_, WEFT_UINT64_T, comm_);
    }
    int start(weft_request **request) override {
        return weft_ialltoall(send(), count_, WEFT_UINT64_T, recv_.data(), count_, WEFT_UINT64_T, comm_, request);
    }
    int prepare(weft_request **request) override {
        return weft_alltoall_init(send(), count_, WEFT_UINT64_T, recv_.data(), count_, WEFT_UINT64_T, comm_, request);
    }
    void refill() override {
        std::fill(recv_.begin(), recv_.end(), 0);
        Words &words = in_place() ? recv_ : send_;
        for (int to = 0; to < ranks_; to++)
            for (size_t i = 0; i < count_; i++)
                words[size_t(to) * count_ + i] = word(rank_, to, i, call_);
    }

  protected:
    bool is_right() const override {
        bool right = true;
        for (int from = 0; from < ranks_; from++)
            for (size_t i = 0; i < count_; i++)
                right &= recv_[size_t(from) * count_ + i] == word(from, rank_, i, call_);
        return right;
    }

  private:
    size_t count_;
};

// From different roots; in place is the root's own block only.
class Scatter : public Collective {
  public:
    Scatter(weft_comm *comm, uint64_t call) : Collective(comm, call), root_(int(3 * call + 1) % ranks_) {
        send_.resize(rank_ == root_ ? count * size_t(ranks_) : 0);
        recv_.resize(count);
    }
    int block() override {
        return weft_scatter(send_.data(), count, WEFT_UINT64_T, recv(), count, WEFT_UINT64_T, root_, comm_);
    }
    int start(weft_request **request) override {
        return weft_iscatter(send_.data(), count, WEFT_UINT64_T, recv(), count, WEFT_UINT64_T, root_, comm_, request);
    }
    int prepare(weft_request **request) override {
        return weft_scatter_init(send_.data(), count, WEFT_UINT64_T, recv(), count, WEFT_UINT64_T, root_, comm_,
                                 request);
    }
    void refill() override {
        std::fill(recv_.begin(), recv_.end(), 0);
        for (size_t i = 0; i < send_.size(); i++)
            send_[i] = word(root_, int(i / count), i % count, call_);
    }

  protected:
    bool is_right() const override {
        const uint64_t *own = recv_.data();
        if (in_place() && rank_ == root_)
            own = &send_[size_t(rank_) * count];
        bool right = true;
        for (size_t i = 0; i < count; i++)
            right &= own[i] == word(root_, rank_, i, call_);
        return right;
    }

  private:
    void *recv() {
        return in_place() && rank_ == root_ ? WEFT_IN_PLACE : recv_.data();
    }
    static constexpr size_t count = 3001;
    int root_;
};

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

const weft_op *in_order; // compose

// Every other one with blocks of different length, some of nothing; in place these go to where other blocks of the operand stand.
class ReduceScatter : public Collective {
  public:
    ReduceScatter(weft_comm *comm, uint64_t call, bool equal)
        : Collective(comm, call), equal_(equal), counts_(size_t(ranks_), 12003 / size_t(ranks_)) {
        for (size_t rank = 0; !equal && rank < counts_.size(); rank++)
            counts_[rank] = (rank + call / 2) % 3 * counts_[rank] + rank;
        for (int rank = 0; rank < ranks_; rank++) {
            begin_ += rank < rank_ ? counts_[size_t(rank)] : 0;
            all_ += counts_[size_t(rank)];
        }
        send_.resize(all_);
        recv_.resize(all_);
    }
    int block() override {
        if (equal_)
            return weft_reduce_scatter_block(send(), recv_.data(), counts_[0], WEFT_UINT64_T, op(), comm_);
        return weft_reduce_scatter(send(), recv_.data(), counts_.data(), WEFT_UINT64_T, op(), comm_);
    }
    int start(weft_request **request) override {
        if (equal_)
            return weft_ireduce_scatter_block(send(), recv_.data(), counts_[0], WEFT_UINT64_T, op(), comm_, request);
        return weft_ireduce_scatter(send(), recv_.data(), counts_.data(), WEFT_UINT64_T, op(), comm_, request);
    }
    int prepare(weft_request **request) override {
        if (equal_)
            return weft_reduce_scatter_block_init(send(), recv_.data(), counts_[0], WEFT_UINT64_T, op(), comm_,
                                                  request);
        return weft_reduce_scatter_init(send(), recv_.data(), counts_.data(), WEFT_UINT64_T, op(), comm_, request);
    }
    void refill() override {
        Words &words = in_place() ? recv_ : send_;
        for (size_t i = 0; i < all_; i++)
            words[i] = operand(rank_, i);
    }

  protected:
    bool is_right() const override {
        bool right = true;
        for (size_t i = begin_; i < begin_ + counts_[size_t(rank_)]; i++) {
            uint64_t expected = operand(0, i);
            for (int rank = 1; rank < ranks_; rank++)
                expected = commutes() ? expected + operand(rank, i) : then(expected, operand(rank, i));
            right &= recv_[i - begin_] == expected;
        }
        return right;
    }

  private:
    bool commutes() const {
        return call_ % 3;
    }
    const weft_op *op() const {
        return commutes() ? WEFT_SUM : in_order;
    }
    uint64_t operand(int rank, size_t index) const {
        uint64_t mixed = word(rank, 1, index, call_);
        return (mixed % 1000 * 2 + 1) << 32 | mixed % 65521;
    }

    bool equal_;
    std::vector<size_t> counts_;
    size_t begin_ = 0, all_ = 0;
};

std::unique_ptr<Collective> collective(weft_comm *comm, uint64_t call) {
    switch (call / 2 % 5) {
    case 0:
        return std::make_unique<Allgather>(comm, call);
    case 1:
        return std::make_unique<Alltoall>(comm, call);
    case 2:
        return std::make_unique<Scatter>(comm, call);
    default:
        return std::make_unique<ReduceScatter>(comm, call, call / 2 % 5 == 4);
    }
}

constexpr uint64_t calls = 10; // call 6 is of an operation that does not commute

void blocking(weft_comm *comm) {
    for (uint64_t call = 0; call < calls; call++) {
        auto each = collective(comm, call);
        each->refill();
        EXPECT_EQ(each->block(), WEFT_SUCCESS) << weft_last_error();
        each->check();
    }
}

void nonblocking(weft_comm *comm) {
    std::vector<std::unique_ptr<Collective>> under_way;
    std::vector<weft_request *> requests(calls);
    for (uint64_t call = 0; call < calls; call++) {
        under_way.push_back(collective(comm, call));
        under_way.back()->refill();
    }
    for (size_t i = 0; i < calls; i++)
        EXPECT_EQ(under_way[i]->start(&requests[i]), WEFT_SUCCESS);
    for (size_t i = calls; i-- > 0;) // the last one first
        EXPECT_EQ(weft_wait(&requests[i], WEFT_STATUS_IGNORE), WEFT_SUCCESS);
    for (const auto &each : under_way)
        each->check();
}

void persistent(weft_comm *comm) {
    for (uint64_t call = 0; call < calls; call++) {
        auto each = collective(comm, call);
        weft_request *request = nullptr;
        ASSERT_EQ(each->prepare(&request), WEFT_SUCCESS);
        for (int round = 0; round < 2; round++) {
            each->refill();
            EXPECT_EQ(weft_start(&request), WEFT_SUCCESS);
            EXPECT_EQ(weft_wait(&request, WEFT_STATUS_IGNORE), WEFT_SUCCESS);
            each->check();
        }
        EXPECT_EQ(weft_request_free(&request), WEFT_SUCCESS);
    }
}

const char *const algorithms[] = {
    "allgather=nbFT:1K/slices,alltoall=nb1FT:1K/slices,reduce_scatter=nbBKT:1K/slices,reduce_scatter_block=nbBKT:1K/"
    "slices,"
    "scatter=nbFT:1K",
    "scatter=MST:9K,allgather=nbBKT:9K,alltoall=PAIR:7000,reduce_scatter=bBKT:9K/slices,reduce_scatter_block=nbBDE:9K/"
    "slices",
    "scatter=nbFT:3000,allgather=nbBDE:3000/slices,alltoall=nbFT:20K/slices,reduce_scatter=nbBDE:3000/"
    "slices,reduce_scatter_block=bBKT:20K/slices",
    ("scatter=MST:20K,allgather=MSTGather+CHAINBcast:1K,alltoall=bFT:2K,reduce_scatter=MSTReduce+nbFTScatterv:1K/"
     "slices,"
     "reduce_scatter_block=RABReduce+MSTScatterv:3K/slices")};

class PiecesOfBlocks : public ::testing::TestWithParam<Threads> {
  protected:
    void SetUp() override {
        EXPECT_EQ(weft_op_create(compose, false, &op_), WEFT_SUCCESS);
        in_order = op_;
    }
    void TearDown() override {
        EXPECT_EQ(weft_op_free(&op_), WEFT_SUCCESS);
    }

  private:
    weft_op *op_ = nullptr;
};

} // namespace

TEST_P(PiecesOfBlocks, AreRightInEveryForm) {
    threads::Watchdog watchdog(280);
    int number = 0;
    for (const char *algorithm : algorithms) {
        JobShape shape{GetParam(), number % 2 ? WEFT_THREAD_FUNNELED : WEFT_THREAD_SERIALIZED};
        shape.algorithm = algorithm;
        shape.slots = 4;
        shape.seed = uint64_t(number++);
        SCOPED_TRACE(::testing::Message() << shape);
        SimWorlds(shape).run([&](weft_comm *comm) {
            blocking(comm);
            nonblocking(comm);
            persistent(comm);
        });
        ASSERT_FALSE(HasFailure());
    }
}

TEST_P(PiecesOfBlocks, AreRightUnderEveryPolicyOfWaiting) {
    threads::Watchdog watchdog(280);
    for (weft_wait_policy policy : {WEFT_WAIT_YIELD, WEFT_WAIT_BLOCK}) {
        JobShape shape{GetParam(), policy == WEFT_WAIT_YIELD ? WEFT_THREAD_MULTIPLE : WEFT_THREAD_FUNNELED, policy};
        shape.algorithm = algorithms[0];
        SCOPED_TRACE(::testing::Message() << shape);
        SimWorlds(shape).run([&](weft_comm *comm) {
            blocking(comm);
            nonblocking(comm);
        });
    }
}

INSTANTIATE_TEST_SUITE_P(Sim, PiecesOfBlocks,
                         ::testing::Values(Threads{2, 2}, Threads{1, 3, 2}, Threads{4, 1}, Threads{2, 2, 2, 2, 2},
                                           Threads{9, 9}),
                         shape_name);

namespace {

constexpr size_t piece_bytes = 8192; // of two threads: one strand of "8K"
constexpr size_t pieces = 20, node_words = pieces * piece_bytes / sizeof(uint64_t);
static_assert(pieces > 2 * INTER_STRANDS, "more than are under way at once");

// The leaders move their parts one at a time, so that a look of one's brings no more strands to an end than are under way at once:
// not all.
void are_told_before_the_end(const char *algorithm,
                             const std::function<int(weft_comm *, weft_request **, Words &, Words &)> &start) {
    std::mutex turn;
    std::atomic<bool> told{false};
    SimWorlds(two_by_two(algorithm)).run([&](weft_comm *comm) {
        Words send, recv;
        weft_request *request = nullptr;
        PieceCounter counter;
        counter.watch(comm);
        if (weft_thread(comm) == 0) {
            std::unique_lock<std::mutex> own(turn);
            EXPECT_EQ(start(comm, &request, send, recv), WEFT_SUCCESS);
            for (int done = 0; !done;) {
                EXPECT_EQ(weft_test(&request, &done, WEFT_STATUS_IGNORE), WEFT_SUCCESS);
                told = told || counter.tells_of_some();
                own.unlock();
                std::this_thread::yield();
                own.lock();
            }
        } else {
            EXPECT_EQ(start(comm, &request, send, recv), WEFT_SUCCESS);
            EXPECT_EQ(weft_wait(&request, WEFT_STATUS_IGNORE), WEFT_SUCCESS);
        }
    });
    EXPECT_TRUE(told);
}

} // namespace

TEST(OverlapOfBlocks, AllgatherTellsOfPiecesBeforeItIsOver) {
    threads::Watchdog watchdog(100);
    are_told_before_the_end("allgather=nbFT:8K", [](weft_comm *comm, weft_request **request, Words &send, Words &recv) {
        size_t count = node_words / 2;
        send.assign(count, 1);
        recv.assign(4 * count, 0);
        return weft_iallgather(send.data(), count, WEFT_UINT64_T, recv.data(), count, WEFT_UINT64_T, comm, request);
    });
}

TEST(OverlapOfBlocks, AlltoallTellsOfPiecesBeforeItIsOver) {
    threads::Watchdog watchdog(100);
    are_told_before_the_end("alltoall=nb1FT:8K", [](weft_comm *comm, weft_request **request, Words &send, Words &recv) {
        size_t count = node_words / 4;
        send.assign(4 * count, 1);
        recv.assign(4 * count, 0);
        return weft_ialltoall(send.data(), count, WEFT_UINT64_T, recv.data(), count, WEFT_UINT64_T, comm, request);
    });
}

TEST(OverlapOfBlocks, ReduceScatterTellsOfPiecesBeforeItIsOver) {
    threads::Watchdog watchdog(100);
    are_told_before_the_end(
        "reduce_scatter_block=nbBKT:8K/slices", [](weft_comm *comm, weft_request **request, Words &send, Words &recv) {
            size_t count = node_words / 2;
            send.assign(4 * count, 1);
            recv.assign(count, 0);
            return weft_ireduce_scatter_block(send.data(), recv.data(), count, WEFT_UINT64_T, WEFT_SUM, comm, request);
        });
}

namespace {

constexpr size_t piece = 1024,
                 few_pieces = 4; // words of a node's block, half a piece for each of two threads: one strand of "8K"

void largest(const void *in, void *inout, size_t elements, const weft_datatype *) {
    const uint64_t *left = static_cast<const uint64_t *>(in);
    uint64_t *right = static_cast<uint64_t *>(inout);
    size_t own = size_t(node) * few_pieces * piece, last = left[elements - 1];
    // The leader combines the second half of a piece of two threads only when it has come from another process.
    if (thread == 0 && last >= own + piece / 2 && last < own + piece)
        between_processes[node] = true;
    if (thread == 1 && last >= own + (few_pieces - 1) * piece && last < own + few_pieces * piece)
        hold_until_on_the_wire();
    keep_larger(left, right, elements);
}

} // namespace

// A thread does not go on to the last piece of its node's block until the first one has been on the wire.
TEST(OverlapOfBlocks, FirstPieceIsOnTheWireWhileTheLastIsReduced) {
    threads::Watchdog watchdog(100);
    weft_op *op = nullptr;
    ASSERT_EQ(weft_op_create(largest, true, &op), WEFT_SUCCESS);
    for (const char *name : {"nbBKT:8K", "nbBDE:8K", "bBKT:3000"}) {
        forget_calls();
        std::string algorithm = std::string("reduce_scatter_block=") + name + "/slices";
        SimWorlds(two_by_two(algorithm.c_str())).run([&](weft_comm *comm) {
            call_as(comm);
            const size_t own = few_pieces * piece / 2;
            Words words(4 * own), result(own);
            std::iota(words.begin(), words.end(), uint64_t(0));
            EXPECT_EQ(weft_reduce_scatter_block(words.data(), result.data(), own, WEFT_UINT64_T, op, comm),
                      WEFT_SUCCESS);
            EXPECT_TRUE(std::equal(result.begin(), result.end(), words.begin() + weft_rank(comm) * ptrdiff_t(own)));
        });
        EXPECT_TRUE(held[0] && held[1]) << name;
    }
    EXPECT_EQ(weft_op_free(&op), WEFT_SUCCESS);
}

namespace {

// Node 0's block is the unit, node 1's three of them, and four pieces are made of each.
constexpr size_t unit = 2048;

// On node 1 thread 1 comes to its slice of the second piece when the first one is there, which goes to where both stand in rank 2's operand.
void largest_where_one_is_late(const void *in, void *inout, size_t elements, const weft_datatype *) {
    const uint64_t *left = static_cast<const uint64_t *>(in);
    uint64_t *right = static_cast<uint64_t *>(inout);
    size_t last = left[elements - 1];
    if (thread == 0 && last >= unit + 3 * unit / 8 && last < unit + 3 * unit / 4)
        between_processes[node] = true;
    if (node == 1 && thread == 1 && last >= unit / 4 + unit / 8 && last < unit / 2 && !held[1].exchange(true)) {
        EXPECT_TRUE(comes(between_processes[1]));
        std::this_thread::sleep_for(std::chrono::milliseconds(20)); // in which rank 2 could do what it must not
    }
    keep_larger(left, right, elements);
}

} // namespace

TEST(OverlapOfBlocks, PiecesInPlaceGoWhereNobodyReadsAnyMore) {
    threads::Watchdog watchdog(100);
    weft_op *op = nullptr;
    ASSERT_EQ(weft_op_create(largest_where_one_is_late, true, &op), WEFT_SUCCESS);
    forget_calls();
    SimWorlds(two_by_two("reduce_scatter=nbBKT:8K/slices")).run([&](weft_comm *comm) {
        call_as(comm);
        const size_t counts[] = {unit / 2, unit / 2, 3 * unit / 2, 3 * unit / 2}, begins[] = {0, 1, 2, 5};
        size_t self = size_t(weft_rank(comm));
        Words words(4 * unit), expected(counts[self]);
        std::iota(words.begin(), words.end(), uint64_t(0));
        std::iota(expected.begin(), expected.end(), uint64_t(begins[self] * unit / 2));
        EXPECT_EQ(weft_reduce_scatter(WEFT_IN_PLACE, words.data(), counts, WEFT_UINT64_T, op, comm), WEFT_SUCCESS);
        words.resize(counts[self]);
        EXPECT_EQ(words, expected);
    });
    EXPECT_TRUE(held[1]);
    EXPECT_EQ(weft_op_free(&op), WEFT_SUCCESS);
}

// Nor does anybody wait for a piece that will not come.
TEST(ErrorsOfBlocks, EndAWaitForAPieceThatDoesNotCome) {
    threads::Watchdog watchdog(100);
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED})
        for (bool all_to_all : {false, true})
            SimWorlds(two_by_two("allgather=nbFT:8K,alltoall=PAIR:8K", level)).run([&](weft_comm *comm) {
                size_t count = 10000 + size_t(weft_node(comm));
                Words send(4 * count), recv(4 * count);
                auto *call = all_to_all ? weft_alltoall : weft_allgather;
                EXPECT_EQ(call(send.data(), count, WEFT_UINT64_T, recv.data(), count, WEFT_UINT64_T, comm),
                          WEFT_ERR_MISMATCH);
            });
}

// One thread counts otherwise than the two others of its node, who agree with each other, and leaves while pieces are awaited.
TEST(ErrorsOfBlocks, EndWhatWaitsForAThreadThatCountsOtherwise) {
    threads::Watchdog watchdog(100);
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED})
        for (int who : {0, 1, 2}) {
            JobShape shape{{3, 3}, level};
            shape.algorithm = "reduce_scatter=nbBKT:1K/slices";
            SimWorlds(shape).run([&](weft_comm *comm) {
                std::vector<size_t> counts(6, 5000);
                if (weft_rank(comm) == who) {
                    counts[size_t(who + 1) % 3]--;
                    counts[size_t(who + 2) % 3]++;
                }
                Words send(30000), recv(5001);
                EXPECT_EQ(weft_reduce_scatter(send.data(), recv.data(), counts.data(), WEFT_UINT64_T, WEFT_SUM, comm),
                          WEFT_ERR_MISMATCH);
            });
        }
}
