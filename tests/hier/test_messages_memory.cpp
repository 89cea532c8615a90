// SPDX-License-Identifier: BSD-3-Clause
// Many messages between two threads.
#include "intra/threads.h"
#include "messages_many.h"
#include "misuse.h"

namespace {

void run(void (*body)(const many::End &end)) {
    weft_team *team = nullptr;
    ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
    ASSERT_EQ(WEFT_SUCCESS, weft_team_create(weft_process_comm(), 2, &team)) << weft_last_error();
    threads::run(2, [&](int thread) {
        weft_comm *comm = nullptr;
        ASSERT_EQ(WEFT_SUCCESS, weft_team_enter(team, thread, &comm)) << weft_last_error();
        body({comm, 1 - thread, thread == 0, thread == 0});
        EXPECT_OK(weft_team_leave(&comm));
    });
    EXPECT_OK(weft_team_free(&team));
    EXPECT_OK(weft_finalize());
}

TEST(MessagesMemory, IsWhereItWas) {
    run(many::memory_is_where_it_was);
}

TEST(MessagesMemory, PostedAndMatchedInReverse) {
    run(many::posted_and_matched_in_reverse);
}

TEST(MessagesMemory, UnexpectedAndReceivedInReverse) {
    run(many::unexpected_and_received_in_reverse);
}

TEST(MessagesMemory, UnexpectedAreBounded) {
    run(many::unexpected_are_bounded);
}

} // namespace
