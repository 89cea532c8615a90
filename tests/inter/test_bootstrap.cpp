// SPDX-License-Identifier: BSD-3-Clause
/**
 * The bootstraps. Threads of this process stand for the processes of the callback bootstrap; the tests of PMIx that need a
 * launcher run under weftrun (see CMakeLists.txt).
 */
extern "C" {
#include <inter/bootstrap.h>
}
#include <hier/short_memory.h>
#include <weft/error.h>

#include <arpa/inet.h>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <mutex>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

/* An allgather among the threads of a test. */
class Exchange {
  public:
    explicit Exchange(int size) : size_(size) {}

    void gather(int rank, const void *send, void *receive, size_t bytes) {
        std::unique_lock<std::mutex> lock(mutex_);
        changed_.wait(lock, [&] { return !leaving_; });
        data_.resize(bytes * static_cast<size_t>(size_));
        memcpy(&data_[bytes * static_cast<size_t>(rank)], send, bytes);
        if (++inside_ == size_) {
            leaving_ = true;
            changed_.notify_all();
        }
        changed_.wait(lock, [&] { return leaving_; });
        memcpy(receive, data_.data(), data_.size());
        if (--inside_ == 0) {
            leaving_ = false;
            changed_.notify_all();
        }
    }

  private:
    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<char> data_;
    int size_, inside_ = 0;
    bool leaving_ = false;
};

struct Process {
    Exchange *exchange;
    int rank;
    int calls = 0;
    int fails_at = -1;                                    /* the call that returns an error */
    std::function<void(char *, size_t)> tamper = nullptr; /* changes what is received: (all data, bytes a process) */
    int size = 0;
};

int allgather(const void *send, void *receive, size_t bytes, void *context) {
    auto *process = static_cast<Process *>(context);
    process->exchange->gather(process->rank, send, receive, bytes);
    if (process->tamper)
        process->tamper(static_cast<char *>(receive), bytes);
    return process->calls++ == process->fails_at ? 17 : 0;
}

/* Runs a body as each of `size` processes. */
void as_processes(int size, const std::function<void(Process &)> &body) {
    Exchange exchange(size);
    std::vector<std::thread> threads;
    for (int rank = 0; rank < size; rank++)
        threads.emplace_back([&, rank] {
            Process process{&exchange, rank};
            process.size = size;
            body(process);
        });
    for (std::thread &thread : threads)
        thread.join();
}

inter_bootstrap *open_callback(Process &process) {
    weft_bootstrap user{process.rank, process.size, allgather, &process};
    inter_bootstrap *bootstrap = nullptr;
    EXPECT_EQ(inter_bootstrap_callback(&user, &bootstrap), WEFT_SUCCESS) << weft_last_error();
    return bootstrap;
}

std::string address_of(int rank) {
    return std::string(static_cast<size_t>(1 + rank * 37 % 300), static_cast<char>('a' + rank % 26));
}

/* What every bootstrap must do, from publish to close. */
void use(inter_bootstrap *bootstrap) {
    std::string mine = address_of(bootstrap->rank);
    ASSERT_EQ(bootstrap->publish(bootstrap, mine.data(), mine.size()), WEFT_SUCCESS) << weft_last_error();
    for (int round = 0; round < 2; round++) {
        for (int i = 0; i < bootstrap->size; i++) {
            int peer = (bootstrap->rank + i) % bootstrap->size;
            const void *address;
            size_t bytes;
            ASSERT_EQ(bootstrap->lookup(bootstrap, peer, &address, &bytes), WEFT_SUCCESS) << weft_last_error();
            EXPECT_EQ(std::string(static_cast<const char *>(address), bytes), address_of(peer));
            EXPECT_EQ(bootstrap->host(bootstrap, peer), bootstrap->host(bootstrap, bootstrap->rank));
        }
        ASSERT_EQ(bootstrap->fence(bootstrap), WEFT_SUCCESS) << weft_last_error();
    }
    const void *address;
    size_t bytes;
    EXPECT_EQ(bootstrap->lookup(bootstrap, bootstrap->size, &address, &bytes), WEFT_ERR_RANK);
    EXPECT_EQ(bootstrap->lookup(bootstrap, -1, &address, &bytes), WEFT_ERR_RANK);
    bootstrap->close(bootstrap);
}

} // namespace

class CallbackBootstrap : public testing::TestWithParam<int> {};

