// SPDX-License-Identifier: BSD-3-Clause
// Two processes part at every moment of their getting to know each other, as they do when a third one has died: UCX makes a connection by
// several messages to and fro, and who parts then does not wait for the last one. Ranks of this process play them, as if on two hosts.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <pthread.h>
#include <thread>
#include <vector>
#include <weft/error.h>
#include <weft/init.h>
extern "C" {
#include <inter/bootstrap.h>
#include <inter/transport.h>
}

namespace {

class Pair {
  public:
    Pair() {
        pthread_barrier_init(&both_, nullptr, 2);
        std::thread other([this] { open(1); });
        open(0);
        other.join();
        request_.completion = &completion_;
    }
    ~Pair() {
        for (Place &place : places_)
            place.bootstrap->close(place.bootstrap);
        pthread_barrier_destroy(&both_);
    }
    // One that the peer has to answer, which needs a connection in both directions.
    void send() {
        inter_am_header header{{1, 2}};
        EXPECT_EQ(at(0)->am_send(at(0), 1, &header, text_, sizeof(text_), true, &request_), WEFT_SUCCESS);
    }
    void step(int rank) {
        for (int tries = 0; tries < 100 && !at(rank)->progress(at(rank)); tries++)
            std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
    void part(int rank) {
        at(rank)->disconnect(at(rank), true);
        at(rank)->close(at(rank));
    }

  private:
    struct Place {
        Pair *pair;
        int rank;
        weft_bootstrap user;
        inter_bootstrap *bootstrap;
        inter_transport *transport;
    };
    inter_transport *at(int rank) {
        return places_[rank].transport;
    }
    void open(int rank) {
        Place &place = places_[rank];
        place.pair = this;
        place.rank = rank;
        place.user = {rank, 2, gather, &place};
        ASSERT_EQ(inter_bootstrap_callback(&place.user, &place.bootstrap), WEFT_SUCCESS) << weft_last_error();
        place.bootstrap->host = [](inter_bootstrap *, int peer) { return peer; };
        ASSERT_EQ(inter_transport_ucx(place.bootstrap, false, &place.transport), WEFT_SUCCESS) << weft_last_error();
        ASSERT_EQ(place.transport->publish(place.transport, "", 1), WEFT_SUCCESS) << weft_last_error();
    }
    static int gather(const void *send, void *receive, size_t bytes, void *context) {
        const auto *place = static_cast<const Place *>(context);
        Pair *pair = place->pair;
        pair->gathered_[place->rank].assign(static_cast<const char *>(send), static_cast<const char *>(send) + bytes);
        pthread_barrier_wait(&pair->both_);
        for (size_t rank = 0; rank < 2; rank++)
            memcpy(static_cast<char *>(receive) + rank * bytes, pair->gathered_[rank].data(), bytes);
        pthread_barrier_wait(&pair->both_);
        return 0;
    }
    Place places_[2] = {};
    std::vector<char> gathered_[2];
    pthread_barrier_t both_;
    const char text_[8] = "text";
    inter_completion completion_{};
    inter_request request_{};
};

// Pairs after 0, 1, 2 … steps, all of which part at the same time: some wait for an answer that does not come.
void part_at_every_moment(void (*part)(Pair *pair)) {
    std::vector<std::unique_ptr<Pair>> pairs;
    std::vector<std::thread> threads;
    for (int steps = 0; steps < 12; steps++) {
        pairs.push_back(std::make_unique<Pair>());
        pairs.back()->send();
        for (int step = 0; step < steps; step++)
            pairs.back()->step(step % 2);
    }
    for (std::unique_ptr<Pair> &pair : pairs)
        threads.emplace_back(part, pair.get());
    for (std::thread &thread : threads)
        thread.join();
}

} // namespace

TEST(Parting, Together) {
    part_at_every_moment([](Pair *pair) {
        std::thread other([pair] { pair->part(1); });
        pair->part(0);
        other.join();
    });
}

TEST(Parting, WhoWasAskedWithoutTheOther) {
    part_at_every_moment([](Pair *pair) {
        pair->part(1);
        pair->part(0);
    });
}

TEST(Parting, WhoHasAskedWithoutTheOther) {
    part_at_every_moment([](Pair *pair) {
        pair->part(0);
        pair->part(1);
    });
}
