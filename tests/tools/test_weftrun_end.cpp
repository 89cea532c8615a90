// SPDX-License-Identifier: BSD-3-Clause
/**
 * weftrun: how jobs end, and that nothing is left of them: run() checks that no process and no directory is.
 */
#include "command.h"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace {

bool contains(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

/* Ranks that wait for ever, with a child each in a session of its own, that says when it is there. */
const char forever[] = "setsid sh -c 'echo up; sleep 1000; true' & sleep 1000; true";

/* What a rank may print and end though nobody reads it: the pipes on its way take more. */
const char some_output[] = "sh -c 'seq 20000; exit ";

} // namespace

TEST(WeftrunEnd, StatusIsThatOfTheFirstToFail) {
    Result result = run(script({"-n", "3"}, "[ $PMIX_RANK = 1 ] && exit 7; trap 'exit 9' TERM; sleep 1000 & wait"));
    EXPECT_EQ(result.status, 7);
    EXPECT_TRUE(contains(result.err, "process 1 (pid ") && contains(result.err, "exited with status 7")) << result.err;
    EXPECT_FALSE(contains(result.err, "process 0") || contains(result.err, "process 2")) << result.err;
}

TEST(WeftrunEnd, StatusOfAKilledRankIs128PlusSignal) {
    for (int number : {SIGKILL, SIGSEGV, SIGABRT}) {
        Result result = run(script({"-n", "3"}, "ulimit -c 0; [ $PMIX_RANK = 2 ] && kill -" + std::to_string(number) +
                                                    " $$; sleep 1000"));
        EXPECT_EQ(result.status, 128 + number);
        EXPECT_TRUE(
            contains(result.err, "process 2 (pid ") &&
            contains(result.err, "was killed by signal " + std::to_string(number) + " (" + strsignal(number) + ")"))
            << result.err;
    }
}

TEST(WeftrunEnd, ARankThatIgnoresSigtermIsKilled) {
    Result result =
        run(script({"-n", "2"}, "trap '' TERM INT; [ $PMIX_RANK = 1 ] && exit 3; while :; do sleep 1; done"));
    EXPECT_EQ(result.status, 3) << result.err;
}

TEST(WeftrunEnd, AStoppedRankIsEnded) {
    Result result = run(script({"-n", "2"}, "[ $PMIX_RANK = 0 ] && kill -STOP $$; sleep 0.3; exit 4"));
    EXPECT_EQ(result.status, 4) << result.err;
}

TEST(WeftrunEnd, ARankThatEndsWellLetsTheOthersWork) {
    Result result = run(script({"-n", "2"}, "[ $PMIX_RANK = 1 ] && exit 0; sleep 0.3; echo done"));
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, "done\n");
}

TEST(WeftrunEnd, ProcessesThatRanksLeaveBehindAreEnded) {
    Result result =
        run(script({"-n", "2"}, "setsid sh -c \"trap '' TERM; sleep 1000; true\" & sleep 1000 & sleep 0.1; exit 0"));
    EXPECT_EQ(result.status, 0) << result.err; /* run() looks for them */
}

TEST(WeftrunEnd, TimeOutTellsWhoStillRan) {
    Result result = run(script({"-n", "3", "--timeout", "3"}, "[ $PMIX_RANK = 1 ] && exit 0; sleep 1000"));
    EXPECT_EQ(result.status, 124);
    EXPECT_TRUE(contains(result.err, "time-out after 3 s; 2 of 3 processes still ran: 0 (pid ")) << result.err;
    EXPECT_TRUE(contains(result.err, " 2 (pid ") && !contains(result.err, " 1 (pid ")) << result.err;
}

TEST(WeftrunEnd, NoTimeOutForAJobThatIsInTime) {
    EXPECT_EQ(run({"-n", "2", "--timeout", "600", "true"}).status, 0);
}

TEST(WeftrunEnd, TimeOutThoughNobodyReads) {
    for (const std::string command : {"--tag-output yes >&9", "yes >&9 2>&9", "--tag-output yes >&9 2>&9"})
        EXPECT_EQ(run(script({}, with_stopped_reader(WEFTRUN " --timeout 1 " + command + "; echo $?"))).out, "124\n")
            << command;
}

TEST(WeftrunEnd, TimeOutWhenNobodyReadsWhatIsLeft) {
    Result result = run(script(
        {}, with_stopped_reader(WEFTRUN " --timeout 3 --tag-output " + std::string(some_output) + "0' >&9; echo $?")));
    EXPECT_EQ(result.out, "124\n");
    EXPECT_TRUE(contains(result.err, "time-out after 3 s")) << result.err;
}

