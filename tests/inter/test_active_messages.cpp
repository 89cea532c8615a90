// SPDX-License-Identifier: BSD-3-Clause
// Active messages keep the transport's contract, over every transport: ranks of this process play the processes.
#include "active_messages.h"
#include "forge_line.h"

#include <atomic>
#include <condition_variable>
#include <gtest/gtest.h>
#include <mutex>
#include <poll.h>
#include <thread>
#include <weft/datatype.h>
extern "C" {
#include <core/layout.h>
#include <core/wait.h>
#include <inter/bootstrap.h>
#include <inter/lines.h>
#include <inter/transport_sim.h>
}

namespace {

constexpr int ranks = 3;

// The ranks' transports, and what they stand on.
class Network {
  public:
    virtual ~Network() = default;
    inter_transport *at[ranks] = {};
    inter_lines *lines[ranks] = {};
    bool ordered = true;  // messages of one pair arrive in order, whatever their length
    bool recalled = true; // a rendezvous that nobody has heard of can be taken back
};

class SimNetwork : public Network {
  public:
    explicit SimNetwork(uint64_t seed) {
        EXPECT_EQ(inter_sim_create(ranks, seed, &sim_), WEFT_SUCCESS);
        for (int rank = 0; rank < ranks; rank++)
            at[rank] = inter_sim_transport(sim_, rank);
    }
    ~SimNetwork() override {
        inter_sim_counts counts = inter_sim_count(sim_);
        EXPECT_EQ(counts.waiting_messages + counts.waiting_receives, 0u) << "the test has left something behind";
        inter_sim_destroy(sim_);
    }

  private:
    inter_sim *sim_ = nullptr;
};

class LinesNetwork : public SimNetwork {
  public:
    LinesNetwork(bool pulls, bool wakes) : SimNetwork(0) {
        inter_lines_card cards[ranks];
        for (int rank = 0; rank < ranks; rank++)
            lines[rank] = inter_lines_create(rank, ranks, &cards[rank]);
        for (int rank = 0; rank < ranks; rank++)
            for (int peer = 0; peer < ranks; peer++)
                if (peer != rank) {
                    EXPECT_EQ(inter_lines_map(lines[rank], peer, &cards[peer]), WEFT_SUCCESS) << weft_last_error();
                }
        for (int rank = 0; rank < ranks; rank++)
            at[rank] = inter_lines_transport(lines[rank], at[rank], pulls, wakes);
        ordered = pulls;
    }
    ~LinesNetwork() override {
        for (inter_lines *of : lines)
            inter_lines_free(of);
    }
};

// An allgather among threads, one for each rank.
class Exchange {
  public:
    void gather(int rank, const void *send, void *receive, size_t bytes) {
        std::unique_lock<std::mutex> guard(lock_);
        changed_.wait(guard, [&] { return !leaving_; });
        data_.resize(bytes * ranks);
        memcpy(&data_[bytes * size_t(rank)], send, bytes);
        leaving_ = ++inside_ == ranks;
        changed_.notify_all();
        changed_.wait(guard, [&] { return leaving_; });
        memcpy(receive, data_.data(), data_.size());
        leaving_ = --inside_ != 0;
        changed_.notify_all();
    }

  private:
    std::mutex lock_;
    std::condition_variable changed_;
    std::vector<char> data_;
    int inside_ = 0;
    bool leaving_ = false;
};

// Several of UCX's workers in one process.
class UcxNetwork : public Network {
  public:
    UcxNetwork() {
        together([this](int rank) {
            places_[rank] = {&exchange_, rank};
            users_[rank] = {rank, ranks, gather, &places_[rank]};
            EXPECT_EQ(inter_bootstrap_callback(&users_[rank], &bootstraps_[rank]), WEFT_SUCCESS) << weft_last_error();
            EXPECT_EQ(inter_transport_ucx(bootstraps_[rank], false, &at[rank]), WEFT_SUCCESS) << weft_last_error();
            EXPECT_EQ(at[rank]->publish(at[rank], "", 1), WEFT_SUCCESS) << weft_last_error();
        });
        ordered = recalled = false;
    }
    ~UcxNetwork() override {
        std::atomic<int> gone{0};
        together([&](int rank) {
            at[rank]->disconnect(at[rank], false);
            for (gone++; gone < ranks;) // the others may need this end to close theirs
                at[rank]->progress(at[rank]);
        });
        for (int rank = 0; rank < ranks; rank++) {
            at[rank]->close(at[rank]);
            bootstraps_[rank]->close(bootstraps_[rank]);
        }
    }

