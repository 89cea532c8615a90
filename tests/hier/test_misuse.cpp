// SPDX-License-Identifier: BSD-3-Clause
// Wrong use of handles: every call answers with a code and a sentence, and what is right goes on as if nothing had happened.
#include "misuse.h"

#include <climits>
#include <cstdlib>
#include <filesystem>
#include <sys/wait.h>
#include <unistd.h>

namespace {

// weft in one process, and a team.
class Misuse : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
    }
    void TearDown() override {
        EXPECT_OK(weft_finalize());
    }
    static weft_team *make_team(int threads) {
        weft_team *team = nullptr;
        EXPECT_OK(weft_team_create(weft_process_comm(), threads, &team));
        return team;
    }
};

void expect_invalid(weft_comm *comm) {
    int elements[8] = {0};
    for (auto &call : misuse::all_collectives(elements, 4))
        misuse::expect_error(WEFT_ERR_ARG, call.run(comm), {call.name, "NULL or was given back"}, call.name);
    EXPECT_ERROR(WEFT_ERR_ARG, weft_rank(comm), "weft_rank", "NULL or was given back");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_size(comm), "weft_size");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_node(comm), "weft_node");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_thread(comm), "weft_thread");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_nodes(comm), "weft_nodes");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_node_threads(comm, 0), "weft_node_threads");
    weft_comm *leaving = comm;
    EXPECT_ERROR(WEFT_ERR_ARG, weft_team_leave(&leaving), "weft_team_leave");
    EXPECT_EQ(leaving, comm);
    weft_team *team = nullptr;
    EXPECT_ERROR(WEFT_ERR_ARG, weft_team_create(comm, 1, &team), "weft_team_create");
    EXPECT_EQ(team, nullptr);
}

TEST(MisuseOutside, BeforeInit) {
    EXPECT_EQ(weft_initialized(), 0);
    EXPECT_EQ(weft_process_comm(), nullptr);
    misuse::expect_sentence({"weft_process_comm", "weft_init"}, "weft_process_comm");
    EXPECT_ERROR(WEFT_ERR_INIT, weft_finalize(), "weft_finalize", "weft_init");
    EXPECT_EQ(weft_thread_level_get(), WEFT_THREAD_DEFAULT);
    weft_counters counters;
    EXPECT_ERROR(WEFT_ERR_INIT, weft_counters_get(&counters), "weft_counters_get", "weft_init");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_counters_get(nullptr), "weft_counters_get", "NULL");
    expect_invalid(nullptr);
    weft_comm *comm = nullptr;
    EXPECT_ERROR(WEFT_ERR_ARG, weft_team_enter(nullptr, 0, &comm), "weft_team_enter");
    EXPECT_EQ(comm, nullptr);
}

TEST(MisuseOutside, AfterFinalize) {
    EXPECT_OK(weft_init(nullptr));
    weft_comm *stale = weft_process_comm();
    ASSERT_NE(stale, nullptr);
    EXPECT_OK(weft_finalize());
    EXPECT_EQ(weft_process_comm(), nullptr);
    expect_invalid(stale);
    EXPECT_ERROR(WEFT_ERR_INIT, weft_finalize(), "weft_finalize");
}

TEST(MisuseOutside, TwentyTimesInitAndFinalize) {
    for (int round = 0; round < 20; round++) {
        EXPECT_OK(weft_init(nullptr));
        EXPECT_EQ(weft_initialized(), 1);
        weft_team *team = nullptr;
        weft_comm *comm = nullptr;
        EXPECT_OK(weft_team_create(weft_process_comm(), 1, &team));
        EXPECT_OK(weft_team_enter(team, 0, &comm));
        EXPECT_OK(weft_barrier(comm));
        EXPECT_OK(weft_team_leave(&comm));
        EXPECT_OK(weft_team_free(&team));
        EXPECT_OK(weft_finalize());
        EXPECT_EQ(weft_initialized(), 0);
    }
}

