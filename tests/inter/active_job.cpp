// SPDX-License-Identifier: BSD-3-Clause
// Active messages between real processes, under weftrun or wherever else there is a bootstrap: over UCX or, unless WEFT_LINES=off, over the shared memory of the host.
// All send to all whatever they like, fetch or drop what comes, and check every byte.
#include "active_messages.h"

#include <atomic>
#include <directory_bootstrap.h>
#include <gtest/gtest.h>
#include <thread>
extern "C" {
#include <inter/bootstrap.h>
#include <inter/card.h>
#include <inter/lines.h>
}

namespace {

const uint64_t last_word = ~uint64_t{0};

class Job {
  public:
    void open() {
        inter_lines_card card;
        const weft_bootstrap *user = directory_.get();
        ASSERT_EQ(user ? inter_bootstrap_callback(user, &bootstrap_) : inter_bootstrap_pmix(&bootstrap_), WEFT_SUCCESS)
            << weft_last_error();
        rank = bootstrap_->rank;
        size = bootstrap_->size;
        lines_ = inter_lines_create(rank, size, &card);
        ASSERT_NE(lines_, nullptr);
        ASSERT_EQ(inter_transport_ucx(bootstrap_, false, &ucx_), WEFT_SUCCESS) << weft_last_error();
        ASSERT_EQ(ucx_->publish(ucx_, &card, sizeof(card)), WEFT_SUCCESS) << weft_last_error();
        at = ucx_;
        const char *with_lines = getenv("WEFT_LINES");
        if (!with_lines || strcmp(with_lines, "off") != 0)
            map_lines();
        meet();
    }
    void close() {
        meet();
        ucx_->disconnect(ucx_, false);
        meet_attended();
        ucx_->close(ucx_);
        inter_lines_free(lines_);
        bootstrap_->close(bootstrap_);
    }
    void meet() {
        ASSERT_EQ(bootstrap_->fence(bootstrap_), WEFT_SUCCESS);
    }
    int rank = 0, size = 0;
    inter_transport *at = nullptr;

  private:
    // Others may still close their connections: over TCP that takes both ends.
    void meet_attended() {
        std::atomic<bool> over{false};
        std::thread helper([&] {
            while (!over)
                if (!ucx_->progress(ucx_))
                    std::this_thread::yield();
        });
        meet();
        over = true;
        helper.join();
    }
    void map_lines() {
        for (int peer = 0; peer < size; peer++) {
            const void *found;
            inter_lines_card card;
            if (peer == rank)
                continue;
            ASSERT_EQ(inter_card_find(bootstrap_, peer, sizeof(card), &found), WEFT_SUCCESS) << weft_last_error();
            memcpy(&card, found, sizeof(card));
            ASSERT_EQ(inter_lines_map(lines_, peer, &card), WEFT_SUCCESS);
        }
        meet();
        at = inter_lines_transport(lines_, ucx_, inter_lines_can_pull(lines_), false);
    }
    DirectoryBootstrap directory_;
    inter_bootstrap *bootstrap_ = nullptr;
    inter_lines *lines_ = nullptr;
    inter_transport *ucx_ = nullptr;
};

// What the `number`-th message of `from` to `to` brings.
std::string text_of(int from, int to, uint64_t number) {
    uint64_t seed = (number * 64 + uint64_t(from)) * 64 + uint64_t(to);
    std::mt19937_64 random{seed};
    size_t bytes = active_lengths[random() % active_lengths.size()];
    return random() % 16 ? some_text(bytes % 20000, seed) : some_text(bytes, seed);
}

class Part {
  public:
    Part(Job &of, uint64_t messages) : job(of), count(messages), ear(of.at), random(unsigned(of.rank)) {
        ear.at_once = [this](Heard &heard) {
            if (random() % 2)
                settle(heard);
        };
        ear.listen();
    }
    void run() {
        for (uint64_t i = 0; i < count; i++) {
            for (int peer = 0; peer < job.size; peer++)
                if (peer != job.rank) {
                    std::string text = text_of(job.rank, peer, i);
                    bool rendezvous = !text.empty() && random() % 3 == 0;
                    sent.emplace_back(job.at, peer, i, text.size(), text, rendezvous);
                    ASSERT_EQ(sent.back().code, WEFT_SUCCESS) << weft_last_error();
                }
            move();
            while (!sent.empty() && sent.front().done())
                sent.pop_front();
        }
        while (checked < count * uint64_t(job.size - 1) || !sent_all())
            move();
        say_goodbye();
    }

  private:
    bool sent_all() const {
        return std::all_of(sent.begin(), sent.end(), [](const ActiveSend &one) { return one.done(); });
    }
    void settle(Heard &heard) {
        heard.to_fetch = false;
        if (random() % 5) {
            ASSERT_EQ(ear.fetch(heard), WEFT_SUCCESS) << weft_last_error();
        } else {
            ear.drop(heard);
        }
    }
    void move() {
        if (!job.at->progress(job.at))
            std::this_thread::yield();
        for (Heard &heard : ear.heard)
            if (heard.to_fetch)
                settle(heard);
        for (; !ear.heard.empty() && ear.heard.front().done(); ear.heard.pop_front())
            check(ear.heard.front());
    }
    void check(const Heard &heard) {
        const inter_arrival &came = heard.arrival;
        if (came.header.words[0] == last_word) {
            goodbyes++;
            return;
        }
        checked++;
        ASSERT_EQ(came.bytes, came.header.words[1]);
        ASSERT_EQ(heard.completion.error, WEFT_SUCCESS);
        if (!heard.text.empty()) {
            ASSERT_TRUE(heard.text == text_of(came.peer, job.rank, came.header.words[0]));
        }
    }
    // The others may need this process until they are all done.
    void say_goodbye() {
        for (int peer = 0; peer < job.size; peer++)
            if (peer != job.rank)
                sent.emplace_back(job.at, peer, last_word, 0, "", false);
        while (goodbyes < job.size - 1 || !sent_all())
            move();
    }
    Job &job;
    uint64_t count, checked = 0;
    int goodbyes = 0;
    Ear ear;
    std::mt19937 random;
    std::deque<ActiveSend> sent;
};

} // namespace

TEST(ActiveJob, AllSendToAll) {
    Job job;
    ASSERT_NO_FATAL_FAILURE(job.open());
    {
        Part part(job, 1500 / uint64_t(job.size));
        part.run();
        job.at->listen(job.at, nullptr, nullptr);
    }
    job.close();
}
