// SPDX-License-Identifier: BSD-3-Clause
// Reductions against a left fold over the ranks, element by element.
#include "effort.h"
#include "oracle_form.h"
#include "oracle_operands.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace {

// Elements as bytes. The tests know their types only where operands are made and combined: forty types through all of this
// file would keep the compiler for half a minute.
using elements = std::vector<unsigned char>;

// One reduction: what each rank brings, and how two elements combine.
class reduction {
  public:
    const weft_datatype *type;
    const weft_op *op;
    size_t size, alignment; // of an element

    template <class Operand, class Combine>
    reduction(const weft_datatype *of, const weft_op *by, Operand brings, Combine combines)
        : reduction(of, by, (std::decay_t<decltype(brings(0, size_t(0)))> *)nullptr, brings, combines) {}

    // Of how many elements at least; good until more are asked for.
    const unsigned char *operands(int rank, size_t count) const {
        return first_of(&brought_[rank], count, [&](void *to, size_t i) { operand_(to, rank, i); }).data();
    }
    elements expected(int ranks, size_t count) const {
        const elements &all = first_of(&expected_[ranks], count, [&](void *to, size_t i) { fold_(to, ranks, i); });
        return elements(all.begin(), all.begin() + (ptrdiff_t)(count * size));
    }
    bool same(const void *a, const void *b) const {
        return same_(a, b);
    }
    std::string text(const char *call, size_t count, bool in_place) const {
        return std::string(call) + " of " + std::to_string(count) + " " + weft_datatype_name(type) + ", " +
               weft_op_name(op) + (in_place ? ", in place" : "");
    }

  private:
    template <class T, class Operand, class Combine>
    reduction(const weft_datatype *of, const weft_op *by, T *, Operand brings, Combine combines)
        : type(of), op(by), size(sizeof(T)), alignment(alignof(T)), operand_([brings](void *to, int rank, size_t i) {
              T value = brings(rank, i);
              memcpy(to, &value, sizeof(T));
          }),
          fold_([brings, combines](void *to, int ranks, size_t i) {
              T result = brings(0, i);
              for (int rank = 1; rank < ranks; rank++)
                  result = combines(result, brings(rank, i));
              memcpy(to, &result, sizeof(T));
          }),
          same_([](const void *a, const void *b) {
              T left, right;
              memcpy(&left, a, sizeof(T));
              memcpy(&right, b, sizeof(T));
              if constexpr (oracle::is_complex<T>::value)
                  return left == right; // the sign of a zero depends on the order of the products
              else
                  return oracle::same(left, right);
          }) {
        static_assert(std::is_trivially_copyable_v<T>);
    }

    // Elements of long vectors come again after so many: a prime, so that no block or segment looks like another.
    static constexpr size_t period = 4999;

    template <class At> const elements &first_of(elements *known, size_t count, At at) const {
        for (size_t i = known->size() / size; i < count; i++) {
            known->resize((i + 1) * size);
            if (i < period)
                at(&(*known)[i * size], i);
            else
                memcpy(&(*known)[i * size], &(*known)[(i - period) * size], size);
        }
        return *known;
    }
    std::function<void(void *to, int rank, size_t index)> operand_;
    std::function<void(void *to, int ranks, size_t index)> fold_;
    std::function<bool(const void *, const void *)> same_;
    mutable std::map<int, elements> brought_, expected_; // by rank, and by how many ranks
};

template <class T> reduction predefined(const weft_datatype *type, const weft_op *op) {
    core_op_kind kind = op->kind;
    return {type, op, [kind](int rank, size_t index) { return oracle::operand<T>(kind, rank, index); },
            [kind](T a, T b) { return oracle::combine<T>(kind, a, b); }};
}

// What a rank sends: its operands; in place it has a buffer that is not used.
struct sent {
    const reduction &r;
    int rank;
    size_t count;
    bool in_place;
    job::buffer buffer{count * r.size, r.alignment};