// Children of fork() have the same number of starts: their files have other names all the same.
TEST(MisuseOutside, ChildrenOfForkWriteFilesOfTheirOwn) {
    char folder[] = "/tmp/weft-children-XXXXXX";
    ASSERT_TRUE(mkdtemp(folder));
    setenv("WEFT_COUNTERS", folder, 1);
    EXPECT_OK(weft_init(nullptr));
    for (int child = 0; child < 2; child++)
        if (fork() == 0)
            _exit(weft_init(nullptr) || weft_barrier(weft_process_comm()) || weft_finalize());
    for (int child = 0, status; child < 2; child++) {
        EXPECT_GT(wait(&status), 0);
        EXPECT_EQ(status, 0);
    }
    EXPECT_OK(weft_finalize());
    unsetenv("WEFT_COUNTERS");
    size_t files = 0;
    for ([[maybe_unused]] const auto &file : std::filesystem::directory_iterator(folder))
        files++;
    EXPECT_EQ(files, 3u);
    std::filesystem::remove_all(folder);
}

// No report is lost that somebody has asked for: that a file cannot be made is found out at the start.
TEST(MisuseOutside, ReportsThatCannotBeWritten) {
    char folder[] = "/tmp/weft-reports-XXXXXX";
    ASSERT_TRUE(mkdtemp(folder));
    const std::string inside = std::string(folder) + "/";
    std::filesystem::create_directory(inside + "taken.0");
    setenv("WEFT_HANG_TIMEOUT", "9", 1);
    for (const std::string &name : {inside + "taken", inside + std::string(254, 'y'), inside + "nowhere/report"}) {
        setenv("WEFT_HANG_REPORT", name.c_str(), 1);
        EXPECT_ERROR(WEFT_ERR_CONFIG, weft_init(nullptr), "WEFT_HANG_REPORT", "no file can be made there");
    }
    setenv("WEFT_HANG_REPORT", (inside + "report").c_str(), 1);
    EXPECT_OK(weft_init(nullptr));
    EXPECT_OK(weft_finalize());
    EXPECT_FALSE(std::filesystem::exists(inside + "report.0"));
    unsetenv("WEFT_HANG_REPORT");
    unsetenv("WEFT_HANG_TIMEOUT");
    std::filesystem::remove_all(folder);
}

// Where the process stands matters to files only: there may be no such directory any more.
TEST(MisuseOutside, WithoutADirectory) {
    char folder[] = "/tmp/weft-nowhere-XXXXXX";
    const std::filesystem::path here = std::filesystem::current_path();
    ASSERT_TRUE(mkdtemp(folder));
    std::filesystem::current_path(folder);
    std::filesystem::remove(folder);
    EXPECT_OK(weft_init(nullptr));
    EXPECT_OK(weft_finalize());
    std::filesystem::current_path(here);
}

TEST_F(Misuse, InitTwice) {
    EXPECT_ERROR(WEFT_ERR_INIT, weft_init(nullptr), "weft_init", "twice");
    misuse::elsewhere([] { EXPECT_ERROR(WEFT_ERR_INIT, weft_init(nullptr), "weft_init"); });
    EXPECT_OK(weft_barrier(weft_process_comm()));
}

TEST_F(Misuse, FinalizeWithATeamStanding) {
    weft_team *team = make_team(2);
    EXPECT_ERROR(WEFT_ERR_BUSY, weft_finalize(), "rank 0", "1 teams", "weft_team_free");
    EXPECT_EQ(weft_initialized(), 1);
    EXPECT_OK(weft_team_free(&team));
}