TEST_P(CallbackBootstrap, Connects) {
    as_processes(GetParam(), [](Process &process) {
        inter_bootstrap *bootstrap = open_callback(process);
        EXPECT_EQ(bootstrap->rank, process.rank);
        EXPECT_EQ(bootstrap->size, process.size);
        EXPECT_STREQ(bootstrap->name, "callback");
        use(bootstrap);
        EXPECT_EQ(process.calls, 4); /* two at publish, one a fence */
    });
}

INSTANTIATE_TEST_SUITE_P(Sizes, CallbackBootstrap, testing::Values(1, 2, 3, 5, 7, 8, 13));

TEST(CallbackBootstrapErrors, RefusesWhatCannotBe) {
    inter_bootstrap *bootstrap = nullptr;
    weft_bootstrap no_function{0, 1, nullptr, nullptr}, no_size{0, 0, allgather, nullptr},
        rank_high{2, 2, allgather, nullptr}, rank_low{-1, 2, allgather, nullptr};
    for (const weft_bootstrap *user : {&no_function, &no_size, &rank_high, &rank_low}) {
        EXPECT_EQ(inter_bootstrap_callback(user, &bootstrap), WEFT_ERR_ARG);
        EXPECT_EQ(bootstrap, nullptr);
    }
    EXPECT_NE(std::string(weft_last_error()).find("rank -1 and size 2"), std::string::npos) << weft_last_error();
}

TEST(CallbackBootstrapErrors, ReportsAFailingCallback) {
    for (int call : {0, 1, 2}) {
        as_processes(3, [call](Process &process) {
            process.fails_at = call;
            inter_bootstrap *bootstrap = open_callback(process);
            int status = bootstrap->publish(bootstrap, "x", 1);
            if (call < 2)
                EXPECT_EQ(status, WEFT_ERR_BOOTSTRAP);
            else
                EXPECT_EQ(bootstrap->fence(bootstrap), WEFT_ERR_BOOTSTRAP);
            EXPECT_NE(std::string(weft_last_error()).find("returned 17"), std::string::npos) << weft_last_error();
            bootstrap->close(bootstrap);
        });
    }
}

TEST(CallbackBootstrapErrors, AFenceNeedsNoMemory) {
    as_processes(1, [](Process &process) {
        inter_bootstrap *bootstrap = open_callback(process);
        ASSERT_EQ(bootstrap->publish(bootstrap, "x", 1), WEFT_SUCCESS) << weft_last_error();
        short_memory::fail(1, true);
        int status = bootstrap->fence(bootstrap);
        bool failed = short_memory::failed();
        short_memory::fail(0);
        EXPECT_EQ(status, WEFT_SUCCESS) << weft_last_error();
        EXPECT_FALSE(failed);
        EXPECT_EQ(process.calls, 3);
        bootstrap->close(bootstrap);
    });
}

TEST(CallbackBootstrapErrors, TrustsNoLengthOfAPeer) {
    /* The header's second word is the length of the address. */
    for (uint64_t length : {uint64_t(0), uint64_t(1) << 40, ~uint64_t(0)}) {
        as_processes(3, [length](Process &process) {
            process.tamper = [length](char *all, size_t bytes) {
                memcpy(all + 1 * bytes + 8, &length, sizeof(length));
            };
            inter_bootstrap *bootstrap = open_callback(process);
            EXPECT_EQ(bootstrap->publish(bootstrap, "x", 1), WEFT_ERR_BOOTSTRAP);
            EXPECT_NE(std::string(weft_last_error()).find("process 1 announces"), std::string::npos)
                << weft_last_error();
            bootstrap->close(bootstrap);
        });
    }
}

TEST(CallbackBootstrapErrors, NoticesDataInTheWrongPlaceInEveryProcess) {
    as_processes(3, [](Process &process) {
        process.tamper = [](char *all, size_t bytes) {
            std::vector<char> first(all, all + bytes);
            memcpy(all, all + bytes, bytes);
            memcpy(all + bytes, first.data(), bytes);
        };
        inter_bootstrap *bootstrap = open_callback(process);
        EXPECT_EQ(bootstrap->publish(bootstrap, "x", 1), WEFT_ERR_BOOTSTRAP);
        bootstrap->close(bootstrap);
    });
    as_processes(2, [](Process &process) {
        process.tamper = [](char *all, size_t bytes) { memset(all, 0, 2 * bytes); };
        inter_bootstrap *bootstrap = open_callback(process);
        EXPECT_EQ(bootstrap->publish(bootstrap, "x", 1), WEFT_ERR_BOOTSTRAP);
        bootstrap->close(bootstrap);
    });
}

