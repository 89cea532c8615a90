// SPDX-License-Identifier: BSD-3-Clause
// The fixed bracketing of weft/collectives.h as its sentence says it, one operand after the other, and operands that tell
// bracketings apart.
#ifndef TESTS_HIER_BRACKETING_H
#define TESTS_HIER_BRACKETING_H

#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <vector>
extern "C" {
#include <weft/weft.h>
}

namespace bracketing {

inline uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

// Of magnitudes from 2^-20 to 2^20 and both signs.
inline double number(int rank, size_t i, uint64_t seed) {
    uint64_t bits = mix(mix(seed + uint64_t(rank) * 1000003) + i);
    double made = std::ldexp(1.0 + double(bits >> 12) * 0x1p-52, int(bits % 41) - 20);
    return bits & 64 ? -made : made;
}

template <typename T> inline void set(T &to, int rank, size_t i, uint64_t seed) {
    to = T(number(rank, i, seed));
}
// Whose products stay small.
template <> inline void set(std::complex<double> &to, int rank, size_t i, uint64_t seed) {
    to = {std::fmod(number(rank, 2 * i, seed), 3), std::fmod(number(rank, 2 * i + 1, seed), 3)};
}

template <typename T> inline std::vector<T> operand(int rank, size_t count, uint64_t seed) {
    std::vector<T> made(count);
    for (size_t i = 0; i < count; i++)
        set(made[i], rank, i, seed);
    return made;
}

template <typename T> inline T combine(T left, T right) {
    return left + right;
}
template <> inline std::complex<double> combine(std::complex<double> a, std::complex<double> b) {
    // The compiler is not told to fuse these: the tests are compiled for the base instruction set.
    double rr = a.real() * b.real(), ii = a.imag() * b.imag(), ri = a.real() * b.imag(), ir = a.imag() * b.real();
    return {rr - ii, ri + ir};
}

// S(first, ranks), element i.
template <typename T> inline T sum(int first, int ranks, size_t i, uint64_t seed) {
    T made;
    set(made, first, i, seed);
    if (ranks == 1)
        return made;
    int half = 1;
    while (2 * half < ranks)
        half *= 2;
    return combine(sum<T>(first, half, i, seed), sum<T>(first + half, ranks - half, i, seed));
}

template <typename T> inline std::vector<T> sums(int ranks, size_t count, uint64_t seed) {
    std::vector<T> made(count);
    for (size_t i = 0; i < count; i++)
        made[i] = sum<T>(0, ranks, i, seed);
    return made;
}

template <typename T> inline bool same_bits(const T *a, const T *b, size_t count) {
    return count == 0 || memcmp(a, b, count * sizeof(T)) == 0;
}

template <typename T> struct Of;
template <> struct Of<double> {
    static const weft_datatype *type() {
        return WEFT_DOUBLE;
    }
    static const weft_op *op() {
        return WEFT_SUM;
    }
};
template <> struct Of<float> {
    static const weft_datatype *type() {
        return WEFT_FLOAT;
    }
    static const weft_op *op() {
        return WEFT_SUM;
    }
};
template <> struct Of<std::complex<double>> {
    static const weft_datatype *type() {
        return WEFT_C_DOUBLE_COMPLEX;
    }
    static const weft_op *op() {
        return WEFT_PROD;
    }
};

enum Form { BLOCKING, NONBLOCKING, PERSISTENT, FORMS };

// Starts `start` (which makes a request) in one of the forms, and ends it.
template <typename Blocking, typename Start, typename Init>
inline int run(Form form, Blocking blocking, Start start, Init init) {
    weft_request *request = nullptr;
    if (form == BLOCKING)
        return blocking();
    int code = form == NONBLOCKING ? start(&request) : init(&request);
    if (!code && form == PERSISTENT)
        code = weft_start(&request);
    if (!code)
        code = weft_wait(&request, WEFT_STATUS_IGNORE);
    if (!code && form == PERSISTENT)
        code = weft_request_free(&request);
    return code;
}

// A collective on all ranks, with operands of `count` elements; "" or what is wrong with the rank's result.
template <typename T> class Rank {
  public:
    Rank(weft_comm *comm, size_t count, Form form, bool in_place, const weft_op *op = Of<T>::op())
        : comm_(comm), rank_(weft_rank(comm)), ranks_(weft_size(comm)), count_(count), form_(form), in_place_(in_place),
          op_(op), seed_(count) {}

    bool allreduce() {
        prepare(count_);
        return check(
            run(
                form_, [&] { return weft_allreduce(in(), out(), count_, type(), op_, comm_); },
                [&](weft_request **r) { return weft_iallreduce(in(), out(), count_, type(), op_, comm_, r); },
                [&](weft_request **r) { return weft_allreduce_init(in(), out(), count_, type(), op_, comm_, r); }),
            ranks_, 0, count_);
    }
    bool reduce(int root) {
        bool here = rank_ == root;
        prepare(count_);
        const void *from = here ? in() : send_.data();
        int code = run(
            form_, [&] { return weft_reduce(from, out(), count_, type(), op_, root, comm_); },
            [&](weft_request **r) { return weft_ireduce(from, out(), count_, type(), op_, root, comm_, r); },
            [&](weft_request **r) { return weft_reduce_init(from, out(), count_, type(), op_, root, comm_, r); });
        return here ? check(code, ranks_, 0, count_) : code == WEFT_SUCCESS;
    }
    bool scan() {
        prepare(count_);
        return check(run(
                         form_, [&] { return weft_scan(in(), out(), count_, type(), op_, comm_); },
                         [&](weft_request **r) { return weft_iscan(in(), out(), count_, type(), op_, comm_, r); },
                         [&](weft_request **r) { return weft_scan_init(in(), out(), count_, type(), op_, comm_, r); }),
                     rank_ + 1, 0, count_);
    }
    bool exscan() {
        prepare(count_);
        int code = run(
            form_, [&] { return weft_exscan(in(), out(), count_, type(), op_, comm_); },
            [&](weft_request **r) { return weft_iexscan(in(), out(), count_, type(), op_, comm_, r); },
            [&](weft_request **r) { return weft_exscan_init(in(), out(), count_, type(), op_, comm_, r); });
        return rank_ ? check(code, rank_, 0, count_) : code == WEFT_SUCCESS;
    }
    // Blocks of 0, count, 2 count, 0 … elements.
    bool reduce_scatter() {
        std::vector<size_t> counts;
        size_t begin = 0, whole = 0;
        for (int rank = 0; rank < ranks_; rank++) {
            begin = rank == rank_ ? whole : begin;
            counts.push_back(size_t(rank % 3) * count_);
            whole += counts.back();
        }
        prepare(whole);
        int code = run(
            form_, [&] { return weft_reduce_scatter(in(), out(), counts.data(), type(), op_, comm_); },
            [&](weft_request **r) { return weft_ireduce_scatter(in(), out(), counts.data(), type(), op_, comm_, r); },
            [&](weft_request **r) {
                return weft_reduce_scatter_init(in(), out(), counts.data(), type(), op_, comm_, r);
            });
        return check(code, ranks_, begin, counts[size_t(rank_)]);
    }
    bool reduce_scatter_block() {
        prepare(count_ * size_t(ranks_));
        int code = run(
            form_, [&] { return weft_reduce_scatter_block(in(), out(), count_, type(), op_, comm_); },
            [&](weft_request **r) { return weft_ireduce_scatter_block(in(), out(), count_, type(), op_, comm_, r); },
            [&](weft_request **r) {
                return weft_reduce_scatter_block_init(in(), out(), count_, type(), op_, comm_, r);
            });
        return check(code, ranks_, count_ * size_t(rank_), count_);
    }
    bool all() {
        bool right = allreduce();
        right &= reduce(0);
        right &= reduce(ranks_ - 1);
        right &= scan();
        right &= exscan();
        right &= reduce_scatter();
        right &= reduce_scatter_block();
        return right;
    }

  private:
    static const weft_datatype *type() {
        return Of<T>::type();
    }
    void prepare(size_t count) {
        send_ = operand<T>(rank_, count, ++seed_);
        recv_ = in_place_ ? send_ : std::vector<T>(count);
        recv_.resize(count + 1);
    }
    const void *in() const {
        return in_place_ ? WEFT_IN_PLACE : send_.data();
    }
    void *out() {
        return recv_.data();
    }
    // recv = elements begin … begin+count-1 of the sum of so many ranks.
    bool check(int code, int ranks, size_t begin, size_t count) const {
        if (code)
            return false;
        for (size_t i = 0; i < count; i++) {
            T expected = sum<T>(0, ranks, begin + i, seed_);
            if (!same_bits(&recv_[i], &expected, 1))
                return false;
        }
        return true;
    }

    weft_comm *comm_;
    int rank_, ranks_;
    size_t count_;
    Form form_;
    bool in_place_;
    const weft_op *op_;
    uint64_t seed_;
    std::vector<T> send_, recv_;
};

} // namespace bracketing

#endif