TEST_F(Misuse, TeamCreate) {
    weft_team *team = nullptr;
    weft_comm *processes = weft_process_comm(), *comm = nullptr;
    EXPECT_ERROR(WEFT_ERR_ARG, weft_team_create(processes, -1, &team), "rank 0", "nthreads is -1");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_team_create(processes, INT_MIN, &team), "nthreads");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_team_create(processes, WEFT_MAX_TEAM_THREADS + 1, &team), "nthreads is 4097");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_team_create(processes, 1, nullptr), "team is NULL");
    EXPECT_EQ(team, nullptr);
    EXPECT_OK(weft_team_create(processes, 1, &team));
    EXPECT_OK(weft_team_enter(team, 0, &comm));
    weft_team *second = nullptr;
    EXPECT_ERROR(WEFT_ERR_ARG, weft_team_create(comm, 1, &second), "rank 0", "parent", "process communicator");
    EXPECT_EQ(second, nullptr);
    EXPECT_OK(weft_team_leave(&comm));
    EXPECT_OK(weft_team_free(&team));
}

TEST_F(Misuse, ThreadNumberTwice) {
    weft_team *team = make_team(2);
    weft_comm *comm = nullptr, *again = nullptr;
    EXPECT_OK(weft_team_enter(team, 1, &comm));
    EXPECT_ERROR(WEFT_ERR_THREAD, weft_team_enter(team, 1, &again), "process 0", "thread 1", "already");
    misuse::elsewhere([&] { EXPECT_ERROR(WEFT_ERR_THREAD, weft_team_enter(team, 1, &again), "thread 1"); });
    EXPECT_EQ(again, nullptr);
    EXPECT_OK(weft_team_leave(&comm));
    EXPECT_OK(weft_team_enter(team, 1, &comm));
    EXPECT_OK(weft_team_leave(&comm));
    EXPECT_OK(weft_team_free(&team));
}

TEST_F(Misuse, MoreThreadsThanAnnounced) {
    weft_team *team = make_team(2);
    weft_comm *comms[2] = {nullptr, nullptr}, *third = nullptr;
    for (int number : {2, INT_MAX, -2, INT_MIN})
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_team_enter(team, number, &third), "process 0",
                     "thread is " + std::to_string(number), "0 … 1");
    for (weft_comm *&comm : comms)
        EXPECT_OK(weft_team_enter(team, WEFT_ANY_THREAD, &comm));
    EXPECT_NE(weft_thread(comms[0]), weft_thread(comms[1]));
    EXPECT_ERROR(WEFT_ERR_THREAD, weft_team_enter(team, WEFT_ANY_THREAD, &third), "process 0", "all 2 threads");
    EXPECT_EQ(third, nullptr);
    EXPECT_ERROR(WEFT_ERR_ARG, weft_team_enter(team, 0, nullptr), "comm is NULL");
    for (weft_comm *&comm : comms)
        EXPECT_OK(weft_team_leave(&comm));
    EXPECT_OK(weft_team_free(&team));
}

TEST_F(Misuse, HandleOfAnotherThread) {
    weft_team *team = make_team(2);
    weft_comm *comm = nullptr;
    EXPECT_OK(weft_team_enter(team, 1, &comm));
    misuse::elsewhere([&] {
        int elements[4] = {0};
        for (auto &call : misuse::all_collectives(elements, 2))
            misuse::expect_error(WEFT_ERR_THREAD, call.run(comm), {"rank 1", call.name}, call.name);
        weft_comm *stolen = comm;
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_team_leave(&stolen), "rank 1", "weft_team_leave");
        EXPECT_EQ(stolen, comm);
    });
    EXPECT_EQ(weft_rank(comm), 1);
    EXPECT_OK(weft_team_leave(&comm));
    EXPECT_OK(weft_team_free(&team));
}

