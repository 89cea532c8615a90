// SPDX-License-Identifier: BSD-3-Clause
// Reductions against a left fold over the ranks, element by element.
#include "oracle_form.h"
#include "oracle_operands.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace {

// One reduction of elements of type T: what each rank brings, and how two combine.
template <class T> struct reduction {
    const weft_datatype *type;
    const weft_op *op;
    std::function<T(int rank, size_t index)> operand;
    std::function<T(const T &, const T &)> combine;

    reduction(const weft_datatype *of, const weft_op *by, decltype(operand) brings, decltype(combine) combines)
        : type(of), op(by), operand(std::move(brings)), combine(std::move(combines)) {}

    std::vector<T> operands(int rank, size_t count) const {
        return first_of(&brought_[rank], count, [&](size_t i) { return operand(rank, i); });
    }
    std::vector<T> expected(int size, size_t count) const {
        return first_of(&expected_[size], count, [&](size_t i) {
            T result = operand(0, i);
            for (int rank = 1; rank < size; rank++)
                result = combine(result, operand(rank, i));
            return result;
        });
    }
    std::string text(const char *call, size_t count, bool in_place) const {
        return std::string(call) + " of " + std::to_string(count) + " " + weft_datatype_name(type) + ", " +
               weft_op_name(op) + (in_place ? ", in place" : "");
    }

  private:
    // Elements of long vectors come again after so many: a prime, so that no block or segment looks like another.
    static constexpr size_t period = 4999;

    template <class At> static std::vector<T> first_of(std::vector<T> *known, size_t count, At at) {
        for (size_t i = known->size(); i < count; i++)
            known->push_back(i < period ? at(i) : (*known)[i - period]);
        return std::vector<T>(known->begin(), known->begin() + (ptrdiff_t)count);
    }
    mutable std::map<int, std::vector<T>> brought_, expected_; // by rank, and by how many ranks
};

// vector<bool> has no memory to compare with.
template <class T> struct element { T value; };

template <class T> reduction<element<T>> predefined(const weft_datatype *type, const weft_op *op) {
    core_op_kind kind = op->kind;
    return {type, op, [kind](int rank, size_t index) { return element<T>{oracle::operand<T>(kind, rank, index)}; },
            [kind](const element<T> &a, const element<T> &b) {
                return element<T>{oracle::combine<T>(kind, a.value, b.value)};
            }};
}
template <class T> bool same(const element<T> &a, const element<T> &b) {
    if constexpr (oracle::is_complex<T>::value)
        return a.value == b.value; // the sign of a zero depends on the order of the products
    else
        return oracle::same(a.value, b.value);
}

template <class T> void put_operands(const reduction<T> &r, int rank, size_t count, unsigned char *to) {
    memcpy(to, r.operands(rank, count).data(), count * sizeof(T));
}

template <class T>
void compare(weft_comm *comm, const std::vector<T> &expected, const job::buffer &got, std::string text) {
    for (size_t i = 0; i < expected.size(); i++) {
        T value;
        memcpy(&value, got.data() + i * sizeof(T), sizeof(T));
        using ::same;
        using oracle::same;
        if (!same(expected[i], value)) {
            job::check(false, comm, text + ": element " + std::to_string(i) + " is wrong");
            break;
        }
    }
    job::check(got.intact(), comm, text + ": bytes around the receive buffer");
}

template <class T>
void allreduce(weft_comm *comm, const reduction<T> &r, const std::vector<T> &expected, bool in_place) {
    size_t count = expected.size(), bytes = count * sizeof(T);
    job::buffer send(bytes, alignof(T)), recv(bytes, alignof(T));
    std::string text = r.text("allreduce", count, in_place);
    put_operands(r, weft_rank(comm), count, in_place ? recv.data() : send.data());
    std::vector<unsigned char> before(send.data(), send.data() + bytes);
    const void *from = in_place ? WEFT_IN_PLACE : count ? send.data() : nullptr;
    job::ok(FORM(allreduce)(from, count ? recv.data() : nullptr, count, r.type, r.op, comm), comm, text);
    compare(comm, expected, recv, text);
    job::check(send.intact() && std::equal(before.begin(), before.end(), send.data()), comm, text + ": send changed");
}

