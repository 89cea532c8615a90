// SPDX-License-Identifier: BSD-3-Clause
/**
 * weftrun: command line, what the ranks get, output, bindings, PMIx.
 */
#include "command.h"
#include "effort.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <gtest/gtest.h>
#include <sched.h>
#include <sstream>
#include <unistd.h>

namespace {

bool contains(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

std::vector<std::string> sorted_lines(const std::string &text) {
    std::istringstream stream(text);
    std::vector<std::string> lines;
    for (std::string line; std::getline(stream, line);)
        lines.push_back(line);
    std::sort(lines.begin(), lines.end());
    return lines;
}

using Lines = std::vector<std::string>;

} // namespace

TEST(Weftrun, StartsOneProcessUnlessToldOtherwise) {
    Result result = run(script({}, "echo rank $PMIX_RANK"));
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, "rank 0\n");
    EXPECT_EQ(result.err, "");
}

TEST(Weftrun, NumbersTheProcesses) {
    Result result = run(script({"-n", "5"}, "echo rank $PMIX_RANK"));
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(sorted_lines(result.out), (Lines{"rank 0", "rank 1", "rank 2", "rank 3", "rank 4"}));
}

TEST(Weftrun, ProgramsThatKnowNothingOfPmixRun) {
    EXPECT_EQ(run({"-n", "3", "true"}).status, 0);
    EXPECT_EQ(run({"-n", "2", "/bin/hostname"}).status, 0);
}

TEST(Weftrun, WhatFollowsTheProgramIsThePrograms) {
    EXPECT_EQ(run({"-n", "1", "echo", "-n", "3", "--", "--help"}).out, "3 -- --help");
    EXPECT_EQ(run({"-n1", "--", "echo", "a b", ""}).out, "a b \n");
}

TEST(Weftrun, HelpAndVersion) {
    Result help = run({"--help"}), version = run({"--version"});
    EXPECT_EQ(help.status, 0);
    for (const char *option :
         {"-n", "-t", "-x", "--bind", "--report-bindings", "--tag-output", "--timeout", "--counters", "--trace"})
        EXPECT_TRUE(contains(help.out, option)) << option;
    EXPECT_EQ(version.status, 0);
    EXPECT_TRUE(contains(version.out, "weftrun 0."));
}

struct Usage {
    Lines arguments;
    const char *named;
};

class WeftrunUsage : public testing::TestWithParam<Usage> {};

TEST_P(WeftrunUsage, IsAnErrorThatNamesWhatIsWrong) {
    Result result = run(GetParam().arguments);
    EXPECT_EQ(result.status, 2);
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(contains(result.err, "weftrun: ")) << result.err;
    EXPECT_TRUE(contains(result.err, GetParam().named)) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1);
}

INSTANTIATE_TEST_SUITE_P(
    Wrong, WeftrunUsage,
    testing::Values(Usage{{}, "which program"}, Usage{{"-n", "2"}, "which program"}, Usage{{"-n", "0", "true"}, "'0'"},
                    Usage{{"-n", "-3", "true"}, "'-3'"}, Usage{{"-n", "2x", "true"}, "'2x'"},
                    Usage{{"-n", "99999999999999999999", "true"}, "99999"}, Usage{{"-n", "", "true"}, "-n"},
                    Usage{{"-t", "many", "true"}, "'many'"}, Usage{{"-t", "4097", "true"}, "4096"}, Usage{{"-n"}, "-n"},
                    Usage{{"--bind"}, "--bind"}, Usage{{"--bind", "moon", "true"}, "'moon'"},
                    Usage{{"--timeout", "0", "true"}, "'0'"}, Usage{{"--timeout", "nan", "true"}, "'nan'"},
                    Usage{{"--timeout", "5s", "true"}, "'5s'"},
                    Usage{{"-x", "WEFTRUN_TEST_NOT_SET", "true"}, "WEFTRUN_TEST_NOT_SET"},
                    Usage{{"-x", "=value", "true"}, "'=value'"}, Usage{{"-x", "", "true"}, "-x"},
                    Usage{{"--nonsense", "true"}, "--nonsense"}, Usage{{"-q", "true"}, "'-q'"},
                    Usage{{"--tag-output=yes", "true"}, "--tag-output"}));

