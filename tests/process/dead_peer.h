// SPDX-License-Identifier: BSD-3-Clause
// A process of the job dies, and what the others wait for from it ends with WEFT_ERR_PROC_FAILED: a test is a job of its own, in which
// process 1 kills itself. For hosts with TCP between them: on one host the launcher ends the job (test_dead_job.cpp).
#ifndef TESTS_PROCESS_DEAD_PEER_H
#define TESTS_PROCESS_DEAD_PEER_H

#include <gtest/gtest.h>
#include <string>
#include <vector>
#include <weft/weft.h>

namespace dead {

constexpr int victim = 1;

bool is_victim();
std::vector<int> living(const weft_comm *comm);

void sleep_ms(int ms);
// When weft_init has returned everywhere. The others wait already, as a rule.
[[noreturn]] void die(int after_ms = 200);

#define EXPECT_DEAD(call)                                                                                              \
    do {                                                                                                               \
        int code_ = call;                                                                                              \
        EXPECT_EQ(std::string(weft_strerror(WEFT_ERR_PROC_FAILED)), weft_strerror(code_)) << #call;                    \
    } while (0)

// Something that one process shows to others.
void show(const std::string &name);
bool is_shown(const std::string &name);
void await_shown(const std::string &name);

// Until the victim is dead; for so long where nobody tells, since the launcher ends all the others then.
void await_death(int else_ms);

// A message each way between all, so that connections are there.
void greet(weft_comm *comm);

// What is received from the dead process ends, and nothing else: the living ones talk on.
void live_on(weft_comm *comm);

} // namespace dead

#endif
