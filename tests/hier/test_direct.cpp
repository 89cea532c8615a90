// SPDX-License-Identifier: BSD-3-Clause
// What is read straight from other processes' buffers: when that fails, who gets it says so, and nobody else is hurt; and data
// may be changed as soon as the call is over, however late some ranks read.
#include "effort.h"
#include "misuse.h"
#include "sim_worlds.h"
#include <gtest/gtest.h>
extern "C" {
#include <hier/world.h>
#include <weft/weft.h>
}

namespace {

using Words = std::vector<uint64_t>;
// Words a block: long enough for the rules, too; and six take less than 128 KiB, which sanitizers keep when freed.
constexpr size_t count = 2560;

uint64_t word(int from, int to, size_t index) {
    return uint64_t(from) << 40 | uint64_t(to) << 20 | index;
}

int (*real_read)(const inter_transport *, int, inter_run *, inter_run *, size_t);

// Process 1 may not read what is in process 0.
int read_but_one(const inter_transport *self, int peer, inter_run *from, inter_run *to, size_t runs) {
    return self->rank == 1 && peer == 0 ? WEFT_ERR_TRANSPORT : real_read(self, peer, from, to, runs);
}

thread_local bool is_blind;

int read_unless_blind(const inter_transport *self, int peer, inter_run *from, inter_run *to, size_t runs) {
    return is_blind ? WEFT_ERR_TRANSPORT : real_read(self, peer, from, to, runs);
}

int read_late(const inter_transport *self, int peer, inter_run *from, inter_run *to, size_t runs) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    return real_read(self, peer, from, to, runs);
}

int alltoall(weft_comm *comm) {
    int self = weft_rank(comm), ranks = weft_size(comm);
    Words send(count * size_t(ranks)), recv(send.size());
    for (int to = 0; to < ranks; to++)
        for (size_t i = 0; i < count; i++)
            send[size_t(to) * count + i] = word(self, to, i);
    int code = weft_alltoall(send.data(), count, WEFT_UINT64_T, recv.data(), count, WEFT_UINT64_T, comm);
    std::fill(send.begin(), send.end(), 0);
    for (int from = 0; from < ranks && !code; from++)
        for (size_t i = 0; i < count; i++)
            EXPECT_EQ(recv[size_t(from) * count + i], word(from, self, i)) << "rank " << self << " from " << from;
    return code;
}

// With `v` the blocks are of different lengths, and the last one lies first.
int allgather(weft_comm *comm, bool v, bool in_place) {
    const int self = weft_rank(comm), ranks = weft_size(comm);
    std::vector<size_t> counts;
    std::vector<ptrdiff_t> displs(size_t(ranks), 0);
    for (int from = 0; from < ranks; from++)
        counts.push_back(v ? (size_t(from) * 1009 + 5) % count : count);
    for (int from = ranks - 2; from >= 0; from--)
        displs[size_t(from)] = displs[size_t(from) + 1] + ptrdiff_t(counts[size_t(from) + 1]);
    const size_t own = counts[size_t(self)], all = size_t(displs[0]) + counts[0];
    Words send(own), recv(all, ~uint64_t(0));
    for (size_t i = 0; i < own; i++)
        send[i] = word(self, 0, i);
    const size_t place = v ? size_t(displs[size_t(self)]) : size_t(self) * count;
    if (in_place)
        std::copy(send.begin(), send.end(), recv.begin() + ptrdiff_t(place));
    const void *from_here = in_place ? WEFT_IN_PLACE : send.data();
    int code = v ? weft_allgatherv(from_here, own, WEFT_UINT64_T, recv.data(), counts.data(), displs.data(),
                                   WEFT_UINT64_T, comm)
                 : weft_allgather(from_here, own, WEFT_UINT64_T, recv.data(), count, WEFT_UINT64_T, comm);
    std::fill(send.begin(), send.end(), 0);
    for (int from = 0; from < ranks && !code; from++)
        for (size_t i = 0; i < counts[size_t(from)]; i++)
            EXPECT_EQ(recv[(v ? size_t(displs[size_t(from)]) : size_t(from) * count) + i], word(from, 0, i))
                << "rank " << self << " from " << from << ", v " << v;
    std::fill(recv.begin(), recv.end(), 0);
    return code;
}