TEST(Weftrun, SaysThatTheProgramCannotBeRun) {
    Result missing = run({"-n", "3", "./there-is-no-such-program"}), directory = run({"-n", "2", "/tmp"});
    EXPECT_EQ(missing.status, 127);
    EXPECT_TRUE(contains(missing.err, "cannot run './there-is-no-such-program': No such file")) << missing.err;
    EXPECT_EQ(directory.status, 126);
    EXPECT_TRUE(contains(directory.err, "cannot run '/tmp'")) << directory.err;
}

TEST(Weftrun, SetsVariables) {
    setenv("WEFTRUN_TEST_INHERITED", "from outside", 1);
    Result result = run(script({"-n", "2", "-x", "A=1", "-x", "B=x=y", "-x", "WEFTRUN_TEST_INHERITED", "-x", "EMPTY="},
                               "echo \"$A $B $WEFTRUN_TEST_INHERITED ${EMPTY-unset}\""));
    unsetenv("WEFTRUN_TEST_INHERITED");
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(sorted_lines(result.out), (Lines{"1 x=y from outside ", "1 x=y from outside "}));
}

TEST(Weftrun, SetsThreadsOnlyWhenAsked) {
    const char *print = "echo ${OMP_NUM_THREADS-unset} ${WEFT_THREADS-unset}";
    EXPECT_EQ(run(script({}, print)).out, "unset unset\n");
    EXPECT_EQ(run(script({"-t", "3"}, print)).out, "3 3\n");
    EXPECT_EQ(run(script({"-t", "3", "-x", "OMP_NUM_THREADS=2"}, print)).out, "2 3\n");
}

TEST(Weftrun, InputGoesToRankZero) {
    Result result = run(script({"-n", "3"}, "sed \"s/^/$PMIX_RANK /\""), "one\ntwo\n");
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, "0 one\n0 two\n");
}

TEST(Weftrun, RunsWithoutStandardStreams) {
    EXPECT_EQ(system(WEFTRUN " --tag-output -n 2 cat <&- >&- 2>&-"), 0);
    EXPECT_EQ(system(WEFTRUN " -n 2 cat <&- >&- 2>&-"), 0);
    EXPECT_EQ(WEXITSTATUS(system(WEFTRUN " --tag-output -n 1 echo lost >/dev/full 2>&-")), 1);
}

TEST(Weftrun, HandsOnNoDescriptorsOfItsOwn) {
    /* The shell's glob has a descriptor of its own, for the directory. */
    Result result = run(
        script({"-n", "3", "--tag-output"}, "cd /proc/$$/fd; for i in *; do [ $i -le 2 ] || readlink $i; done; true"));
    EXPECT_EQ(result.status, 0) << result.err;
    for (const std::string &line : sorted_lines(result.out))
        EXPECT_TRUE(contains(line, "/proc/")) << line;
}

TEST(Weftrun, SaysThatThereAreTooFewDescriptors) {
    const std::string enough = effort::sanitized ? "true" : CLIENT " fence";
    Result few =
        run(script({}, "ulimit -n 110; " WEFTRUN " --tag-output -n 20 echo up; echo $?; " WEFTRUN " -n 40 echo up"));
    EXPECT_EQ(few.status, 1);
    EXPECT_EQ(few.out, "1\n");
    EXPECT_TRUE(contains(few.err, "20 processes and --tag-output take 112 open files, and no more than 110 "))
        << few.err;
    EXPECT_TRUE(contains(few.err, "40 processes take 112 open files, and no more than 110 ")) << few.err;
    EXPECT_EQ(
        run(script({}, "ulimit -n 110; " WEFTRUN " --tag-output -n 19 true && " WEFTRUN " -n 39 " + enough)).status, 0);
}

