// SPDX-License-Identifier: BSD-3-Clause
// Short copies are copies: every byte, of any length and alignment, and no other.
#include <gtest/gtest.h>
#include <numeric>
#include <vector>
extern "C" {
#include <core/short.h>
}

TEST(Short, EveryLengthAndAlignment) {
    const size_t most = 130;
    std::vector<unsigned char> from(most + 16);
    std::iota(from.begin(), from.end(), 1);
    for (size_t bytes = 0; bytes <= most; bytes++)
        for (size_t in = 0; in < 16; in++)
            for (size_t out = 0; out < 16; out++) {
                std::vector<unsigned char> to(most + 32, 0xee), expected(to);
                std::copy_n(&from[in], bytes, &expected[out]);
                core_copy_short(&to[out], &from[in], bytes);
                ASSERT_EQ(to, expected) << bytes << " bytes from " << in << " to " << out;
            }
}
