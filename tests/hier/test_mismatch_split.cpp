// SPDX-License-Identifier: BSD-3-Clause
// Calls that do not belong together on communicators that were split or duplicated: their ranks in any order, groups that share a
// context, groups without the leader, splits whose parent breaks behind them.
#include "effort.h"
#include "mismatch_between.h"
#include "sim_worlds.h"

namespace {

using namespace mismatch;

struct Wish {
    int color, key;
};
struct Kind {
    const char *name;
    Wish (*wish)(int rank, int node, int thread);
};
const Kind kinds[] = {
    {"as it was",
     [](int, int, int) {
         return Wish{0, 0};
     }},
    {"backwards",
     [](int rank, int, int) {
         return Wish{0, -rank};
     }},
    {"by thread",
     [](int, int, int thread) {
         return Wish{0, thread};
     }},
    {"rows",
     [](int rank, int, int thread) {
         return Wish{thread, -rank};
     }},
};

weft_comm *split(weft_comm *comm, const Kind &kind) {
    Wish wish = kind.wish(weft_rank(comm), weft_node(comm), weft_thread(comm));
    weft_comm *made = nullptr;
    EXPECT_OK(weft_comm_split(comm, wish.color, wish.key, &made));
    return made;
}

// Which ranks are odd, by rank.
std::vector<int> exchange_odd(weft_comm *comm, bool odd) {
    std::vector<int> all(size_t(weft_size(comm)), 0);
    int mine = odd;
    EXPECT_OK(weft_allgather(&mine, 1, WEFT_INT, all.data(), 1, WEFT_INT, comm));
    return all;
}

// The ranks that the sentence names are those of this communicator: one is odd, and called what odd ones call.
void expect_right_ranks(const std::string &sentence, const std::vector<int> &odd, const std::string &odd_call) {
    static const std::regex both("rank (\\d+) called (" + described + "), but rank (\\d+) called");
    std::smatch found;
    ASSERT_TRUE(std::regex_search(sentence, found, both)) << sentence;
    size_t first = std::stoul(found[1]), second = std::stoul(found[3]);
    ASSERT_LT(std::max(first, second), odd.size()) << sentence;
    EXPECT_NE(odd[first], odd[second]) << sentence;
    EXPECT_EQ(odd[first] != 0, found[2] == odd_call) << sentence;
}

const one_call root_last{"bcast from the last", false,
                         [](weft_comm *c, int *, int *b) { return weft_bcast(b, 2, WEFT_INT, weft_size(c) - 1, c); }};
const one_call root_first{"bcast from the first", false,
                          [](weft_comm *c, int *, int *b) { return weft_bcast(b, 2, WEFT_INT, 0, c); }};

// One that is applied in the order of the ranks only.
void second_of_two(const void *, void *, size_t, const weft_datatype *) {}
weft_op *in_order_only() {
    static weft_op *op = [] {
        weft_op *made = nullptr;
        EXPECT_OK(weft_op_create(second_of_two, 0, &made));
        return made;
    }();
    return op;
}
const one_call ordered_first{"ordered reduce", false, [](weft_comm *c, int *a, int *b) {
                                 return weft_reduce(a, b, 2, WEFT_INT, in_order_only(), 0, c);
                             }};
const one_call ordered_last{"ordered reduce to the last", false, [](weft_comm *c, int *a, int *b) {
                                return weft_reduce(a, b, 2, WEFT_INT, in_order_only(), weft_size(c) - 1, c);
                            }};

class MismatchOfSplits : public ::testing::TestWithParam<JobShape> {
  protected:
    // On each thread of a team: all of the last process are odd. The parent goes on.
    void on_split(const Kind &kind, const std::function<void(weft_comm *, bool odd)> &run) const {
        const JobShape &shape = GetParam();
        int last = int(shape.threads.size()) - 1;
        SCOPED_TRACE(kind.name);
        SimWorlds worlds(shape);
        worlds.run([&](weft_comm *parent) {
            weft_comm *comm = split(parent, kind);
            run(comm, weft_node(parent) == last);
            expect_works(parent, kind.name);
            EXPECT_OK(weft_comm_free(&comm));
            expect_works(parent, kind.name);
        });
        ASSERT_FALSE(HasFailure());
    }