TEST(CallbackBootstrapErrors, TheOwnHeaderIsNotBelievedEither) {
    /* Of process 1 a shorter address is announced than it has, which it copies all the same unless it looks. */
    as_processes(3, [](Process &process) {
        process.tamper = [&process](char *all, size_t bytes) {
            const uint64_t length = 10;
            for (size_t rank = 0; rank < 3 && process.calls == 0; rank++)
                memcpy(all + rank * bytes + 8, &length, sizeof(length));
        };
        inter_bootstrap *bootstrap = open_callback(process);
        std::string mine(process.rank == 1 ? 100000 : 10, 'x');
        EXPECT_EQ(bootstrap->publish(bootstrap, mine.data(), mine.size()), WEFT_ERR_BOOTSTRAP);
        EXPECT_NE(
            std::string(weft_last_error()).find(process.rank == 1 ? "at place 1 of 3" : "of process 1 it did not"),
            std::string::npos)
            << weft_last_error();
        bootstrap->close(bootstrap);
    });
}

TEST(CallbackBootstrapErrors, AddressesThatWereNotSentAreNoticedInEveryProcess) {
    /* Of so many bytes of each process the rest is not delivered. */
    for (size_t delivered : {0, 128, 298}) {
        as_processes(3, [delivered](Process &process) {
            process.tamper = [&process, delivered](char *all, size_t bytes) {
                for (size_t rank = 1; rank < 3 && process.calls == 1; rank++)
                    memset(all + rank * bytes + delivered, 0, bytes - delivered);
            };
            inter_bootstrap *bootstrap = open_callback(process);
            std::string mine(process.rank == 0 ? 300 : 299, 'x');
            EXPECT_EQ(bootstrap->publish(bootstrap, mine.data(), mine.size()), WEFT_ERR_BOOTSTRAP);
            EXPECT_NE(std::string(weft_last_error()).find("of process 1 it did not"), std::string::npos)
                << weft_last_error();
            bootstrap->close(bootstrap);
        });
    }
}

TEST(CallbackBootstrapErrors, HostsThatDifferAreToldApart) {
    as_processes(5, [](Process &process) {
        process.tamper = [&process](char *all,
                                    size_t bytes) { /* ranks 1 and 4 are on another host than the others */
                                                    auto is_there = [](int rank) { return rank == 1 || rank == 4; };
                                                    for (int rank = 0; rank < 5 && process.calls == 0; rank++)
                                                        if (is_there(rank) != is_there(process.rank))
                                                            memcpy(all + size_t(rank) * bytes + 32, "elsewhere", 10);
        };
        inter_bootstrap *bootstrap = open_callback(process);
        ASSERT_EQ(bootstrap->publish(bootstrap, "x", 1), WEFT_SUCCESS) << weft_last_error();
        const int expected[] = {0, 1, 0, 0, 1};
        for (int peer = 0; peer < 5; peer++)
            EXPECT_EQ(bootstrap->host(bootstrap, peer), expected[peer]);
        bootstrap->close(bootstrap);
    });
}

TEST(SingleBootstrap, IsAlone) {
    inter_bootstrap *bootstrap = nullptr;
    ASSERT_EQ(inter_bootstrap_single(&bootstrap), WEFT_SUCCESS);
    EXPECT_EQ(bootstrap->rank, 0);
    EXPECT_EQ(bootstrap->size, 1);
    use(bootstrap);
}

/* Which bootstrap is chosen: by variables. Each test starts from an environment without any launcher. */
class BootstrapChoice : public testing::Test {
  protected:
    void SetUp() override {
        if (inter_bootstrap_pmix_present())
            GTEST_SKIP() << "for a process without a launcher";
    }
    void TearDown() override {
        for (const std::string &name : set_)
            unsetenv(name.c_str());
    }
    void set(const char *name, const std::string &value) {
        setenv(name, value.c_str(), 1);
        set_.push_back(name);
    }
    /* The name of what was opened, or "" after an error, whose sentence is then in weft_last_error(). */
    std::string choose(core_bootstrap_choice choice = CORE_BOOTSTRAP_AUTO, const weft_bootstrap *user = nullptr) {
        core_config config = {};
        config.bootstrap = choice;
        inter_bootstrap *bootstrap = nullptr;
        int status = inter_bootstrap_open(&config, user, &bootstrap);
        if (status != WEFT_SUCCESS) {
            EXPECT_EQ(status, WEFT_ERR_BOOTSTRAP);
            return "";
        }
        std::string name = bootstrap->name;
        bootstrap->close(bootstrap);
        return name;
    }
    bool error_names(const char *what) {
        return std::string(weft_last_error()).find(what) != std::string::npos;
    }

