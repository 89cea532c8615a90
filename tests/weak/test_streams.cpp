// SPDX-License-Identifier: BSD-3-Clause
// Many short messages, more than a lane has room for, so that its memory is used again and again while both ends are at it.
#include "hier/misuse.h"

namespace {

constexpr int messages = 250, longest = 300;

size_t length(int number) {
    return size_t(number * 37 % longest + 1);
}

unsigned char element(int from, int number, size_t at) {
    return (unsigned char)(from * 101 + number * 7 + int(at));
}

void send_all(weft_comm *comm, int to, threads::Random &own) {
    unsigned char text[longest];
    for (int number = 0; number < messages; number++) {
        for (size_t i = 0; i < length(number); i++)
            text[i] = element(weft_rank(comm), number, i);
        EXPECT_OK(weft_send(text, length(number), WEFT_BYTE, to, number % 3, comm));
        own.dawdle();
    }
}

void receive_all(weft_comm *comm, int from, threads::Random &own) {
    unsigned char text[longest];
    for (int number = 0; number < messages; number++) {
        weft_request *request = nullptr;
        EXPECT_OK(weft_irecv(text, longest, WEFT_BYTE, from, number % 3, comm, &request));
        own.dawdle();
        EXPECT_OK(weft_wait(&request, WEFT_STATUS_IGNORE));
        for (size_t i = 0; i < length(number); i++)
            ASSERT_EQ(text[i], element(from, number, i)) << number;
    }
}

class Streams : public ::testing::TestWithParam<weft_wait_policy> {};

} // namespace

TEST_P(Streams, ArriveInOrder) {
    weft_options options = {};
    options.wait_policy = GetParam();
    ASSERT_EQ(WEFT_SUCCESS, weft_init(&options)) << weft_last_error();
    for (int round = 0; round < 4; round++)
        misuse::in_team(2, [&](weft_comm *comm, int thread) {
            threads::Random own(uint64_t(round * 2 + thread));
            if (thread == 0)
                send_all(comm, 1, own);
            else
                receive_all(comm, 0, own);
            if (thread == 1)
                send_all(comm, 0, own);
            else
                receive_all(comm, 1, own);
        });
    EXPECT_OK(weft_finalize());
}

INSTANTIATE_TEST_SUITE_P(Policies, Streams, ::testing::Values(WEFT_WAIT_SPIN, WEFT_WAIT_YIELD, WEFT_WAIT_BLOCK));