TEST(Weftrun, TagsEachLine) {
    Result result = run(script({"-n", "3", "--tag-output"}, "echo a; echo; printf c; echo wrong >&2"));
    EXPECT_EQ(result.status, 0);
    EXPECT_EQ(sorted_lines(result.out),
              (Lines{"[0] ", "[0] a", "[0] c", "[1] ", "[1] a", "[1] c", "[2] ", "[2] a", "[2] c"}));
    EXPECT_EQ(sorted_lines(result.err), (Lines{"[0] wrong", "[1] wrong", "[2] wrong"}));
}

TEST(Weftrun, TagsALineWhenItIsCompleteNotAtTheEnd) {
    Weftrun job(script({"--tag-output"}, "echo first; sleep 100"));
    EXPECT_TRUE(job.wait_for_output("[0] first\n"));
    job.signal(SIGTERM);
    EXPECT_EQ(job.wait(), 128 + SIGTERM);
}

TEST(Weftrun, LosesNothingOfMuchOutput) {
    Result result = run(script({"-n", "2", "--tag-output"}, "seq 200000"));
    std::istringstream stream(result.out);
    long next[2] = {1, 1}, rank, number;
    char left, right;
    while (stream >> left >> rank >> right >> number) {
        ASSERT_TRUE(left == '[' && right == ']' && (rank == 0 || rank == 1));
        ASSERT_EQ(number, next[rank]++);
    }
    EXPECT_EQ(next[0], 200001);
    EXPECT_EQ(next[1], 200001);
}

TEST(Weftrun, CutsALineThatIsTooLong) {
    std::string line(200000, 'x'), got;
    Result result = run({"--tag-output", "cat"}, line + "\nend\n");
    std::istringstream stream(result.out);
    for (std::string piece; std::getline(stream, piece);) {
        ASSERT_EQ(piece.substr(0, 4), "[0] ");
        got += piece.substr(4);
    }
    EXPECT_EQ(got, line + "end");
}

/* Bindings. Each rank prints the cores that it may use. */

static const char print_cores[] = "sed -n 's/^Cpus_allowed_list:[[:space:]]*//p' /proc/self/status";

static int own_cores() {
    cpu_set_t set;
    return sched_getaffinity(0, sizeof(set), &set) == 0 ? CPU_COUNT(&set) : 1;
}

TEST(WeftrunBinding, EachProcessGetsItsShareOfTheCores) {
    if (own_cores() < 2)
        GTEST_SKIP() << "needs 2 cores";
    Lines cores = sorted_lines(run(script({"-n", "2"}, print_cores)).out);
    ASSERT_EQ(cores.size(), 2u);
    EXPECT_NE(cores[0], cores[1]);
}

TEST(WeftrunBinding, NoneWhenThereAreMoreThreadsThanCores) {
    std::string all = run(script({"--bind", "none"}, print_cores)).out;
    std::string many = std::to_string(own_cores() + 1);
    EXPECT_EQ(run(script({"-t", many}, print_cores)).out, all);
    Lines each = sorted_lines(run(script({"-n", many}, print_cores)).out);
    EXPECT_EQ(std::count(each.begin(), each.end(), sorted_lines(all)[0]), own_cores() + 1);
}

TEST(WeftrunBinding, StaysWithinItsOwnCores) {
    cpu_set_t all, first;
    ASSERT_EQ(sched_getaffinity(0, sizeof(all), &all), 0);
    int core = 0;
    while (!CPU_ISSET(core, &all))
        core++;
    CPU_ZERO(&first);
    CPU_SET(core, &first);
    ASSERT_EQ(sched_setaffinity(0, sizeof(first), &first), 0);
    for (const char *where : {"auto", "none", "core", "numa", "package"}) {
        Result result = run(script({"-n", "2", "--bind", where}, print_cores));
        EXPECT_EQ(sorted_lines(result.out), (Lines(2, std::to_string(core)))) << where << result.err;
    }
    sched_setaffinity(0, sizeof(all), &all);
}