template <class T>
void reduce(weft_comm *comm, const reduction<T> &r, const std::vector<T> &expected, int root, bool in_place) {
    size_t count = expected.size(), bytes = count * sizeof(T);
    int rank = weft_rank(comm);
    bool at_root = rank == root;
    job::buffer send(bytes, alignof(T)), recv(bytes, alignof(T));
    std::string text = r.text("reduce", count, in_place) + ", root " + std::to_string(root);
    put_operands(r, rank, count, in_place && at_root ? recv.data() : send.data());
    std::vector<unsigned char> before(send.data(), send.data() + bytes);
    // Elsewhere the receive buffer means nothing: there may be none, and one that is there is not touched.
    void *to = at_root || rank % 2 ? recv.data() : nullptr;
    job::ok(FORM(reduce)(in_place && at_root ? WEFT_IN_PLACE : send.data(), to, count, r.type, r.op, root, comm), comm,
            text);
    if (at_root)
        compare(comm, expected, recv, text);
    else
        job::check(recv.untouched(), comm, text + ": wrote to the receive buffer of a rank that is not the root");
    job::check(send.intact() && std::equal(before.begin(), before.end(), send.data()), comm, text + ": send changed");
}

// `expected`: of this rank. Rank 0 receives nothing in an exscan: it has none then.
template <class T>
void scan(weft_comm *comm, const reduction<T> &r, const std::vector<T> &expected, size_t count, bool exclusive,
          bool in_place) {
    size_t bytes = count * sizeof(T);
    int rank = weft_rank(comm);
    job::buffer send(bytes, alignof(T)), recv(bytes, alignof(T));
    std::string text = r.text(exclusive ? "exscan" : "scan", count, in_place);
    put_operands(r, rank, count, in_place ? recv.data() : send.data());
    std::vector<unsigned char> before(send.data(), send.data() + bytes), received(recv.data(), recv.data() + bytes);
    const void *from = in_place ? WEFT_IN_PLACE : count ? send.data() : nullptr;
    void *to = count && (in_place || rank || !exclusive) ? recv.data() : nullptr;
    job::ok(exclusive ? FORM(exscan)(from, to, count, r.type, r.op, comm)
                      : FORM(scan)(from, to, count, r.type, r.op, comm),
            comm, text);
    compare(comm, expected, recv, text);
    if (exclusive && rank == 0)
        job::check(std::equal(received.begin(), received.end(), recv.data()), comm, text + ": rank 0 received");
    job::check(send.intact() && std::equal(before.begin(), before.end(), send.data()), comm, text + ": send changed");
}

template <class T> void scans(weft_comm *comm, const reduction<T> &r, size_t count, bool in_place) {
    int rank = weft_rank(comm);
    scan(comm, r, r.expected(rank + 1, count), count, false, in_place);
    scan(comm, r, rank ? r.expected(rank, count) : std::vector<T>(), count, true, in_place);
}

// How reduce_scatter cuts `count` elements: blocks that differ, some of them empty; or the last rank gets all.
std::vector<size_t> cut(size_t count, size_t ranks, bool all_to_last) {
    std::vector<size_t> counts(ranks, 0);
    size_t left = count;
    for (size_t rank = 0; !all_to_last && rank + 1 < ranks; rank++) {
        counts[rank] = std::min(left, rank % 3 * (count / (ranks + 1)) + rank % 2);
        left -= counts[rank];
    }
    counts[ranks - 1] = left;
    return counts;
}