  private:
    struct Place {
        Exchange *exchange;
        int rank;
    };
    static void together(const std::function<void(int)> &body) {
        std::vector<std::thread> threads;
        for (int rank = 0; rank < ranks; rank++)
            threads.emplace_back(body, rank);
        for (std::thread &thread : threads)
            thread.join();
    }
    static int gather(const void *send, void *receive, size_t bytes, void *context) {
        auto *place = static_cast<Place *>(context);
        place->exchange->gather(place->rank, send, receive, bytes);
        return 0;
    }
    Exchange exchange_;
    Place places_[ranks];
    weft_bootstrap users_[ranks];
    inter_bootstrap *bootstraps_[ranks] = {};
};

std::unique_ptr<Network> open_network(const std::string &name) {
    if (name == "ucx")
        return std::make_unique<UcxNetwork>();
    if (name.compare(0, 3, "sim") == 0)
        return std::make_unique<SimNetwork>(name == "sim" ? 0 : 7);
    return std::make_unique<LinesNetwork>(name != "lines_without_pulls", name == "lines_that_wake");
}

class ActiveMessages : public ::testing::TestWithParam<const char *> {
  protected:
    void SetUp() override {
        network = open_network(GetParam());
        for (inter_transport *at : network->at)
            ears.emplace_back(at);
    }
    void listen_all() {
        for (Ear &ear : ears)
            ear.listen();
    }
    void progress_all() {
        for (inter_transport *at : network->at)
            at->progress(at);
    }
    // The rank's `number`-th arrival.
    Heard &await(int rank, size_t number) {
        for (Ear &ear = ears[size_t(rank)]; ear.heard.size() <= number;)
            progress_all();
        return ears[size_t(rank)].heard[number];
    }
    void complete(const Pending &one) {
        while (!one.done())
            progress_all();
    }
    inter_transport *at(int rank) {
        return network->at[rank];
    }
    static bool sleeps() {
        const std::string name = GetParam();
        return name != "lines" && name != "lines_without_pulls";
    }
    // Sleeps whenever nothing has come.
    void sleep_until(int self, const std::function<bool()> &over) {
        while (!over()) {
            inter_bed bed;
            if (at(self)->progress(at(self)) || over() || !at(self)->arm(at(self), &bed))
                continue;
            if (!over())
                lie(bed);
            get_up(bed);
        }
    }
    // Until the bed wakes. Who is not woken sleeps for ever: then the test's time is over.
    static void lie(const inter_bed &bed) {
        pollfd descriptor{bed.descriptor, POLLIN, 0};
        auto *asleep = static_cast<uint32_t *>(bed.word);
        while (asleep && atomic_load_explicit(asleep, std::memory_order_relaxed) == bed.value)
            core_word_sleep(asleep, bed.value, 900000000);
        if (!asleep) {
            EXPECT_EQ(poll(&descriptor, 1, -1), 1);
        }
    }
    static void get_up(const inter_bed &bed) {
        if (bed.sleepers)
            atomic_fetch_sub_explicit(static_cast<unsigned *>(bed.sleepers), 1, std::memory_order_relaxed);
    }
    std::unique_ptr<Network> network;
    std::deque<Ear> ears;
};

const char *const all_networks[] = {"sim", "sim_delayed", "lines", "lines_without_pulls", "lines_that_wake", "ucx"};

std::string name_of(const ::testing::TestParamInfo<const char *> &info) {
    return info.param;
}

INSTANTIATE_TEST_SUITE_P(Over, ActiveMessages, ::testing::ValuesIn(all_networks), name_of);

} // namespace

TEST_P(ActiveMessages, EveryLengthArrives) {
    listen_all();
    size_t number = 0;
    for (bool rendezvous : {false, true})
        for (size_t bytes : active_lengths) {
            SCOPED_TRACE(std::to_string(bytes) + (rendezvous ? ", rendezvous" : ""));
            ActiveSend sent(at(0), 1, ~uint64_t(bytes), number, some_text(bytes, bytes), rendezvous);
            ASSERT_EQ(sent.code, WEFT_SUCCESS);
            Heard &heard = await(1, number++);
            EXPECT_EQ(heard.arrival.peer, 0);
            EXPECT_EQ(heard.arrival.header.words[0], ~uint64_t(bytes));
            EXPECT_EQ(heard.arrival.header.words[1], number - 1);
            EXPECT_EQ(heard.arrival.bytes, bytes);
            if (rendezvous) {
                for (int round = 0; round < 100; round++)
                    progress_all();
                EXPECT_TRUE(heard.to_fetch);
                EXPECT_EQ(sent.completion.pending, 1u) << "nobody has fetched it";
            }
            if (heard.to_fetch) {
                ASSERT_EQ(ears[1].fetch(heard), WEFT_SUCCESS);
            }
            complete(heard);
            complete(sent);
            EXPECT_TRUE(heard.text == sent.text);
            EXPECT_EQ(heard.completion.error, WEFT_SUCCESS);
            EXPECT_EQ(sent.completion.error, WEFT_SUCCESS);
        }
}

