// SPDX-License-Identifier: BSD-3-Clause
// The job that the oracle's tests run in: every process runs the same tests in the same order, and every collective of a
// test is called whatever the checks before it said, so that a failed check never leaves the other ranks waiting.
#ifndef TESTS_HIER_ORACLE_JOB_H
#define TESTS_HIER_ORACLE_JOB_H

#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <weft/weft.h>

namespace job {

using body = std::function<void(weft_comm *)>;

// The threads that this process brings: WEFT_THREADS (`weftrun -t`), or 1 + 2r mod 3 in process r when ORACLE_UNEVEN is set.
int threads();

// ORACLE_SPLIT set, on_team and on_both run the body on communicators split from theirs, by the ranks that are in them:
//     dup      all, as they are                      mixed    all, in a random order, so that they are interleaved over the nodes
//     halves   odd and even ranks, backwards         some     one thread of every other process, and all of the rest, mixed
//     others   all but the leaders, who wait in weft
// Only tests that do not ask where ranks are run like that.

// Makes a team over all processes and runs the body in each of its threads. Thread 0 is the caller.
void on_team(const body &run);
void on_team(int threads, const body &run);
// The body on the process communicator, by the caller.
void on_processes(const body &run);
// The body on the thread communicator, then on the process communicator.
void on_both(const body &run);
// Enters, runs, leaves. `thread` may be WEFT_ANY_THREAD.
void in_team(weft_team *team, int thread, const body &run);

// Where more settings lead through the same code, ORACLE_CASES=k/n takes the k-th of n parts of a test's cases, as rounds of the same
// calls under other settings: is this case in it?
bool takes(size_t number);

// A check: adds a failure that names the rank. After twenty of them a process only keeps count.
bool check(bool holds, const weft_comm *comm, const std::string &what);
// A call that must succeed.
bool ok(int code, const weft_comm *comm, const std::string &what);

// Memory with guards around it. Its address has the alignment asked for and no more, so that code that assumes more fails.
class buffer {
  public:
    explicit buffer(size_t bytes, size_t alignment = 1);
    unsigned char *data() const {
        return data_;
    }
    size_t size() const {
        return bytes_;
    }
    bool intact() const;    // nothing around it was written
    bool untouched() const; // nor in it
    static constexpr unsigned char filler = 0xa7;

  private:
    size_t bytes_, all_;
    std::unique_ptr<unsigned char, void (*)(void *)> memory_;
    unsigned char *data_;
};

uint64_t hash(uint64_t a, uint64_t b = 0, uint64_t c = 0, uint64_t d = 0);
// A reproducible pattern, different for each seed.
void fill(void *at, size_t bytes, uint64_t seed);
bool matches(const void *at, size_t bytes, uint64_t seed);

} // namespace job

#endif
