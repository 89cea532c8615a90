// SPDX-License-Identifier: BSD-3-Clause
// What threads wait in, read while they write it; and the rows of worlds whose threads wait for each other.
#include "hier/sim_worlds.h"
#include <atomic>
#include <string>
extern "C" {
#include <hier/waits.h>
}

namespace {

// Every member says the same number.
hier_doing all_of(uint64_t number) {
    hier_doing doing = {};
    uint64_t words[HIER_DOING_WORDS];
    for (uint64_t &word : words)
        word = number;
    memcpy(&doing, words, sizeof(doing));
    return doing;
}

bool is_whole(const hier_doing &doing) {
    uint64_t words[HIER_DOING_WORDS];
    memcpy(words, &doing, sizeof(words));
    for (int word = 0; word < HIER_DOING_WORDS; word++)
        if (words[word] != words[0] && word != offsetof(hier_doing, since_ns) / 8)
            return false;
    return true;
}

struct Rows {
    core_roll roll = {};
    ~Rows() {
        core_roll_free(&roll);
    }
    const core_row *find(int rank) const {
        for (size_t i = 0; i < roll.count; i++)
            if (roll.rows[i].home_rank == rank)
                return &roll.rows[i];
        return nullptr;
    }
    // What the process's ranks have begun of a communicator.
    std::vector<const core_row *> begun(int comm) const {
        std::vector<const core_row *> found;
        for (size_t i = 0; i < roll.count; i++)
            if (roll.rows[i].presence == CORE_BEGUN && roll.rows[i].comm == comm)
                found.push_back(&roll.rows[i]);
        return found;
    }
};

} // namespace

TEST(Activity, ReadersSeeWholeStates) {
    threads::Watchdog watchdog(100);
    static hier_activity activity;
    memset(&activity, 0, sizeof(activity));
    std::atomic<bool> over{false};
    std::atomic<int> torn{0};
    std::atomic<uint64_t> read{0};
    threads::run(3, [&](int thread) {
        if (thread == 0) {
            for (uint64_t number = 1; number <= 20000 || (read < 100 && number < 100000000); number++) {
                hier_doing doing = all_of(number * 0x100000001);
                hier_activity_begin(&activity, &doing);
                doing = all_of(number * 0x300000007);
                hier_activity_change(&activity, &doing);
                hier_activity_end(&activity);
            }
            over = true;
            return;
        }
        uint64_t last = 0;
        while (!over) {
            hier_doing doing;
            uint64_t number;
            if (!hier_activity_read(&activity, &doing, &number))
                continue;
            torn += !is_whole(doing) || number < last || (doing.call != nullptr) != (number % 3 != 0);
            last = number;
            read++;
        }
    });
    EXPECT_EQ(torn, 0);
    EXPECT_GE(read, 1u);
}

// Threads come and go and wait; somebody calls the roll all the time.
TEST(Activity, RollCallsBesideThreadsThatComeAndGo) {
    threads::Watchdog watchdog(100);
    SimWorlds worlds({{2, 2}, WEFT_THREAD_SERIALIZED, WEFT_WAIT_BLOCK});
    std::atomic<int> calls{0};
    worlds.run_processes([&](int rank, hier_world *world) {
        std::atomic<bool> over{false};
        std::thread watcher([&] {
            while (!over) {
                Rows rows;
                ASSERT_TRUE(hier_roster_call(&world->roster, rank, &rows.roll));
                EXPECT_GE(rows.roll.count, 1u);
                EXPECT_TRUE(core_roll_check(rows.roll.rows, rows.roll.count, rank));
                calls++;
            }
        });
        for (int round = 0; round < 4; round++) {
            weft_team *team = nullptr;
            ASSERT_EQ(weft_team_create(world->process_comm, 2, &team), WEFT_SUCCESS);
            worlds.run_team(team, [](weft_comm *comm) {
                int value = 0, size = weft_size(comm), me = weft_rank(comm);
                for (int i = 0; i < 20; i++) {
                    EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
                    EXPECT_EQ(weft_bcast(&value, 1, WEFT_INT, i % size, comm), WEFT_SUCCESS);
                    EXPECT_EQ(weft_sendrecv(&i, 1, WEFT_INT, (me + 1) % size, 0, &value, 1, WEFT_INT,
                                            (me + size - 1) % size, 0, comm, WEFT_STATUS_IGNORE),
                              WEFT_SUCCESS);
                }
            });
            EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
        }
        over = true;
        watcher.join();
    });
    EXPECT_GE(calls, 2);
}

