// SPDX-License-Identifier: BSD-3-Clause
// Many messages: memory is where it was afterwards, and a hundred thousand that wait are found at once (the test's time limit says
// so). Between two threads; MESSAGES_MANY says how many.
#include "intra/threads.h"
#include "misuse.h"

#include <cstdlib>
#include <malloc.h>

namespace {

constexpr size_t window = 64, longest = 20000;

size_t many() {
    const char *text = getenv("MESSAGES_MANY");
    return text ? strtoull(text, nullptr, 10) : 1000000;
}

class MessagesMemory : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
        ASSERT_EQ(WEFT_SUCCESS, weft_team_create(weft_process_comm(), 2, &team_)) << weft_last_error();
    }
    void TearDown() override {
        EXPECT_OK(weft_team_free(&team_));
        EXPECT_OK(weft_finalize());
    }
    void run(const std::function<void(int rank, weft_comm *comm)> &body) {
        threads::run(2, [&](int thread) {
            weft_comm *comm = nullptr;
            ASSERT_EQ(WEFT_SUCCESS, weft_team_enter(team_, thread, &comm)) << weft_last_error();
            body(thread, comm);
            EXPECT_OK(weft_team_leave(&comm));
        });
    }
    weft_team *team_ = nullptr;
};

// Mostly short; the same for both ranks.
size_t length_of(size_t number) {
    threads::Random random(number + 1);
    random.below(2);
    return random.below(10) == 0 ? random.below(longest + 1) : random.below(500);
}

// Windows of messages from rank 0 to rank 1; of every third the receives are posted when all has been sent.
void send_windows(int rank, weft_comm *comm, size_t messages, std::vector<unsigned char> &memory) {
    weft_request *requests[window];
    size_t wrong = 0;
    for (size_t first = 0; first < messages; first += window) {
        bool late = first / window % 3 == 0;
        if (late && rank == 1) {
            ASSERT_EQ(WEFT_SUCCESS, weft_recv(nullptr, 0, WEFT_INT, 0, 1, comm, nullptr));
        }
        for (size_t i = 0; i < window; i++) {
            size_t bytes = length_of(first + i);
            unsigned char *at = &memory[i * longest];
            if (rank == 0 && bytes)
                at[0] = at[bytes - 1] = (unsigned char)(first + i);
            int code = rank == 0
                           ? weft_isend(at, bytes, WEFT_BYTE, 1, 0, comm, &requests[i])
                           : weft_irecv(at, longest, WEFT_BYTE, i % 2 ? 0 : WEFT_ANY_SOURCE, 0, comm, &requests[i]);
            ASSERT_EQ(WEFT_SUCCESS, code) << weft_last_error();
        }
        if (late && rank == 0) {
            ASSERT_EQ(WEFT_SUCCESS, weft_send(nullptr, 0, WEFT_INT, 1, 1, comm));
        }
        ASSERT_EQ(WEFT_SUCCESS, weft_waitall(window, requests, WEFT_STATUSES_IGNORE)) << weft_last_error();
        for (size_t i = 0; i < window; i++) {
            size_t bytes = length_of(first + i);
            wrong += bytes && (memory[i * longest] != (unsigned char)(first + i) ||
                               memory[i * longest + bytes - 1] != (unsigned char)(first + i));
        }
        // Both are at the same window, so that memory in use has a bound of its own.
        ASSERT_EQ(WEFT_SUCCESS, weft_barrier(comm));
    }
    EXPECT_EQ(wrong, 0u);
}

size_t in_use() {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

TEST_F(MessagesMemory, IsWhereItWas) {
    run([](int rank, weft_comm *comm) {
        std::vector<unsigned char> memory(window * longest);
        size_t before = 0;
        send_windows(rank, comm, many() / 10, memory);
        if (rank == 0)
            before = in_use();
        EXPECT_OK(weft_barrier(comm));
        send_windows(rank, comm, many(), memory);
        // The C library's own caches hold back less than this; a byte a message is more.
        if (rank == 0) {
            EXPECT_LE(in_use(), before + (512u << 10));
        }
        EXPECT_OK(weft_barrier(comm));
    });
}

size_t waiting() {
    return std::min<size_t>(many() / 10, 100000);
}

// Posted with each kind of wildcard and none, and matched from the last to the first.
TEST_F(MessagesMemory, PostedAndMatchedInReverse) {
    run([](int rank, weft_comm *comm) {
        size_t count = waiting(), wild = count / 10;
        std::vector<int> values(count + wild, -1);
        std::vector<weft_request *> requests(count + wild, nullptr);
        for (size_t i = 0; rank == 1 && i < count + wild; i++)
            ASSERT_EQ(WEFT_SUCCESS, weft_irecv(&values[i], 1, WEFT_INT, i % 2 ? 0 : WEFT_ANY_SOURCE,
                                               i < count ? int(i) : WEFT_ANY_TAG, comm, &requests[i]));
        EXPECT_OK(weft_barrier(comm));
        for (size_t i = count; rank == 0 && i-- > 0;) {
            int value = int(i) * 3;
            ASSERT_EQ(WEFT_SUCCESS, weft_send(&value, 1, WEFT_INT, 1, int(i), comm));
        }
        for (size_t i = 0; rank == 0 && i < wild; i++) {
            int value = int(i) * 5;
            ASSERT_EQ(WEFT_SUCCESS, weft_send(&value, 1, WEFT_INT, 1, int(i), comm));
        }
        if (rank == 0)
            return;
        EXPECT_OK(weft_waitall(requests.size(), requests.data(), WEFT_STATUSES_IGNORE));
        for (size_t i = 0; i < values.size(); i++)
            ASSERT_EQ(values[i], i < count ? int(i) * 3 : int(i - count) * 5) << i;
    });
}

// Sent before a receive is there, and received from the last to the first.
TEST_F(MessagesMemory, UnexpectedAndReceivedInReverse) {
    run([](int rank, weft_comm *comm) {
        size_t count = waiting();
        std::vector<weft_request *> requests(count, nullptr);
        std::vector<int> values(count);
        for (size_t i = 0; rank == 0 && i < count; i++) {
            values[i] = int(i) * 7;
            ASSERT_EQ(WEFT_SUCCESS, weft_isend(&values[i], 1, WEFT_INT, 1, int(i), comm, &requests[i]));
        }
        EXPECT_OK(weft_barrier(comm));
        for (size_t i = count; rank == 1 && i-- > 0;) {
            int value = -1;
            ASSERT_EQ(WEFT_SUCCESS, weft_recv(&value, 1, WEFT_INT, i % 2 ? 0 : WEFT_ANY_SOURCE, int(i), comm, nullptr));
            ASSERT_EQ(value, int(i) * 7);
        }
        EXPECT_OK(weft_waitall(count, requests.data(), WEFT_STATUSES_IGNORE));
    });
}

} // namespace
