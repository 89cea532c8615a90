// SPDX-License-Identifier: BSD-3-Clause
// Barriers; teams that come and go, stand at once, are entered by other threads than before; what a communicator knows.
#include "oracle_job.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <pthread.h>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

// A counter that all ranks of this host share: in a file that has no name any more once everybody has it.
class shared_counter {
  public:
    explicit shared_counter(weft_comm *comm) {
        char path[256] = "";
        int file = -1;
        if (weft_rank(comm) == 0) {
            snprintf(path, sizeof(path), "%s/weft-oracle-XXXXXX", std::filesystem::temp_directory_path().c_str());
            file = mkstemp(path);
            if (ftruncate(file, sizeof(std::atomic<long>)) != 0)
                abort();
        }
        job::ok(weft_bcast(path, sizeof(path), WEFT_CHAR, 0, comm), comm, "bcast");
        if (file < 0)
            file = open_existing(path);
        void *at = mmap(nullptr, sizeof(std::atomic<long>), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        close(file);
        if (at == MAP_FAILED)
            abort();
        counter_ = static_cast<std::atomic<long> *>(at);
        job::ok(weft_barrier(comm), comm, "barrier");
        if (weft_rank(comm) == 0)
            unlink(path);
    }
    ~shared_counter() {
        munmap(counter_, sizeof(*counter_));
    }
    std::atomic<long> &operator*() {
        return *counter_;
    }

  private:
    static int open_existing(const char *path) {
        FILE *stream = fopen(path, "r+");
        if (!stream)
            abort();
        int file = dup(fileno(stream));
        fclose(stream);
        return file;
    }
    std::atomic<long> *counter_;
};

// After barrier k every rank has counted k times, and none more than once again.
TEST(Barrier, NobodyPassesBeforeAllHaveCome) {
    job::on_both([](weft_comm *comm) {
        shared_counter counter(comm);
        long size = weft_size(comm);
        for (long round = 1; round <= 300; round++) {
            if (round % 50 == 0 && weft_rank(comm) == round / 50 % size)
                usleep(2000); /* somebody is late */
            (*counter)++;
            job::ok(weft_barrier(comm), comm, "barrier");
            long seen = *counter;
            job::check(seen >= round * size && seen <= (round + 1) * size, comm,
                       "after barrier " + std::to_string(round) + " the counter was " + std::to_string(seen));
        }
    });
}

// Everything that a thread wrote before a barrier, every thread of its process reads after it.
TEST(Barrier, PublishesMemory) {
    std::vector<int> written(4096, -1);
    job::on_team([&](weft_comm *comm) {
        size_t threads = (size_t)weft_node_threads(comm, weft_node(comm)), self = (size_t)weft_thread(comm);
        for (int round = 0; round < 100; round++) {
            written[self] = round;
            job::ok(weft_barrier(comm), comm, "barrier");
            for (size_t thread = 0; thread < threads; thread++)
                job::check(written[thread] == round, comm, "a barrier published nothing");
            job::ok(weft_barrier(comm), comm, "barrier");
        }
    });
}

int sum_of_ranks(weft_comm *comm, const char *what) {
    int mine = weft_rank(comm) + 1, size = weft_size(comm), sum = 0;
    job::ok(weft_allreduce(&mine, &sum, 1, WEFT_INT, WEFT_SUM, comm), comm, what);
    job::check(sum == size * (size + 1) / 2, comm, what);
    return sum;
}

// Would all processes be alone, every other test would pass.
TEST(Teams, HaveTheShapeOfTheJob) {
    const char *ranks = getenv("ORACLE_RANKS");
    job::on_team([&](weft_comm *comm) {
        if (ranks)
            job::check(weft_size(comm) == atoi(ranks), comm, std::string("expected ") + ranks + " ranks");
        job::check(weft_nodes(comm) == weft_size(weft_process_comm()), comm, "weft_nodes");
        job::check(weft_node(comm) == weft_rank(weft_process_comm()), comm, "weft_node");
        job::check(weft_node_threads(comm, weft_node(comm)) == job::threads(), comm, "weft_node_threads");
        int before = 0, all = 0;
        for (int node = 0; node < weft_nodes(comm); node++) {
            before += node < weft_node(comm) ? weft_node_threads(comm, node) : 0;
            all += weft_node_threads(comm, node);
        }
        job::check(weft_size(comm) == all, comm, "weft_size");
        job::check(weft_rank(comm) == before + weft_thread(comm), comm, "weft_rank");
    });
    weft_comm *processes = weft_process_comm();
    EXPECT_EQ(weft_nodes(processes), weft_size(processes));
    EXPECT_EQ(weft_node(processes), weft_rank(processes));
    EXPECT_EQ(weft_thread(processes), 0);
    EXPECT_EQ(weft_node_threads(processes, weft_node(processes)), 1);
}

TEST(Teams, DefaultToTheThreadsOfTheLauncher) {
    const char *text = getenv("WEFT_THREADS");
    if (!text)
        GTEST_SKIP() << "no launcher";
    weft_team *team = nullptr;
    ASSERT_TRUE(job::ok(weft_team_create(weft_process_comm(), 0, &team), weft_process_comm(), "weft_team_create"));
    EXPECT_EQ(weft_team_threads(team), atoi(text));
    job::ok(weft_team_free(&team), weft_process_comm(), "weft_team_free");
}

// More in a row than there are contexts, free handles and slots.
TEST(Teams, TwoHundredInARow) {
    for (int round = 0; round < 200; round++)
        job::on_team(1 + (round + weft_rank(weft_process_comm())) % 3,
                     [](weft_comm *comm) { sum_of_ranks(comm, "one of two hundred teams"); });
}

// All threads are in three teams of the same shape, and call collectives on them in an order that differs from team to team.
TEST(Teams, SeveralAtOnce) {
    weft_team *second = nullptr, *third = nullptr;
    job::ok(weft_team_create(weft_process_comm(), job::threads(), &second), nullptr, "weft_team_create");
    job::ok(weft_team_create(weft_process_comm(), job::threads(), &third), nullptr, "weft_team_create");
    job::on_team([&](weft_comm *first) {
        job::in_team(second, weft_thread(first), [&](weft_comm *b) {
            job::in_team(third, weft_thread(first), [&](weft_comm *c) {
                for (int round = 0; round < 50; round++) {
                    sum_of_ranks(first, "the first of three teams");
                    for (int i = 0; i < round % 3; i++)
                        sum_of_ranks(b, "the second of three teams");
                    if (round % 5 == 0)
                        sum_of_ranks(c, "the third of three teams");
                }
            });
        });
    });
    job::ok(weft_team_free(&third), nullptr, "weft_team_free");
    job::ok(weft_team_free(&second), nullptr, "weft_team_free");
}

void long_and_short(weft_comm *comm, int rounds) {
    std::vector<double> data(3000);
    for (int round = 0; round < rounds; round++) {
        int root = round % weft_size(comm);
        for (double &element : data)
            element = weft_rank(comm) == root ? round : -1;
        job::ok(weft_bcast(data.data(), data.size(), WEFT_DOUBLE, root, comm), comm, "bcast");
        job::check(data.front() == round && data.back() == round, comm, "bcast in one of two teams");
        sum_of_ranks(comm, "one of two teams");
    }
}

// Different threads in different teams, and one more on the process communicator: nobody waits for another's collectives.
TEST(Teams, SideBySide) {
    if (weft_thread_level_get() == WEFT_THREAD_FUNNELED)
        GTEST_SKIP() << "under FUNNELED one thread leads every team";
    weft_team *teams[2] = {nullptr, nullptr};
    for (weft_team *&team : teams)
        job::ok(weft_team_create(weft_process_comm(), 2, &team), nullptr, "weft_team_create");
    std::vector<std::thread> others;
    for (weft_team *team : teams)
        for (int thread = 0; thread < 2; thread++)
            others.emplace_back([=] { job::in_team(team, thread, [](weft_comm *comm) { long_and_short(comm, 60); }); });
    long_and_short(weft_process_comm(), 40);
    for (auto &other : others)
        other.join();
    for (weft_team *&team : teams)
        job::ok(weft_team_free(&team), nullptr, "weft_team_free");
}

// The numbers of a team go from thread to thread; the collectives go on where the one before stopped.
TEST(Teams, EnteredByOtherThreadsThanBefore) {
    int threads = job::threads();
    bool funneled = weft_thread_level_get() == WEFT_THREAD_FUNNELED;
    weft_team *team = nullptr;
    ASSERT_TRUE(job::ok(weft_team_create(weft_process_comm(), threads, &team), nullptr, "weft_team_create"));
    for (int round = 0; round < 40; round++) {
        std::vector<std::thread> others;
        auto number = [=](int i) { return funneled && i == 0 ? 0 : funneled ? i : (i + round) % threads; };
        for (int i = 1; i < threads; i++)
            others.emplace_back(
                [=] { job::in_team(team, number(i), [](weft_comm *c) { sum_of_ranks(c, "entered"); }); });
        for (int visit = 0; visit < 3; visit++) /* with nothing to do, and back again */
            job::in_team(team, number(0), [](weft_comm *) {});
        job::in_team(team, number(0), [](weft_comm *c) { sum_of_ranks(c, "entered again"); });
        for (auto &other : others)
            other.join();
    }
    job::ok(weft_team_free(&team), nullptr, "weft_team_free");
}

// More communicators than one round of their agreement gives, then one on which a rank is that was away in between.
TEST(Teams, CommunicatorsOfWhoEnteredAgain) {
    weft_team *team = nullptr;
    job::ok(weft_team_create(weft_process_comm(), 1, &team), nullptr, "weft_team_create");
    weft_comm *comm = nullptr;
    std::vector<weft_comm *> made(65);
    job::ok(weft_team_enter(team, 0, &comm), nullptr, "weft_team_enter");
    const bool away = weft_rank(comm) == 0;
    for (weft_comm *&one : made)
        job::ok(weft_comm_dup(comm, &one), comm, "weft_comm_dup");
    for (weft_comm *&one : made)
        job::ok(weft_comm_free(&one), comm, "weft_comm_free");
    if (away) {
        job::ok(weft_team_leave(&comm), nullptr, "weft_team_leave");
        job::ok(weft_team_enter(team, 0, &comm), nullptr, "weft_team_enter");
    }
    job::ok(weft_comm_dup(comm, &made[0]), comm, "weft_comm_dup");
    sum_of_ranks(made[0], "of who entered again");
    job::ok(weft_comm_free(&made[0]), comm, "weft_comm_free");
    job::ok(weft_team_leave(&comm), nullptr, "weft_team_leave");
    job::ok(weft_team_free(&team), nullptr, "weft_team_free");
}

TEST(Teams, AnyThreadGivesEachNumberOnce) {
    int threads = job::threads();
    for (int round = 0; round < 10; round++) {
        std::vector<std::atomic<int>> given((size_t)threads);
        weft_team *team = nullptr;
        job::ok(weft_team_create(weft_process_comm(), threads, &team), nullptr, "weft_team_create");
        auto enter = [&] {
            job::in_team(team, WEFT_ANY_THREAD, [&](weft_comm *comm) {
                given[(size_t)weft_thread(comm)]++;
                sum_of_ranks(comm, "WEFT_ANY_THREAD");
            });
        };
        std::vector<std::thread> others;
        for (int i = 1; i < threads; i++)
            others.emplace_back(enter);
        enter();
        for (auto &other : others)
            other.join();
        for (auto &times : given)
            EXPECT_EQ(times, 1);
        job::ok(weft_team_free(&team), nullptr, "weft_team_free");
    }
}

// A thread that is a C library's, with little stack.
void *enter_from_pthread(void *team) {
    job::in_team(static_cast<weft_team *>(team), WEFT_ANY_THREAD, [](weft_comm *comm) { long_and_short(comm, 5); });
    return nullptr;
}

TEST(Teams, Pthreads) {
    weft_team *team = nullptr;
    std::vector<pthread_t> others((size_t)job::threads() - 1);
    ASSERT_TRUE(job::ok(weft_team_create(weft_process_comm(), job::threads(), &team), nullptr, "weft_team_create"));
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 * 1024);
    for (pthread_t &other : others)
        EXPECT_EQ(0, pthread_create(&other, &small, enter_from_pthread, team));
    enter_from_pthread(team);
    for (pthread_t &other : others)
        pthread_join(other, nullptr);
    pthread_attr_destroy(&small);
    job::ok(weft_team_free(&team), nullptr, "weft_team_free");
}

} // namespace