int scatter(weft_comm *comm, int root) {
    int self = weft_rank(comm), ranks = weft_size(comm);
    Words send(self == root ? count * size_t(ranks) : 0), recv(count);
    for (size_t i = 0; i < send.size(); i++)
        send[i] = word(root, int(i / count), i % count);
    int code = weft_scatter(send.data(), count, WEFT_UINT64_T, recv.data(), count, WEFT_UINT64_T, root, comm);
    std::fill(send.begin(), send.end(), 0);
    for (size_t i = 0; i < count && !code; i++)
        EXPECT_EQ(recv[i], word(root, self, i)) << "rank " << self;
    return code;
}

int gather(weft_comm *comm, int root) {
    int self = weft_rank(comm), ranks = weft_size(comm);
    Words send(count), recv(self == root ? count * size_t(ranks) : 0);
    for (size_t i = 0; i < count; i++)
        send[i] = word(self, root, i);
    int code = weft_gather(send.data(), count, WEFT_UINT64_T, recv.data(), count, WEFT_UINT64_T, root, comm);
    std::fill(send.begin(), send.end(), 0);
    for (size_t i = 0; i < recv.size() && !code; i++)
        EXPECT_EQ(recv[i], word(int(i / count), root, i % count)) << "root " << root << " from " << i / count;
    return code;
}

// A round in which all blocks are as long.
constexpr int all_of = 1 << 16;

// Around what goes by a cell, and what goes along with the addresses, in words.
size_t length_of(int from, int to, int round) {
    if (round >= all_of)
        return size_t(round - all_of);
    const size_t lengths[] = {0, 1, 96, 97, 255, 256, 257, 511, 512, 513, 1023, 1024, 1025, count};
    return lengths[(from * 7 + to * 3 + round) % int(std::size(lengths))];
}

// What goes along with the addresses, in words (hier/manifest.h), where cores are short and where each thread has one.
struct Short {
    size_t alltoallv, gatherv, scatterv;
};
const Short crowded = {256, 512, 1024}, roomy = {32, 256, 256};

// The way they meet, and whether each thread seems to have a core.
struct Setting {
    weft_thread_level level;
    bool cores;
    const Short &lengths() const {
        return cores ? roomy : crowded;
    }
};

// Rank `odd` expects `other` words from rank 1. What it does not get stays as it was.
int alltoallv(weft_comm *comm, int round, int odd = -1, size_t other = 0) {
    int self = weft_rank(comm), ranks = weft_size(comm);
    std::vector<size_t> sent(size_t(ranks), 0), expected(sent);
    std::vector<ptrdiff_t> displs(size_t(ranks), 0);
    Words send(count * size_t(ranks)), recv(send.size(), ~uint64_t(0));
    for (int peer = 0; peer < ranks; peer++) {
        displs[size_t(peer)] = peer * ptrdiff_t(count);
        sent[size_t(peer)] = length_of(self, peer, round);
        expected[size_t(peer)] = peer == 1 && self == odd ? other : length_of(peer, self, round);
        for (size_t i = 0; i < sent[size_t(peer)]; i++)
            send[size_t(displs[size_t(peer)]) + i] = word(self, peer, i);
    }
    int code = weft_alltoallv(send.data(), sent.data(), displs.data(), WEFT_UINT64_T, recv.data(), expected.data(),
                              displs.data(), WEFT_UINT64_T, comm);
    std::fill(send.begin(), send.end(), 0);
    for (int from = 0; from < ranks && (!code || self == odd); from++)
        for (size_t i = 0; i < count; i++) {
            bool got = i < length_of(from, self, round) && !(code && from == 1);
            EXPECT_EQ(recv[size_t(from) * count + i], got ? word(from, self, i) : ~uint64_t(0))
                << "rank " << self << " from " << from;
        }
    return code;
}

