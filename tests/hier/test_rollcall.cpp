// SPDX-License-Identifier: BSD-3-Clause
// The roll-call of whole jobs: who is named, in which order, how often, and that the job goes on.
#include "effort.h"
#include "tools/command.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <regex>
#include <sstream>
#include <string>
#include <unistd.h>
#include <vector>

namespace {

// A file that tells the job to go on, in a directory that goes with the test.
class Job {
  public:
    explicit Job(std::vector<std::string> options, const std::string &mode) {
        char path[] = "/tmp/weft-rollcall-XXXXXX";
        if (mkdtemp(path))
            directory = path;
        options.insert(options.end(), {"--", PROGRAM, mode, go()});
        if (mode.size())
            command.reset(new Weftrun(options));
    }
    ~Job() {
        command.reset();
        unlink(go().c_str());
        for (const char *file : {"/hang.0", "/hang.1"})
            unlink((directory + file).c_str());
        rmdir(directory.c_str());
    }
    std::string go() const {
        return directory + "/go";
    }
    void go_on() const {
        std::ofstream file(go());
    }
    Weftrun *operator->() const {
        return command.get();
    }
    // Waits until `text` stands in what was reported.
    bool reports(const std::string &text) const {
        for (int look = 0; look < 6000; look++, usleep(10000))
            if (command->err().find(text) != std::string::npos)
                return true;
        return false;
    }
    // The lines of the report. Numbers that vary are left out: seconds, and where something was called.
    std::vector<std::string> lines() const {
        return lines_of(command->err());
    }
    static std::vector<std::string> lines_of(const std::string &report) {
        std::istringstream text(report);
        std::vector<std::string> result;
        for (std::string line; std::getline(text, line);)
            result.push_back(cut(cut(cut(line, ", called at ", ""), ", for ", " s"), " has lasted ", " s"));
        return result;
    }

    // Without what begins with `from`, up to the next `to`, or to its end where that is "".
    static std::string cut(const std::string &line, const std::string &from, const std::string &to) {
        size_t begin = line.find(from);
        if (begin == std::string::npos)
            return line;
        size_t end = to.empty() ? line.size() : line.find(to, begin + from.size());
        return line.substr(0, begin) + (end == std::string::npos ? "" : line.substr(end + to.size()));
    }

    std::string directory;
    std::unique_ptr<Weftrun> command;
};

using Lines = std::vector<std::string>;

const char hang[] = "weftrun: a wait; roll-call of 2 processes:";

// Seconds that a wait may last: no process takes so long to start.
const int hang_s = effort::sanitized ? 5 : 2;

// Time for a second report to come, were there one. Of the ways to wait only for the first.
void linger(const char *way = "WEFT_WAIT=auto") {
    if (strcmp(way, "WEFT_WAIT=auto") == 0)
        usleep(hang_s * 2500000);
}

std::vector<std::string> options(const std::string &shape, std::vector<std::string> more = {}) {
    size_t x = shape.find('x');
    std::vector<std::string> result = {"--hang-timeout",   std::to_string(hang_s), "-n", shape.substr(0, x), "-t",
                                       shape.substr(x + 1)};
    result.insert(result.end(), more.begin(), more.end());
    return result;
}

} // namespace

class RollCall : public testing::TestWithParam<const char *> {};
class RollCallOfOthers : public testing::TestWithParam<const char *> {};

TEST_P(RollCall, OneRankSkipsABarrier) {
    Job job(options("2x2", {"-x", GetParam()}), "skip");
    ASSERT_TRUE(job.reports("missing in")) << job->err();
    linger(GetParam());
    job.go_on();
    EXPECT_EQ(job->wait(), 0) << job->err();
    EXPECT_EQ(job.lines(), (Lines{hang, "  rank 3 (process 1, thread 1): outside weft",
                                  "  rank 0 (process 0, thread 0): in weft_barrier #2 on communicator 1",
                                  "  rank 1 (process 0, thread 1): in weft_barrier #2 on communicator 1",
                                  "  rank 2 (process 1, thread 0): in weft_barrier #2 on communicator 1",
                                  "  missing in weft_barrier #2 on communicator 1: rank 3 of 4"}))
        << job->err();
    EXPECT_NE(job->err().find("called at "), std::string::npos);
}