TEST(WeftrunBinding, TheCoresOfAnotherMachineAreOfNoUse) {
    std::string all = run(script({"--bind", "none"}, print_cores)).out;
    setenv("HWLOC_SYNTHETIC", "pack:2 core:4 pu:1", 1);
    Result automatic = run(script({"-n", "2"}, print_cores)), asked = run({"-n", "2", "--bind", "core", "true"});
    unsetenv("HWLOC_SYNTHETIC");
    EXPECT_EQ(automatic.status, 0) << automatic.err;
    EXPECT_EQ(automatic.out, all + all);
    EXPECT_EQ(asked.status, 1);
    EXPECT_TRUE(contains(asked.err, "cannot find out about the cores of this host")) << asked.err;
}

TEST(WeftrunBinding, CoreGoesRoundWhenThereAreTooFew) {
    int cores = own_cores();
    Lines lines = sorted_lines(run(script({"-n", std::to_string(2 * cores), "--bind", "core"}, print_cores)).out);
    lines.erase(std::unique(lines.begin(), lines.end()), lines.end());
    EXPECT_LE(lines.size(), static_cast<size_t>(cores));
    EXPECT_GE(lines.size(), 1u);
}

TEST(WeftrunBinding, ReportShowsRanksAndWarnsOfSharedCores) {
    std::string many = std::to_string(own_cores() + 1);
    Result alone = run({"-n", "1", "-t", "1", "--report-bindings", "true"});
    Result shared = run({"-n", "2", "-t", many, "--report-bindings", "true"});
    EXPECT_TRUE(contains(alone.err, "process") && contains(alone.err, "pid") && contains(alone.err, "cores"))
        << alone.err;
    EXPECT_FALSE(contains(alone.err, "warning")) << alone.err;
    EXPECT_TRUE(contains(shared.err, "warning")) << shared.err;
    EXPECT_EQ(sorted_lines(shared.err).size(), 4u) << shared.err;
}

static Result run_on(const char *host, const Lines &arguments) {
    setenv("LD_PRELOAD", host, 1);
    Result result = run(arguments);
    unsetenv("LD_PRELOAD");
    return result;
}

static Result run_on_large_host(const Lines &arguments) {
    return run_on(LARGE_HOST, arguments);
}