template <class T>
void reduce_scatter(weft_comm *comm, const reduction<T> &r, const std::vector<T> &all,
                    const std::vector<size_t> &counts, bool equal, bool in_place) {
    size_t self = (size_t)weft_rank(comm), begin = 0, bytes = all.size() * sizeof(T), own = counts[self];
    for (size_t rank = 0; rank < self; rank++)
        begin += counts[rank];
    job::buffer send(bytes, alignof(T)), recv(in_place ? bytes : own * sizeof(T), alignof(T));
    std::string text = r.text(equal ? "reduce_scatter_block" : "reduce_scatter", all.size(), in_place);
    put_operands(r, (int)self, all.size(), in_place ? recv.data() : send.data());
    std::vector<unsigned char> before(send.data(), send.data() + bytes);
    const void *from = in_place ? WEFT_IN_PLACE : !all.empty() ? send.data() : nullptr;
    void *to = recv.size() ? recv.data() : nullptr;
    job::ok(equal ? FORM(reduce_scatter_block)(from, to, own, r.type, r.op, comm)
                  : FORM(reduce_scatter)(from, to, counts.data(), r.type, r.op, comm),
            comm, text);
    auto first = all.begin() + (ptrdiff_t)begin;
    compare(comm, std::vector<T>(first, first + (ptrdiff_t)own), recv, text);
    job::check(send.intact() && std::equal(before.begin(), before.end(), send.data()), comm, text + ": send changed");
}

template <class T> void reduce_scatters(weft_comm *comm, const reduction<T> &r, size_t count, bool in_place) {
    size_t ranks = (size_t)weft_size(comm), block = (count + ranks - 1) / ranks;
    auto all = r.expected(weft_size(comm), count);
    for (bool all_to_last : {false, true})
        reduce_scatter(comm, r, all, cut(count, ranks, all_to_last), false, in_place);
    all = r.expected(weft_size(comm), block * ranks);
    reduce_scatter(comm, r, all, std::vector<size_t>(ranks, block), true, in_place);
}

// Every count, in place and not, and each rank as root.
template <class T> void all_counts(weft_comm *comm, const reduction<T> &r) {
    size_t inlined = 1024 / sizeof(T);
    for (size_t count :
         {size_t(0), size_t(1), size_t(3), size_t(17), inlined - 1, inlined, inlined + 1, size_t(5000)}) {
        auto expected = r.expected(weft_size(comm), count);
        for (bool in_place : {false, true}) {
            allreduce(comm, r, expected, in_place);
            scans(comm, r, count, in_place);
            reduce_scatters(comm, r, count, in_place);
            for (int root = 0; root < weft_size(comm); root++)
                reduce(comm, r, expected, root, in_place);
        }
    }
}

template <class T> void one_count(weft_comm *comm, const reduction<T> &r, size_t count, int turn) {
    auto expected = r.expected(weft_size(comm), count);
    allreduce(comm, r, expected, turn % 2 != 0);
    reduce(comm, r, expected, turn % weft_size(comm), turn / 2 % 2 != 0);
    scans(comm, r, count, turn % 2 != 0);
    reduce_scatters(comm, r, count, turn % 2 != 0);
}

extern "C" {
void compose(const void *in, void *inout, size_t count, const weft_datatype *type) {
    auto *left = static_cast<const oracle::affine *>(in);
    auto *right = static_cast<oracle::affine *>(inout);
    for (size_t i = 0; i < count; i++)
        right[i] = oracle::affine::combine(left[i], right[i]);
    if (type != WEFT_UINT64_T && type != WEFT_2INT)
        memset(inout, 0, count * sizeof(*right));
}
void keep_first(const void *in, void *inout, size_t count, const weft_datatype *) {
    auto *left = static_cast<const oracle::wide *>(in);
    auto *right = static_cast<oracle::wide *>(inout);
    for (size_t i = 0; i < count; i++)
        right[i] = oracle::first_and_count(left[i], right[i]);
}
}

// A user's operation for as long as the test runs; each thread could make its own, but the ranks of a process share one.
class user_op {
  public:
    user_op(weft_op_function *function, bool commutative) {
        EXPECT_EQ(WEFT_SUCCESS, weft_op_create(function, commutative, &op_)) << weft_last_error();
    }
    ~user_op() {
        EXPECT_EQ(WEFT_SUCCESS, weft_op_free(&op_)) << weft_last_error();
    }
    operator const weft_op *() const {
        return op_;
    }