TEST_P(ActiveMessages, AHeaderAloneIsAMessage) {
    listen_all();
    ActiveSend sent(at(2), 0, 5, 6, "", false);
    Heard &heard = await(0, 0);
    complete(sent);
    EXPECT_EQ(heard.arrival.peer, 2);
    EXPECT_EQ(heard.arrival.header.words[1], 6u);
    EXPECT_EQ(heard.arrival.bytes, 0u);
    EXPECT_FALSE(heard.to_fetch);
}

TEST_P(ActiveMessages, ShortOnesAreSentAtOnce) {
    std::string text(8, 'x');
    inter_am_header header{{1, 2}};
    for (int i = 0; i < 6; i++) {
        Pending sent;
        ASSERT_EQ(at(0)->am_send(at(0), 1, &header, text.data(), text.size(), false, &sent.request), WEFT_SUCCESS);
        for (int round = 0; round < 10000 && !sent.done(); round++)
            progress_all();
        ASSERT_TRUE(sent.done()) << "nobody listens, and yet";
    }
    text.assign(8, 'y'); // it was copied
    listen_all();
    for (size_t i = 0; i < 6; i++)
        EXPECT_EQ(await(1, i).text, "xxxxxxxx");
}

TEST_P(ActiveMessages, AFetchIntoLessRoomIsTruncated) {
    listen_all();
    size_t number = 0;
    for (size_t bytes : {20, 9000, 300000})
        for (size_t room : {0, 1, 7, 8999}) {
            if (room >= bytes)
                continue;
            ActiveSend sent(at(1), 2, 0, 0, some_text(bytes, 4), true);
            Heard &heard = await(2, number++);
            std::string buffer(bytes, '.');
            ASSERT_EQ(at(2)->am_fetch(at(2), &heard.arrival, &buffer[0], room, &heard.request), WEFT_SUCCESS);
            complete(heard);
            complete(sent);
            EXPECT_EQ(heard.completion.error, WEFT_ERR_TRUNCATE);
            EXPECT_EQ(sent.completion.error, WEFT_SUCCESS) << "it is the receiver's business";
            EXPECT_TRUE(buffer.compare(0, room, sent.text, 0, room) == 0);
            EXPECT_EQ(buffer.find_first_not_of('.', room), std::string::npos) << "nothing else is written";
        }
}

TEST_P(ActiveMessages, AFetchIntoMoreRoomIsNoMistake) {
    listen_all();
    size_t number = 0;
    for (size_t bytes : {20, 9000, 300000}) {
        ActiveSend sent(at(1), 2, 0, 0, some_text(bytes, 4), true);
        Heard &heard = await(2, number++);
        ASSERT_EQ(ears[2].fetch(heard, bytes + 100), WEFT_SUCCESS);
        complete(heard);
        complete(sent);
        EXPECT_EQ(heard.completion.error, WEFT_SUCCESS);
        EXPECT_TRUE(heard.text == sent.text + std::string(100, '.'));
    }
}

// At the sender, at the receiver, at both; and all of it, the beginning of it, or more than there is.
TEST_P(ActiveMessages, DataMayLieInAnyLayout) {
    if (!at(1)->takes_layouts || !at(1)->takes_layouts(at(1), 2, SIZE_MAX))
        GTEST_SKIP() << "they are packed before";
    constexpr size_t most = 50000;
    weft_datatype *three = nullptr, *vector = nullptr; // three of five shorts
    ASSERT_EQ(weft_type_contiguous(3, WEFT_SHORT, &three), WEFT_SUCCESS);
    ASSERT_EQ(weft_type_resized(three, 0, 10, &vector), WEFT_SUCCESS);
    weft_type_free(&three);
    ASSERT_EQ(weft_type_commit(&vector), WEFT_SUCCESS);
    listen_all();
    size_t number = 0;
    for (size_t count : {size_t(1), size_t(100), most})
        for (size_t room : {count, count / 3, count + 1})
            for (int way = 1; way < 4; way++) {
                SCOPED_TRACE(std::to_string(count) + " elements into " + std::to_string(room));
                std::string from = some_text(10 * count, count), to(10 * (room + 1), '.'), expected = to,
                            packed(6 * count, 0);
                core_pack(&packed[0], from.data(), vector, count, 0, packed.size());
                core_data data{&from[0], vector, count}, place{&to[0], vector, room};
                inter_am_header header{{1, 2}};
                Pending sent;
                sent.request.data = way & 1 ? &data : nullptr;
                ASSERT_EQ(at(1)->am_send(at(1), 2, &header, way & 1 ? nullptr : packed.data(), packed.size(), true,
                                         &sent.request),
                          WEFT_SUCCESS);
                Heard &heard = await(2, number++);
                ASSERT_EQ(heard.arrival.bytes, packed.size());
                size_t come = std::min(count, room) * 6;
                heard.request.data = way & 2 ? &place : nullptr;
                ASSERT_EQ(at(2)->am_fetch(at(2), &heard.arrival, way & 2 ? nullptr : &to[0], 6 * room, &heard.request),
                          WEFT_SUCCESS);
                complete(heard);
                complete(sent);
                EXPECT_EQ(heard.completion.error, room < count ? WEFT_ERR_TRUNCATE : WEFT_SUCCESS);
                EXPECT_EQ(sent.completion.error, WEFT_SUCCESS);
                if (way & 2)
                    core_unpack(&expected[0], packed.data(), vector, room, 0, come);
                else
                    expected.replace(0, come, packed, 0, come);
                EXPECT_TRUE(to == expected);
            }
    weft_type_free(&vector);
}