// What `--bind core` gives to processes of three threads on a host of so many cores.
static Lines cores_of_three(int processes, int cores) {
    setenv("HWLOC_SYNTHETIC", ("core:" + std::to_string(cores) + " pu:1").c_str(), 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
    const std::string n = std::to_string(processes);
    Result result = run_on(MANY_CORES, {"-n", n, "-t", "3", "--bind", "core", "--report-bindings", "true"});
    unsetenv("HWLOC_SYNTHETIC");
    unsetenv("HWLOC_THISSYSTEM");
    Lines sets;
    std::istringstream table(result.err);
    std::string line;
    while (std::getline(table, line) && !contains(line, "warning"))
        if (!contains(line, "process"))
            sets.push_back(line.substr(line.rfind(' ') + 1));
    EXPECT_EQ(result.status, 0) << result.err;
    return sets;
}

TEST(WeftrunBinding, CoresOfTwoProcessesAreTheSameOrApart) {
    EXPECT_EQ(cores_of_three(2, 8), (Lines{"0-2", "3-5"}));
    EXPECT_EQ(cores_of_three(3, 4), (Lines{"0-3", "0-3", "0-3"}));
    EXPECT_EQ(cores_of_three(3, 8), (Lines{"0-3", "4-7", "0-3"}));
    EXPECT_EQ(cores_of_three(3, 7), (Lines{"0-2", "3-6", "0-2"}));
    EXPECT_EQ(cores_of_three(2, 2), (Lines{"0-1", "0-1"}));
}

TEST(WeftrunBinding, ReportShowsAllOfALongList) {
    Result result = run_on_large_host({"--bind", "none", "--report-bindings", "true"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_TRUE(contains(result.err, " 0-1024,1026,1028,")) << result.err;
    EXPECT_TRUE(contains(result.err, ",4092,4094\n")) << result.err;
}

TEST(WeftrunBinding, WhoCannotBeBoundIsTold) {
    Result result = run_on_large_host({"-n", "2", "--bind", "core", "true"});
    EXPECT_EQ(result.status, 1);
    EXPECT_TRUE(contains(result.err, "weftrun: process ") && contains(result.err, " cannot be bound to cores ") &&
                contains(result.err, ": Invalid argument\n"))
        << result.err;
    EXPECT_FALSE(contains(result.err, "true")) << result.err;
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
}

/* PMIx clients. */

TEST(WeftrunPmix, ClientsExchangeData) {
    const std::vector<const char *> numbers{"1", "2", "3", "7", "13"};
    for (const char *n : effort::part_of(numbers, 2, effort::call_parts))
        EXPECT_EQ(run({"-n", n, CLIENT, "fence"}).status, 0) << n;
}

TEST(WeftrunPmix, ManyClients) { // sanitizers take two thirds of a second for each
    EXPECT_EQ(run({"-n", effort::sanitized ? "20" : "64", CLIENT, "fence"}).status, 0);
}

TEST(WeftrunPmix, AProcessThatForgetsToFinalizeFailsTheJob) {
    Result result = run({"-n", "3", CLIENT, "forget"});
    EXPECT_EQ(result.status, 1);
    EXPECT_TRUE(contains(result.err, "process 1 (pid ") && contains(result.err, "weft_finalize")) << result.err;
}

TEST(WeftrunPmix, WhoEndsBeforeWeftInitIsNotWaitedFor) {
    for (const char *pause : {"", "sleep 0.3; "}) {
        Result result = run(script({"-n", "3", "--timeout", "60"},
                                   "[ $PMIX_RANK = 1 ] || exec " CLIENT " fence; " + std::string(pause) + "exit 0"));
        EXPECT_EQ(result.status, 1) << result.err;
        EXPECT_TRUE(contains(result.err, "process 1 (pid ") && contains(result.err, "without weft_init")) << result.err;
    }
}

static const char one_of_each_kind[] =
    "case $PMIX_RANK in 0) exec " CLIENT " pause;; 1) exec sleep 1000;; esac; " CLIENT " finalize";

/* Waits until it has said so, at most 50 s; `number`: a signal for it meanwhile, or 0. */
static bool says(const Weftrun &job, const std::string &text, int number) {
    for (int looks = 0; looks < 1000 && !contains(job.err(), text); looks++) {
        if (number)
            job.signal(number);
        usleep(50000);
    }
    return contains(job.err(), text);
}

// Who is in PMIx no more is in no roll-call either: only weftrun can tell of it.
TEST(WeftrunPmix, WhoIsInWeftInitIsToldOnASignal) {
    Weftrun job(script({"-n", "3"}, one_of_each_kind));
    ASSERT_TRUE(job.wait_for_output("connected"));
    EXPECT_TRUE(says(job, "); ended before the end of it: process 2 (pid ", SIGUSR1)) << job.err();
    EXPECT_TRUE(contains(job.err(), "in weft_init: process 0 (pid ")) << job.err();
    EXPECT_TRUE(contains(job.err(), "); before it: process 1 (pid ")) << job.err();
}

TEST(WeftrunPmix, WhoIsInWeftInitForTooLongIsToldThoughNoOptionSaysSo) {
    Weftrun job(script({"-n", "3", "-x", "WEFT_HANG_TIMEOUT=1"}, one_of_each_kind));
    EXPECT_TRUE(says(job, "in weft_init: process 0 (pid ", 0)) << job.err();
    EXPECT_TRUE(contains(job.err(), "a wait has lasted ")) << job.err();
}

TEST(WeftrunPmix, WhoNeverUsesPmixDisturbsNobodyWhoIsThrough) {
    EXPECT_EQ(run(script({"-n", "2"}, "[ $PMIX_RANK = 1 ] || " CLIENT " finalize; sleep 1.5")).status, 0);
}

TEST(WeftrunPmix, AbortEndsTheJob) {
    Result result = run({"-n", "3", CLIENT, "abort"});
    EXPECT_EQ(result.status, 42);
    EXPECT_TRUE(contains(result.err, "process 1 (pid ") && contains(result.err, "the sky fell")) << result.err;
}

TEST(WeftrunPmix, AJobWithinAJob) {
    EXPECT_EQ(run({"-n", "2", WEFTRUN, "-n", "3", CLIENT, "fence"}).status, 0);
}