// The root expects `other` words from rank 1, by default as many as that sends. What it does not get stays as it was.
int gatherv(weft_comm *comm, int root, int round, const size_t *other = nullptr) {
    const int self = weft_rank(comm), ranks = weft_size(comm);
    const size_t sent = length_of(self, root, round);
    std::vector<size_t> expected(size_t(ranks), 0);
    std::vector<ptrdiff_t> displs(size_t(ranks), 0);
    Words send(sent), recv(self == root ? count * size_t(ranks) : 0, ~uint64_t(0));
    for (size_t i = 0; i < sent; i++)
        send[i] = word(self, root, i);
    for (int from = 0; from < ranks; from++) {
        displs[size_t(from)] = (ranks - 1 - from) * ptrdiff_t(count);
        expected[size_t(from)] = from == 1 && other ? *other : length_of(from, root, round);
    }
    int code = weft_gatherv(send.data(), sent, WEFT_UINT64_T, recv.data(), expected.data(), displs.data(),
                            WEFT_UINT64_T, root, comm);
    std::fill(send.begin(), send.end(), 0);
    for (int from = 0; from < ranks && self == root && (!code || other); from++)
        for (size_t i = 0; i < count; i++) {
            bool got = i < length_of(from, root, round) && !(code && from == 1);
            EXPECT_EQ(recv[size_t(displs[size_t(from)]) + i], got ? word(from, root, i) : ~uint64_t(0))
                << "root " << root << " from " << from;
        }
    return code;
}

// Rank `odd` expects `other` words.
int scatterv(weft_comm *comm, int root, int round, int odd = -1, size_t other = 0) {
    const int self = weft_rank(comm), ranks = weft_size(comm);
    const size_t own = length_of(root, self, round), expected = self == odd ? other : own;
    std::vector<size_t> sent(size_t(ranks), 0);
    std::vector<ptrdiff_t> displs(size_t(ranks), 0);
    Words send(self == root ? count * size_t(ranks) : 0), recv(count, ~uint64_t(0));
    for (int to = 0; to < ranks; to++) {
        displs[size_t(to)] = (ranks - 1 - to) * ptrdiff_t(count);
        sent[size_t(to)] = length_of(root, to, round);
        for (size_t i = 0; i < sent[size_t(to)] && self == root; i++)
            send[size_t(displs[size_t(to)]) + i] = word(root, to, i);
    }
    int code = weft_scatterv(send.data(), sent.data(), displs.data(), WEFT_UINT64_T, recv.data(), expected,
                             WEFT_UINT64_T, root, comm);
    std::fill(send.begin(), send.end(), 0);
    for (size_t i = 0; i < count && (!code || self == odd); i++)
        EXPECT_EQ(recv[i], i < own && !code ? word(root, self, i) : ~uint64_t(0)) << "rank " << self << " of " << root;
    return code;
}

// Processes of so many threads, whose reads go by `read`.
void run(int (*read)(const inter_transport *, int, inter_run *, inter_run *, size_t), Setting setting,
         const std::function<void(weft_comm *)> &body, const std::vector<int> &threads = {2, 3, 1}) {
    JobShape shape{threads, setting.level};
    shape.cores = setting.cores ? 64 : 2;
    shape.algorithm = "allgather=/direct,allgatherv=/direct,alltoall=/direct,alltoallv=/direct,gather=/direct,"
                      "gatherv=/direct,scatter=/direct,scatterv=/direct";
    SimWorlds worlds(shape);
    worlds.run_processes([&](int rank, hier_world *world) {
        static std::once_flag once;
        std::call_once(once, [&] { real_read = world->transport->read; });
        world->transport->read = read;
        weft_team *team = nullptr;
        ASSERT_EQ(weft_team_create(world->process_comm, shape.threads[size_t(rank)], &team), WEFT_SUCCESS);
        worlds.run_team(team, body);
        EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
    });
}

class Direct : public ::testing::TestWithParam<Setting> {};

} // namespace