    static size_t first() { // of the calls that a shape looks at
        return (GetParam().threads.size() + size_t(GetParam().level)) % effort::call_parts;
    }

    void on_splits(const std::function<void(weft_comm *, bool odd)> &run) const {
        for (const Kind &kind : kinds)
            on_split(kind, run);
    }

  private:
    threads::Watchdog watchdog_{280};
};

TEST_P(MismatchOfSplits, EveryCall) {
    size_t count = std::size(calls) - 1;
    for (size_t i = first(); i < count; i += effort::call_parts) // each on one of them
        on_split(kinds[i / effort::call_parts % std::size(kinds)], [&](weft_comm *comm, bool odd) {
            const one_call &mine = odd ? calls[i] : calls[(i + 11) % count];
            expect_two_calls(expect_between(comm, mine, mine.name), mine.name);
        });
}

TEST_P(MismatchOfSplits, AreToldInTheRanksOfTheCommunicator) {
    on_splits([&](weft_comm *comm, bool odd) {
        std::vector<int> all = exchange_odd(comm, odd);
        std::string root = std::to_string(weft_size(comm) - 1);
        expect_right_ranks(expect_between(comm, odd ? root_last : root_first, "roots"), all,
                           "weft_bcast (root " + root + ", 8 bytes, WEFT_INT)");
    });
}

TEST_P(MismatchOfSplits, WhereOperandsAreInTheOrderOfTheRanks) {
    on_splits([](weft_comm *comm, bool odd) {
        std::string what = "ordered";
        expect_two_calls(expect_between(comm, odd ? ordered_last : ordered_first, what), what);
    });
}

TEST_P(MismatchOfSplits, Requests) {
    on_splits([](weft_comm *comm, bool odd) { mismatch_nonblocking(comm, odd, "called"); });
    on_splits(mismatch_persistent);
    size_t count = std::size(started);
    for (size_t i = first(); i < count; i += effort::call_parts)
        on_split(kinds[i / effort::call_parts % std::size(kinds)],
                 [&](weft_comm *comm, bool odd) { expect_started(comm, started[odd ? i : (i + 4) % count]); });
}

// Again and again: a context of one that broke is not used for another, those of others are.
TEST_P(MismatchOfSplits, LeaveOthersAlone) {
    const JobShape &shape = GetParam();
    int last = int(shape.threads.size()) - 1;
    SimWorlds worlds(shape);
    worlds.run([&](weft_comm *parent) {
        for (int round = 0; round < 12; round++) {
            const Kind &kind = kinds[size_t(round) % std::size(kinds)];
            weft_comm *broken = split(parent, kind), *whole = split(parent, kind);
            bool odd = weft_node(parent) == last;
            expect_between(broken, odd ? in_order : swapped, kind.name);
            expect_works(whole, kind.name);
            EXPECT_OK(weft_comm_free(&broken));
            EXPECT_OK(weft_comm_free(&whole));
        }
        expect_works(parent, "after all");
    });
}

// The last process frees it and comes to no more calls.
TEST_P(MismatchOfSplits, OneLeaves) {
    const JobShape &shape = GetParam();
    int last = int(shape.threads.size()) - 1;
    SimWorlds worlds(shape);
    worlds.run([&](weft_comm *parent) {
        for (int round = 0; round < 3; round++) {
            weft_comm *comm = split(parent, kinds[1]);
            EXPECT_OK(weft_barrier(comm));
            if (weft_node(parent) != last)
                EXPECT_ERROR(WEFT_ERR_MISMATCH, weft_barrier(comm), "weft_barrier", "left");
            EXPECT_OK(weft_comm_free(&comm));
            expect_works(parent, "after one has left");
        }
    });
}

// The parent breaks while some are still in the split: who has a communicator is done with it, whoever else has one.
TEST_P(MismatchOfSplits, ParentsThatBreakBehindThem) {
    const JobShape &shape = GetParam();
    int last = int(shape.threads.size()) - 1;
    for (int round = 0; round < 12; round++) {
        SimWorlds worlds(shape);
        worlds.run([&](weft_comm *world) {
            weft_comm *parent = split(world, kinds[size_t(round) % 2]), *comm = nullptr;
            int value = 0, code = weft_comm_dup(parent, &comm);
            EXPECT_TRUE(code == WEFT_SUCCESS || code == WEFT_ERR_MISMATCH) << weft_last_error();
            EXPECT_EQ(code == WEFT_SUCCESS, comm != nullptr);
            if (weft_node(world) == last)
                code = weft_barrier(parent);
            else
                code = weft_allreduce(WEFT_IN_PLACE, &value, 1, WEFT_INT, WEFT_SUM, parent);
            EXPECT_EQ(code, WEFT_ERR_MISMATCH) << weft_last_error();
            if (comm) {
                code = weft_barrier(comm);
                EXPECT_TRUE(code == WEFT_SUCCESS || code == WEFT_ERR_MISMATCH) << weft_last_error();
                EXPECT_OK(weft_comm_free(&comm));
            }
            EXPECT_OK(weft_comm_free(&parent));
            expect_works(world, "after all");
        });
        ASSERT_FALSE(HasFailure());
    }
}

JobShape shape_of(std::vector<int> threads, weft_thread_level level = WEFT_THREAD_SERIALIZED,
                  weft_wait_policy policy = WEFT_WAIT_YIELD) {
    JobShape shape{std::move(threads), level, policy};
    return shape;
}
INSTANTIATE_TEST_SUITE_P(Teams, MismatchOfSplits,
                         ::testing::Values(shape_of({1, 1}), shape_of({2, 2}), shape_of({1, 2, 2}),
                                           shape_of({2, 2}, WEFT_THREAD_FUNNELED, WEFT_WAIT_BLOCK)));

// Groups of other processes on the same context, and what is made of them: one breaks, the other one goes on.
TEST(MismatchOfGroups, IsNotTheOthers) {
    threads::Watchdog watchdog(280);
    for (weft_thread_level level : {WEFT_THREAD_FUNNELED, WEFT_THREAD_SERIALIZED}) {
        SimWorlds worlds(shape_of({2, 2, 2, 2}, level));
        std::atomic<uint32_t> contexts[2] = {{0}, {0}};
        worlds.run([&](weft_comm *world) {
            int group = weft_node(world) / 2;
            weft_comm *comm = nullptr, *child = nullptr;
            EXPECT_OK(weft_comm_split(world, group, -weft_rank(world), &comm));
            EXPECT_OK(weft_comm_dup(comm, &child));
            contexts[group] = child->context;
            EXPECT_OK(weft_barrier(world));
            EXPECT_EQ(contexts[0], contexts[1]);
            for (weft_comm *each : {child, comm}) {
                if (group)
                    for (int i = 0; i < 200; i++)
                        expect_works(each, "the other group");
                else
                    expect_between(each, weft_node(world) ? root_last : root_first, "groups");
                EXPECT_OK(weft_barrier(world));
                if (group)
                    expect_works(each, "the other group, later");
            }
            EXPECT_OK(weft_comm_free(&child));
            EXPECT_OK(weft_comm_free(&comm));
        });
        ASSERT_FALSE(HasFailure());
    }
}

// Within a process: one thread frees it, and the others come to a call more.
TEST(MismatchOfGroups, OneThreadLeaves) {
    threads::Watchdog watchdog(280);
    for (size_t i = 0; i + 1 < std::size(calls); i += effort::call_parts) {
        SimWorlds worlds(shape_of({3}));
        worlds.run([&](weft_comm *world) {
            weft_comm *comm = nullptr;
            EXPECT_OK(weft_comm_dup(world, &comm));
            expect_works(comm, calls[i].name);
            if (size_t(weft_rank(world)) != i % 3)
                expect_between(comm, calls[i], calls[i].name);
            EXPECT_OK(weft_comm_free(&comm));
            expect_works(world, calls[i].name);
        });
        ASSERT_FALSE(::testing::Test::HasFailure()) << calls[i].name;
    }
}

// Under FUNNELED the leaders, who are in no group, find out for those who are, and tell.
TEST(MismatchOfGroups, WithoutTheLeaders) {
    threads::Watchdog watchdog(280);
    for (weft_wait_policy policy : {WEFT_WAIT_YIELD, WEFT_WAIT_BLOCK})
        for (size_t i = 0; i + 1 < std::size(calls); i += 2 * effort::call_parts) {
            SimWorlds worlds(shape_of({3, 3}, WEFT_THREAD_FUNNELED, policy));
            worlds.run([&](weft_comm *world) {
                const one_call &mine = weft_node(world) ? calls[i] : calls[(i + 11) % (std::size(calls) - 1)];
                bool leads = weft_thread(world) == 0;
                for (int kind = 0; kind < 3; kind++) { // processes, one thread, requests
                    weft_comm *comm = nullptr;
                    EXPECT_OK(weft_comm_split(world, leads ? WEFT_COLOR_UNDEFINED : 0, -weft_rank(world), &comm));
                    if (comm && kind == 0)
                        expect_two_calls(expect_between(comm, mine, mine.name), mine.name);
                    else if (comm && kind == 1)
                        expect_between(comm, weft_thread(world) == 1 ? mine : root_last, mine.name);
                    else if (comm)
                        mismatch_nonblocking(comm, weft_node(world) == 1, "called");
                    if (comm) {
                        EXPECT_OK(weft_comm_free(&comm));
                    }
                    expect_works(world, mine.name);
                }
            });
            ASSERT_FALSE(::testing::Test::HasFailure()) << calls[i].name;
        }
}

// Process communicators that were split, and teams of those.
TEST(MismatchOfGroups, OfProcesses) {
    threads::Watchdog watchdog(280);
    for (size_t i = 0; i + 1 < std::size(calls); i += effort::call_parts) {
        SimWorlds worlds(shape_of({1, 1, 1, 1, 1}));
        worlds.run_processes([&](int rank, hier_world *world) {
            const one_call &mine = rank == 3 ? calls[i] : calls[(i + 11) % (std::size(calls) - 1)];
            weft_comm *comm = nullptr, *alone = nullptr, *other = nullptr;
            EXPECT_OK(weft_comm_split(world->process_comm, rank % 2, -rank, &comm));
            EXPECT_OK(weft_comm_dup(comm, &other));
            EXPECT_OK(weft_comm_split(comm, rank, 0, &alone));
            if (rank % 2) {
                expect_two_calls(expect_between(comm, mine, mine.name), mine.name);
                expect_messages(comm);
            } else {
                expect_works(comm, mine.name);
            }
            expect_works(alone, mine.name);
            expect_works(other, mine.name);
            weft_team *team = nullptr;
            EXPECT_OK(weft_team_create(other, 2, &team));
            worlds.run_team(team, [&](weft_comm *threads) {
                if (rank % 2)
                    expect_two_calls(expect_between(threads, mine, mine.name), mine.name);
                else
                    expect_works(threads, mine.name);
            });
            EXPECT_OK(weft_team_free(&team));
            for (weft_comm **each : {&alone, &other, &comm})
                EXPECT_OK(weft_comm_free(each));
            expect_works(world->process_comm, mine.name);
        });
        ASSERT_FALSE(::testing::Test::HasFailure()) << calls[i].name;
    }
}

// One process has left it, and has used its context again for what it makes with others, once and again: who still calls something is told.
TEST(MismatchOfGroups, WhoseContextIsUsedAgain) {
    threads::Watchdog watchdog(280);
    for (int uses = 0; uses < 3; uses++) {
        SimWorlds worlds(shape_of({1, 1, 1}));
        worlds.run_processes([&](int rank, hier_world *world) {
            weft_comm *left = nullptr, *others = nullptr;
            EXPECT_OK(weft_comm_split(world->process_comm, rank < 2 ? 0 : WEFT_COLOR_UNDEFINED, 0, &left));
            EXPECT_OK(weft_comm_split(world->process_comm, rank ? 0 : WEFT_COLOR_UNDEFINED, 0, &others));
            const uint32_t context = left ? left->context : 0;
            if (rank == 1) {
                EXPECT_OK(weft_comm_free(&left));
            }
            std::vector<weft_comm *> made;
            int used = 0;
            for (int i = 0; rank && i < 64 && used < uses; i++) {
                weft_comm *parent = made.empty() ? others : made.back(); // each looks for one somewhere else
                made.push_back(nullptr);
                EXPECT_OK(weft_comm_dup(parent, &made.back()));
                int again = rank == 1 && made.back()->context == context;
                EXPECT_OK(weft_bcast(&again, 1, WEFT_INT, 0, others));
                used += again;
                if (again) {
                    EXPECT_OK(weft_comm_free(&made.back()));
                    made.pop_back();
                }
            }
            EXPECT_TRUE(!rank || used == uses);
            EXPECT_OK(weft_barrier(world->process_comm));
            if (rank == 0) {
                EXPECT_EQ(weft_barrier(left), WEFT_ERR_MISMATCH);
                EXPECT_NE(std::string(weft_last_error()).find("rank 1 has left"), std::string::npos)
                    << weft_last_error();
                EXPECT_OK(weft_comm_free(&left));
            }
            EXPECT_OK(weft_barrier(world->process_comm));
            for (weft_comm *each : made)
                expect_works(each, "what was made since");
            for (weft_comm *each : made)
                EXPECT_OK(weft_comm_free(&each));
            if (others) {
                EXPECT_OK(weft_comm_free(&others));
            }
        });
        ASSERT_FALSE(::testing::Test::HasFailure()) << uses;
    }
}

// Processes 1 and 3 have made their calls on a duplicate of the world, on which process 0 has asked for them meanwhile, and are through with it. They
// read that question only when they wait for something on another communicator, which has its context. Process 2 comes last.
void ask_who_has_left(const std::function<void(int rank, weft_comm *comm)> &calls) {
    threads::Watchdog watchdog(280);
    SimWorlds worlds(shape_of({1, 1, 1, 1}));
    std::atomic<int> here{0};
    std::atomic<bool> waits{false}, answered{false};
    const auto await = [](const auto &condition) {
        while (!condition())
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
    };
    worlds.run_processes([&](int rank, hier_world *world) {
        weft_comm *others[7] = {}, *pair = nullptr, *left = nullptr, *again = nullptr;
        const auto meet = [&](int round) {
            here++;
            await([&] { return here >= 4 * round; });
        };
        for (weft_comm *&other : others) // so that the pair's dup looks for a context where the world's does
            EXPECT_OK(weft_comm_dup(world->process_comm, &other));
        EXPECT_OK(weft_comm_split(world->process_comm, rank % 2 ? 0 : WEFT_COLOR_UNDEFINED, 0, &pair));
        EXPECT_OK(weft_comm_dup(world->process_comm, &left));
        const uint32_t context = left->context;
        meet(1);
        const size_t before = worlds.counts().messages;
        meet(2);
        if (rank % 2) // until the others were asked
            await([&] { return worlds.counts().messages >= before + 3; });
        else if (rank)
            await([&] { return answered.load(); });
        calls(rank, left);
        EXPECT_OK(weft_comm_free(&left));
        if (rank % 2) {
            EXPECT_OK(weft_comm_dup(pair, &again));
            EXPECT_EQ(again->context, context);
            if (rank == 3) {
                await([&] { return waits.load(); });
                std::this_thread::sleep_for(std::chrono::milliseconds(100));
            }
            waits = true;
            EXPECT_OK(weft_barrier(again));
            EXPECT_OK(weft_comm_free(&again));
            EXPECT_OK(weft_comm_free(&pair));
            std::this_thread::sleep_for(std::chrono::milliseconds(50));
            answered = true;
        }
        for (weft_comm *&other : others)
            EXPECT_OK(weft_comm_free(&other));
    });
}

TEST(MismatchOfGroups, AskedLateAboutACallThatWasMade) {
    ask_who_has_left([](int rank, weft_comm *comm) {
        int all[4] = {};
        EXPECT_OK(weft_gather(&rank, 1, WEFT_INT, all, 1, WEFT_INT, 0, comm));
        for (int i = 0; rank == 0 && i < 4; i++)
            EXPECT_EQ(all[i], i);
    });
}

// Prepared it was, but not started as often.
TEST(MismatchOfGroups, AskedLateAboutACallThatWasPrepared) {
    ask_who_has_left([](int rank, weft_comm *comm) {
        int all[4];
        weft_request *request = nullptr;
        EXPECT_OK(weft_gather_init(&rank, 1, WEFT_INT, all, 1, WEFT_INT, 0, comm, &request));
        if (rank == 0) {
            EXPECT_OK(weft_start(&request));
            EXPECT_EQ(weft_wait(&request, nullptr), WEFT_ERR_MISMATCH);
        }
        EXPECT_OK(weft_request_free(&request));
    });
}

} // namespace
