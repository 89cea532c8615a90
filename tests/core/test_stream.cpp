// SPDX-License-Identifier: BSD-3-Clause
// Copies around the cache are copies: every byte, of any length and alignment, and no other; and seen by whoever is told of them.
#include <atomic>
#include <cstring>
#include <gtest/gtest.h>
#include <numeric>
#include <thread>
#include <vector>
extern "C" {
#include <core/stream.h>
}

namespace {

// One core with so small a cache: all that may be is streamed.
void stream_everything() {
    core_topology topology = {};
    topology.allowed_cores = topology.cache_cores = 1;
    topology.cache_bytes = 4096;
    core_stream_resolve(&topology);
}

} // namespace

TEST(Stream, EveryLengthAndAlignment) {
    stream_everything();
    const size_t most = 1000;
    std::vector<unsigned char> from(most + 128);
    std::iota(from.begin(), from.end(), 1);
    for (size_t bytes : {0, 1, 15, 63, 64, 65, 127, 128, 129, 640, 999})
        for (size_t in : {0, 1, 8, 63})
            for (size_t out = 0; out < 64; out++) {
                std::vector<unsigned char> to(most + 128, 0xee), expected(to);
                memcpy(expected.data() + out, from.data() + in, bytes);
                core_stream(to.data() + out, from.data() + in, bytes, CORE_STREAM_LEAST);
                ASSERT_EQ(to, expected) << bytes << " bytes from " << in << " to " << out;
            }
}

TEST(Stream, IsSeenByWhoIsToldOfIt) {
    stream_everything();
    const size_t words = CORE_STREAM_LEAST / sizeof(uint64_t), rounds = 50;
    std::vector<uint64_t> from(words), to(words, 0);
    std::atomic<size_t> told{0}, seen{0};
    std::thread reader([&] {
        for (size_t round = 1; round <= rounds; round++) {
            while (told.load(std::memory_order_acquire) < round)
                std::this_thread::yield();
            size_t wrong = 0;
            for (size_t i = 0; i < words; i++)
                wrong += to[i] != round * words + i;
            EXPECT_EQ(wrong, 0u) << "round " << round;
            seen.store(round, std::memory_order_release);
        }
    });
    for (size_t round = 1; round <= rounds; round++) {
        std::iota(from.begin(), from.end(), round * words);
        core_stream(to.data(), from.data(), words * sizeof(uint64_t), words * sizeof(uint64_t));
        told.store(round, std::memory_order_release);
        while (seen.load(std::memory_order_acquire) < round)
            std::this_thread::yield();
    }
    reader.join();
}