TEST_P(ActiveMessages, WhatIsDroppedIsCompleteForItsSender) {
    listen_all();
    for (bool at_once : {false, true}) {
        ears[1].heard.clear();
        ears[1].at_once = nullptr;
        if (at_once)
            ears[1].at_once = [&](Heard &heard) { ears[1].drop(heard); };
        std::deque<ActiveSend> sent;
        for (size_t i = 0; i < 20; i++)
            sent.emplace_back(at(0), 1, i, 0, some_text(1000 * i + 1, i), true);
        await(1, sent.size() - 1);
        for (Heard &heard : ears[1].heard) {
            EXPECT_TRUE(heard.to_fetch);
            if (!at_once)
                ears[1].drop(heard);
        }
        for (const ActiveSend &one : sent) {
            complete(one);
            EXPECT_EQ(one.completion.error, WEFT_SUCCESS);
        }
    }
}

TEST_P(ActiveMessages, TheListenerMayFetch) {
    listen_all();
    ears[1].at_once = [&](Heard &heard) { EXPECT_EQ(ears[1].fetch(heard), WEFT_SUCCESS); };
    std::deque<ActiveSend> sent;
    for (size_t i = 0; i < 40; i++)
        sent.emplace_back(at(i % 2 ? 0 : 2), 1, i, 0, some_text(i * i * 100 + 1, i), true);
    await(1, sent.size() - 1);
    for (const ActiveSend &one : sent)
        complete(one);
    while (!ears[1].all_done())
        progress_all();
    for (const Heard &heard : ears[1].heard)
        EXPECT_TRUE(heard.text == sent[heard.arrival.header.words[0]].text);
}

// Nobody listens: tagged messages pass, active ones wait, in order; and again when nobody listens any more.
TEST_P(ActiveMessages, WithoutAListenerTheyWait) {
    for (int time = 0; time < 2; time++) {
        ears[1].heard.clear();
        std::deque<ActiveSend> sent;
        for (size_t i = 0; i < 30; i++)
            sent.emplace_back(at(0), 1, i, i + 1, some_text(i * 50 + 1, i), i % 3 == 2);
        Pending out, in;
        uint64_t value = 77, got = 0;
        ASSERT_EQ(at(1)->recv(at(1), 0, 9, &got, sizeof(got), &in.request), WEFT_SUCCESS);
        ASSERT_EQ(at(0)->send(at(0), 1, 9, &value, sizeof(value), &out.request), WEFT_SUCCESS);
        complete(in);
        complete(out);
        EXPECT_EQ(got, 77u);
        EXPECT_TRUE(ears[1].heard.empty());
        ears[1].listen();
        await(1, sent.size() - 1);
        for (size_t i = 0; i < sent.size(); i++) {
            Heard &heard = ears[1].heard[i];
            size_t number = heard.arrival.header.words[0];
            if (network->ordered) {
                EXPECT_EQ(number, i);
            }
            if (heard.to_fetch) {
                EXPECT_EQ(ears[1].fetch(heard), WEFT_SUCCESS);
            }
            complete(heard);
            complete(sent[number]);
            EXPECT_TRUE(heard.text == sent[number].text) << number;
        }
        at(1)->listen(at(1), nullptr, nullptr);
    }
}

