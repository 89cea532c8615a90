// SPDX-License-Identifier: BSD-3-Clause
// weftrun --counters and --trace: what is printed and written for a job whose operations are known.
#include "command.h"
#include "timeline.h"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <unistd.h>

namespace {

namespace fs = std::filesystem;

bool contains(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

// The numbers of a row of the table: operations, messages and bytes three times, seconds. Empty: there is no such row.
std::vector<double> row_of(const std::string &table, const std::string &name) {
    std::istringstream lines(table);
    std::vector<double> numbers;
    for (std::string line; std::getline(lines, line);) {
        std::istringstream words(line);
        std::string word;
        if (words >> word && word == name)
            for (double number; words >> number;)
                numbers.push_back(number);
    }
    return numbers;
}

class Observe : public ::testing::Test {
  protected:
    Observe() {
        char name[] = "/tmp/test-weftrun-observe-XXXXXX";
        directory_ = mkdtemp(name) ? name : "";
    }
    ~Observe() override {
        fs::remove_all(directory_);
    }
    std::string path(const std::string &name) const {
        return directory_ + "/" + name;
    }
    size_t entries() const {
        return size_t(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
    }

  private:
    std::string directory_;
};

using Numbers = std::vector<double>;

} // namespace

TEST_F(Observe, CountersAreATableOfTheJob) {
    Result result = run({"-n", "2", "-t", "2", "--counters", PROGRAM});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, "done\ndone\n");
    EXPECT_TRUE(contains(result.err, "the sums of 2 of 2 processes")) << result.err;
    Numbers messages = row_of(result.err, "messages"), allreduce = row_of(result.err, "allreduce");
    ASSERT_EQ(messages.size(), 8u) << result.err;
    messages.pop_back(); // the time
    EXPECT_EQ(messages, (Numbers{4, 2, 200, 2, 200, 0, 0})) << result.err;
    ASSERT_EQ(allreduce.size(), 8u) << result.err;
    EXPECT_EQ(allreduce[0], 40 + 6) << result.err; // and the three of either process that make the team
    EXPECT_EQ(allreduce[1], 10 * 2 * 2);           // operands and results of a thread in either process
    EXPECT_EQ(allreduce[2], 10 * 2 * 2 * 64);
    EXPECT_EQ(allreduce[3], 10 * 2 + 6);
    EXPECT_EQ(allreduce[5], 0);
    EXPECT_TRUE(row_of(result.err, "scan").empty()) << result.err;
}

// Of a process that starts weft twice both are in the table, and in the timeline.
TEST_F(Observe, SessionsOfAProcessAreAddedUp) {
    Result result = run({"-n", "2", "-t", "2", "--counters", "--trace", path("all.json"), PROGRAM, "again"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_TRUE(contains(result.err, "the sums of 2 of 2 processes")) << result.err;
    Numbers messages = row_of(result.err, "messages");
    ASSERT_EQ(messages.size(), 8u) << result.err;
    messages.pop_back(); // the time
    EXPECT_EQ(messages, (Numbers{8, 4, 400, 4, 400, 0, 0})) << result.err;
    Timeline timeline(path("all.json"));
    EXPECT_EQ(timeline.processes.size(), 2u);
    EXPECT_EQ(timeline.tracks.size(), 12u);
    for (int rank = 0; rank < 4; rank++)
        EXPECT_EQ(timeline.rank(rank).count("weft_allreduce"), 10) << rank;
    for (auto &[where, track] : timeline.tracks)
        if (track.name == "rank 3, start 2") {
            EXPECT_EQ(track.count("weft_allreduce"), 10);
        }
}

// The handlers are what tells PMIx of a rank's end.
TEST_F(Observe, WhoIsThroughWithWeftMayLeaveWithoutExitHandlers) {
    Result result = run({"-n", "3", PROGRAM, "leave"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, "done\ndone\ndone\n");
    EXPECT_EQ(result.err, "");
}

// Alone, too, though nobody could wait for it: a program that works with one process works with several.
TEST_F(Observe, WhoForgetsToFinalizeFailsTheJob) {
    for (const char *n : {"1", "2"}) {
        Result result = run({"-n", n, "-x", "ASAN_OPTIONS=detect_leaks=0", PROGRAM, "forget"}); // it frees nothing
        EXPECT_EQ(result.status, 1) << n << ": " << result.err;
        EXPECT_TRUE(contains(result.err, "without weft_finalize")) << n << ": " << result.err;
    }
    EXPECT_EQ(run({"-n", "1", PROGRAM, "leave"}).status, 0);
}

TEST_F(Observe, NothingIsPrintedUnlessAsked) {
    Result result = run({"-n", "2", "-t", "2", "-x", "WEFT_COUNTERS=" + path("counters"), PROGRAM});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "");
    for (const char *rank : {"0", "1"}) {
        std::ifstream file(path(std::string("counters/counters.") + rank));
        std::stringstream text;
        text << file.rdbuf();
        EXPECT_TRUE(contains(text.str(), "\nmessages 2 1 100 1 100 0 0 ")) << text.str();
    }
}

TEST_F(Observe, TraceIsOneFileOfAllRanks) {
    std::ofstream(path("all.json")) << "of a run before";
    Result result = run({"-n", "2", "-t", "2", "--trace", path("all.json"), PROGRAM});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err, "");
    EXPECT_EQ(entries(), 1u);
    Timeline timeline(path("all.json"));
    EXPECT_EQ(timeline.processes.size(), 2u);
    EXPECT_EQ(timeline.tracks.size(), 6u); // of four ranks, and of the two processes' own
    for (int rank = 0; rank < 4; rank++) {
        EXPECT_EQ(timeline.rank(rank).count("weft_allreduce"), 10) << rank;
        EXPECT_EQ(timeline.rank(rank).count("network"), 10) << rank;
        EXPECT_EQ(timeline.rank(rank).count("weft_sendrecv"), 1) << rank;
    }
}

// Not all ranks know the counts of a gatherv, so an algorithm that must has another put for it; not for the threads' part.
TEST_F(Observe, WhatCannotServeIsReplacedAlone) {
    Result result = run({"-n", "2", "-t", "2", "--trace", path("all.json"), "-x", "WEFT_ALGORITHM=gatherv=MST/flags",
                         PROGRAM, "gather"});
    ASSERT_EQ(result.status, 0) << result.err;
    Timeline timeline(path("all.json"));
    for (int rank = 0; rank < 4; rank++) {
        const Track track = timeline.rank(rank);
        EXPECT_EQ(track.count("weft_gatherv"), 1) << rank;
        for (const Span &span : track.spans)
            EXPECT_TRUE(span.name != "weft_gatherv" || span.algorithm == "nb1FT/flags") << span.algorithm;
    }
}

TEST_F(Observe, ARunThatFailsLeavesNoHalfTimeline) {
    Result result =
        run({"-n", "2", "-t", "2", "--timeout", "50", "--counters", "--trace", path("all.json"), PROGRAM, "die"});
    EXPECT_EQ(result.status, 3) << result.err;
    EXPECT_EQ(entries(), 0u);
    EXPECT_TRUE(contains(result.err, "--trace: 0 of 2 processes")) << result.err;
    EXPECT_TRUE(contains(result.err, "--counters: no process")) << result.err;
}

TEST_F(Observe, ProgramsThatKnowNothingOfWeftHaveNone) {
    std::ofstream(path("all.json")) << "of a run before";
    Result result = run({"-n", "2", "--counters", "--trace", path("all.json"), "true"});
    EXPECT_EQ(result.status, 0) << result.err;
    std::string text;
    std::getline(std::ifstream(path("all.json")), text);
    EXPECT_EQ(text, "of a run before");
    EXPECT_EQ(entries(), 1u);
}

TEST_F(Observe, AFileThatCannotBeWrittenIsNamedFirst) {
    Result result = run({"--trace", path("no/such.json"), "echo", "started"});
    EXPECT_EQ(result.status, 1);
    EXPECT_EQ(result.out, "");
    EXPECT_TRUE(contains(result.err, path("no/such.json"))) << result.err;
    EXPECT_EQ(run({"--trace", "", "true"}).status, 2);
    EXPECT_EQ(run({"--trace"}).status, 2);
    Result directory = run({"--trace", path("."), PROGRAM});
    EXPECT_EQ(directory.status, 2);
    EXPECT_TRUE(contains(directory.err, "no regular file")) << directory.err;
    EXPECT_EQ(run({"--trace", "/dev/null", PROGRAM}).status, 2);
}

// The name under which the timeline grows is a longer one, and may be somebody else's.
TEST_F(Observe, AFileThatCannotGrowIsNamedFirst) {
    const std::string longest = path(std::string(255, 'x')), taken = path("all.json");
    Result too_long = run({"--trace", longest, "echo", "started"});
    EXPECT_EQ(too_long.status, 1);
    EXPECT_EQ(too_long.out, "");
    EXPECT_TRUE(contains(too_long.err, longest + ".part' cannot be written: File name too long")) << too_long.err;
    fs::create_directory(taken + ".part");
    Result directory = run({"--trace", taken, "echo", "started"});
    EXPECT_EQ(directory.status, 1);
    EXPECT_EQ(directory.out, "");
    EXPECT_TRUE(contains(directory.err, taken + ".part' cannot be written: Is a directory")) << directory.err;
    EXPECT_EQ(entries(), 1u);
}

// Processes find one of them only.
TEST_F(Observe, OptionsAndVariablesOfTheSameAreNotBothGiven) {
    Result counted = run({"--counters", "-x", "WEFT_COUNTERS=" + path("mine"), PROGRAM});
    EXPECT_NE(counted.status, 0);
    EXPECT_TRUE(contains(counted.err, "WEFT_COUNTERS is \"" + path("mine") + "\", and --counters sets it too"))
        << counted.err;
    Result traced = run({"--trace", path("all.json"), "-x", "WEFT_TRACE=" + path("mine"), PROGRAM});
    EXPECT_NE(traced.status, 0);
    EXPECT_TRUE(contains(traced.err, "WEFT_TRACE is \"" + path("mine") + "\"")) << traced.err;
    EXPECT_EQ(entries(), 0u);
    EXPECT_EQ(run({"--counters", "-x", "WEFT_COUNTERS=", PROGRAM}).status, 0);
}

TEST_F(Observe, WhatAJobThatDoesNotStartLeaves) {
    EXPECT_EQ(run({"--trace", path("all.json"), "/tmp"}).status, 126);
    EXPECT_EQ(entries(), 0u);
    std::ofstream(path("all.json.part")) << "of a run that was killed";
    EXPECT_EQ(run({"--trace", path("all.json"), PROGRAM}).status, 0);
    EXPECT_TRUE(fs::exists(path("all.json")));
    EXPECT_EQ(entries(), 1u);
}

// The parts are beside the file, and gone with the job, also where its first or second process was killed.
TEST_F(Observe, PartsOfTheTimelineAreBesideIt) {
    for (int number : {0, SIGTERM, SIGKILL}) {
        Weftrun job({"-n", "2", "--trace", path("all.json"), "sh", "-c",
                     "echo $WEFT_TRACE; [ $PMIX_RANK = 0 ] || exec " PROGRAM "; sleep 1000"});
        ASSERT_TRUE(job.wait_for_output("\n", 2)) << job.err();
        EXPECT_EQ(job.out().find(path("all.json.parts-")), 0u) << job.out();
        EXPECT_EQ(entries(), 1u);
        kill(number ? job.pid() : job.second(), number ? number : SIGKILL);
        EXPECT_NE(job.wait(), 0);
        EXPECT_TRUE(job.all_gone());
        for (int looks = 0; looks < 1000 && entries() > 0; looks++) // the one that is left cleans up
            usleep(10000);
        EXPECT_EQ(entries(), 0u) << number << job.err();
    }
}

TEST_F(Observe, ALinkStaysOne) {
    std::ofstream(path("old.json")) << "of a run before";
    ASSERT_EQ(symlink(path("old.json").c_str(), path("all.json").c_str()), 0);
    Result result = run({"--trace", path("all.json"), PROGRAM});
    EXPECT_EQ(result.status, 0) << result.err;
    std::string text;
    std::getline(std::ifstream(path("old.json")), text);
    EXPECT_NE(text, "of a run before");
    unlink(path("old.json").c_str());
}

// Processes that choose by other rules would wait for each other in the first collective.
TEST_F(Observe, SettingsThatDifferBetweenProcessesAreNamed) {
    for (const std::string setting : {"WEFT_ALGORITHM=allreduce=RAB", "WEFT_REPRODUCIBLE=1"}) {
        std::string command = "[ $PMIX_RANK = 1 ] && export " + setting + "; exec " PROGRAM;
        Result result = run({"-n", "2", "--timeout", "50", "sh", "-c", command});
        EXPECT_NE(result.status, 0);
        EXPECT_TRUE(
            contains(result.err, setting.substr(0, setting.find('=')) + " of process 1 is not that of process 0"))
            << result.err;
        // Both end with it: who went on would wait for ever.
        command = "[ $PMIX_RANK = 1 ] && export " + setting + "; " PROGRAM "; touch " + path("$PMIX_RANK") +
                  "; until [ -e " + path("0") + " ] && [ -e " + path("1") + " ]; do sleep 0.1; done; echo ended";
        EXPECT_EQ(run({"-n", "2", "--timeout", "50", "sh", "-c", command}).out.substr(0, 6), "ended\n");
        unlink(path("0").c_str());
        unlink(path("1").c_str());
    }
}
