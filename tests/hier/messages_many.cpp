// SPDX-License-Identifier: BSD-3-Clause
#include "messages_many.h"
#include "intra/threads.h"
#include "misuse.h"

#include <algorithm>
#include <cstdlib>
#include <malloc.h>
#include <vector>
extern "C" {
#include <hier/comm.h>
}

namespace many {

namespace {

constexpr size_t window = 64, longest = 20000;

// Of one pair.
size_t messages(const End &end) {
    const char *text = getenv("MESSAGES_MANY");
    return (text ? strtoull(text, nullptr, 10) : 1000000) / (size_t(weft_size(end.comm)) / 2);
}

size_t waiting(const End &end) {
    return std::min<size_t>(messages(end) / 10, 100000);
}

// Mostly short; the same for both ranks.
size_t length_of(size_t number) {
    threads::Random random(number + 1);
    random.below(2);
    return random.below(10) == 0 ? random.below(longest + 1) : random.below(500);
}

// Starts message i of a window that begins at `first`.
int start(const End &end, size_t first, size_t i, unsigned char *at, weft_request **request) {
    size_t bytes = length_of(first + i);
    if (end.sends && bytes)
        at[0] = at[bytes - 1] = static_cast<unsigned char>(first + i);
    return end.sends ? weft_isend(at, bytes, WEFT_BYTE, end.peer, 0, end.comm, request)
                     : weft_irecv(at, longest, WEFT_BYTE, i % 2 ? end.peer : WEFT_ANY_SOURCE, 0, end.comm, request);
}

// Windows of messages; of every third the receives are posted when all has been sent.
void send_windows(const End &end, size_t count, std::vector<unsigned char> &memory) {
    weft_request *requests[window];
    size_t wrong = 0;
    for (size_t first = 0; first < count; first += window) {
        bool late = first / window % 3 == 0;
        if (late && !end.sends) {
            ASSERT_EQ(WEFT_SUCCESS, weft_recv(nullptr, 0, WEFT_INT, end.peer, 1, end.comm, nullptr));
        }
        for (size_t i = 0; i < window; i++)
            ASSERT_EQ(WEFT_SUCCESS, start(end, first, i, &memory[i * longest], &requests[i])) << weft_last_error();
        if (late && end.sends) {
            ASSERT_EQ(WEFT_SUCCESS, weft_send(nullptr, 0, WEFT_INT, end.peer, 1, end.comm));
        }
        ASSERT_EQ(WEFT_SUCCESS, weft_waitall(window, requests, WEFT_STATUSES_IGNORE)) << weft_last_error();
        for (size_t i = 0; i < window; i++) {
            size_t bytes = length_of(first + i);
            wrong += bytes && (memory[i * longest] != static_cast<unsigned char>(first + i) ||
                               memory[i * longest + bytes - 1] != static_cast<unsigned char>(first + i));
        }
        // All are at the same window, so that memory in use has a bound of its own.
        ASSERT_EQ(WEFT_SUCCESS, weft_barrier(end.comm));
    }
    EXPECT_EQ(wrong, 0u);
}

size_t in_use() {
    struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
}

} // namespace

void memory_is_where_it_was(const End &end) {
    std::vector<unsigned char> memory(window * longest);
    size_t before = 0;
    send_windows(end, messages(end) / 10, memory);
    if (end.measures)
        before = in_use();
    EXPECT_OK(weft_barrier(end.comm));
    send_windows(end, messages(end), memory);
    // The caches of the C library and of UCX hold back less than this; a byte a message is more.
    if (end.measures) {
        EXPECT_LE(in_use(), before + (512u << 10));
    }
    EXPECT_OK(weft_barrier(end.comm));
}

void posted_and_matched_in_reverse(const End &end) {
    size_t count = waiting(end), wild = count / 10;
    std::vector<int> values(count + wild, -1);
    std::vector<weft_request *> requests(count + wild, nullptr);
    for (size_t i = 0; !end.sends && i < count + wild; i++)
        ASSERT_EQ(WEFT_SUCCESS, weft_irecv(&values[i], 1, WEFT_INT, i % 2 ? end.peer : WEFT_ANY_SOURCE,
                                           i < count ? int(i) : WEFT_ANY_TAG, end.comm, &requests[i]));
    EXPECT_OK(weft_barrier(end.comm));
    for (size_t i = count; end.sends && i-- > 0;) {
        int value = int(i) * 3;
        ASSERT_EQ(WEFT_SUCCESS, weft_send(&value, 1, WEFT_INT, end.peer, int(i), end.comm));
    }
    for (size_t i = 0; end.sends && i < wild; i++) {
        int value = int(i) * 5;
        ASSERT_EQ(WEFT_SUCCESS, weft_send(&value, 1, WEFT_INT, end.peer, int(i), end.comm));
    }
    EXPECT_OK(weft_waitall(requests.size(), requests.data(), WEFT_STATUSES_IGNORE));
    for (size_t i = 0; !end.sends && i < values.size(); i++)
        ASSERT_EQ(values[i], i < count ? int(i) * 3 : int(i - count) * 5) << i;
    EXPECT_OK(weft_barrier(end.comm)); // a leader stays, for the others' messages
}

void unexpected_and_received_in_reverse(const End &end) {
    size_t count = waiting(end);
    std::vector<weft_request *> requests(count, nullptr);
    std::vector<int> values(count);
    for (size_t i = 0; end.sends && i < count; i++) {
        values[i] = int(i) * 7;
        ASSERT_EQ(WEFT_SUCCESS, weft_isend(&values[i], 1, WEFT_INT, end.peer, int(i), end.comm, &requests[i]));
    }
    EXPECT_OK(weft_barrier(end.comm));
    for (size_t i = count; !end.sends && i-- > 0;) {
        int value = -1, source = i % 2 ? end.peer : WEFT_ANY_SOURCE;
        ASSERT_EQ(WEFT_SUCCESS, weft_recv(&value, 1, WEFT_INT, source, int(i), end.comm, nullptr));
        ASSERT_EQ(value, int(i) * 7);
    }
    EXPECT_OK(weft_waitall(count, requests.data(), WEFT_STATUSES_IGNORE));
    EXPECT_OK(weft_barrier(end.comm));
}

void unexpected_are_bounded(const End &end) {
    constexpr size_t bytes = 3000;
    constexpr size_t held = 1u << 20;      // by the transport
    constexpr size_t bytes_of_offer = 640; // what stands for a message that stays with its sender
    const size_t limit = end.comm->mailbox->limits.unexpected_bytes, count = 10 * (limit + held) / bytes;
    std::vector<unsigned char> out(bytes, 7), in(bytes);
    std::vector<weft_request *> requests(end.sends ? count : 0, nullptr);
    for (weft_request *&request : requests)
        ASSERT_EQ(WEFT_SUCCESS, weft_isend(out.data(), bytes, WEFT_BYTE, end.peer, 1, end.comm, &request));
    if (end.sends) {
        EXPECT_OK(weft_send(nullptr, 0, WEFT_BYTE, end.peer, 2, end.comm));
    }
    size_t most = 0;
    for (int found = end.sends; !found;) {
        ASSERT_EQ(WEFT_SUCCESS, weft_iprobe(end.peer, 2, end.comm, &found, nullptr));
        most = std::max(most, atomic_load_explicit(&end.comm->mailbox->parcel_bytes, memory_order_relaxed));
    }
    // What was let go before the sender was told, and while it was, comes on top.
    EXPECT_LE(most, 4 * limit + held + count * bytes_of_offer);
    if (!end.sends) {
        EXPECT_OK(weft_recv(nullptr, 0, WEFT_BYTE, end.peer, 2, end.comm, nullptr));
    }
    for (size_t i = 0; !end.sends && i < count; i++) {
        ASSERT_EQ(WEFT_SUCCESS, weft_recv(in.data(), bytes, WEFT_BYTE, end.peer, 1, end.comm, nullptr));
        ASSERT_EQ(in, out) << i;
    }
    EXPECT_OK(weft_waitall(requests.size(), requests.data(), WEFT_STATUSES_IGNORE));
    EXPECT_OK(weft_barrier(end.comm));
}

} // namespace many