TEST_P(ActiveMessages, EachPairKeepsItsOrder) {
    listen_all();
    const size_t count = 1500;
    std::mt19937 random{11};
    std::deque<ActiveSend> sent;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = random() % 8 ? random() % 64 : random() % 3 ? random() % 9000 : random() % 40000;
        int from = i % 2 ? 0 : 1;
        sent.emplace_back(at(from), 2, uint64_t(from), i, some_text(bytes, i), bytes && random() % 4 == 0);
        if (random() % 16 == 0)
            progress_all();
    }
    await(2, count - 1);
    uint64_t next[2] = {1, 0};
    for (Heard &heard : ears[2].heard) {
        int from = heard.arrival.peer;
        uint64_t number = heard.arrival.header.words[1];
        ASSERT_EQ(heard.arrival.header.words[0], uint64_t(from));
        if (network->ordered) {
            ASSERT_EQ(number, next[from]);
        }
        next[from] += 2;
        if (heard.to_fetch) {
            ASSERT_EQ(ears[2].fetch(heard), WEFT_SUCCESS);
        }
    }
    for (Heard &heard : ears[2].heard) {
        complete(heard);
        ASSERT_TRUE(heard.text == sent[heard.arrival.header.words[1]].text);
    }
    for (const ActiveSend &one : sent)
        complete(one);
}

// So many that a search for each would be felt, fetched in the order that finds them last.
TEST_P(ActiveMessages, ManyAreOfferedAndFetchedBackwards) {
    listen_all();
    const size_t count = 10000;
    std::deque<ActiveSend> sent;
    for (size_t i = 0; i < count; i++)
        sent.emplace_back(at(0), 1, i, 0, std::to_string(i), true);
    await(1, count - 1);
    for (size_t i = count; i-- > 0;) {
        ASSERT_EQ(ears[1].fetch(ears[1].heard[i]), WEFT_SUCCESS);
        if (i % 50 == 0)
            progress_all();
    }
    for (size_t i = 0; i < count; i++) {
        complete(ears[1].heard[i]);
        complete(sent[i]);
        ASSERT_EQ(ears[1].heard[i].text, std::to_string(ears[1].heard[i].arrival.header.words[0]));
    }
}

TEST_P(ActiveMessages, ARendezvousThatNobodyHasHeardOfCanBeTakenBack) {
    if (!network->recalled)
        GTEST_SKIP() << "UCX takes nothing back";
    ActiveSend first(at(0), 1, 1, 0, some_text(100, 1), true), second(at(0), 1, 2, 0, some_text(100000, 2), true);
    at(0)->cancel(at(0), &first.request);
    EXPECT_TRUE(first.done());
    EXPECT_EQ(first.completion.error, WEFT_ERR_PROC_FAILED);
    listen_all();
    Heard *heard = &await(1, 0);
    if (heard->arrival.header.words[0] == 1) { // the word of it was on its way
        ears[1].drop(*heard);
        heard = &await(1, 1);
    }
    ASSERT_EQ(ears[1].fetch(*heard), WEFT_SUCCESS);
    complete(*heard);
    complete(second);
    EXPECT_TRUE(heard->text == second.text);
}

TEST_P(ActiveMessages, RouseEndsASleep) {
    const std::string name = GetParam();
    if (name == "lines" || name == "lines_without_pulls") {
        inter_bed bed;
        listen_all();
        EXPECT_FALSE(at(0)->arm(at(0), &bed)) << "no line wakes who listens";
        return;
    }
    listen_all();
    for (int time = 0; time < 20; time++) {
        inter_bed bed;
        while (!at(0)->arm(at(0), &bed))
            at(0)->progress(at(0));
        std::thread other([&] {
            if (time % 2)
                std::this_thread::sleep_for(std::chrono::milliseconds(2));
            at(0)->rouse(at(0));
        });
        lie(bed);
        other.join();
        get_up(bed);
    }
}

// Two sides that answer each other and sleep whenever nothing has come: each sleep ends with a wake-up.
TEST_P(ActiveMessages, WhoListensIsWoken) {
    if (!sleeps())
        GTEST_SKIP() << "nobody sleeps on it";
    auto side = [&](int self) {
        Ear &ear = ears[size_t(self)];
        ear.at_once = [&](Heard &heard) {
            if (heard.arrival.header.words[0] % 7 == 6)
                ear.drop(heard);
            else
                ASSERT_EQ(ear.fetch(heard), WEFT_SUCCESS);
        };
        ear.listen();
        for (uint64_t i = 0; i < 700; i++) {
            if (i % 2 == uint64_t(self)) {
                ActiveSend sent(at(self), 1 - self, i, 0, some_text(active_lengths[i % active_lengths.size()], i),
                                i % 3 == 0);
                sleep_until(self, [&] { return sent.done(); });
            } else {
                sleep_until(self, [&] { return ear.heard.size() > i / 2 && ear.heard[i / 2].done(); });
            }
        }
    };
    std::thread other(side, 1);
    side(0);
    other.join();
}

