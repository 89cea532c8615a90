// SPDX-License-Identifier: BSD-3-Clause
// Reproducible sums over the real transport: run as 1x4, 2x2 and 4x1 it compares with the same sequential evaluation, so the
// splits have the same bits as each other.
#include "bracketing.h"
#include "intra/threads.h"
#include <gtest/gtest.h>

namespace {

using namespace bracketing;

template <typename T> void check_all(weft_comm *comm, size_t count) {
    for (int form = 0; form < FORMS; form++)
        for (bool in_place : {false, true})
            EXPECT_TRUE(Rank<T>(comm, count, Form(form), in_place).all())
                << "rank " << weft_rank(comm) << " of " << weft_size(comm) << ", " << count << " elements, form "
                << form << ": " << weft_last_error();
}

void check_group(weft_comm *comm) {
    for (size_t count : {1, 100, 5000})
        check_all<double>(comm, count);
    check_all<float>(comm, 70000);
    check_all<std::complex<double>>(comm, 33);
}

// All ranks, and in an order that has nothing to do with the processes.
void check(weft_comm *comm) {
    weft_comm *mixed = nullptr;
    check_group(comm);
    ASSERT_EQ(weft_comm_split(comm, 0, weft_rank(comm) * 3 % 4, &mixed), WEFT_SUCCESS) << weft_last_error();
    check_group(mixed);
    EXPECT_EQ(weft_comm_free(&mixed), WEFT_SUCCESS) << weft_last_error();
}

} // namespace

// The option, where the variable is not set.
TEST(ReproducibleJob, HasTheDocumentedBits) {
    weft_options options{};
    options.reproducible = 1;
    ASSERT_EQ(weft_init(&options), WEFT_SUCCESS) << weft_last_error();
    weft_team *team = nullptr;
    ASSERT_EQ(weft_team_create(weft_process_comm(), 0, &team), WEFT_SUCCESS) << weft_last_error();
    threads::run(weft_team_threads(team), [&](int thread) {
        weft_comm *comm = nullptr;
        ASSERT_EQ(weft_team_enter(team, thread, &comm), WEFT_SUCCESS) << weft_last_error();
        EXPECT_EQ(weft_size(comm), 4);
        check(comm);
        EXPECT_EQ(weft_team_leave(&comm), WEFT_SUCCESS) << weft_last_error();
    });
    EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
    check(weft_process_comm());
    EXPECT_EQ(weft_finalize(), WEFT_SUCCESS) << weft_last_error();
}