TEST_F(Misuse, HandleGivenBack) {
    weft_team *team = make_team(1);
    weft_comm *comm = nullptr;
    EXPECT_OK(weft_team_enter(team, 0, &comm));
    weft_comm *stale = comm;
    EXPECT_OK(weft_team_leave(&comm));
    EXPECT_EQ(comm, nullptr);
    expect_invalid(stale);
    expect_invalid(nullptr);
    EXPECT_ERROR(WEFT_ERR_ARG, weft_team_leave(nullptr), "weft_team_leave");
    // The new handle is another one, so the old one stays wrong.
    EXPECT_OK(weft_team_enter(team, 0, &comm));
    expect_invalid(stale);
    EXPECT_OK(weft_team_leave(&comm));
    weft_comm *processes = weft_process_comm();
    EXPECT_ERROR(WEFT_ERR_ARG, weft_team_leave(&processes), "process communicator");
    EXPECT_OK(weft_team_free(&team));
}

TEST_F(Misuse, FreedTeam) {
    weft_team *team = make_team(1), *stale = team;
    weft_comm *comm = nullptr;
    EXPECT_OK(weft_team_free(&team));
    EXPECT_EQ(team, nullptr);
    for (weft_team *wrong : {team, stale}) {
        weft_team *freed = wrong;
        EXPECT_ERROR(WEFT_ERR_ARG, weft_team_enter(wrong, 0, &comm), "weft_team_enter", "freed");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_team_free(&freed), "weft_team_free", "freed");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_team_threads(wrong), "weft_team_threads", "freed");
    }
    EXPECT_ERROR(WEFT_ERR_ARG, weft_team_free(nullptr), "weft_team_free");
    EXPECT_EQ(comm, nullptr);
}

TEST_F(Misuse, FreeWithAThreadInside) {
    weft_team *team = make_team(2);
    weft_comm *comm = nullptr;
    EXPECT_OK(weft_team_enter(team, 1, &comm));
    weft_team *standing = team;
    EXPECT_ERROR(WEFT_ERR_BUSY, weft_team_free(&team), "process 0", "thread 1");
    EXPECT_EQ(team, standing);
    EXPECT_EQ(weft_team_threads(team), 2);
    EXPECT_OK(weft_team_leave(&comm));
    EXPECT_OK(weft_team_free(&team));
}

TEST_F(Misuse, NodeOutOfRange) {
    for (int node : {-1, 1, INT_MAX})
        EXPECT_ERROR(WEFT_ERR_RANK, weft_node_threads(weft_process_comm(), node), "weft_node_threads",
                     "node is " + std::to_string(node));
}

// Under FUNNELED one thread does what concerns the network.
TEST(MisuseFunneled, OtherThreadsThanTheLeader) {
    weft_options options = {};
    options.thread_level = WEFT_THREAD_FUNNELED;
    ASSERT_EQ(WEFT_SUCCESS, weft_init(&options)) << weft_last_error();
    EXPECT_EQ(weft_thread_level_get(), WEFT_THREAD_FUNNELED);
    weft_team *team = nullptr;
    EXPECT_OK(weft_team_create(weft_process_comm(), 2, &team));
    misuse::elsewhere([&] {
        weft_comm *comm = nullptr, *none = nullptr;
        weft_team *other = nullptr;
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_team_enter(team, 0, &none), "process 0", "FUNNELED", "weft_init");
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_barrier(weft_process_comm()), "rank 0", "weft_barrier", "FUNNELED");
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_team_create(weft_process_comm(), 1, &other), "FUNNELED");
        EXPECT_OK(weft_team_enter(team, WEFT_ANY_THREAD, &comm));
        EXPECT_EQ(weft_thread(comm), 1); // 0 is kept for the leader
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_team_enter(team, WEFT_ANY_THREAD, &none), "process 0");
        EXPECT_OK(weft_team_leave(&comm));
        EXPECT_EQ(none, nullptr);
    });
    EXPECT_OK(weft_team_free(&team));
    misuse::elsewhere([] { EXPECT_ERROR(WEFT_ERR_THREAD, weft_finalize(), "weft_finalize", "FUNNELED"); });
    EXPECT_OK(weft_finalize());
}

} // namespace