// More than can be dropped at a time, and not while the listener runs.
TEST_P(ActiveMessages, WhatIsDroppedWakesItsSender) {
    if (!sleeps())
        GTEST_SKIP() << "nobody sleeps on it";
    listen_all();
    const size_t rounds = 50, count = 30;
    std::thread other([&] {
        for (size_t round = 0; round < rounds; round++) {
            sleep_until(1, [&] { return ears[1].heard.size() == count; });
            for (Heard &heard : ears[1].heard)
                ears[1].drop(heard);
            ears[1].heard.clear();
        }
        sleep_until(1, [&] { return ears[1].heard.size() == 1; });
    });
    for (size_t round = 0; round < rounds; round++) {
        std::deque<ActiveSend> sent;
        for (size_t i = 0; i < count; i++)
            sent.emplace_back(at(0), 1, i, 0, some_text(100 + i, i), true);
        for (const ActiveSend &one : sent)
            sleep_until(0, [&] { return one.done(); });
    }
    ActiveSend last(at(0), 1, 0, 0, "", false);
    other.join();
}

// Each rank is a thread that sends to both others whatever it likes, and fetches and drops what comes.
class ActiveMessagesOfThreads : public ActiveMessages {};

TEST_P(ActiveMessagesOfThreads, AllReachTheirListeners) {
    const size_t count = 2000;
    std::atomic<int> finished{0};
    auto body = [&](int self) {
        std::mt19937 random{unsigned(self)};
        Ear ear(at(self));
        size_t number = 0;
        auto settle = [&](Heard &heard) {
            if (random() % 4)
                ASSERT_EQ(ear.fetch(heard), WEFT_SUCCESS);
            else
                ear.drop(heard), heard.to_fetch = false, heard.text.clear();
        };
        ear.at_once = [&](Heard &heard) {
            if (number++ % 2)
                settle(heard);
        };
        ear.listen();
        std::deque<ActiveSend> sent;
        std::vector<bool> settled;
        for (size_t i = 0, looked = 0; sent.size() < count || ear.heard.size() < count || looked < count;) {
            if (i < count) {
                size_t bytes = random() % 4 ? random() % 100 : random() % 20000;
                uint64_t seed = i * 10 + uint64_t(self);
                sent.emplace_back(at(self), (self + 1 + int(i % 2)) % ranks, seed, bytes, some_text(bytes, seed),
                                  bytes && random() % 3 == 0);
                ASSERT_EQ(sent.back().code, WEFT_SUCCESS);
                i++;
            }
            if (!at(self)->progress(at(self)))
                std::this_thread::yield();
            for (; looked < ear.heard.size(); looked++)
                if (Heard &heard = ear.heard[looked]; heard.to_fetch && heard.text.empty())
                    settle(heard);
        }
        auto all_sent = [&] { return std::all_of(sent.begin(), sent.end(), [](auto &one) { return one.done(); }); };
        while (!ear.all_done() || !all_sent())
            if (!at(self)->progress(at(self)))
                std::this_thread::yield();
        for (const Heard &heard : ear.heard) {
            EXPECT_EQ(heard.arrival.bytes, heard.arrival.header.words[1]);
            if (!heard.text.empty()) {
                ASSERT_TRUE(heard.text == some_text(heard.arrival.bytes, heard.arrival.header.words[0]));
            }
        }
        for (finished++; finished < ranks;) // the others may need this one
            if (!at(self)->progress(at(self)))
                std::this_thread::yield();
        at(self)->listen(at(self), nullptr, nullptr);
    };
    std::thread first(body, 1), second(body, 2);
    body(0);
    first.join();
    second.join();
}

// A run of short messages that is longer than any lane, of one thread to another, with what does not fit in between.
TEST_P(ActiveMessagesOfThreads, RunsOfShortMessagesArriveInOrder) {
    const size_t count = 30000;
    auto bytes_of = [](size_t i) { return i % 97 == 0 ? 3000 : i % 31 == 0 ? i % 64 : 8; };
    std::thread other([&] {
        std::deque<ActiveSend> sent;
        for (size_t i = 0; i < count; i++) {
            sent.emplace_back(at(0), 1, i, i / 500, some_text(bytes_of(i), i), false);
            ASSERT_EQ(sent.back().code, WEFT_SUCCESS);
            while (!sent.empty() && sent.front().done())
                sent.pop_front();
            if (i % 64 == 63)
                at(0)->progress(at(0));
        }
        while (!sent.empty()) {
            if (!at(0)->progress(at(0)))
                std::this_thread::yield();
            while (!sent.empty() && sent.front().done())
                sent.pop_front();
        }
    });
    Ear &ear = ears[1];
    ear.listen();
    for (size_t i = 0; i < count; i++) {
        while (ear.heard.empty())
            if (!at(1)->progress(at(1)))
                std::this_thread::yield();
        const Heard &heard = ear.heard.front();
        if (network->ordered) {
            ASSERT_EQ(heard.arrival.header.words[0], i);
        }
        size_t number = heard.arrival.header.words[0];
        ASSERT_EQ(heard.arrival.header.words[1], number / 500);
        ASSERT_TRUE(heard.text == some_text(bytes_of(number), number));
        ear.heard.pop_front();
    }
    other.join();
}