TEST_P(RollCallOfOthers, AReceiveWithoutASender) {
    Job job(options("2x2", {"-x", GetParam()}), "receive");
    ASSERT_TRUE(job.reports("missing in")) << job->err();
    linger(GetParam());
    job.go_on();
    EXPECT_EQ(job->wait(), 0) << job->err();
    EXPECT_EQ(job.lines(),
              (Lines{hang, "  rank 3 (process 1, thread 1): outside weft",
                     "  rank 0 (process 0, thread 0): in weft_recv on communicator 1, peer 3, tag 7, 24 bytes",
                     "  rank 1 (process 0, thread 1): in weft_barrier #1 on communicator 1",
                     "  rank 2 (process 1, thread 0): in weft_barrier #1 on communicator 1",
                     "  missing in weft_barrier #1 on communicator 1: rank 0, 3 of 4"}))
        << job->err();
    EXPECT_TRUE(std::regex_search(job->err(), std::regex("24 bytes, for [0-9.]+ s, called at rollcall_job")))
        << job->err();
}

TEST_P(RollCallOfOthers, OneRankIsInAnotherCollective) {
    Job job(options("2x2", {"-x", GetParam()}), "elsewhere");
    ASSERT_TRUE(job.reports("missing in weft_barrier")) << job->err();
    linger(GetParam());
    EXPECT_EQ(job.lines(),
              (Lines{hang, "  rank 1 (process 0, thread 1): in weft_bcast #1 on communicator 2, root 0, 4 bytes",
                     "  rank 0 (process 0, thread 0): in weft_barrier #2 on communicator 1",
                     "  rank 2 (process 1, thread 0): in weft_barrier #2 on communicator 1",
                     "  rank 3 (process 1, thread 1): in weft_barrier #2 on communicator 1",
                     "  missing in weft_bcast #1 on communicator 2: rank 0 (process 0, thread 0), 2 (process 1, thread "
                     "0), 3 (process 1, thread 1) of 4",
                     "  missing in weft_barrier #2 on communicator 1: rank 1 of 4"}))
        << job->err();
    job->signal(SIGTERM);
    EXPECT_EQ(job->wait(), 128 + SIGTERM);
}

INSTANTIATE_TEST_SUITE_P(Ways, RollCallOfOthers, testing::Values("WEFT_WAIT=auto", "WEFT_THREAD_LEVEL=funneled"));
INSTANTIATE_TEST_SUITE_P(Ways, RollCall,
                         testing::Values("WEFT_WAIT=auto", "WEFT_WAIT=yield", "WEFT_WAIT=block",
                                         "WEFT_THREAD_LEVEL=funneled", "WEFT_THREAD_LEVEL=multiple", "WEFT_LINES=off"));

TEST(RollCallOf, ThreadsOfOneProcess) {
    Job job(options("1x4"), "skip");
    ASSERT_TRUE(job.reports("missing in")) << job->err();
    linger();
    job.go_on();
    EXPECT_EQ(job->wait(), 0) << job->err();
    EXPECT_EQ(job.lines(),
              (Lines{"weftrun: a wait; roll-call of 1 process:", "  rank 3 (process 0, thread 3): outside weft",
                     "  rank 0 (process 0, thread 0): in weft_barrier #2 on communicator 1",
                     "  rank 1 (process 0, thread 1): in weft_barrier #2 on communicator 1",
                     "  rank 2 (process 0, thread 2): in weft_barrier #2 on communicator 1",
                     "  missing in weft_barrier #2 on communicator 1: rank 3 of 4"}))
        << job->err();
}

TEST(RollCallOf, NonblockingCollectives) {
    Job job(options("2x2"), "skip_nonblocking");
    ASSERT_TRUE(job.reports("missing in")) << job->err();
    linger();
    job.go_on();
    EXPECT_EQ(job->wait(), 0) << job->err();
    const std::string wait = "in weft_wait for weft_iallreduce #1 on communicator 1";
    EXPECT_EQ(job.lines(),
              (Lines{hang, "  rank 3 (process 1, thread 1): outside weft",
                     "  rank 0 (process 0, thread 0): " + wait + ", 8 bytes",
                     "  rank 1 (process 0, thread 1): " + wait + ", 8 bytes",
                     "  rank 2 (process 1, thread 0): " + wait + ", 8 bytes", "  missing " + wait + ": rank 3 of 4"}))
        << job->err();
}