// A thread that is far ahead waits for its slot.
TEST(Activity, NamesEveryThreadOfATeam) {
    threads::Watchdog watchdog(100);
    JobShape shape{{3}, WEFT_THREAD_SERIALIZED, WEFT_WAIT_BLOCK};
    shape.slots = 2;
    SimWorlds worlds(shape);
    worlds.run_processes([&](int rank, hier_world *world) {
        Rows before;
        ASSERT_TRUE(hier_roster_call(&world->roster, rank, &before.roll));
        ASSERT_EQ(before.roll.count, 2u); // and what it has begun
        EXPECT_EQ(before.roll.rows[1].presence, CORE_OUTSIDE);
        EXPECT_EQ(before.roll.rows[1].thread, CORE_NO_NUMBER);

        weft_team *team = nullptr;
        ASSERT_EQ(weft_team_create(world->process_comm, 3, &team), WEFT_SUCCESS);
        std::atomic<bool> go_on{false};
        std::thread ahead([&] {
            weft_comm *comm = nullptr;
            ASSERT_EQ(weft_team_enter(team, 0, &comm), WEFT_SUCCESS);
            for (int i = 0, value = i; i < 10; i++)
                EXPECT_EQ(weft_bcast(&value, 1, WEFT_INT, 0, comm), WEFT_SUCCESS);
            EXPECT_EQ(weft_team_leave(&comm), WEFT_SUCCESS);
        });
        std::thread outside([&] {
            weft_comm *comm = nullptr;
            ASSERT_EQ(weft_team_enter(team, 1, &comm), WEFT_SUCCESS);
            while (!go_on)
                std::this_thread::yield();
            for (int i = 0, value = i; i < 10; i++)
                EXPECT_EQ(weft_bcast(&value, 1, WEFT_INT, 0, comm), WEFT_SUCCESS);
            EXPECT_EQ(weft_team_leave(&comm), WEFT_SUCCESS);
        });
        for (bool seen = false; !seen;) {
            Rows rows;
            ASSERT_TRUE(hier_roster_call(&world->roster, rank, &rows.roll));
            const core_row *first = rows.find(0), *second = rows.find(1), *third = rows.find(2);
            EXPECT_TRUE(third && third->presence == CORE_NOT_ENTERED);
            seen = first && first->presence == CORE_WAITING && second && second->presence == CORE_OUTSIDE;
            if (!seen)
                continue;
            ASSERT_EQ(rows.begun(1).size(), 3u);
            for (int thread = 0; thread < 3; thread++) {
                const core_row *begun = rows.begun(1)[size_t(thread)];
                EXPECT_EQ(begun->rank, thread);
                EXPECT_EQ(begun->sequence, thread == 0 ? 3u : 0u);
                EXPECT_EQ(begun->over, thread == 0 ? 2u : 0u);
            }
            EXPECT_EQ(rows.roll.count, 3u + 3u + rows.begun(0).size());
            EXPECT_STREQ(first->call, "weft_bcast");
            EXPECT_EQ(first->collective, CORE_COLLECTIVE);
            EXPECT_EQ(first->sequence, 3u);
            EXPECT_EQ(first->comm, 1);
        }
        go_on = true;
        weft_comm *comm = nullptr;
        ASSERT_EQ(weft_team_enter(team, 2, &comm), WEFT_SUCCESS);
        for (int i = 0, value = i; i < 10; i++)
            EXPECT_EQ(weft_bcast(&value, 1, WEFT_INT, 0, comm), WEFT_SUCCESS);
        EXPECT_EQ(weft_team_leave(&comm), WEFT_SUCCESS);
        ahead.join();
        outside.join();
        EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
    });
}

// Process 1 is late, and could not start.
TEST(Activity, TellsOfTheEndOfInit) {
    threads::Watchdog watchdog(100);
    SimWorlds worlds({{1, 1}, WEFT_THREAD_SERIALIZED, WEFT_WAIT_BLOCK});
    std::atomic<bool> seen{false};
    worlds.run_processes([&](int rank, hier_world *world) {
        static const char here = 0;
        bool met = false;
        if (rank == 1) {
            while (!seen)
                std::this_thread::yield();
            EXPECT_EQ(hier_world_started(world, WEFT_ERR_CONFIG, &here, &met), WEFT_ERR_CONFIG);
            EXPECT_TRUE(met);
            return;
        }
        std::thread watcher([&] {
            while (!seen) {
                Rows rows;
                ASSERT_TRUE(hier_roster_call(&world->roster, rank, &rows.roll));
                for (size_t i = 0; i < rows.roll.count; i++)
                    seen = seen || (rows.roll.rows[i].presence == CORE_WAITING && !*rows.roll.rows[i].of &&
                                    strcmp(rows.roll.rows[i].call, "weft_init") == 0);
            }
        });
        EXPECT_EQ(hier_world_started(world, WEFT_SUCCESS, &here, &met), WEFT_ERR_PROC_FAILED);
        EXPECT_TRUE(met);
        EXPECT_STREQ(weft_last_error(), "rank 0: process 1 could not start: its error says why");
        watcher.join();
    });
}