INSTANTIATE_TEST_SUITE_P(Over, ActiveMessagesOfThreads,
                         ::testing::Values("sim", "sim_delayed", "lines", "lines_without_pulls", "lines_that_wake"),
                         name_of);

// Whatever stands in a line, no more is read or handed over than a line or the ring can hold.
TEST(LinesOfOthers, LengthsAndPlacesAreNotTrusted) {
    /* As lane.h has them: */
    const uint32_t words = 15, is_short = 0, in_ring = 1, active = 4, follows = 8 | 16, wide = 32, near_bytes = 4096;
    LinesNetwork network(true, false);
    Ear ear(network.at[0]);
    ear.listen();
    size_t number = 0;
    for (uint32_t kind = 0; kind < 64; kind++)
        for (uint32_t place = 0; place < words; place++)
            for (uint32_t bytes : {0u, 1u, 41u, 57u, 4097u, 32769u, 0xffffffu})
                for (uint32_t filled : {60u, 61u, 254u, 255u}) {
                    SCOPED_TRACE(::testing::Message() << kind << ", " << place << ", " << bytes << ", " << filled);
                    forge_line(network.lines[0], 1, place, kind, bytes, filled);
                    EXPECT_GT(network.at[0]->progress(network.at[0]), 0u);
                    if (!(kind & active))
                        continue; /* a tagged message: kept */
                    ASSERT_EQ(ear.heard.size(), ++number);
                    uint32_t which = kind & ~(active | follows | wide), left = (words - 1 - place) * 4;
                    if (which == is_short) {
                        EXPECT_LE(ear.heard.back().arrival.bytes, left);
                    } else if (which == in_ring) {
                        EXPECT_LE(ear.heard.back().arrival.bytes, kind & wide ? INTER_CROWDED_BYTES : near_bytes);
                    } else if (ear.heard.back().to_fetch) {
                        ear.drop(ear.heard.back()); /* whatever it is, it is not read before it is fetched */
                    }
                    EXPECT_EQ(network.at[0]->progress(network.at[0]), 0u) << "the line is over";
                }
}

// Nor is a line left that has nothing: who writes its stamps anew all the time would keep the reader there.
TEST(LinesOfOthers, AnEmptyLineIsNotClosed) {
    LinesNetwork network(true, false);
    Pending in; // somebody waits for what comes
    uint64_t word = 0;
    ASSERT_EQ(network.at[0]->recv(network.at[0], 1, 5, &word, sizeof(word), &in.request), WEFT_SUCCESS);
    for (int round = 0; round < 3; round++) {
        forge_line(network.lines[0], 1, 0, 0, 0, 0x80);
        EXPECT_EQ(network.at[0]->progress(network.at[0]), 0u);
        EXPECT_EQ(lines_taken(network.lines[0], 1), 0u);
    }
}

// A line that is half filled is neither passed by nor waited for: the next message is found in either place.
TEST(LinesOfOthers, WhatHasNoRoomInALineIsFoundInTheNext) {
    LinesNetwork network(true, false);
    Ear ear(network.at[0]);
    ear.listen();
    std::mt19937 random{3};
    for (uint64_t i = 0, first = 0; i < 20000; i++) {
        /* Of each kind of header, that which follows from the one before among them, and round the end of numbers. */
        first = random() % 3 ? first + 1 : i % 100 ? random() : ~uint64_t{0} - random() % 2;
        uint64_t second = random() % 2;
        ActiveSend sent(network.at[1], 0, first, second, some_text(random() % 62, i), false);
        ASSERT_TRUE(sent.done());
        if (random() % 4 == 0) { /* a tagged one between them is nothing to go by */
            Pending out, in;
            uint64_t got = 0;
            ASSERT_EQ(network.at[0]->recv(network.at[0], 1, first, &got, sizeof(got), &in.request), WEFT_SUCCESS);
            ASSERT_EQ(network.at[1]->send(network.at[1], 0, first, &i, sizeof(i), &out.request), WEFT_SUCCESS);
            unsigned events = 0; // of one line, then of the next
            while (unsigned more = network.at[0]->progress(network.at[0]))
                events += more;
            EXPECT_EQ(events, 2u);
            ASSERT_TRUE(in.done());
            EXPECT_EQ(got, i);
        } else {
            EXPECT_EQ(network.at[0]->progress(network.at[0]), 1u);
        }
        EXPECT_EQ(network.at[0]->progress(network.at[0]), 0u);
        ASSERT_EQ(ear.heard.size(), 1u);
        EXPECT_EQ(ear.heard.back().arrival.header.words[0], first);
        EXPECT_EQ(ear.heard.back().arrival.header.words[1], second);
        EXPECT_TRUE(ear.heard.back().text == sent.text);
        ear.heard.clear();
    }
}