TEST(RollCallOf, ThreadsThatTest) {
    Job job(options("2x2"), "skip_testing");
    ASSERT_TRUE(job.reports("missing in")) << job->err();
    linger(); // it is the same wait, however often they have tested since
    job.go_on();
    EXPECT_EQ(job->wait(), 0) << job->err();
    const std::string wait = "in weft_test for weft_iallreduce #1 on communicator 1";
    EXPECT_EQ(job.lines(),
              (Lines{hang, "  rank 3 (process 1, thread 1): outside weft",
                     "  rank 0 (process 0, thread 0): " + wait + ", 8 bytes",
                     "  rank 1 (process 0, thread 1): " + wait + ", 8 bytes",
                     "  rank 2 (process 1, thread 0): " + wait + ", 8 bytes", "  missing " + wait + ": rank 3 of 4"}))
        << job->err();
}

TEST(RollCallOf, AThreadThatTestsNoMore) {
    Job job(options("2x2"), "stop_testing");
    ASSERT_TRUE(job.reports("missing in")) << job->err();
    job.go_on();
    EXPECT_EQ(job->wait(), 0) << job->err();
    const std::string wait = "in weft_barrier #1 on communicator 1";
    EXPECT_EQ(job.lines(), (Lines{hang, "  rank 3 (process 1, thread 1): outside weft",
                                  "  rank 0 (process 0, thread 0): " + wait, "  rank 1 (process 0, thread 1): " + wait,
                                  "  rank 2 (process 1, thread 0): " + wait, "  missing " + wait + ": rank 3 of 4"}))
        << job->err();
}

TEST(RollCallOf, AListOfRequests) {
    Job job(options("2x2"), "wait_all");
    ASSERT_TRUE(job.reports("missing in")) << job->err();
    job.go_on();
    EXPECT_EQ(job->wait(), 0) << job->err();
    EXPECT_NE(job->err().find("rank 0 (process 0, thread 0): in weft_waitall for weft_irecv on communicator 1, peer 3, "
                              "tag 2, 4 bytes"),
              std::string::npos)
        << job->err();
}

TEST(RollCallOf, AThreadThatHasNotEntered) {
    Job job(options("2x2"), "unentered");
    ASSERT_TRUE(job.reports("missing in")) << job->err();
    job.go_on();
    EXPECT_EQ(job->wait(), 0) << job->err();
    EXPECT_EQ(job.lines().at(1),
              "  rank 3 (process 1, thread 1): is not in communicator 1: it has not entered the team, "
              "or has left it")
        << job->err();
}

TEST(RollCallOf, Processes) {
    Job job(options("3x1"), "processes");
    ASSERT_TRUE(job.reports("missing in")) << job->err();
    linger();
    job.go_on();
    EXPECT_EQ(job->wait(), 0) << job->err();
    Lines lines = job.lines();
    ASSERT_EQ(lines.size(), 5u) << job->err();
    EXPECT_EQ(lines[1], "  process 2: no thread of it waits in weft");
    EXPECT_EQ(lines[2].substr(0, 27), "  process 0: in weft_bcast ");
    EXPECT_EQ(lines[3].substr(0, 42), "  process 1: in weft_wait for weft_ibcast ");
    EXPECT_NE(lines[3].find(" on the process communicator, root 2, 4 bytes"), std::string::npos);
    EXPECT_EQ(lines[4].substr(lines[4].find(" on ")), " on the process communicator: rank 2 of 3");
}

// A job, by default of 2 x 2 ranks, is reported with these texts, and goes on.
static void expect_reported(const std::string &mode, const std::vector<std::string> &texts,
                            const std::vector<std::string> &command = options("2x2")) {
    Job job(command, mode);
    for (const std::string &text : texts)
        ASSERT_TRUE(job.reports(text)) << job->err();
    job.go_on();
    EXPECT_EQ(job->wait(), 0) << job->err();
}

