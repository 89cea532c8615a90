// SPDX-License-Identifier: BSD-3-Clause
// Many messages between two processes: each thread of process 0 sends to that of the same number in process 1, and then, in a job of
// one thread each, the processes themselves.
#include "messages_many.h"
#include "oracle_job.h"

namespace {

void run(void (*body)(const many::End &end)) {
    ASSERT_EQ(weft_size(weft_process_comm()), 2);
    int threads = job::threads();
    auto end = [=](weft_comm *comm) {
        int half = weft_size(comm) / 2, rank = weft_rank(comm);
        body({comm, rank < half ? rank + half : rank - half, rank < half, rank % half == 0});
    };
    job::on_team(end);
    if (threads == 1)
        end(weft_process_comm());
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