// What a lane takes while nobody looks: more short messages than it has lines, and those that follow from each other share them best.
TEST(LinesOfOthers, ShortMessagesShareLines) {
    for (bool follows : {true, false}) {
        LinesNetwork network(true, false);
        Ear ear(network.at[0]);
        std::deque<ActiveSend> sent;
        size_t at_once = 0;
        const size_t count = 1000;
        for (size_t i = 0; i < count; i++) {
            sent.emplace_back(network.at[1], 0, follows ? i : i * i, follows ? 0 : i, "8 bytes.", false);
            at_once += sent.back().done();
        }
        EXPECT_GE(at_once, follows ? 300u : 128u);
        EXPECT_LT(at_once, count) << "else the test is to be longer";
        EXPECT_FALSE(sent.back().done());
        ear.listen();
        while (ear.heard.size() < count)
            for (int rank : {0, 1})
                network.at[rank]->progress(network.at[rank]);
        for (size_t i = 0; i < count; i++) {
            ASSERT_TRUE(sent[i].done());
            ASSERT_EQ(ear.heard[i].arrival.header.words[0], follows ? i : i * i);
            ASSERT_EQ(ear.heard[i].arrival.header.words[1], follows ? 0 : i);
            ASSERT_EQ(ear.heard[i].text, "8 bytes.");
        }
    }
}

// Lines without room for one more of the kind are left at once: all that has come is taken at the first look.
TEST(LinesOfOthers, OneLookTakesARunOfEqualMessages) {
    for (size_t bytes : {0, 8, 16, 24, 32, 40, 41, 1000}) {
        SCOPED_TRACE(bytes);
        LinesNetwork network(true, false);
        Ear ear(network.at[0]);
        ear.listen();
        const size_t count = 30;
        for (size_t i = 0; i < count; i++)
            EXPECT_TRUE(ActiveSend(network.at[1], 0, i, 7, some_text(bytes, i), false).done());
        network.at[0]->progress(network.at[0]);
        EXPECT_EQ(ear.heard.size(), count);
    }
}

// What is sent at once comes in the order of all, whole; when there is no room, or something else waits for it, nothing is sent.
TEST(LinesOfOthers, AtOnceOrNotAtAll) {
    LinesNetwork network(true, false);
    Ear ear(network.at[0]);
    inter_transport *from = network.at[1];
    std::mt19937 random{5};
    std::vector<std::string> texts;
    auto put = [&] {
        size_t number = texts.size();
        std::string text = some_text(random() % 3 ? random() % 50 : random() % 3000, number);
        inter_am_header header{{number, 1}};
        bool sent = from->am_put(from, 0, &header, text.data(), text.size());
        if (sent)
            texts.push_back(text);
        return sent;
    };
    std::string long_one(INTER_EAGER_BYTES + 1, 'x');
    inter_am_header header{{0, 1}};
    EXPECT_FALSE(from->am_put(from, 0, &header, long_one.data(), long_one.size())) << "too long to be copied";
    for (int round = 0; round < 20; round++) {
        std::deque<ActiveSend> sent;
        do { // the ring may be full before the lines are
            while (put())
                continue;
            sent.emplace_back(from, 0, texts.size(), 1, some_text(3000, 0), false);
            texts.push_back(sent.back().text);
        } while (sent.back().done());
        EXPECT_FALSE(put()) << "it would come before the one that waits";
        ear.listen();
        while (!sent.back().done() || ear.heard.size() < texts.size())
            for (int rank : {0, 1})
                network.at[rank]->progress(network.at[rank]);
    }
    for (size_t i = 0; i < texts.size(); i++) {
        ASSERT_EQ(ear.heard[i].arrival.header.words[0], i);
        ASSERT_TRUE(ear.heard[i].text == texts[i]) << "message " << i;
    }
}