TEST(WeftrunEnd, SignalsComeThroughThoughNobodyReads) {
    Result result = run(script({}, with_stopped_reader(WEFTRUN " yes >&9 2>&9 & sleep 0.5; kill -USR1 $!; sleep 0.2; "
                                                               "kill $!; wait $!; echo $?")));
    EXPECT_EQ(result.out, "143\n") << result.err;
}

// As with a pager, for which the end of the output of a failed rank is what counts.
TEST(WeftrunEnd, WhatAFailedRankPrintedWaitsForItsReader) {
    Result result = run(script({}, "{ " WEFTRUN " --tag-output " + std::string(some_output) +
                                       "3'; echo $? >&2; } | { sleep 2.5; wc -l; }"));
    EXPECT_EQ(std::atoi(result.out.c_str()), 20000) << result.err;
    EXPECT_TRUE(contains(result.err, "\n3\n")) << result.err;
}

TEST(WeftrunEnd, KillingWeftrunEndsTheJob) {
    Weftrun job(script({"-n", "3"}, forever));
    ASSERT_TRUE(job.wait_for_output("up", 3));
    job.signal(SIGKILL);
    EXPECT_EQ(job.wait(), 1000 + SIGKILL);
    EXPECT_TRUE(job.all_gone());
    EXPECT_TRUE(job.clean());
}

TEST(WeftrunEnd, KillingItsSecondProcessEndsTheJobToo) {
    Weftrun job(script({"-n", "3"}, forever));
    ASSERT_TRUE(job.wait_for_output("up", 3));
    pid_t second = job.second();
    ASSERT_GT(second, 0);
    kill(second, SIGKILL);
    EXPECT_EQ(job.wait(), 128 + SIGKILL);
    EXPECT_TRUE(contains(job.err(), "killed by signal 9")) << job.err();
    EXPECT_TRUE(job.all_gone());
    EXPECT_TRUE(job.clean());
}

TEST(WeftrunEnd, KillingWeftrunEndsTheJobThoughSigtermIsIgnored) {
    Weftrun job(script({"-n", "2"}, forever), "", {SIGTERM});
    ASSERT_TRUE(job.wait_for_output("up", 2));
    job.signal(SIGTERM);
    job.signal(SIGKILL);
    EXPECT_EQ(job.wait(), 1000 + SIGKILL);
    EXPECT_TRUE(job.all_gone());
    EXPECT_TRUE(job.clean());
}

// As a process does that cannot be killed.
TEST(WeftrunEnd, WhoHoldsARanksPipeIsNotWaitedFor) {
    Weftrun job(script({"--tag-output"}, "trap 'echo last; exit 0' USR2; echo up; while :; do sleep 0.05; done"));
    ASSERT_TRUE(job.wait_for_output("up"));
    pid_t second = job.second();
    int held = -1;
    for (pid_t pid : job.processes())
        if (parent_of(pid) == second)
            held = open(("/proc/" + std::to_string(pid) + "/fd/1").c_str(), O_WRONLY | O_CLOEXEC);
    ASSERT_GE(held, 0);
    job.signal(SIGUSR2);
    EXPECT_EQ(job.wait(), 0) << job.err();
    EXPECT_EQ(job.out(), "[0] up\n[0] last\n");
    close(held);
}

// As one in a system call that does not return: for its parent it has not ended before who traces it has seen the end.
TEST(WeftrunEnd, ARankThatCannotBeKilledIsLeftAlone) {
    Weftrun job(script({"-n", "2"}, "setsid sleep 1000 & [ $PMIX_RANK = 0 ] && echo $$; exec sleep 1000"));
    ASSERT_TRUE(job.wait_for_output("\n"));
    const pid_t rank = static_cast<pid_t>(std::atol(job.out().c_str()));
    if (ptrace(PTRACE_SEIZE, rank, nullptr, nullptr) != 0)
        GTEST_SKIP() << "may not trace another process";
    job.signal(SIGTERM);
    EXPECT_EQ(job.wait(), 128 + SIGTERM);
    EXPECT_TRUE(contains(job.err(), "1 of 2 processes cannot be killed, and are left alone: 0 (pid ")) << job.err();
    EXPECT_EQ(waitpid(rank, nullptr, __WALL), rank);
    EXPECT_TRUE(job.all_gone());
    EXPECT_TRUE(job.clean());
}