  private:
    weft_op *op_ = nullptr;
};

reduction<oracle::affine> affine_maps(const weft_op *compose_op) {
    return {WEFT_UINT64_T, compose_op, oracle::affine::operand, oracle::affine::combine};
}

TEST(Reductions, EveryTypeAndOperation) {
    job::on_both([](weft_comm *comm) {
        int turn = 0;
        oracle::for_each_type([&](const weft_datatype *type, auto zero) {
            using T = decltype(zero);
            ASSERT_EQ(sizeof(T), weft_datatype_size(type));
            for (const weft_op *op : oracle::operations)
                if (oracle::defined<T>(op->kind)) {
                    auto r = predefined<T>(type, op);
                    for (size_t count : {size_t(3), 1024 / sizeof(T) + 1})
                        one_count(comm, r, count, turn++);
                }
        });
    });
}

TEST(Reductions, EveryCountAndRoot) {
    job::on_both([](weft_comm *comm) {
        all_counts(comm, predefined<oracle::byte>(WEFT_BYTE, WEFT_BXOR));
        all_counts(comm, predefined<double>(WEFT_DOUBLE, WEFT_SUM));
        all_counts(comm, predefined<oracle::pair_of<short>>(WEFT_SHORT_INT, WEFT_MINLOC));
    });
}

// Operands combine in rank order.
TEST(Reductions, UserOperation) {
    user_op op(compose, false);
    job::on_both([&](weft_comm *comm) {
        auto r = affine_maps(op);
        all_counts(comm, r);
        r.type = WEFT_2INT;
        one_count(comm, r, 100, 1);
        one_count(comm, r, 1000, 2);
    });
}

TEST(Reductions, UserOperationOfWideElements) {
    user_op op(keep_first, false);
    job::on_both([&](weft_comm *comm) {
        reduction<oracle::wide> r = {WEFT_LONG_DOUBLE_INT, op,
                                     [](int rank, size_t index) {
                                         return oracle::wide{(long double)(rank + 10 * (int)(index % 1000)), 1};
                                     },
                                     oracle::first_and_count};
        for (size_t count : {1, 31, 32, 33, 5000})
            for (int turn = 0; turn < 4; turn++)
                one_count(comm, r, count, turn + (int)count);
    });
}

TEST(Reductions, Long) {
    user_op op(compose, false);
    job::on_both([&](weft_comm *comm) {
        one_count(comm, predefined<double>(WEFT_DOUBLE, WEFT_SUM), 100000, 0);
        one_count(comm, predefined<int8_t>(WEFT_INT8_T, WEFT_MAX), 100001, 1);
        one_count(comm, affine_maps(op), 100000, 3);
        one_count(comm, predefined<int>(WEFT_INT, WEFT_REPLACE), 99999, weft_size(comm) - 1);
    });
}

// Rounding differs with the order of the sums, and yet every rank has the same bits.
TEST(Reductions, SameBitsEverywhere) {
    job::on_both([](weft_comm *comm) {
        for (size_t count : {1, 5, 100, 3000}) {
            std::vector<double> operand(count), sum(count), of_first(count);
            for (size_t i = 0; i < count; i++)
                operand[i] = 1e-3 * (double)(job::hash(count, i, (uint64_t)weft_rank(comm)) % 1000003);
            job::ok(FORM(allreduce)(operand.data(), sum.data(), count, WEFT_DOUBLE, WEFT_SUM, comm), comm, "allreduce");
            of_first = sum;
            job::ok(FORM(bcast)(of_first.data(), count, WEFT_DOUBLE, 0, comm), comm, "bcast");
            job::check(memcmp(sum.data(), of_first.data(), count * sizeof(double)) == 0, comm,
                       "the sums of " + std::to_string(count) + " doubles differ from rank 0's");
        }
    });
}

} // namespace
