// SPDX-License-Identifier: BSD-3-Clause
// Handles: a stale one is always readable and seen to be invalid, and of several that give one back, one wins.
#include "threads.h"
#include <algorithm>
#include <atomic>
#include <cstring>
#include <set>
#include <stdatomic.h>
extern "C" {
#include <core/pool.h>
}

namespace {

constexpr uint32_t magic = 0x77740001, other_magic = 0x77740002;

// As CORE_POOL_INITIALIZER, which is C's.
const core_pool empty_pool = {PTHREAD_MUTEX_INITIALIZER, nullptr, nullptr, 0};

struct Object {
    core_pooled pooled;
    char bytes[100];
};

} // namespace

TEST(Pool, BlocksAreZeroedAndValid) {
    static core_pool pool = empty_pool;
    for (int i = 0; i < 300; i++) {
        Object *object = static_cast<Object *>(core_pool_take(&pool, sizeof(Object), magic));
        ASSERT_NE(object, nullptr);
        EXPECT_EQ(reinterpret_cast<uintptr_t>(object) % 64, 0u);
        EXPECT_TRUE(core_pooled_valid(object, magic));
        EXPECT_FALSE(core_pooled_valid(object, other_magic));
        EXPECT_EQ(std::count(object->bytes, object->bytes + sizeof(object->bytes), 0), 100);
        memset(object->bytes, 1, sizeof(object->bytes));
        EXPECT_EQ(core_pool_give(&pool, object, other_magic), 0) << "not the pool's kind";
        EXPECT_EQ(core_pool_give(&pool, object, magic), 1);
        EXPECT_FALSE(core_pooled_valid(object, magic));
        EXPECT_EQ(core_pool_give(&pool, object, magic), 0) << "given back before";
    }
    EXPECT_EQ(core_pool_give(&pool, nullptr, magic), 0);
    EXPECT_FALSE(core_pooled_valid(nullptr, magic));
}

// A handle that was just freed stays invalid while dozens of others come and go; and yet memory does not grow for ever.
TEST(Pool, TheOldestIsUsedFirst) {
    static core_pool pool = empty_pool;
    std::set<void *> seen;
    void *stale = core_pool_take(&pool, sizeof(Object), magic);
    core_pool_give(&pool, stale, magic);
    for (int i = 0; i < 60; i++) {
        void *block = core_pool_take(&pool, sizeof(Object), magic);
        EXPECT_NE(block, stale);
        EXPECT_FALSE(core_pooled_valid(stale, magic));
        core_pool_give(&pool, block, magic);
    }
    for (int i = 0; i < 1000; i++) {
        void *block = core_pool_take(&pool, sizeof(Object), magic);
        seen.insert(block);
        core_pool_give(&pool, block, magic);
    }
    EXPECT_LT(seen.size(), 100u);
    EXPECT_EQ(seen.count(stale), 1u);
}

TEST(Pool, OfTwoThreadsThatGiveTheSameBlockOneWins) {
    static core_pool pool = empty_pool;
    threads::Watchdog watchdog(200);
    constexpr int blocks = 2000;
    std::vector<void *> handles;
    for (int i = 0; i < blocks; i++)
        handles.push_back(core_pool_take(&pool, sizeof(Object), magic));
    EXPECT_EQ(std::set<void *>(handles.begin(), handles.end()).size(), size_t(blocks));
    std::atomic<int> won{0};
    threads::run(3, [&](int) {
        for (void *handle : handles)
            won += core_pool_give(&pool, handle, magic);
    });
    EXPECT_EQ(won, blocks);
    for (void *handle : handles)
        EXPECT_FALSE(core_pooled_valid(handle, magic));
}

// Every block has one owner at a time, whatever the threads do.
TEST(Pool, ABlockHasOneOwner) {
    static core_pool pool = empty_pool;
    threads::Watchdog watchdog(200);
    threads::run(4, [&](int self) {
        threads::Random random(uint64_t(self) + 1);
        std::vector<Object *> mine;
        for (int step = 0; step < 3000; step++) {
            if (mine.size() < 40 && random.below(2)) {
                Object *taken = static_cast<Object *>(core_pool_take(&pool, sizeof(Object), magic));
                memset(taken->bytes, self + 1, sizeof(taken->bytes));
                mine.push_back(taken);
            } else if (!mine.empty()) {
                size_t which = random.below(mine.size());
                EXPECT_EQ(std::count(mine[which]->bytes, mine[which]->bytes + 100, self + 1), 100);
                EXPECT_EQ(core_pool_give(&pool, mine[which], magic), 1);
                mine.erase(mine.begin() + ptrdiff_t(which));
            }
        }
        for (Object *left : mine)
            core_pool_give(&pool, left, magic);
    });
}