TEST(WeftrunEnd, TheNextStartSweepsWhatADoubleKillLeft) {
    Weftrun job(script({"-n", "2"}, "echo up; sleep 1000; true"));
    ASSERT_TRUE(job.wait_for_output("up", 2));
    pid_t second = job.second();
    ASSERT_GT(second, 0);
    kill(job.pid(), SIGSTOP); /* so that neither can act on the other's end */
    kill(second, SIGKILL);
    job.signal(SIGKILL);
    EXPECT_EQ(job.wait(), 1000 + SIGKILL);
    std::string left = job.directory() + "/weftrun-" + std::to_string(geteuid()) + "-" + std::to_string(job.pid());
    struct stat info;
    EXPECT_EQ(stat(left.c_str(), &info), 0) << "the test's premise";
    std::string inner = "XDG_RUNTIME_DIR=" + job.directory() + " " WEFTRUN " true";
    EXPECT_EQ(system(inner.c_str()), 0);
    for (int again = 0; again < 100 && !job.clean(); again++) { /* what was killed may not be gone yet */
        usleep(100000);
        EXPECT_EQ(system(inner.c_str()), 0);
    }
    EXPECT_TRUE(job.clean());
}

TEST(WeftrunEnd, TheDirectoryIsInTmpdir) {
    Weftrun job(
        script({"-n", "1"},
               "TMPDIR=$XDG_RUNTIME_DIR/other; XDG_RUNTIME_DIR=; export XDG_RUNTIME_DIR TMPDIR; mkdir $TMPDIR; " WEFTRUN
               " sh -c 'ls $TMPDIR'; rmdir $TMPDIR"));
    EXPECT_EQ(job.wait(), 0) << job.err();
    EXPECT_EQ(job.out().substr(0, 8), "weftrun-") << job.out();
}

TEST(WeftrunEnd, ADirectoryThatCannotBeLockedIsNotLeft) {
    setenv("LD_PRELOAD", NO_LOCKS, 1);
    Result result = run({"true"}); // which looks whether the directory is empty
    unsetenv("LD_PRELOAD");
    EXPECT_EQ(result.status, 1);
    EXPECT_TRUE(contains(result.err, "cannot make and lock the directory ") && contains(result.err, "No locks"))
        << result.err;
}

TEST(WeftrunEnd, TheSweepLeavesTheLivingAlone) {
    Weftrun job({"-n", "2", "/bin/sh", "-c", "echo up; read line; " CLIENT " fence"}, "");
    ASSERT_TRUE(job.wait_for_output("up", 2));
    std::string other = "XDG_RUNTIME_DIR=" + job.directory() + " " WEFTRUN " -n 2 " CLIENT " fence";
    EXPECT_EQ(system(other.c_str()), 0);
    EXPECT_EQ(job.wait(), 0) << job.err();
}

TEST(WeftrunEnd, RemovesTheSharedMemoryOfKilledRanks) {
    if (access("/dev/shm", W_OK) != 0)
        GTEST_SKIP() << "needs /dev/shm";
    std::string mine = "/dev/shm/ucx_shm_posix_weftruntest" + std::to_string(getpid()), open_one = mine + "open";
    Weftrun job(
        script({"-n", "2"}, "[ $PMIX_RANK = 0 ] || sleep 1000; echo x > " + mine + "; echo up; sleep 0.5; kill -9 $$"));
    ASSERT_TRUE(job.wait_for_output("up"));
    /* As a process of another job would have it: never closed, or the weftrun of a test beside this one removes it. */
    int fd = open(open_one.c_str(), O_RDWR | O_CREAT, 0600);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(job.wait(), 128 + SIGKILL);
    EXPECT_NE(access(mine.c_str(), F_OK), 0);
    unlink(mine.c_str()); /* nor does a test that fails leave it */
    EXPECT_EQ(access(open_one.c_str(), F_OK), 0);
    close(fd);
    unlink(open_one.c_str());
}

TEST(WeftrunEnd, RemovesTheSegmentsOfKilledRanks) {
    int foreign = shmget(IPC_PRIVATE, 4096, 0600);
    Result result = run({"-n", "2", CLIENT, "segment"});
    EXPECT_EQ(result.status, 128 + SIGKILL) << result.err;
    struct shmid_ds info;
    int id = std::atoi(result.out.c_str());
    EXPECT_EQ(shmctl(id, IPC_STAT, &info), -1) << id;
    EXPECT_EQ(shmctl(foreign, IPC_STAT, &info), 0);
    shmctl(foreign, IPC_RMID, nullptr);
}