TEST_P(Direct, WhoCannotReadSaysSo) {
    threads::Watchdog watchdog(280);
    const Short lengths = GetParam().lengths();
    run(read_but_one, GetParam(), [&](weft_comm *comm) {
        bool hit = weft_node(comm) == 1;
        for (int round = 0; round < 14; round++) {
            EXPECT_EQ(alltoall(comm), hit ? WEFT_ERR_TRANSPORT : WEFT_SUCCESS);
            std::string sentence = "rank " + std::to_string(weft_rank(comm)) +
                                   ": weft_alltoall: the data in the memory of process 0 cannot be read: " +
                                   weft_strerror(WEFT_ERR_TRANSPORT);
            EXPECT_TRUE(!hit || weft_last_error() == sentence) << weft_last_error();
            EXPECT_EQ(allgather(comm, round % 2, round % 3 == 0), hit ? WEFT_ERR_TRANSPORT : WEFT_SUCCESS);
            EXPECT_EQ(scatter(comm, 1), hit ? WEFT_ERR_TRANSPORT : WEFT_SUCCESS);
            EXPECT_EQ(scatter(comm, 5), WEFT_SUCCESS);
            for (int root : {2, 4}) { // of process 1, whose threads read for it
                int code = gather(comm, root);
                if (weft_rank(comm) == root)
                    EXPECT_EQ(code, WEFT_ERR_TRANSPORT);
                else
                    EXPECT_TRUE(!code || hit) << weft_last_error();
            }
            EXPECT_EQ(gather(comm, 5), WEFT_SUCCESS);
            const int self = weft_rank(comm);
            for (int root : {2, 4}) {
                bool unread = false; // something long from process 0
                for (int from : {0, 1})
                    unread |= length_of(from, root, round) > lengths.gatherv;
                int code = gatherv(comm, root, round);
                if (self == root)
                    EXPECT_EQ(code, unread ? WEFT_ERR_TRANSPORT : WEFT_SUCCESS);
                else
                    EXPECT_TRUE(!code || (hit && unread)) << weft_last_error();
            }
            EXPECT_EQ(gatherv(comm, 5, round), WEFT_SUCCESS);
            EXPECT_EQ(scatterv(comm, 1, round),
                      hit && length_of(1, self, round) > lengths.scatterv ? WEFT_ERR_TRANSPORT : WEFT_SUCCESS);
            EXPECT_EQ(scatterv(comm, 5, round), WEFT_SUCCESS);
            bool reads = false;
            for (int from : {0, 1})
                reads |= length_of(from, self, round) > lengths.alltoallv;
            EXPECT_EQ(alltoallv(comm, round), hit && reads ? WEFT_ERR_TRANSPORT : WEFT_SUCCESS);
        }
        EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
    });
}

// Each thread reads a slice of every block for all threads of its process.
TEST_P(Direct, OneThreadThatCannotReadTellsTheOthers) {
    threads::Watchdog watchdog(280);
    run(read_unless_blind, GetParam(), [&](weft_comm *comm) {
        const bool hit = weft_node(comm) == 1;
        for (int round = 0; round < 12; round++) {
            is_blind = hit && weft_thread(comm) == round % 3;
            EXPECT_EQ(allgather(comm, round % 2, round % 4 < 2), hit ? WEFT_ERR_TRANSPORT : WEFT_SUCCESS) << round;
            is_blind = false;
            EXPECT_EQ(allgather(comm, round % 2, round % 4 < 2), WEFT_SUCCESS) << weft_last_error();
        }
    });
}

TEST_P(Direct, DataStayUntilAllHaveReadThem) {
    threads::Watchdog watchdog(280);
    run(read_late, GetParam(), [](weft_comm *comm) {
        for (int round = 0; round < 5; round++) {
            EXPECT_EQ(alltoall(comm), WEFT_SUCCESS);
            for (bool v : {false, true})
                EXPECT_EQ(allgather(comm, v, round % 2), WEFT_SUCCESS);
            EXPECT_EQ(scatter(comm, round), WEFT_SUCCESS);
            EXPECT_EQ(gather(comm, round), WEFT_SUCCESS);
            EXPECT_EQ(alltoallv(comm, round), WEFT_SUCCESS);
            for (int length = 0; length < 14; length++) {
                EXPECT_EQ(gatherv(comm, round, length), WEFT_SUCCESS);
                EXPECT_EQ(scatterv(comm, round, length), WEFT_SUCCESS);
            }
        }
    });
}

// In place blocks are as long either way.
TEST_P(Direct, InPlaceEveryLength) {
    threads::Watchdog watchdog(280);
    run(read_late, GetParam(), [](weft_comm *comm) {
        const int self = weft_rank(comm), ranks = weft_size(comm);
        for (size_t words : {size_t(1), size_t(200), size_t(256), size_t(257), count}) {
            std::vector<size_t> counts(size_t(ranks), words);
            std::vector<ptrdiff_t> displs;
            Words both;
            for (int to = 0; to < ranks; to++) {
                displs.push_back(to * ptrdiff_t(words));
                for (size_t i = 0; i < words; i++)
                    both.push_back(word(self, to, i));
            }
            EXPECT_EQ(weft_alltoallv(WEFT_IN_PLACE, nullptr, nullptr, nullptr, both.data(), counts.data(),
                                     displs.data(), WEFT_UINT64_T, comm),
                      WEFT_SUCCESS);
            for (size_t i = 0; i < both.size(); i++)
                EXPECT_EQ(both[i], word(int(i / words), self, i % words)) << "rank " << self << ", " << words;
        }
    });
}

