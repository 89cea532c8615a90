// SPDX-License-Identifier: BSD-3-Clause
// Every operation on every datatype against the oracle: each kernel table that this processor can run and core_reduce,
// with `out` apart, on the left and on the right operand, odd lengths, and starts between vector boundaries.
#include "reduce_oracle.h"
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>
extern "C" {
#include <core/reduce_kernels.h>
}

namespace {

const weft_op *const operations[] = {WEFT_SUM,    WEFT_PROD,   WEFT_MAX,     WEFT_MIN,  WEFT_LAND,
                                     WEFT_LOR,    WEFT_LXOR,   WEFT_BAND,    WEFT_BOR,  WEFT_BXOR,
                                     WEFT_MAXLOC, WEFT_MINLOC, WEFT_REPLACE, WEFT_NO_OP};
const size_t lengths[] = {0, 1, 2, 3, 7, 8, 63, 64, 65, 1000};
const size_t longest = 1000, slack = 8; // elements; slack on both sides of the part in use
enum class output { apart, left, right, both };

struct table {
    std::string name;
    core_kernel_table *kernels;
};

std::vector<table> tables() {
    std::vector<table> runnable = {{"generic", &core_kernels_generic}};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        runnable.push_back({"avx2", &core_kernels_avx2});
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        runnable.push_back({"avx512", &core_kernels_avx512});
#endif
    return runnable;
}

// Two operands and an output, each with its own distance from a vector boundary; the bytes around them must stay.
template <class T> struct buffers {
    alignas(64) T left[longest + 2 * slack], right[longest + 2 * slack], out[longest + 2 * slack];

    explicit buffers(uint64_t seed) {
        std::mt19937_64 random(seed);
        for (T *buffer : {left, right, out}) {
            memset(static_cast<void *>(buffer), 0, sizeof(left)); // padding as well: whole arrays are compared
            for (size_t i = 0; i < longest + 2 * slack; i++)
                assign(buffer[i], oracle::any<T>(random));
        }
    }
    static void assign(T &to, const T &from) {
        if constexpr (oracle::is_pair<T>::value) {
            to.value = from.value;
            to.index = from.index;
        } else {
            to = from;
        }
    }
};

// The whole of `out` after out[i] = left[i] op right[i] on the part in use, and nothing else changed.
template <class T, class Reduce>
void check(core_op_kind op, const std::string &what, const buffers<T> &fresh, Reduce reduce) {
    const size_t starts[][3] = {{0, 0, 0}, {1, 2, 3}, {5, 5, 5}};
    auto now = std::make_unique<buffers<T>>(fresh);
    for (output place : {output::apart, output::left, output::right, output::both})
        for (const auto &start : starts)
            for (size_t count : lengths) {
                memcpy(static_cast<void *>(now.get()), &fresh, sizeof(fresh));
                T *left = now->left + start[0], *right = now->right + start[1], *out = now->out + start[2];
                const T *old_left = fresh.left + start[0], *old_right = fresh.right + start[1];
                const T *array = now->out, *old_array = fresh.out;
                if (place == output::left || place == output::both)
                    out = left, array = now->left, old_array = fresh.left;
                if (place == output::right)
                    out = right, array = now->right, old_array = fresh.right;
                if (place == output::both)
                    right = left, old_right = old_left;
                reduce(left, right, out, count);
                size_t first = size_t(out - array);
                for (size_t i = 0; i < count; i++)
                    ASSERT_TRUE(oracle::same(out[i], oracle::combine<T>(op, old_left[i], old_right[i])))
                        << what << ", element " << i << " of " << count << ", output " << int(place) << ", starts "
                        << start[0] << " " << start[1] << " " << start[2];
                ASSERT_EQ(memcmp(array, old_array, first * sizeof(T)), 0) << what << ": wrote before its output";
                ASSERT_EQ(memcmp(array + first + count, old_array + first + count,
                                 (longest + 2 * slack - first - count) * sizeof(T)),
                          0)
                    << what << ": wrote behind its output, " << count;
                ASSERT_TRUE(array == now->left || memcmp(now->left, fresh.left, sizeof(fresh.left)) == 0)
                    << what << ": changed left";
                ASSERT_TRUE(array == now->right || memcmp(now->right, fresh.right, sizeof(fresh.right)) == 0)
                    << what << ": changed right";
            }
}

template <class T> void check_definitions(const weft_datatype *type) {
    for (const weft_op *op : operations) {
        EXPECT_EQ(core_op_defined(op, type), oracle::defined<T>(op->kind)) << weft_op_name(op);
        bool copied = op->kind == CORE_OP_REPLACE || op->kind == CORE_OP_NO_OP;
        for (core_kernel_table *kernels : {&core_kernels_generic, &core_kernels_avx2, &core_kernels_avx512})
            EXPECT_EQ((*kernels)[op->kind][type->kind] != nullptr, oracle::defined<T>(op->kind) && !copied)
                << weft_op_name(op);
    }
}

template <class T> void check_tables(const weft_datatype *type) {
    auto fresh = std::make_unique<buffers<T>>(type->kind);
    for (const table &t : tables())
        for (const weft_op *op : operations)
            if (core_kernel *kernel = (*t.kernels)[op->kind][type->kind])
                check<T>(op->kind, t.name + " " + weft_op_name(op), *fresh, kernel);
}

template <class T> void check_core_reduce(const weft_datatype *type) {
    auto fresh = std::make_unique<buffers<T>>(type->kind + 100);
    for (const weft_op *op : operations)
        if (core_op_defined(op, type))
            check<T>(op->kind, weft_op_name(op), *fresh, [&](const T *left, const T *right, T *out, size_t count) {
                core_reduce(op, type, left, right, out, count);
            });
}

// The order in which three operands are combined must not change a maximum or minimum, NaNs included.
template <class T> void check_associative(const weft_datatype *type) {
    std::mt19937_64 random(type->kind);
    for (const weft_op *op : {WEFT_MAX, WEFT_MIN, WEFT_MAXLOC, WEFT_MINLOC}) {
        for (int i = 0; i < 2000 && core_op_defined(op, type); i++) {
            T a = oracle::any<T>(random), b = oracle::any<T>(random), c = oracle::any<T>(random), one, other;
            core_reduce(op, type, &a, &b, &one, 1);
            core_reduce(op, type, &one, &c, &one, 1);
            core_reduce(op, type, &b, &c, &other, 1);
            core_reduce(op, type, &a, &other, &other, 1);
            ASSERT_TRUE(oracle::same(one, other)) << weft_op_name(op) << ", triple " << i;
        }
    }
}

struct checks {
    const weft_datatype *type;
    size_t bytes;
    void (*definitions)(const weft_datatype *);
    void (*tables)(const weft_datatype *);
    void (*core_reduce)(const weft_datatype *);
    void (*associative)(const weft_datatype *);
};

template <class T> checks of(const weft_datatype *type) {
    return {type, sizeof(T), check_definitions<T>, check_tables<T>, check_core_reduce<T>, check_associative<T>};
}

const checks datatypes[] = {
    of<oracle::byte>(WEFT_BYTE),
    of<oracle::character>(WEFT_CHAR),
    of<ptrdiff_t>(WEFT_AINT),
    of<size_t>(WEFT_COUNT),
    of<bool>(WEFT_C_BOOL),
    of<int8_t>(WEFT_INT8_T),
    of<int16_t>(WEFT_INT16_T),
    of<int32_t>(WEFT_INT32_T),
    of<int64_t>(WEFT_INT64_T),
    of<uint8_t>(WEFT_UINT8_T),
    of<uint16_t>(WEFT_UINT16_T),
    of<uint32_t>(WEFT_UINT32_T),
    of<uint64_t>(WEFT_UINT64_T),
    of<short>(WEFT_SHORT),
    of<int>(WEFT_INT),
    of<long>(WEFT_LONG),
    of<long long>(WEFT_LONG_LONG),
    of<unsigned char>(WEFT_UNSIGNED_CHAR),
    of<unsigned short>(WEFT_UNSIGNED_SHORT),
    of<unsigned>(WEFT_UNSIGNED),
    of<unsigned long>(WEFT_UNSIGNED_LONG),
    of<unsigned long long>(WEFT_UNSIGNED_LONG_LONG),
    of<float>(WEFT_FLOAT),
    of<double>(WEFT_DOUBLE),
    of<long double>(WEFT_LONG_DOUBLE),
    of<std::complex<float>>(WEFT_C_FLOAT_COMPLEX),
    of<std::complex<double>>(WEFT_C_DOUBLE_COMPLEX),
    of<std::complex<long double>>(WEFT_C_LONG_DOUBLE_COMPLEX),
    of<oracle::pair_of<float>>(WEFT_FLOAT_INT),
    of<oracle::pair_of<double>>(WEFT_DOUBLE_INT),
    of<oracle::pair_of<long>>(WEFT_LONG_INT),
    of<oracle::pair_of<int>>(WEFT_2INT),
    of<oracle::pair_of<short>>(WEFT_SHORT_INT),
    of<oracle::pair_of<long double>>(WEFT_LONG_DOUBLE_INT),
};

class Kernels : public ::testing::TestWithParam<checks> {};
INSTANTIATE_TEST_SUITE_P(Datatypes, Kernels, ::testing::ValuesIn(datatypes),
                         [](const auto &test) { return std::string(weft_datatype_name(test.param.type)); });

} // namespace

TEST_P(Kernels, TheOracleHasTheSameLayout) {
    EXPECT_EQ(GetParam().bytes, weft_datatype_size(GetParam().type));
}

TEST_P(Kernels, ExactlyTheDefinedPairsExist) {
    GetParam().definitions(GetParam().type);
}

TEST_P(Kernels, EveryTableAgreesWithTheOracle) {
    GetParam().tables(GetParam().type);
}

TEST_P(Kernels, CoreReduceAgreesWithTheOracle) {
    GetParam().core_reduce(GetParam().type);
}

TEST_P(Kernels, MaximaAndMinimaAreAssociative) {
    GetParam().associative(GetParam().type);
}