    const void *argument() const {
        return in_place ? WEFT_IN_PLACE : count ? buffer.data() : nullptr;
    }
    // In place they are in `recv`.
    void fill(const job::buffer &recv) const {
        const unsigned char *from = r.operands(rank, count);
        std::copy(from, from + count * r.size, in_place ? recv.data() : buffer.data());
    }
    bool unchanged() const {
        if (in_place)
            return buffer.untouched();
        return buffer.intact() && std::equal(buffer.data(), buffer.data() + buffer.size(), r.operands(rank, count));
    }
};

void compare(weft_comm *comm, const reduction &r, const unsigned char *expected, size_t bytes, const job::buffer &got,
             std::string text) {
    bool alike = std::equal(expected, expected + bytes, got.data());
    for (size_t at = 0; !alike && at < bytes; at += r.size)
        if (!r.same(expected + at, got.data() + at)) {
            job::check(false, comm, text + ": element " + std::to_string(at / r.size) + " is wrong");
            break;
        }
    job::check(got.intact(), comm, text + ": bytes around the receive buffer");
}

void allreduce(weft_comm *comm, const reduction &r, const elements &expected, bool in_place) {
    size_t bytes = expected.size(), count = bytes / r.size;
    job::buffer recv(bytes, r.alignment);
    sent send{r, weft_rank(comm), count, in_place};
    send.fill(recv);
    std::string text = r.text("allreduce", count, in_place);
    job::ok(FORM(allreduce)(send.argument(), count ? recv.data() : nullptr, count, r.type, r.op, comm), comm, text);
    compare(comm, r, expected.data(), expected.size(), recv, text);
    job::check(send.unchanged(), comm, text + ": send changed");
}

void reduce(weft_comm *comm, const reduction &r, const elements &expected, int root, bool in_place) {
    size_t bytes = expected.size(), count = bytes / r.size;
    int rank = weft_rank(comm);
    bool at_root = rank == root;
    job::buffer recv(bytes, r.alignment);
    sent send{r, rank, count, in_place && at_root};
    send.fill(recv);
    std::string text = r.text("reduce", count, in_place) + ", root " + std::to_string(root);
    // Elsewhere the receive buffer means nothing: there may be none, and one that is there is not touched.
    void *to = at_root || rank % 2 ? recv.data() : nullptr;
    job::ok(FORM(reduce)(send.argument(), to, count, r.type, r.op, root, comm), comm, text);
    if (at_root)
        compare(comm, r, expected.data(), expected.size(), recv, text);
    else
        job::check(recv.untouched(), comm, text + ": wrote to the receive buffer of a rank that is not the root");
    job::check(send.unchanged(), comm, text + ": send changed");
}

// `expected`: of this rank. Rank 0 receives nothing in an exscan: it has none then.
void scan(weft_comm *comm, const reduction &r, const elements &expected, size_t count, bool exclusive, bool in_place) {
    size_t bytes = count * r.size;
    int rank = weft_rank(comm);
    job::buffer recv(bytes, r.alignment);
    sent send{r, rank, count, in_place};
    send.fill(recv);
    elements received(recv.data(), recv.data() + (exclusive && rank == 0 ? bytes : 0));
    std::string text = r.text(exclusive ? "exscan" : "scan", count, in_place);
    const void *from = send.argument();
    void *to = count && (in_place || rank || !exclusive) ? recv.data() : nullptr;
    job::ok(exclusive ? FORM(exscan)(from, to, count, r.type, r.op, comm)
                      : FORM(scan)(from, to, count, r.type, r.op, comm),
            comm, text);
    compare(comm, r, expected.data(), expected.size(), recv, text);
    if (exclusive && rank == 0)
        job::check(std::equal(received.begin(), received.end(), recv.data()), comm, text + ": rank 0 received");
    job::check(send.unchanged(), comm, text + ": send changed");
}

