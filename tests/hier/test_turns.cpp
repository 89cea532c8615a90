// SPDX-License-Identifier: BSD-3-Clause
// Long collectives of the threads of one process, which go through their data in turn from the beginning and from the end: right either way,
// of any length, and they do turn.
#include "effort.h"
#include "misuse.h"

#include <numeric>

namespace {

using Words = std::vector<uint64_t>;
constexpr size_t length = 140007; // words: more than 1 MiB, in pieces of which the last one is short

uint64_t word(int call, int from, int to, size_t index) {
    return uint64_t(call) << 48 | uint64_t(from) << 40 | uint64_t(to) << 32 | index;
}

struct Rank {
    weft_comm *comm;
    int self, size, call;

    // What `from` has for `to`, at place i of a block.
    void put(uint64_t *at, size_t count, int from, int to) const {
        for (size_t i = 0; i < count; i++)
            at[i] = word(call, from, to, i);
    }
    bool has(const uint64_t *at, size_t count, int from, int to) const {
        for (size_t i = 0; i < count; i++)
            if (at[i] != word(call, from, to, i))
                return false;
        return true;
    }
    uint64_t sum(int end, size_t index) const {
        uint64_t sum = 0;
        for (int from = 0; from < end; from++)
            sum += word(call, from, 0, index);
        return sum;
    }
    // Of all ranks' vectors up to rank `end`, from place `begin` on.
    bool has_sums(const uint64_t *at, size_t begin, size_t count, int end) const {
        for (size_t i = 0; i < count; i++)
            if (at[i] != sum(end, begin + i))
                return false;
        return true;
    }
    int root() const {
        return call % size;
    }
    bool is_root() const {
        return self == root();
    }
    // Uneven blocks, longer ones for later ranks, one behind the other.
    size_t uneven(int rank) const {
        return length + size_t(rank) * 4099;
    }
    std::vector<size_t> counts() const {
        std::vector<size_t> counts;
        for (int rank = 0; rank < size; rank++)
            counts.push_back(uneven(rank));
        return counts;
    }
    std::vector<ptrdiff_t> displs() const {
        std::vector<ptrdiff_t> displs(size_t(size), 0);
        for (int rank = 1; rank < size; rank++)
            displs[size_t(rank)] = displs[size_t(rank - 1)] + ptrdiff_t(uneven(rank - 1));
        return displs;
    }
    size_t all_uneven() const {
        const std::vector<size_t> each = counts();
        return std::accumulate(each.begin(), each.end(), size_t(0));
    }
};

// Every other word of a buffer: a long block that is no run.
class Strided {
  public:
    Strided() {
        EXPECT_OK(weft_type_vector(length, 1, 2, WEFT_UINT64_T, &type_));
        EXPECT_OK(weft_type_commit(&type_));
    }
    ~Strided() {
        EXPECT_OK(weft_type_free(&type_));
    }
    const weft_datatype *get() const {
        return type_;
    }
    static Words spread(const Words &words) {
        Words apart(2 * words.size(), 7);
        for (size_t i = 0; i < words.size(); i++)
            apart[2 * i] = words[i];
        return apart;
    }
    static Words gathered(const Words &apart) {
        Words words(apart.size() / 2);
        for (size_t i = 0; i < words.size(); i++)
            words[i] = apart[2 * i];
        return words;
    }