  private:
    std::vector<std::string> set_;
};

TEST_F(BootstrapChoice, SingleWithoutALauncher) {
    EXPECT_EQ(choose(), "single");
}

TEST_F(BootstrapChoice, TheUsersCallbackWins) {
    set("PMIX_NAMESPACE", "stale");
    Exchange exchange(1);
    Process process{&exchange, 0};
    weft_bootstrap user{0, 1, allgather, &process};
    EXPECT_EQ(choose(CORE_BOOTSTRAP_AUTO, &user), "callback");
    EXPECT_EQ(choose(CORE_BOOTSTRAP_SINGLE, &user), "callback");
}

TEST_F(BootstrapChoice, PmixThatWasAskedForIsNeeded) {
    EXPECT_EQ(choose(CORE_BOOTSTRAP_PMIX), "");
    EXPECT_TRUE(error_names("PMIX_NAMESPACE")) << weft_last_error();
}

TEST_F(BootstrapChoice, AMissingVariableIsNamed) {
    set("PMIX_NAMESPACE", "job");
    EXPECT_EQ(choose(), "");
    EXPECT_TRUE(error_names("PMIX_RANK")) << weft_last_error();
    set("PMIX_RANK", "0");
    EXPECT_EQ(choose(), "");
    EXPECT_TRUE(error_names("PMIX_SERVER_URI")) << weft_last_error();
    EXPECT_EQ(choose(CORE_BOOTSTRAP_SINGLE), "single");
}

TEST_F(BootstrapChoice, ALauncherThatIsGoneIsAnError) {
    set("PMIX_NAMESPACE", "job");
    set("PMIX_RANK", "0");
    set("PMIX_SERVER_URI2", "job.0;tcp4://127.0.0.1:1");
    EXPECT_EQ(choose(), "");
    EXPECT_TRUE(error_names("cannot be reached")) << weft_last_error();
}

TEST_F(BootstrapChoice, SeveralProcessesOfALauncherWithoutPmixAreAnError) {
    set("PMI_SIZE", "2");
    EXPECT_EQ(choose(), "");
    EXPECT_TRUE(error_names("weftrun -n")) << weft_last_error();
    EXPECT_EQ(choose(CORE_BOOTSTRAP_SINGLE), "single");
    set("PMI_SIZE", "1");
    EXPECT_EQ(choose(), "single");
    set("OMPI_COMM_WORLD_SIZE", "3");
    EXPECT_EQ(choose(), "");
}

TEST_F(BootstrapChoice, ATaskOfSrunIsOneOfSeveralButAShellOfSlurmIsNot) {
    set("SLURM_NTASKS", "4"); /* salloc */
    EXPECT_EQ(choose(), "single");
    set("SLURM_PROCID", "0"); /* sbatch */
    EXPECT_EQ(choose(), "single");
    set("SLURM_STEP_NUM_TASKS", "4"); /* srun */
    EXPECT_EQ(choose(), "");
    EXPECT_TRUE(error_names("srun")) << weft_last_error();
    set("SLURM_STEP_NUM_TASKS", "1"); /* srun -n 1 */
    EXPECT_EQ(choose(), "single");
}

/* The last test of its suite: what waits for an answer that never comes stays behind, and libpmix with it. */
TEST_F(BootstrapChoice, XALauncherThatDoesNotAnswerIsAnError) {
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof(address);
    ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr *>(&address), length), 0);
    ASSERT_EQ(listen(listener, 5), 0);
    ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr *>(&address), &length), 0);
    set("PMIX_NAMESPACE", "job");
    set("PMIX_RANK", "0");
    set("PMIX_SERVER_URI2", "job.0;tcp4://127.0.0.1:" + std::to_string(ntohs(address.sin_port)));
    EXPECT_EQ(choose(), "");
    EXPECT_TRUE(error_names("did not answer")) << weft_last_error();
    close(listener);
}

/* Under a launcher. */
TEST(PmixBootstrap, ConnectsAgainAndAgain) {
    if (!inter_bootstrap_pmix_present())
        GTEST_SKIP() << "needs a launcher";
    for (int start = 0; start < 3; start++) {
        core_config config = {};
        inter_bootstrap *bootstrap = nullptr;
        ASSERT_EQ(inter_bootstrap_open(&config, nullptr, &bootstrap), WEFT_SUCCESS) << weft_last_error();
        EXPECT_STREQ(bootstrap->name, "pmix");
        EXPECT_EQ(bootstrap->rank, atoi(getenv("PMIX_RANK")));
        use(bootstrap);
    }
}
