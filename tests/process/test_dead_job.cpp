// SPDX-License-Identifier: BSD-3-Clause
// A process of a job on one host dies, while others wait for what it was to send or to fetch, through lines and through UCX. What
// shares memory with it cannot know; the launcher does: it says who went first, ends the others, and nothing is left of the job.
#include "tools/command.h"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <dirent.h>
#include <fstream>
#include <gtest/gtest.h>
#include <set>
#include <sstream>
#include <string>
#include <unistd.h>

namespace {

// Files of shared memory, and segments of processes that are gone.
std::set<std::string> shared_memory() {
    std::set<std::string> found;
    DIR *folder = opendir("/dev/shm");
    for (struct dirent *entry; folder && (entry = readdir(folder));)
        found.insert(entry->d_name);
    if (folder)
        closedir(folder);
    std::ifstream table("/proc/sysvipc/shm");
    std::string line;
    std::getline(table, line); // names of the columns
    while (std::getline(table, line)) {
        std::istringstream fields(line);
        long key, id, mode, bytes, creator;
        fields >> key >> id >> mode >> bytes >> creator;
        if (kill(pid_t(creator), 0) != 0)
            found.insert("segment " + std::to_string(id));
    }
    return found;
}

// What is there and was not before. Other jobs may come and go.
std::set<std::string> left_behind(const std::set<std::string> &before) {
    std::set<std::string> left;
    for (int look = 0; look < 500; look++, usleep(10000)) {
        left.clear();
        for (const std::string &name : shared_memory())
            if (!before.count(name))
                left.insert(name);
        if (left.empty())
            break;
    }
    return left;
}

bool contains(const std::string &text, const std::string &part) {
    return text.find(part) != std::string::npos;
}

struct Case {
    const char *lines, *test;
    bool aborts; // UCX ends whoever reads the memory of a process that is no longer there
};

class DeadJob : public testing::TestWithParam<Case> {
  protected:
    void SetUp() override {
        ASSERT_NE(mkdtemp(folder_), nullptr);
        setenv("TESTS_DIRECTORY", folder_, 1);
        setenv("WEFT_LINES", GetParam().lines, 1);
    }
    void TearDown() override {
        std::string command = std::string("rm -rf '") + folder_ + "'";
        EXPECT_EQ(system(command.c_str()), 0);
        unsetenv("TESTS_DIRECTORY");
        unsetenv("WEFT_LINES");
    }
    char folder_[32] = "/tmp/weft-dead-job-XXXXXX";
};

TEST_P(DeadJob, TheLauncherSaysWhoWentFirstAndEndsTheOthers) {
    std::set<std::string> before = shared_memory();
    Result result =
        run({"-n", "3", "-t", "2", "--timeout", "30", PROGRAM, std::string("--gtest_filter=") + GetParam().test});
    // Who aborts may be gone before the one that was killed has given its memory back.
    bool aborted = GetParam().aborts && result.status == 128 + SIGABRT;
    if (!aborted) {
        EXPECT_EQ(result.status, 128 + SIGKILL) << result.out;
        EXPECT_TRUE(contains(result.err, "process 1 (pid ") && contains(result.err, "was killed by signal 9"))
            << result.err;
        EXPECT_FALSE(contains(result.err, "process 0 (pid ") || contains(result.err, "process 2 (pid ")) << result.err;
    }
    EXPECT_FALSE(contains(result.out, "FAILED")) << result.out;
    for (const std::string &name : left_behind(before))
        ADD_FAILURE() << "left behind: " << name;
}

std::vector<Case> cases() {
    std::vector<Case> all;
    for (const char *lines : {"on", "off"})
        for (const char *test : {"DeadPeer.Receive", "DeadPeer.ReceiveFromAnySource", "DeadPeer.Synchronous",
                                 "DeadPeer.InAFetchAsSender", "DeadPeer.InAFetchAsReceiver",
                                 "DeadPeer.FetchFromTheDead", "DeadPeer.Collectives", "DeadPeerOfTeams.Receive"})
            all.push_back({lines, test, std::string(lines) + test == "offDeadPeer.InAFetchAsSender"});
    return all;
}

INSTANTIATE_TEST_SUITE_P(OnOneHost, DeadJob, testing::ValuesIn(cases()), [](const auto &one) {
    std::string name = std::string("lines_") + one.param.lines + "_" + one.param.test;
    std::replace(name.begin(), name.end(), '.', '_');
    return name;
});

} // namespace
