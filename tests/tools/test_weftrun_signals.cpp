// SPDX-License-Identifier: BSD-3-Clause
/**
 * weftrun and signals: what they do to the job, to weftrun itself, and at a terminal.
 */
#include "command.h"

#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

namespace {

bool contains(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

/* How weftrun ends when a signal has ended the job: by SIGINT itself, so that a shell does not go on with its next command. */
int end_by(int number) {
    return number == SIGINT ? 1000 + SIGINT : 128 + number;
}

/* A pseudo-terminal of which nobody reads what is written to it. */
class Terminal {
  public:
    Terminal() : master_(posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)) {
        grantpt(master_);
        unlockpt(master_);
    }
    ~Terminal() {
        close(master_);
    }
    Terminal(const Terminal &) = delete;
    Terminal &operator=(const Terminal &) = delete;
    std::string path() const {
        char name[64];
        return ptsname_r(master_, name, sizeof(name)) == 0 ? name : "/there-is-no-terminal";
    }

  private:
    int master_;
};

/* For a rank's script: sends a signal to the process of weftrun that was started. */
std::string to_weftrun(const std::string &signal) {
    return "read job name state front rest </proc/$PPID/stat; kill -" + signal + " $front; ";
}

} // namespace

class WeftrunSignal : public testing::TestWithParam<int> {};

TEST_P(WeftrunSignal, EndsEveryProcess) {
    Weftrun job(script({"-n", "3"}, "setsid sh -c 'echo up; sleep 1000; true' & sleep 1000; true"));
    ASSERT_TRUE(job.wait_for_output("up", 3)) << job.err();
    job.signal(GetParam());
    EXPECT_EQ(job.wait(), end_by(GetParam()));
    EXPECT_TRUE(contains(job.err(), "signal " + std::to_string(GetParam()))) << job.err();
    EXPECT_TRUE(job.all_gone());
    EXPECT_TRUE(job.clean());
}

INSTANTIATE_TEST_SUITE_P(Signals, WeftrunSignal, testing::Values(SIGINT, SIGTERM, SIGHUP, SIGQUIT));

TEST(WeftrunSignals, AnInterruptedJobHasStatus130InAShell) {
    Result result = run(script({}, WEFTRUN " sh -c '" + to_weftrun("INT") + "sleep 1000'; echo $?"));
    EXPECT_EQ(result.out, "130\n") << result.err;
}

// As after nohup; and started by a program that does not care for its children.
TEST(WeftrunSignals, IgnoredSignalsStayIgnored) {
    Weftrun job(script({"-n", "2"}, "echo up; sleep 0.5; echo on"), "", {SIGHUP, SIGINT, SIGCHLD});
    ASSERT_TRUE(job.wait_for_output("up", 2)) << job.err();
    job.signal(SIGHUP);
    job.signal(SIGINT);
    EXPECT_EQ(job.wait(), 0) << job.err();
    EXPECT_TRUE(job.wait_for_output("on", 2));
    EXPECT_TRUE(job.all_gone());
}

TEST(WeftrunSignals, ASecondSignalDoesNotWait) {
    Weftrun job(script({"-n", "2"}, "trap '' TERM; echo up; while :; do sleep 1; done"));
    ASSERT_TRUE(job.wait_for_output("up", 2));
    job.signal(SIGINT);
    usleep(400000);
    job.signal(SIGTERM);
    EXPECT_EQ(job.wait(), end_by(SIGINT));
    EXPECT_TRUE(job.all_gone());
}

// As systemd, Slurm and killall do: the front hands its own on, too. Where the second of them comes late it is another one.
TEST(WeftrunSignals, OneToBothOfItsProcessesIsOne) {
    bool in_peace = false;
    for (int attempt = 0; attempt < 5 && !in_peace; attempt++) {
        Weftrun job(script({}, "trap 'sleep 0.3; echo bye; exit' TERM; echo up; while :; do sleep 0.05; done"));
        ASSERT_TRUE(job.wait_for_output("up"));
        pid_t second = job.second();
        ASSERT_GT(second, 0);
        job.signal(SIGTERM);
        for (int looks = 0; looks < 1000 && job.err().empty(); looks++)
            usleep(5000);
        kill(second, SIGTERM);
        EXPECT_EQ(job.wait(), end_by(SIGTERM)) << job.err();
        in_peace = contains(job.out(), "bye");
    }
    EXPECT_TRUE(in_peace);
}