void scans(weft_comm *comm, const reduction &r, size_t count, bool in_place) {
    int rank = weft_rank(comm);
    scan(comm, r, r.expected(rank + 1, count), count, false, in_place);
    scan(comm, r, rank ? r.expected(rank, count) : elements(), count, true, in_place);
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

void reduce_scatter(weft_comm *comm, const reduction &r, const elements &all, const std::vector<size_t> &counts,
                    bool equal, bool in_place) {
    size_t self = (size_t)weft_rank(comm), begin = 0, bytes = all.size(), count = bytes / r.size, own = counts[self];
    for (size_t rank = 0; rank < self; rank++)
        begin += counts[rank];
    job::buffer recv(in_place ? bytes : own * r.size, r.alignment);
    sent send{r, (int)self, count, in_place};
    send.fill(recv);
    std::string text = r.text(equal ? "reduce_scatter_block" : "reduce_scatter", count, in_place);
    const void *from = send.argument();
    void *to = recv.size() ? recv.data() : nullptr;
    job::ok(equal ? FORM(reduce_scatter_block)(from, to, own, r.type, r.op, comm)
                  : FORM(reduce_scatter)(from, to, counts.data(), r.type, r.op, comm),
            comm, text);
    compare(comm, r, all.data() + begin * r.size, own * r.size, recv, text);
    job::check(send.unchanged(), comm, text + ": send changed");
}

void reduce_scatters(weft_comm *comm, const reduction &r, size_t count, bool in_place) {
    size_t ranks = (size_t)weft_size(comm), block = (count + ranks - 1) / ranks;
    auto all = r.expected(weft_size(comm), count);
    for (bool all_to_last : {false, true})
        reduce_scatter(comm, r, all, cut(count, ranks, all_to_last), false, in_place);
    all = r.expected(weft_size(comm), block * ranks);
    reduce_scatter(comm, r, all, std::vector<size_t>(ranks, block), true, in_place);
}

// Every count, in place and not, and each rank as root.
void all_counts(weft_comm *comm, const reduction &r) {
    size_t inlined = 1024 / r.size, number = r.size;
    for (size_t count :
         {size_t(0), size_t(1), size_t(3), size_t(17), inlined - 1, inlined, inlined + 1, effort::long_count}) {
        auto expected = r.expected(weft_size(comm), count);
        for (bool in_place : {false, true}) {
            if (!job::takes(number++))
                continue;
            allreduce(comm, r, expected, in_place);
            scans(comm, r, count, in_place);
            reduce_scatters(comm, r, count, in_place);
            for (int root = 0; root < weft_size(comm); root++)
                reduce(comm, r, expected, root, in_place);
        }
    }
}

void one_count(weft_comm *comm, const reduction &r, size_t count, int turn) {
    if (!job::takes(size_t(turn)))
        return;
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

reduction affine_maps(const weft_op *compose_op) {
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
                    const std::vector<size_t> short_and_long = {3, 1024 / sizeof(T) + 1};
                    for (size_t count : effort::part_of(short_and_long, size_t(turn / 4)))
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
        reduction r = {WEFT_LONG_DOUBLE_INT, op,
                       [](int rank, size_t index) {
                           return oracle::wide{(long double)(rank + 10 * (int)(index % 1000)), 1};
                       },
                       oracle::first_and_count};
        for (size_t count : {size_t(1), size_t(31), size_t(32), size_t(33), effort::long_count})
            for (int turn = 0; turn < 4; turn++)
                one_count(comm, r, count, turn + (int)count);
    });
}

TEST(Reductions, Long) {
    user_op op(compose, false);
    const size_t count = effort::rounds(100000);
    job::on_both([&](weft_comm *comm) {
        one_count(comm, predefined<double>(WEFT_DOUBLE, WEFT_SUM), count, 0);
        one_count(comm, predefined<int8_t>(WEFT_INT8_T, WEFT_MAX), count + 1, 1);
        one_count(comm, affine_maps(op), count, 3);
        one_count(comm, predefined<int>(WEFT_INT, WEFT_REPLACE), count - 1, weft_size(comm) - 1);
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