  private:
    weft_datatype *type_ = nullptr;
};

void bcast(const Rank &r) {
    Words words(length);
    if (r.is_root())
        r.put(words.data(), length, r.root(), 0);
    EXPECT_OK(weft_bcast(words.data(), length, WEFT_UINT64_T, r.root(), r.comm));
    EXPECT_TRUE(r.has(words.data(), length, r.root(), 0));
}

void bcast_strided(const Rank &r) {
    Strided type;
    Words words(length);
    if (r.is_root())
        r.put(words.data(), length, r.root(), 0);
    Words apart = Strided::spread(words);
    EXPECT_OK(weft_bcast(apart.data(), 1, type.get(), r.root(), r.comm));
    EXPECT_TRUE(r.has(Strided::gathered(apart).data(), length, r.root(), 0));
    for (size_t i = 1; i < apart.size(); i += 2)
        ASSERT_EQ(apart[i], 7u);
}

void gather(const Rank &r) {
    Words send(length), recv(r.is_root() ? length * size_t(r.size) : 0);
    r.put(send.data(), length, r.self, 0);
    EXPECT_OK(weft_gather(send.data(), length, WEFT_UINT64_T, recv.data(), length, WEFT_UINT64_T, r.root(), r.comm));
    for (int from = 0; r.is_root() && from < r.size; from++)
        EXPECT_TRUE(r.has(&recv[length * size_t(from)], length, from, 0)) << from;
}

void gatherv(const Rank &r) {
    Words send(r.uneven(r.self)), recv(r.is_root() ? r.all_uneven() : 0);
    r.put(send.data(), send.size(), r.self, 0);
    EXPECT_OK(weft_gatherv(send.data(), send.size(), WEFT_UINT64_T, recv.data(), r.counts().data(), r.displs().data(),
                           WEFT_UINT64_T, r.root(), r.comm));
    for (int from = 0; r.is_root() && from < r.size; from++)
        EXPECT_TRUE(r.has(&recv[size_t(r.displs()[size_t(from)])], r.uneven(from), from, 0)) << from;
}

void scatter(const Rank &r) {
    Words recv(length), send(r.is_root() ? length * size_t(r.size) : 0);
    for (int to = 0; r.is_root() && to < r.size; to++)
        r.put(&send[length * size_t(to)], length, r.self, to);
    EXPECT_OK(weft_scatter(send.data(), length, WEFT_UINT64_T, recv.data(), length, WEFT_UINT64_T, r.root(), r.comm));
    EXPECT_TRUE(r.has(recv.data(), length, r.root(), r.self));
}

void scatterv(const Rank &r) {
    Words recv(r.uneven(r.self)), send(r.is_root() ? r.all_uneven() : 0);
    for (int to = 0; r.is_root() && to < r.size; to++)
        r.put(&send[size_t(r.displs()[size_t(to)])], r.uneven(to), r.self, to);
    EXPECT_OK(weft_scatterv(send.data(), r.counts().data(), r.displs().data(), WEFT_UINT64_T, recv.data(), recv.size(),
                            WEFT_UINT64_T, r.root(), r.comm));
    EXPECT_TRUE(r.has(recv.data(), recv.size(), r.root(), r.self));
}

void allgather(const Rank &r) {
    Words send(length), recv(length * size_t(r.size));
    r.put(send.data(), length, r.self, 0);
    EXPECT_OK(weft_allgather(send.data(), length, WEFT_UINT64_T, recv.data(), length, WEFT_UINT64_T, r.comm));
    for (int from = 0; from < r.size; from++)
        EXPECT_TRUE(r.has(&recv[length * size_t(from)], length, from, 0)) << from;
}

void allgatherv(const Rank &r) {
    Words send(r.uneven(r.self)), recv(r.all_uneven());
    r.put(send.data(), send.size(), r.self, 0);
    EXPECT_OK(weft_allgatherv(send.data(), send.size(), WEFT_UINT64_T, recv.data(), r.counts().data(),
                              r.displs().data(), WEFT_UINT64_T, r.comm));
    for (int from = 0; from < r.size; from++)
        EXPECT_TRUE(r.has(&recv[size_t(r.displs()[size_t(from)])], r.uneven(from), from, 0)) << from;
}

void alltoall(const Rank &r) {
    Words send(length * size_t(r.size)), recv(send.size());
    for (int to = 0; to < r.size; to++)
        r.put(&send[length * size_t(to)], length, r.self, to);
    EXPECT_OK(weft_alltoall(send.data(), length, WEFT_UINT64_T, recv.data(), length, WEFT_UINT64_T, r.comm));
    for (int from = 0; from < r.size; from++)
        EXPECT_TRUE(r.has(&recv[length * size_t(from)], length, from, r.self)) << from;
}

void alltoall_strided(const Rank &r) {
    Strided type;
    Words words(length * size_t(r.size));
    for (int to = 0; to < r.size; to++)
        r.put(&words[length * size_t(to)], length, r.self, to);
    const Words send = Strided::spread(words);
    Words recv(words.size());
    std::vector<size_t> ones(size_t(r.size), 1), lengths(size_t(r.size), length);
    std::vector<ptrdiff_t> from_bytes, to_bytes;
    for (int rank = 0; rank < r.size; rank++) {
        from_bytes.push_back(ptrdiff_t(2 * length * sizeof(uint64_t)) * rank);
        to_bytes.push_back(ptrdiff_t(length * sizeof(uint64_t)) * rank);
    }
    const std::vector<const weft_datatype *> spread(size_t(r.size), type.get()), dense(size_t(r.size), WEFT_UINT64_T);
    EXPECT_OK(weft_alltoallw(send.data(), ones.data(), from_bytes.data(), spread.data(), recv.data(), lengths.data(),
                             to_bytes.data(), dense.data(), r.comm));
    for (int from = 0; from < r.size; from++)
        EXPECT_TRUE(r.has(&recv[length * size_t(from)], length, from, r.self)) << from;
}

// To each as much as it gives to this one.
void alltoallv(const Rank &r) {
    const auto count = [&](int a, int b) { return length + size_t(a + b) * 4099; };
    std::vector<size_t> counts;
    std::vector<ptrdiff_t> displs;
    size_t all = 0;
    for (int rank = 0; rank < r.size; rank++) {
        counts.push_back(count(r.self, rank));
        displs.push_back(ptrdiff_t(all));
        all += counts.back();
    }
    Words send(all), recv(all);
    for (int to = 0; to < r.size; to++)
        r.put(&send[size_t(displs[size_t(to)])], counts[size_t(to)], r.self, to);
    EXPECT_OK(weft_alltoallv(send.data(), counts.data(), displs.data(), WEFT_UINT64_T, recv.data(), counts.data(),
                             displs.data(), WEFT_UINT64_T, r.comm));
    for (int from = 0; from < r.size; from++)
        EXPECT_TRUE(r.has(&recv[size_t(displs[size_t(from)])], counts[size_t(from)], from, r.self)) << from;
}

// The sums up to rank `end`, in place every other time.
template <class Collective> void combine(const Rank &r, const Collective &collective, int end) {
    const size_t count = 2 * length;
    Words send(count), recv(count);
    r.put(send.data(), count, r.self, 0);
    const bool in_place = r.call % 2;
    if (in_place)
        recv = send;
    EXPECT_OK(collective(in_place ? WEFT_IN_PLACE : send.data(), recv.data(), count, WEFT_UINT64_T, WEFT_SUM, r.comm));
    EXPECT_TRUE(end == 0 || r.has_sums(recv.data(), 0, count, end));
}

void allreduce(const Rank &r) {
    combine(r, weft_allreduce, r.size);
}

void reduce(const Rank &r) {
    const auto to_root = [&](const void *send, void *recv, size_t count, const weft_datatype *type, const weft_op *op,
                             weft_comm *comm) {
        const void *from = send == WEFT_IN_PLACE && !r.is_root() ? recv : send;
        return weft_reduce(from, recv, count, type, op, r.root(), comm);
    };
    combine(r, to_root, r.is_root() ? r.size : 0);
}

void scan(const Rank &r) {
    combine(r, weft_scan, r.self + 1);
}

void exscan(const Rank &r) {
    combine(r, weft_exscan, r.self);
}

void reduce_scatter(const Rank &r) {
    Words send(r.all_uneven()), recv(r.uneven(r.self));
    r.put(send.data(), send.size(), r.self, 0);
    EXPECT_OK(weft_reduce_scatter(send.data(), recv.data(), r.counts().data(), WEFT_UINT64_T, WEFT_SUM, r.comm));
    EXPECT_TRUE(r.has_sums(recv.data(), size_t(r.displs()[size_t(r.self)]), recv.size(), r.size));
}

struct Collective {
    const char *name;
    void (*run)(const Rank &);
};
const std::vector<Collective> collectives = {{"bcast", bcast},         {"bcast, strided", bcast_strided},
                                             {"gather", gather},       {"gatherv", gatherv},
                                             {"scatter", scatter},     {"scatterv", scatterv},
                                             {"allgather", allgather}, {"allgatherv", allgatherv},
                                             {"alltoall", alltoall},   {"alltoallw, strided", alltoall_strided},
                                             {"alltoallv", alltoallv}, {"allreduce", allreduce},
                                             {"reduce", reduce},       {"scan", scan},
                                             {"exscan", exscan},       {"reduce_scatter", reduce_scatter}};

const char *const by_rules = nullptr;
const char *const by_flags =
    "bcast=/flags,reduce=/flags,allreduce=/flags,gather=/flags,scatter=/flags,allgather=/flags,"
    "alltoall=/flags,scan=/flags,exscan=/flags,reduce_scatter=/flags";
const char *const by_slices = "bcast=/slices,reduce=/slices,allreduce=/slices,allgather=/slices,alltoall=/slices,"
                              "scan=/slices,exscan=/slices,reduce_scatter=/slices";

class Turns : public ::testing::TestWithParam<std::tuple<int, const char *>> {
  protected:
    void on_ranks(const std::function<void(weft_comm *)> &calls, bool reproducible = false) {
        weft_options options = {};
        options.reproducible = reproducible;
        options.algorithm = std::get<1>(GetParam());
        ASSERT_EQ(WEFT_SUCCESS, weft_init(&options)) << weft_last_error();
        misuse::in_team(std::get<0>(GetParam()), [&](weft_comm *comm, int) { calls(comm); });
        EXPECT_OK(weft_finalize());
    }
};

TEST_P(Turns, EitherWay) {
    on_ranks([](weft_comm *comm) {
        int call = 0;
        for (const Collective &one : effort::part_of(collectives, size_t(weft_size(comm)), effort::call_parts)) {
            SCOPED_TRACE(one.name);
            for (int turn = 0; turn < 3; turn++)
                one.run({comm, weft_rank(comm), weft_size(comm), ++call});
        }
    });
}

// Of small integers, whose sums are exact whatever the bracketing.
TEST_P(Turns, EitherWayInTheFixedBracketing) {
    if (effort::sanitized && std::get<0>(GetParam()) != 3)
        GTEST_SKIP() << "three threads do";
    const auto of = [](int call, int rank, size_t i) { return double((size_t(call * 7 + rank * 3) + i) % 1009); };
    on_ranks(
        [&](weft_comm *comm) {
            const int self = weft_rank(comm), size = weft_size(comm);
            const size_t count = length, all = count * size_t(size);
            std::vector<double> send(all), sums(all), prefix(count), before(count), total(count), block(count);
            for (int call = 0; call < 3; call++) {
                const auto sum = [&](int end, size_t i) {
                    double made = 0;
                    for (int rank = 0; rank < end; rank++)
                        made += of(call, rank, i);
                    return made;
                };
                for (size_t i = 0; i < all; i++)
                    send[i] = of(call, self, i);
                EXPECT_OK(weft_allreduce(send.data(), sums.data(), all, WEFT_DOUBLE, WEFT_SUM, comm));
                EXPECT_OK(weft_scan(send.data(), prefix.data(), count, WEFT_DOUBLE, WEFT_SUM, comm));
                EXPECT_OK(weft_exscan(send.data(), before.data(), count, WEFT_DOUBLE, WEFT_SUM, comm));
                EXPECT_OK(weft_reduce(send.data(), total.data(), count, WEFT_DOUBLE, WEFT_SUM, call % size, comm));
                EXPECT_OK(weft_reduce_scatter_block(send.data(), block.data(), count, WEFT_DOUBLE, WEFT_SUM, comm));
                size_t wrong = 0;
                for (size_t i = 0; i < all; i++)
                    wrong += sums[i] != sum(size, i);
                for (size_t i = 0; i < count; i++) {
                    wrong += prefix[i] != sum(self + 1, i) || (self > 0 && before[i] != sum(self, i));
                    wrong += self == call % size && total[i] != sum(size, i);
                    wrong += block[i] != sum(size, count * size_t(self) + i);
                }
                EXPECT_EQ(wrong, 0u) << "rank " << self << ", call " << call;
            }
        },
        true);
}

thread_local std::vector<const void *> places;

void note_places(const void *in, void *inout, size_t count, const weft_datatype *) {
    places.push_back(in);
    for (size_t i = 0; i < count; i++)
        static_cast<uint64_t *>(inout)[i] += static_cast<const uint64_t *>(in)[i];
}

// Each long one the other way, whatever short ones are between.
TEST_P(Turns, TheyTurn) {
    weft_op *op = nullptr;
    EXPECT_OK(weft_op_create(note_places, 1, &op));
    on_ranks([&](weft_comm *comm) {
        if (weft_size(comm) == 1)
            return;
        Words send(4 * length), recv(4 * length);
        std::vector<bool> rises;
        for (int call = 0; call < 6; call++) {
            uint64_t one = 1, sum = 0;
            EXPECT_OK(weft_allreduce(&one, &sum, 1, WEFT_UINT64_T, WEFT_SUM, comm));
            places.clear();
            EXPECT_OK(weft_allreduce(send.data(), recv.data(), send.size(), WEFT_UINT64_T, op, comm));
            // Each step reads the operands of all ranks but one; from the beginning a single step may do.
            const size_t a_step = size_t(weft_size(comm)) - 1;
            rises.push_back(places.size() == a_step ||
                            std::less<const void *>()(places.front(), places[places.size() - a_step]));
            for (int barriers = call; barriers > 0; barriers--)
                EXPECT_OK(weft_barrier(comm));
        }
        for (size_t call = 1; call < rises.size(); call++)
            EXPECT_NE(rises[call], rises[call - 1]) << "rank " << weft_rank(comm) << ", call " << call;
    });
    EXPECT_OK(weft_op_free(&op));
}

INSTANTIATE_TEST_SUITE_P(Threads, Turns,
                         ::testing::Combine(::testing::Values(1, 2, 3, 5),
                                            ::testing::Values(by_rules, by_flags, by_slices)));

} // namespace
