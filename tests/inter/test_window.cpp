// SPDX-License-Identifier: BSD-3-Clause
// Windows: pieces that are given out do not overlap, and are given out again when they are back.
#include "intra/threads.h"
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <sys/mman.h>
#include <thread>
#include <vector>
extern "C" {
#include <inter/window.h>
}

namespace {

class Window : public ::testing::Test {
  protected:
    void SetUp() override {
        memory = static_cast<char *>(
            mmap(nullptr, INTER_WINDOW_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
        ASSERT_NE(memory, MAP_FAILED);
        inter_window_open(&window, memory);
    }
    void TearDown() override {
        inter_window_close(&window);
        munmap(memory, INTER_WINDOW_BYTES);
    }
    char *take(size_t bytes) {
        return static_cast<char *>(inter_window_take(&window, bytes));
    }
    bool lies_within(const char *piece, size_t bytes) const {
        return piece >= memory && size_t(piece - memory) + bytes <= INTER_WINDOW_BYTES && (piece - memory) % 4096 == 0;
    }
    char *memory = nullptr;
    inter_window window{};
};

} // namespace

TEST_F(Window, PiecesDoNotOverlap) {
    std::map<char *, size_t> given;
    for (size_t bytes : {size_t(1), size_t(4096), size_t(4097), size_t(100000), INTER_WINDOW_MOST, size_t(8192)}) {
        char *piece = take(bytes);
        ASSERT_NE(piece, nullptr) << bytes;
        EXPECT_TRUE(lies_within(piece, bytes)) << bytes;
        given[piece] = bytes;
    }
    char *end = memory;
    for (auto [piece, bytes] : given) {
        EXPECT_GE(piece, end);
        end = piece + bytes;
    }
}

TEST_F(Window, WhatIsBackIsGivenOutAgain) {
    char *first = take(5000), *second = take(8192);
    ASSERT_TRUE(first && second && first != second);
    EXPECT_TRUE(inter_window_give(&window, first, 5000));
    EXPECT_EQ(take(4097), first) << "as large";
    EXPECT_NE(take(4096), first) << "a smaller one";
    EXPECT_TRUE(inter_window_give(&window, second, 8192));
    EXPECT_TRUE(inter_window_give(&window, first, 4097));
    EXPECT_EQ(take(8192), first);
    EXPECT_EQ(take(8192), second);
}

TEST_F(Window, ItEnds) {
    EXPECT_EQ(take(INTER_WINDOW_MOST + 1), nullptr);
    EXPECT_EQ(take(SIZE_MAX), nullptr);
    std::vector<char *> all;
    for (size_t i = 0; i < INTER_WINDOW_BYTES / INTER_WINDOW_MOST; i++) {
        all.push_back(take(INTER_WINDOW_MOST));
        EXPECT_EQ(all.back(), memory + i * INTER_WINDOW_MOST);
    }
    EXPECT_EQ(take(1), nullptr);
    EXPECT_TRUE(inter_window_give(&window, all[3], INTER_WINDOW_MOST));
    EXPECT_EQ(take(1), nullptr) << "a piece stays one";
    EXPECT_EQ(take(INTER_WINDOW_MOST), all[3]);
}

TEST_F(Window, OthersMemoryIsNotTaken) {
    std::vector<char> other(4096);
    EXPECT_FALSE(inter_window_give(&window, other.data(), other.size()));
    EXPECT_FALSE(inter_window_give(&window, memory + INTER_WINDOW_BYTES, 4096));
    char *piece = take(4096);
    EXPECT_NE(piece, other.data());
}

TEST_F(Window, FromAnyThread) {
    threads::Watchdog watchdog(60);
    std::vector<std::thread> all;
    for (unsigned self = 0; self < 5; self++)
        all.emplace_back([this, self] {
            threads::Random random(self);
            for (int round = 0; round < 2000; round++) {
                const size_t bytes = 1 + random.below(20000);
                char *piece = take(bytes);
                ASSERT_NE(piece, nullptr);
                memset(piece, int(self), bytes);
                for (size_t i = 0; i < bytes; i++)
                    ASSERT_EQ(piece[i], char(self)) << "somebody else has it too";
                ASSERT_TRUE(inter_window_give(&window, piece, bytes));
            }
        });
    for (std::thread &each : all)
        each.join();
}
