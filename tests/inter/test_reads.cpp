// SPDX-License-Identifier: BSD-3-Clause
// Reads of another process's memory, here of this one: many runs, more than a system call takes, and some that are not there.
#include <gtest/gtest.h>
#include <numeric>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>
extern "C" {
#include <inter/pull.h>
#include <weft/error.h>
}

namespace {

// Runs of 0 to 4 bytes, backwards through `from`; what they bring, one behind the other, is `expected`.
std::vector<iovec> runs_of(std::vector<unsigned char> &from, size_t number, std::vector<unsigned char> &expected) {
    std::vector<iovec> runs;
    for (size_t i = 0; i < number; i++) {
        size_t length = i % 5, begin = from.size() - 4 - i;
        runs.push_back({&from[begin], length});
        expected.insert(expected.end(), &from[begin], &from[begin] + length);
    }
    return runs;
}

} // namespace

TEST(Reads, BringRunsOneBehindTheOther) {
    std::vector<unsigned char> from(10000);
    std::iota(from.begin(), from.end(), 0);
    for (size_t number : {0, 1, 2, 3, 7, 1023, 1024, 1025, 5000}) {
        std::vector<unsigned char> expected;
        std::vector<iovec> runs = runs_of(from, number, expected);
        std::vector<unsigned char> to(expected.size() + 1, 77);
        std::vector<iovec> places = runs;
        size_t end = 0;
        for (iovec &place : places) {
            place.iov_base = to.data() + end;
            end += place.iov_len;
        }
        ASSERT_EQ(inter_pull_read_runs(getpid(), runs.data(), places.data(), runs.size()), WEFT_SUCCESS) << number;
        EXPECT_EQ(to.back(), 77);
        to.pop_back();
        EXPECT_EQ(to, expected) << number;
    }
}

// The system call brings what lies before the page that is missing, and fails only when asked to go on.
TEST(Reads, TellOfMemoryThatIsNotThere) {
    size_t page = size_t(sysconf(_SC_PAGESIZE));
    auto *pages = static_cast<unsigned char *>(
        mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    ASSERT_NE(pages, MAP_FAILED);
    ASSERT_EQ(munmap(pages + page, page), 0);
    std::fill(pages, pages + page, 5);
    std::vector<unsigned char> to(2 * page, 0);
    for (size_t before : {size_t(0), size_t(1), page}) {
        iovec runs[] = {{pages, 8}, {pages + page - before, before + 8}, {pages, 8}};
        iovec places[] = {{&to[0], 8}, {&to[8], before + 8}, {&to[0], 8}};
        EXPECT_EQ(inter_pull_read_runs(getpid(), runs, places, 3), WEFT_ERR_TRANSPORT) << before;
        EXPECT_EQ(to[0], 5);
    }
    EXPECT_EQ(inter_pull_read(getpid(), reinterpret_cast<uintptr_t>(pages), to.data(), page), WEFT_SUCCESS);
    EXPECT_EQ(munmap(pages, page), 0);
}

TEST(Reads, TellOfAProcessThatIsNotThere) {
    pid_t gone = fork();
    if (!gone)
        _exit(0);
    ASSERT_EQ(waitpid(gone, nullptr, 0), gone);
    uint64_t word = 0;
    EXPECT_EQ(inter_pull_read(gone, reinterpret_cast<uintptr_t>(&word), &word, sizeof(word)), WEFT_ERR_PROC_FAILED);
}
