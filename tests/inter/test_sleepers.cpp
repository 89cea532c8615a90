// SPDX-License-Identifier: BSD-3-Clause
// Several threads of a process sleep until something comes by UCX: who takes what has come wakes the others.
#include <gtest/gtest.h>
#include <poll.h>
#include <weft/error.h>
extern "C" {
#include <inter/bootstrap.h>
#include <inter/transport.h>
}

namespace {

class Sleepers : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(inter_bootstrap_single(&bootstrap_), WEFT_SUCCESS) << weft_last_error();
        ASSERT_EQ(inter_transport_ucx(bootstrap_, false, &at_), WEFT_SUCCESS) << weft_last_error();
        ASSERT_EQ(at_->publish(at_, "", 1), WEFT_SUCCESS) << weft_last_error();
    }
    void TearDown() override {
        at_->close(at_);
        bootstrap_->close(bootstrap_);
    }
    // As soon as there is nothing left to do.
    inter_bed lie_down() {
        inter_bed bed{};
        for (int tries = 0; tries < 1000 && !at_->arm(at_, &bed); tries++)
            at_->progress(at_);
        EXPECT_NE(bed.sleepers, nullptr);
        return bed;
    }
    static void get_up(const inter_bed &bed) {
        __atomic_fetch_sub(static_cast<unsigned *>(bed.sleepers), 1, __ATOMIC_RELAXED);
    }
    static bool wakes(const inter_bed &bed) {
        pollfd descriptor{bed.descriptor, POLLIN, 0};
        return poll(&descriptor, 1, 0) == 1;
    }
    // Another thread's try.
    bool arms() {
        inter_bed bed{};
        return at_->arm(at_, &bed);
    }
    inter_transport *at_ = nullptr;

  private:
    inter_bootstrap *bootstrap_ = nullptr;
};

} // namespace

TEST_F(Sleepers, AreWokenByWhoTakesTheirSignal) {
    inter_bed bed = lie_down();
    EXPECT_FALSE(wakes(bed));
    at_->rouse(at_);
    for (int tries = 0; tries < 3; tries++) {
        EXPECT_FALSE(arms());
        EXPECT_TRUE(wakes(bed));
    }
    get_up(bed);
    get_up(lie_down());
}

TEST_F(Sleepers, AreNotWokenByThemselves) {
    inter_bed bed = lie_down();
    at_->rouse(at_);
    EXPECT_TRUE(wakes(bed));
    get_up(bed);
    EXPECT_FALSE(arms());
    bed = lie_down();
    EXPECT_FALSE(wakes(bed));
    get_up(bed);
}