// Messages that are as long as can be lie one behind the other, and not over each other.
TEST_P(Direct, AllAsLongAsGoesAlong) {
    threads::Watchdog watchdog(60);
    const Short longest = GetParam().lengths();
    run(read_late, GetParam(),
        [&](weft_comm *comm) {
            for (int more : {0, 1}) {
                EXPECT_EQ(alltoallv(comm, all_of + int(longest.alltoallv) + more), WEFT_SUCCESS);
                for (int root = 0; root < weft_size(comm); root++) {
                    EXPECT_EQ(gatherv(comm, root, all_of + int(longest.gatherv) + more), WEFT_SUCCESS);
                    EXPECT_EQ(scatterv(comm, root, all_of + int(longest.scatterv) + more), WEFT_SUCCESS);
                }
            }
        },
        {2, 1, 1, 1});
}

// On a communicator of its own, which is broken then: who gets another block than he expects learns of it there, the others with the next call.
template <class Call>
void expect_wrong_block(weft_comm *comm, int sender, size_t sent, int receiver, size_t expected, Call call) {
    weft_comm *copy = nullptr;
    EXPECT_EQ(weft_comm_dup(comm, &copy), WEFT_SUCCESS);
    int code = call(copy);
    EXPECT_TRUE(code || weft_rank(comm) != receiver);
    EXPECT_EQ(code ? code : weft_barrier(copy), WEFT_ERR_MISMATCH);
    const std::string from = "rank " + std::to_string(sender), to = "rank " + std::to_string(receiver);
    misuse::expect_sentence({from + " called", " sends " + to + " " + std::to_string(8 * sent) + " bytes",
                             to + " called", " expects " + std::to_string(8 * expected)},
                            "another length");
    EXPECT_EQ(weft_comm_free(&copy), WEFT_SUCCESS);
}

// Whoever expects another length than comes says so, whichever of the two is short and which is read, and nobody is left waiting.
TEST_P(Direct, OtherLengthsThanExpected) {
    threads::Watchdog watchdog(280);
    run(read_late, GetParam(), [](weft_comm *comm) {
        const size_t others[] = {2, 300, 2000};
        const int roots[] = {0, 2, 4, 5};
        for (int round = 0; round < 14; round += effort::sanitized ? 3 : 1) {
            const size_t other = others[round % 3];
            const int root = roots[round % 4];
            expect_wrong_block(comm, 1, length_of(1, 3, round), 3, other,
                               [&](weft_comm *copy) { return alltoallv(copy, round, 3, other); });
            expect_wrong_block(comm, 1, length_of(1, root, round), root, other,
                               [&](weft_comm *copy) { return gatherv(copy, root, round, &other); });
            expect_wrong_block(comm, root, length_of(root, 3, round), 3, other,
                               [&](weft_comm *copy) { return scatterv(copy, root, round, 3, other); });
        }
    });
}

// With a thread a process what is nothing but the part between processes keeps its schedule in the same slots: whatever was there before
// is not taken for the telling's, nor the other way round, though both count from one.
TEST(DirectAlone, SchedulesOfASlotAreNotMixedUp) {
    threads::Watchdog watchdog(60);
    JobShape shape{{1, 1}, WEFT_THREAD_SERIALIZED};
    shape.slots = 2;
    shape.algorithm = "gatherv=/direct,scatterv=/direct";
    SimWorlds(shape).run([&](weft_comm *comm) {
        for (int round = 0; round < 3; round++) {
            EXPECT_EQ(alltoallv(comm, 3), WEFT_SUCCESS) << weft_last_error();
            EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
            EXPECT_EQ(gatherv(comm, 0, 3), WEFT_SUCCESS) << weft_last_error();
            EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Levels, Direct,
                         ::testing::Values(Setting{WEFT_THREAD_FUNNELED, false}, Setting{WEFT_THREAD_SERIALIZED, false},
                                           Setting{WEFT_THREAD_MULTIPLE, false}, Setting{WEFT_THREAD_SERIALIZED, true}),
                         [](const auto &setting) {
                             return level_name(setting.param.level) + (setting.param.cores ? "Cores" : "");
                         });