// With all processes ended well it is who reads that weftrun waits for.
TEST(WeftrunSignals, WhatIsLostByASignalAtTheEndIsTold) {
    Result result =
        run(script({"--timeout", "50"},
                   with_stopped_reader(WEFTRUN " --tag-output sh -c 'echo $$ >$XDG_RUNTIME_DIR/pid; echo last' >&9 & "
                                               "until [ -s $XDG_RUNTIME_DIR/pid ]; do sleep 0.05; done; "
                                               "read rank <$XDG_RUNTIME_DIR/pid; rm $XDG_RUNTIME_DIR/pid; "
                                               "while [ -e /proc/$rank ]; do sleep 0.05; done; "
                                               "kill $!; wait $!; echo $?")));
    EXPECT_EQ(result.out, "143\n");
    EXPECT_TRUE(contains(result.err, "what they printed has not been read")) << result.err;
}

TEST(WeftrunSignals, AUserSignalReachesTheRanks) {
    Weftrun job(script({"-n", "2"}, "trap 'exit 5' USR2; echo up; while :; do sleep 0.05; done"));
    ASSERT_TRUE(job.wait_for_output("up", 2));
    job.signal(SIGUSR2);
    EXPECT_EQ(job.wait(), 5) << job.err();
}

// Ctrl-Z: front and ranks stop, and go on when the shell says so.
TEST(WeftrunSignals, AJobIsStoppedAndContinued) {
    Result result = run(script({"--timeout", "50"},
                               WEFTRUN " sh -c 'echo $$ >$XDG_RUNTIME_DIR/pid; exec sleep 1000' & "
                                       "until [ -s $XDG_RUNTIME_DIR/pid ]; do sleep 0.05; done; "
                                       "read rank <$XDG_RUNTIME_DIR/pid; rm $XDG_RUNTIME_DIR/pid; kill -TSTP $!; "
                                       "for each in $! $rank; do "
                                       "until grep -q 'State:.T' /proc/$each/status; do sleep 0.05; done; done; "
                                       "kill -CONT $!; "
                                       "while grep -q 'State:.T' /proc/$rank/status; do sleep 0.05; done; "
                                       "kill $!; wait $!; echo $?"));
    EXPECT_EQ(result.out, "143\n") << result.err;
}

// Its process group has nobody who would continue it: ssh -t HOST weftrun.
TEST(WeftrunSignals, AJobThatNobodyWouldContinueIsNotStopped) {
    Result result = run(script({"--timeout", "50"},
                               "setsid " WEFTRUN " sh -c '" + to_weftrun("TSTP") + "sleep 0.5; echo on'; echo $?"));
    EXPECT_EQ(result.out, "on\n0\n") << result.err;
}

TEST(WeftrunTerminal, TimeOutThoughItsTerminalTakesNothing) {
    Terminal terminal;
    Result result = run(
        script({"--timeout", "50"}, WEFTRUN " --timeout 1 --tag-output yes >" + terminal.path() + " 2>&1; echo $?"));
    EXPECT_EQ(result.out, "124\n") << result.err;
}

// By a shell with job control, whose terminal it is.
TEST(WeftrunTerminal, InTheBackgroundNobodyReadsIt) {
    Terminal terminal;
    for (const char *background : {"", " & wait"}) {
        Result result =
            run(script({"--timeout", "50"}, "setsid -c -w sh -c 'set -m; " WEFTRUN " readlink /proc/self/fd/0" +
                                                std::string(background) + "' <" + terminal.path()));
        EXPECT_EQ(result.out, (*background ? "/dev/null" : terminal.path()) + "\n") << result.err;
    }
}