TEST(RollCallOf, TwoPersistentCollectives) {
    expect_reported("persistent", {" #2 on communicator 1: rank 0, 2 of 4", " #1 on communicator 1: rank 1, 3 of 4"});
}

TEST(RollCallOf, AProbeAgainAndAgain) {
    expect_reported("probe", {"rank 3 (process 1, thread 1): in weft_iprobe on communicator 1, peer any, tag 3"});
}

TEST(RollCallOf, CommunicatorsWithinProcesses) {
    expect_reported(
        "within", {"missing in weft_barrier #1 on a communicator within process 0: rank 1 (process 0, thread 1) of 2",
                   "missing in weft_barrier #1 on a communicator within process 1: rank 0 (process 1, thread 0) of 2"});
}

TEST(RollCallOf, WhoIsThroughIsNotMissing) {
    expect_reported("reduce", {"  missing in weft_reduce #1 on communicator 1: rank 3 of 4\n"});
}

TEST(RollCallOf, AFunneledLeaderOutside) {
    const std::string meanwhile = " outside weft; meanwhile nothing moves between its process and others (funneled)\n";
    expect_reported("stand_still",
                    {"rank 0 (process 0, thread 0):" + meanwhile, "rank 2 (process 1, thread 0):" + meanwhile,
                     "rank 1 (process 0, thread 1): in weft_sendrecv on communicator 1, peer 3"},
                    options("2x2", {"-x", "WEFT_THREAD_LEVEL=funneled", "-x", "WEFT_LINES=off"}));
}

TEST(RollCallOf, WhoHasStartedIsNotMissing) {
    expect_reported("start",
                    {"  rank 3 (process 1, thread 1): outside weft\n",
                     "  started, not waiting in weft_wait for weft_iallreduce #1 on communicator 1: rank 3 of 4\n"},
                    options("2x2", {"-x", "WEFT_ALGORITHM=allreduce=/slices"}));
}

TEST(RollCallOf, ThoseWhoHaveStartedAPersistentCollectiveLessOften) {
    expect_reported("restart", {"  missing in weft_wait for weft_barrier_init #1 on communicator 1: rank 3 of 4\n"});
}

TEST(RollCallOf, ProcessesThatHaveStartedAPersistentCollectiveLessOften) {
    expect_reported("restart_processes",
                    {"  missing in weft_wait for weft_barrier_init #1 on the process communicator: rank 2 of 3\n"},
                    options("3x1"));
}

TEST(RollCallOf, RanksThatASplitHasMixed) {
    expect_reported("mixed", {"  rank 2 (process 1, thread 0): in weft_bcast #1 on communicator 64 as rank 1, root 2, ",
                              "  missing in weft_bcast #1 on communicator 64: rank 2 (process 0, thread 1) of 4\n"});
}

TEST(RollCallOf, CommunicatorsOfOneNumber) {
    expect_reported(
        "groups",
        {"  missing in weft_barrier #1 on communicator 64 (that of process 0): rank 1 (process 1, thread 0) of 2\n",
         "  missing in weft_barrier #1 on communicator 64 (that of process 2): rank 1 (process 3, thread 0) of 2\n"},
        options("4x1"));
}

TEST(RollCallOf, WhoHasGivenItsCommunicatorBackIsNotMissing) {
    expect_reported("give_back",
                    {"  missing in weft_reduce #1 on communicator 64: rank 1 (process 0, thread 1) of 4\n"});
}

TEST(RollCallOf, ProcessesThatTest) {
    expect_reported("test_processes", {"process 0: in weft_test for weft_irecv on the process communicator",
                                       "process 1: in weft_test for weft_irecv on the process communicator"});
}

TEST(RollCallOf, AJobThatMovesIsNotReported) {
    Job job(options("2x2"), "busy");
    job.go_on();
    EXPECT_EQ(job->wait(), 0);
    EXPECT_EQ(job->err(), "");
}

