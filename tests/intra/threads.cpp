// SPDX-License-Identifier: BSD-3-Clause
#include "intra/threads.h"
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace threads {

Watchdog::Watchdog(int seconds) : thread_([this, seconds] { watch(seconds); }) {}

Watchdog::~Watchdog() {
    {
        std::lock_guard<std::mutex> guard(lock_);
        over_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Watchdog::watch(int seconds) {
    std::unique_lock<std::mutex> guard(lock_);
    auto end = std::chrono::system_clock::now() + std::chrono::seconds(seconds);
    if (changed_.wait_until(guard, end, [this] { return over_; }))
        return;
    const ::testing::TestInfo *test = ::testing::UnitTest::GetInstance()->current_test_info();
    fprintf(stderr, "watchdog: %s hangs\n", test ? test->name() : "a test");
    abort();
}

void run(int count, const std::function<void(int)> &body) {
    std::vector<std::thread> others;
    for (int thread = 1; thread < count; thread++)
        others.emplace_back(std::cref(body), thread);
    body(0);
    for (std::thread &other : others)
        other.join();
}

} // namespace threads
