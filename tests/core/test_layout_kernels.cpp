// SPDX-License-Identifier: BSD-3-Clause
// The kernels behind the layouts, all of them whatever the processor would choose: every size of a block, evenly apart or
// listed on either side, forwards and backwards, in memory that has no byte more, against a copy byte by byte.
#include <cstdint>
#include <gtest/gtest.h>
#include <random>
#include <string>
#include <vector>
extern "C" {
#include <core/layout_kernels.h>
}

namespace {

using kernel = void(const core_grid *);

class Kernels : public ::testing::TestWithParam<kernel *> {
  protected:
    std::mt19937 random{1};

    size_t number(size_t least, size_t most) {
        return std::uniform_int_distribution<size_t>(least, most)(random);
    }

    // One side of a grid in memory of its own: where its blocks lie.
    struct place {
        std::vector<unsigned char> memory;
        std::vector<ptrdiff_t> displs;
        core_grid_side side = {};

        ptrdiff_t block(size_t row, size_t i) const {
            return ptrdiff_t(row) * side.row + (side.displs ? displs[i] : ptrdiff_t(i) * side.stride);
        }
    };

    enum form { PACKED, EVEN, LISTED };

    // Blocks that do not overlap; those of a row in any order, or the last first.
    void lay(place &p, form how, const core_grid &grid) {
        size_t apart = how == PACKED ? grid.bytes : grid.bytes + number(0, 2) * number(0, 40);
        bool backwards = how != PACKED && number(0, 1), rows_backwards = how != PACKED && number(0, 1);
        size_t row = apart * grid.count + (how == PACKED ? 0 : number(0, 1) * number(0, 300));
        p.side.stride = backwards ? -ptrdiff_t(apart) : ptrdiff_t(apart);
        p.side.row = rows_backwards ? -ptrdiff_t(row) : ptrdiff_t(row);
        if (how == LISTED) {
            for (size_t i = 0; i < grid.count; i++)
                p.displs.push_back(ptrdiff_t(i * apart));
            std::shuffle(p.displs.begin(), p.displs.end(), random);
            p.side.displs = p.displs.data();
        }
        ptrdiff_t least = 0, most = 0;
        for (size_t r = 0; r < grid.rows; r++)
            for (size_t i = 0; i < grid.count; i++) {
                least = std::min(least, p.block(r, i));
                most = std::max(most, p.block(r, i));
            }
        // Where a line begins, or anywhere; nothing lies behind it.
        const size_t span = size_t(most - least) + grid.bytes;
        p.memory.reserve(span + 64);
        const size_t before = number(0, 1) ? -reinterpret_cast<uintptr_t>(p.memory.data()) % 64 : number(0, 64);
        p.memory.resize(before + span);
        for (unsigned char &byte : p.memory)
            byte = static_cast<unsigned char>(random());
        p.side.at = reinterpret_cast<char *>(p.memory.data()) + ptrdiff_t(before) - least;
    }

    void expect_copy(form to_form, form from_form, size_t rows, size_t count, size_t bytes) {
        SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(count) + " blocks of " +
                     std::to_string(bytes) + ", forms " + std::to_string(to_form) + " and " +
                     std::to_string(from_form));
        core_grid grid = {{}, {}, rows, count, bytes};
        place to, from;
        lay(to, to_form, grid);
        lay(from, from_form, grid);
        grid.to = to.side;
        grid.from = from.side;
        std::vector<unsigned char> wanted = to.memory;
        char *begin = reinterpret_cast<char *>(to.memory.data());
        for (size_t r = 0; r < rows; r++)
            for (size_t i = 0; i < count; i++)
                for (size_t b = 0; b < bytes; b++)
                    wanted[size_t(to.side.at + to.block(r, i) - begin) + b] =
                        static_cast<unsigned char>(from.side.at[from.block(r, i) + ptrdiff_t(b)]);
        GetParam()(&grid);
        ASSERT_EQ(to.memory, wanted);
    }
};

std::vector<kernel *> kernels() {
    std::vector<kernel *> all = {core_grid_copy, core_grid_stream, core_grid_copy_generic};
#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx2"))
        all.push_back(core_grid_copy_avx2);
#endif
    return all;
}

std::string name(const ::testing::TestParamInfo<kernel *> &info) {
    const char *names[] = {"chosen", "stream", "generic", "avx2"};
    return names[info.index];
}

} // namespace

TEST_P(Kernels, EverySizeOfABlock) {
    for (size_t bytes = 1; bytes <= 520; bytes += bytes < 200 ? 1 : 13)
        for (form to : {PACKED, EVEN, LISTED})
            for (form from : {PACKED, EVEN, LISTED})
                ASSERT_NO_FATAL_FAILURE(expect_copy(to, from, number(1, 3), number(1, 11), bytes));
}

// Four at a time and what is left over; many short rows go by columns, some at a time.
TEST_P(Kernels, EveryShape) {
    for (size_t bytes : {1, 2, 4, 8, 12, 16, 24, 32, 64, 192})
        for (size_t count : {1, 2, 3, 4, 5, 7, 8, 9, 64})
            for (size_t rows : {1, 2, 7, 8, 9, 63, 64, 65, 130})
                ASSERT_NO_FATAL_FAILURE(
                    expect_copy(form(number(PACKED, LISTED)), form(number(PACKED, LISTED)), rows, count, bytes));
}

INSTANTIATE_TEST_SUITE_P(All, Kernels, ::testing::ValuesIn(kernels()), name);

TEST(Move, EverySize) {
    for (size_t bytes = 0; bytes <= 200; bytes++) {
        std::vector<char> from(bytes), to(bytes, 'x');
        for (size_t i = 0; i < bytes; i++)
            from[i] = char('a' + i % 26);
        core_move(to.data(), from.data(), bytes);
        ASSERT_EQ(to, from) << bytes << " bytes";
    }
}