TEST(RollCallOf, AHealthyJobOnASignal) {
    Job job({"-n", "2", "-t", "2"}, "healthy");
    ASSERT_TRUE(job->wait_for_output("up", 2));
    /* The first may come before the end of weft_init. */
    do
        job->signal(SIGUSR1);
    while (job.reports("roll-call of 2 processes:\n") && job->err().find("rank 3") == std::string::npos &&
           usleep(50000) == 0);
    job.go_on();
    EXPECT_EQ(job->wait(), 0) << job->err();
    EXPECT_NE(job->err().find("weftrun: roll-call of 2 processes:\n"), std::string::npos);
    EXPECT_TRUE(job->wait_for_output("worked", 2));
}

TEST(RollCallOf, AJobThatHasNotBegun) {
    Job job({"-n", "2"}, "before_init");
    ASSERT_TRUE(job->wait_for_output("up", 2));
    job->signal(SIGUSR1);
    ASSERT_TRUE(job.reports("process 1: before"));
    job.go_on();
    EXPECT_EQ(job->wait(), 0) << job->err();
    EXPECT_EQ(
        job.lines(),
        (Lines{"weftrun: roll-call of 2 processes:", "  process 0: before the end of weft_init or after weft_finalize",
               "  process 1: before the end of weft_init or after weft_finalize"}));
}

TEST(RollCallOf, AProcessThatDoesNotCallInit) {
    Job job(options("2x1"), "late_init");
    ASSERT_TRUE(job.reports("; before it: process 1 (pid ")) << job->err();
    job.go_on();
    EXPECT_EQ(job->wait(), 0) << job->err();
}

// Whether all threads of the process are stopped: a signal stops one, which then tells the others.
static bool is_stopped(pid_t pid) {
    for (const auto &thread : std::filesystem::directory_iterator("/proc/" + std::to_string(pid) + "/task")) {
        std::ifstream file(thread.path() / "stat");
        std::string state;
        std::getline(file, state, ')');
        file >> state;
        if (state != "T")
            return false;
    }
    return true;
}

TEST(RollCallOf, AProcessThatIsStopped) {
    Job job(options("2x2"), "skip");
    ASSERT_TRUE(job.reports("missing in")) << job->err();
    std::string out = job->out();
    ASSERT_EQ(out.substr(0, 3), "up ");
    pid_t pid = pid_t(std::stol(out.substr(3)));
    kill(pid, SIGSTOP);
    while (!is_stopped(pid))
        usleep(1000);
    job->signal(SIGUSR1);
    EXPECT_TRUE(job.reports(": does not answer")) << job->err();
    kill(pid, SIGCONT);
    job.go_on();
    EXPECT_EQ(job->wait(), 0) << job->err();
}

namespace {

// Without weftrun the report goes to a file.
class Reports {
  public:
    explicit Reports(const std::string &launcher, const std::string &mode = "skip") : job({}, "") {
        std::string command = launcher + " " PROGRAM " " + mode + " " + job.go();
        setenv("WEFT_HANG_REPORT", (job.directory + "/hang").c_str(), 1);
        program = popen(command.c_str(), "r");
        unsetenv("WEFT_HANG_REPORT");
        EXPECT_TRUE(program);
    }
    // Waits until the process's file says `text`.
    bool say(int process, const std::string &text) const {
        for (int look = 0; look < 6000; look++, usleep(10000))
            if (read(process).find(text) != std::string::npos)
                return true;
        return false;
    }
    void end() {
        linger();
        job.go_on();
        EXPECT_EQ(pclose(program), 0);
    }
    std::string read(int process) const {
        std::ifstream file(job.directory + "/hang." + std::to_string(process));
        return std::string(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    // The lines of the process's file, without the date and what else varies.
    Lines lines(int process) const {
        Lines lines = Job::lines_of(read(process));
        for (std::string &line : lines)
            line = line.substr(line[0] == ' ' ? 0 : line.find("weft: "));
        return lines;
    }

  private:
    Job job;
    FILE *program;
};

const std::string mpirun = "mpirun.openmpi --allow-run-as-root --oversubscribe --bind-to none -n 2 ";

bool no_mpirun() {
    return system("command -v mpirun.openmpi >/dev/null") != 0;
}

} // namespace

TEST(RollCallOf, AProcessAlone) {
    Reports reports("WEFT_THREADS=3 WEFT_HANG_TIMEOUT=2");
    EXPECT_TRUE(reports.say(0, "missing"));
    reports.end();
    Lines lines = reports.lines(0);
    ASSERT_EQ(lines.size(), 5u) << reports.read(0);
    EXPECT_EQ(lines[0].substr(0, lines[0].find(" (")), "weft: a wait; roll-call of process 0");
    EXPECT_EQ(lines[1], "  rank 2 (process 0, thread 2): outside weft");
    EXPECT_EQ(lines[4], "  missing in weft_barrier #2 on communicator 1: rank 2 of 3");
}

// Process 0 collects what all say, and writes one report.
TEST(RollCallOf, AJobOfAnotherLauncher) {
    if (no_mpirun())
        GTEST_SKIP() << "there is no mpirun.openmpi";
    Reports reports("WEFT_THREADS=2 WEFT_HANG_TIMEOUT=2 " + mpirun);
    EXPECT_TRUE(reports.say(0, "missing"));
    reports.end();
    EXPECT_EQ(reports.lines(0),
              (Lines{"weft: a wait; roll-call of 2 processes:", "  rank 3 (process 1, thread 1): outside weft",
                     "  rank 0 (process 0, thread 0): in weft_barrier #2 on communicator 1",
                     "  rank 1 (process 0, thread 1): in weft_barrier #2 on communicator 1",
                     "  rank 2 (process 1, thread 0): in weft_barrier #2 on communicator 1",
                     "  missing in weft_barrier #2 on communicator 1: rank 3 of 4"}))
        << reports.read(0);
    EXPECT_EQ(reports.read(1), "");
}

// Process 0 collects what all say, until it is stopped: then the others report for themselves.
TEST(RollCallOf, AJobWhoseCollectorIsStopped) {
    if (no_mpirun())
        GTEST_SKIP() << "there is no mpirun.openmpi";
    char path[] = "/tmp/weft-rollcall-pid-XXXXXX";
    int file = mkstemp(path);
    ASSERT_GE(file, 0);
    Reports reports("WEFT_THREADS=2 WEFT_HANG_TIMEOUT=2 " + mpirun +
                    R"(sh -c '[ $OMPI_COMM_WORLD_RANK != 0 ] || echo $$ >)" + path + R"(; exec "$0" "$@"')");
    EXPECT_TRUE(reports.say(0, "missing"));
    pid_t process_0 = 0;
    std::ifstream(path) >> process_0;
    ASSERT_GT(process_0, 0);
    kill(process_0, SIGSTOP);
    EXPECT_TRUE(reports.say(1, "in weft_barrier"));
    kill(process_0, SIGCONT);
    reports.end();
    EXPECT_NE(reports.lines(1)[0].find("roll-call of process 1"), std::string::npos) << reports.read(1);
    close(file);
    unlink(path);
}

// Where process 0 does not, the others report for themselves.
TEST(RollCallOf, AProcessWithoutACollector) {
    if (no_mpirun())
        GTEST_SKIP() << "there is no mpirun.openmpi";
    Reports reports("WEFT_THREADS=2 " + mpirun +
                    R"(sh -c '[ $OMPI_COMM_WORLD_RANK = 0 ] || export WEFT_HANG_TIMEOUT=2; exec "$0" "$@"')");
    EXPECT_TRUE(reports.say(1, "in weft_barrier"));
    reports.end();
    Lines lines = reports.lines(1);
    ASSERT_EQ(lines.size(), 3u) << reports.read(1);
    EXPECT_EQ(lines[0].substr(0, lines[0].find(" (")), "weft: a wait; roll-call of process 1");
    EXPECT_EQ(lines[1], "  rank 3 (process 1, thread 1): outside weft");
    EXPECT_EQ(lines[2], "  rank 2 (process 1, thread 0): in weft_barrier #2 on communicator 1");
    EXPECT_EQ(reports.read(0), "");
}

TEST(RollCallOptions, AreChecked) {
    Result result = run({"--hang-timeout", "0", "true"});
    EXPECT_EQ(result.status, 2);
    EXPECT_NE(result.err.find("--hang-timeout"), std::string::npos);
}
