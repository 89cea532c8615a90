// SPDX-License-Identifier: BSD-3-Clause
// Wrong use of the requests of messages, of probed messages and of attached buffers; truncation; types freed while in use.
#include "misuse_messages.h"

#include <algorithm>
#include <cstring>

namespace {

using MisuseRequests = misuse::Messages;

// A message too long for any copy on its way.
constexpr size_t long_ints = 1 << 18;

TEST_F(MisuseRequests, AttachedBuffers) {
    on_each([&](weft_comm *comm, const std::string &rank) {
        char memory[2 * (WEFT_BSEND_OVERHEAD + sizeof(int))];
        void *base = a_;
        size_t bytes = 7;
        weft_request *request = misuse::untouched_request;
        int self = weft_rank(comm);
        EXPECT_ERROR(WEFT_ERR_ARG, weft_comm_detach_buffer(comm, &base, &bytes), rank, "no buffer is attached");
        EXPECT_EQ(base, a_);
        EXPECT_EQ(bytes, 7u);
        EXPECT_ERROR(WEFT_ERR_ARG, weft_comm_attach_buffer(comm, nullptr, 100), rank, "buffer is NULL");
        EXPECT_ERROR(WEFT_ERR_NOMEM, weft_bsend(a_, 1, WEFT_INT, self, 3, comm), rank, "weft_bsend",
                     "weft_comm_attach_buffer");
        EXPECT_ERROR(WEFT_ERR_NOMEM, weft_ibsend(a_, 1, WEFT_INT, self, 3, comm, &request), rank, "weft_ibsend");
        EXPECT_EQ(request, misuse::untouched_request);
        EXPECT_OK(weft_comm_attach_buffer(comm, memory, sizeof(memory)));
        EXPECT_ERROR(WEFT_ERR_BUSY, weft_comm_attach_buffer(comm, memory, sizeof(memory)), rank,
                     std::to_string(sizeof(memory)) + " bytes is attached");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_comm_detach_buffer(comm, nullptr, &bytes), rank, "buffer is NULL");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_comm_detach_buffer(comm, &base, nullptr), rank, "bytes is NULL");
        EXPECT_ERROR(WEFT_ERR_NOMEM, weft_bsend(a_, 64, WEFT_INT, self, 3, comm), rank, "256 + 64 bytes");
        EXPECT_ERROR(WEFT_ERR_NOMEM, weft_ibsend(a_, 64, WEFT_INT, self, 3, comm, &request), rank);
        EXPECT_EQ(request, misuse::untouched_request);
        // As many as have room, received after the user's buffers were overwritten.
        for (int i = 0; i < 2; i++) {
            a_[0] = 100 + i;
            EXPECT_OK(weft_bsend(a_, 1, WEFT_INT, self, 3, comm));
        }
        a_[0] = 0;
        for (int i = 0; i < 2; i++) {
            EXPECT_OK(weft_recv(b_, 1, WEFT_INT, self, 3, comm, nullptr));
            EXPECT_EQ(b_[0], 100 + i);
        }
        // A persistent one that has no room can be started again once there is some.
        weft_request *persistent = nullptr;
        EXPECT_OK(weft_comm_detach_buffer(comm, &base, &bytes));
        EXPECT_EQ(base, memory);
        EXPECT_EQ(bytes, sizeof(memory));
        EXPECT_OK(weft_bsend_init(a_, 1, WEFT_INT, self, 4, comm, &persistent));
        EXPECT_ERROR(WEFT_ERR_NOMEM, weft_start(&persistent), rank, "weft_comm_attach_buffer");
        EXPECT_OK(weft_comm_attach_buffer(comm, memory, sizeof(memory)));
        EXPECT_OK(weft_start(&persistent));
        EXPECT_OK(weft_wait(&persistent, nullptr));
        EXPECT_OK(weft_recv(b_, 1, WEFT_INT, self, 4, comm, nullptr));
        EXPECT_OK(weft_request_free(&persistent));
        EXPECT_OK(weft_comm_detach_buffer(comm, &base, &bytes));
        EXPECT_ERROR(WEFT_ERR_ARG, weft_comm_detach_buffer(comm, &base, &bytes), rank, "no buffer is attached");
    });
}

TEST_F(MisuseRequests, ProbedMessages) {
    on_each([&](weft_comm *comm, const std::string &rank) {
        weft_message *message = WEFT_MESSAGE_NULL;
        weft_request *request = misuse::untouched_request;
        weft_status status = misuse::untouched_status;
        int self = weft_rank(comm);
        auto expect_none = [&](weft_message **wrong) {
            weft_message *before = wrong ? *wrong : nullptr;
            EXPECT_ERROR(WEFT_ERR_ARG, weft_mrecv(b_, 1, WEFT_INT, wrong, &status), "weft_mrecv", "message is NULL");
            EXPECT_ERROR(WEFT_ERR_ARG, weft_imrecv(b_, 1, WEFT_INT, wrong, &request), "weft_imrecv", "message is NULL");
            misuse::expect_untouched(status);
            EXPECT_EQ(request, misuse::untouched_request);
            if (wrong) {
                EXPECT_EQ(*wrong, before);
            }
        };
        expect_none(nullptr);
        expect_none(&message);
        a_[0] = 12;
        EXPECT_OK(weft_send(a_, 1, WEFT_INT, self, 3, comm));
        EXPECT_OK(weft_mprobe(WEFT_ANY_SOURCE, WEFT_ANY_TAG, comm, &message, nullptr));
        weft_message *used = message;
        // Wrong arguments leave it there.
        EXPECT_ERROR(WEFT_ERR_ARG, weft_mrecv(nullptr, 1, WEFT_INT, &message, &status), rank, "buffer is NULL");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_mrecv(b_, 1, nullptr, &message, &status), rank, "type");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_imrecv(b_, SIZE_MAX, WEFT_INT, &message, &request), rank, "elements");
        EXPECT_EQ(message, used);
        EXPECT_EQ(request, misuse::untouched_request);
        EXPECT_OK(weft_mrecv(b_, 1, WEFT_INT, &message, nullptr));
        EXPECT_EQ(b_[0], 12);
        EXPECT_EQ(message, WEFT_MESSAGE_NULL);
        expect_none(&message);
        expect_none(&used);
    });
}

TEST_F(MisuseRequests, Cancel) {
    on_each([&](weft_comm *comm, const std::string &rank) {
        weft_request *none = WEFT_REQUEST_NULL, *send = nullptr, *receive = nullptr, *persistent = nullptr;
        weft_status status;
        int self = weft_rank(comm);
        EXPECT_ERROR(WEFT_ERR_ARG, weft_cancel(nullptr), "weft_cancel", "request is NULL");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_cancel(&none), "weft_cancel", "WEFT_REQUEST_NULL");
        EXPECT_OK(weft_issend(a_, 1, WEFT_INT, self, 3, comm, &send));
        EXPECT_ERROR(WEFT_ERR_ARG, weft_cancel(&send), rank, "weft_cancel", "weft_issend");
        EXPECT_OK(weft_recv_init(b_, 1, WEFT_INT, self, 3, comm, &persistent));
        EXPECT_ERROR(WEFT_ERR_ARG, weft_cancel(&persistent), rank, "weft_cancel", "not active");
        // A receive that has matched: cancelling is right, and changes nothing.
        EXPECT_OK(weft_probe(self, 3, comm, nullptr));
        EXPECT_OK(weft_irecv(b_, 1, WEFT_INT, self, 3, comm, &receive));
        EXPECT_OK(weft_cancel(&receive));
        EXPECT_OK(weft_wait(&send, nullptr));
        weft_request *completed = receive;
        EXPECT_OK(weft_wait(&receive, &status));
        EXPECT_EQ(status.cancelled, 0);
        EXPECT_EQ(status.bytes, sizeof(int));
        EXPECT_ERROR(WEFT_ERR_ARG, weft_cancel(&completed), "weft_cancel", "completed or freed");
        EXPECT_OK(weft_isend(a_, 1, WEFT_INT, self, 3, comm, &send));
        EXPECT_ERROR(WEFT_ERR_ARG, weft_cancel(&send), rank, "weft_cancel");
        EXPECT_OK(weft_recv(b_, 1, WEFT_INT, self, 3, comm, nullptr));
        EXPECT_OK(weft_wait(&send, nullptr));
        // Twice is once; and started again it receives.
        EXPECT_OK(weft_start(&persistent));
        EXPECT_OK(weft_cancel(&persistent));
        EXPECT_OK(weft_cancel(&persistent));
        EXPECT_OK(weft_wait(&persistent, &status));
        EXPECT_EQ(status.cancelled, 1);
        EXPECT_ERROR(WEFT_ERR_ARG, weft_cancel(&persistent), rank, "not active");
        EXPECT_OK(weft_start(&persistent));
        EXPECT_OK(weft_send(a_, 1, WEFT_INT, self, 3, comm));
        EXPECT_OK(weft_wait(&persistent, &status));
        EXPECT_EQ(status.cancelled, 0);
        EXPECT_OK(weft_request_free(&persistent));
    });
    weft_request *collective = nullptr;
    EXPECT_OK(weft_ibarrier(weft_process_comm(), &collective));
    EXPECT_ERROR(WEFT_ERR_ARG, weft_cancel(&collective), "rank 0", "weft_cancel", "weft_ibarrier");
    EXPECT_OK(weft_wait(&collective, nullptr));
}

TEST_F(MisuseRequests, StartAndFree) {
    on_each([&](weft_comm *comm, const std::string &rank) {
        weft_request *none = WEFT_REQUEST_NULL, *once = nullptr, *persistent = nullptr;
        int self = weft_rank(comm);
        EXPECT_ERROR(WEFT_ERR_ARG, weft_start(nullptr), "weft_start", "request is NULL");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_startall(1, nullptr), "weft_startall", "requests is NULL");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_request_free(nullptr), "weft_request_free", "request is NULL");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_start(&none), "weft_start");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_request_free(&none), "weft_request_free");
        EXPECT_OK(weft_irecv(b_, 1, WEFT_INT, self, 3, comm, &once));
        EXPECT_ERROR(WEFT_ERR_ARG, weft_start(&once), rank, "weft_irecv is not persistent");
        EXPECT_ERROR(WEFT_ERR_BUSY, weft_request_free(&once), rank, "weft_irecv is under way");
        EXPECT_OK(weft_recv_init(b_ + 1, 1, WEFT_INT, self, 4, comm, &persistent));
        EXPECT_OK(weft_start(&persistent));
        EXPECT_ERROR(WEFT_ERR_BUSY, weft_start(&persistent), rank, "weft_recv_init is under way");
        EXPECT_ERROR(WEFT_ERR_BUSY, weft_startall(1, &persistent), rank, "weft_recv_init is under way");
        EXPECT_ERROR(WEFT_ERR_BUSY, weft_request_free(&persistent), rank, "weft_recv_init is under way");
        // Both were left as they were.
        a_[0] = 5;
        EXPECT_OK(weft_send(a_, 1, WEFT_INT, self, 3, comm));
        EXPECT_OK(weft_send(a_, 1, WEFT_INT, self, 4, comm));
        weft_request *both[2] = {once, persistent}, *completed = once, *freed = persistent;
        EXPECT_OK(weft_waitall(2, both, WEFT_STATUSES_IGNORE));
        EXPECT_EQ(both[0], WEFT_REQUEST_NULL);
        EXPECT_EQ(both[1], persistent);
        EXPECT_EQ(b_[0], 5);
        EXPECT_EQ(b_[1], 5);
        EXPECT_OK(weft_request_free(&persistent));
        EXPECT_EQ(persistent, WEFT_REQUEST_NULL);
        for (weft_request *wrong : {completed, freed}) {
            int done = -1;
            size_t index = 77, indices[1] = {78};
            weft_request *handle = wrong;
            const char *named = "completed or freed before";
            EXPECT_ERROR(WEFT_ERR_ARG, weft_wait(&handle, nullptr), "weft_wait", named);
            EXPECT_ERROR(WEFT_ERR_ARG, weft_test(&handle, &done, nullptr), "weft_test", named);
            EXPECT_ERROR(WEFT_ERR_ARG, weft_waitall(1, &handle, nullptr), "weft_waitall", named);
            EXPECT_ERROR(WEFT_ERR_ARG, weft_waitany(1, &handle, &index, nullptr), "weft_waitany", named);
            EXPECT_ERROR(WEFT_ERR_ARG, weft_waitsome(1, &handle, &index, indices, nullptr), "weft_waitsome", named);
            EXPECT_ERROR(WEFT_ERR_ARG, weft_start(&handle), "weft_start", named);
            EXPECT_ERROR(WEFT_ERR_ARG, weft_request_free(&handle), "weft_request_free", named);
            EXPECT_EQ(handle, wrong);
            EXPECT_EQ(done, -1);
            EXPECT_EQ(index, 77u);
            EXPECT_EQ(indices[0], 78u);
        }
    });
}

// What stands before a request that is none is completed, or was: nothing is lost, and nothing hangs.
TEST_F(MisuseRequests, WaitallOfAWindowWithAStaleRequest) {
    on_each([&](weft_comm *comm, const std::string &) {
        int self = weft_rank(comm);
        weft_request *window[5] = {}, *other = nullptr;
        EXPECT_OK(weft_irecv(b_, 1, WEFT_INT, self, 9, comm, &other));
        weft_request *stale = other;
        EXPECT_OK(weft_send(a_, 1, WEFT_INT, self, 9, comm));
        EXPECT_OK(weft_wait(&other, nullptr));
        a_[0] = 41, a_[1] = 42;
        EXPECT_OK(weft_irecv(b_, 1, WEFT_INT, self, 3, comm, &window[0]));
        weft_request *kept = window[0] == stale ? nullptr : stale; // the handle may serve the next one
        EXPECT_OK(weft_irecv(b_ + 1, 1, WEFT_INT, self, 4, comm, &window[1]));
        EXPECT_OK(weft_isend(a_, 1, WEFT_INT, self, 3, comm, &window[2]));
        EXPECT_OK(weft_isend(a_ + 1, 1, WEFT_INT, self, 4, comm, &window[3]));
        if (!kept) { // then one that is completed now
            kept = window[0];
            weft_request *first = window[0];
            EXPECT_OK(weft_wait(&first, nullptr));
            window[0] = WEFT_REQUEST_NULL;
        }
        window[4] = kept;
        std::rotate(window, window + 1, window + 4); // a receive, sends, then what was first
        EXPECT_ERROR(WEFT_ERR_ARG, weft_waitall(5, window, WEFT_STATUSES_IGNORE), "weft_waitall",
                     "completed or freed before");
        EXPECT_EQ(window[4], kept);
        EXPECT_OK(weft_waitall(4, window, WEFT_STATUSES_IGNORE));
        for (int i = 0; i < 4; i++)
            EXPECT_EQ(window[i], WEFT_REQUEST_NULL) << i;
        EXPECT_EQ(b_[0], 41);
        EXPECT_EQ(b_[1], 42);
    });
}

// With something left the handle stays, and can be left once that is completed.
TEST_F(MisuseRequests, LeaveWithSomethingLeft) {
    weft_comm *standing = ranks_[1];
    weft_request *request = nullptr;
    weft_message *message = nullptr;
    auto expect_busy = [&](const char *named) {
        EXPECT_ERROR(WEFT_ERR_BUSY, weft_team_leave(&ranks_[1]), "rank 1", "weft_team_leave", named);
        ASSERT_EQ(ranks_[1], standing);
    };
    EXPECT_OK(weft_irecv(b_, 1, WEFT_INT, 0, 3, ranks_[1], &request));
    expect_busy("1 requests");
    EXPECT_OK(weft_send(a_, 1, WEFT_INT, 1, 3, ranks_[0]));
    expect_busy("1 requests");
    EXPECT_OK(weft_wait(&request, nullptr));
    EXPECT_OK(weft_recv_init(b_, 1, WEFT_INT, 0, 3, ranks_[1], &request));
    expect_busy("1 requests");
    EXPECT_OK(weft_request_free(&request));
    weft_request *light[2] = {nullptr, nullptr}; // both done at once
    for (weft_request *&one : light)
        EXPECT_OK(weft_isend(a_, 1, WEFT_INT, 0, 3, ranks_[1], &one));
    expect_busy("2 requests");
    for (int i = 0; i < 2; i++)
        EXPECT_OK(weft_recv(b_, 1, WEFT_INT, 1, 3, ranks_[0], nullptr));
    expect_busy("2 requests");
    EXPECT_OK(weft_waitall(2, light, nullptr));
    // A copy of such a handle, completed once more, says nothing of other requests.
    EXPECT_OK(weft_irecv(b_, 1, WEFT_INT, 0, 3, ranks_[1], &request));
    EXPECT_OK(weft_isend(a_, 1, WEFT_INT, 0, 3, ranks_[1], &light[0]));
    light[1] = light[0];
    for (weft_request *&one : light)
        EXPECT_OK(weft_wait(&one, nullptr));
    expect_busy("1 requests");
    EXPECT_OK(weft_recv(b_, 1, WEFT_INT, 1, 3, ranks_[0], nullptr));
    EXPECT_OK(weft_send(a_, 1, WEFT_INT, 1, 3, ranks_[0]));
    EXPECT_OK(weft_wait(&request, nullptr));
    EXPECT_OK(weft_issend(a_, 1, WEFT_INT, 0, 3, ranks_[1], &request));
    expect_busy("1 requests");
    EXPECT_OK(weft_recv(b_, 1, WEFT_INT, 1, 3, ranks_[0], nullptr));
    EXPECT_OK(weft_wait(&request, nullptr));
    EXPECT_OK(weft_send(a_, 1, WEFT_INT, 1, 3, ranks_[0]));
    EXPECT_OK(weft_mprobe(0, 3, ranks_[1], &message, nullptr));
    expect_busy("1 requests");
    EXPECT_OK(weft_mrecv(b_, 1, WEFT_INT, &message, nullptr));
    void *base = nullptr;
    size_t bytes = 0;
    EXPECT_OK(weft_comm_attach_buffer(ranks_[1], b_, sizeof(b_)));
    expect_busy("a buffer is attached");
    EXPECT_OK(weft_comm_detach_buffer(ranks_[1], &base, &bytes));
    EXPECT_OK(weft_team_leave(&ranks_[1]));
    EXPECT_OK(weft_team_enter(team_, 1, &ranks_[1]));
}

TEST_F(MisuseRequests, FinalizeWithARequestLeft) {
    for (weft_comm *&rank : ranks_)
        EXPECT_OK(weft_team_leave(&rank));
    EXPECT_OK(weft_team_free(&team_));
    weft_request *request = nullptr;
    EXPECT_OK(weft_irecv(b_, 1, WEFT_INT, 0, 3, weft_process_comm(), &request));
    EXPECT_ERROR(WEFT_ERR_BUSY, weft_finalize(), "rank 0", "request");
    EXPECT_EQ(weft_initialized(), 1);
    EXPECT_OK(weft_cancel(&request));
    EXPECT_OK(weft_wait(&request, nullptr));
    EXPECT_OK(weft_team_create(weft_process_comm(), 2, &team_));
    for (int thread : {0, 1})
        EXPECT_OK(weft_team_enter(team_, thread, &ranks_[thread]));
}

// The receiver learns of it and has what fits; the sender does not notice. Short and long, posted before and after.
TEST_F(MisuseRequests, Truncation) {
    for (size_t ints : {size_t(8), long_ints})
        for (bool posted : {false, true})
            for (bool synchronous : {false, true}) {
                SCOPED_TRACE(std::to_string(ints) + (posted ? " posted" : "") + (synchronous ? " synchronous" : ""));
                std::vector<int> from(ints), to(ints, -1);
                for (size_t i = 0; i < ints; i++)
                    from[i] = int(i);
                weft_request *send = nullptr, *receive = nullptr;
                weft_status status = misuse::untouched_status;
                auto do_send = [&] {
                    return (synchronous ? weft_issend : weft_isend)(from.data(), ints, WEFT_INT, 1, 3, ranks_[0],
                                                                    &send);
                };
                if (!posted) {
                    EXPECT_OK(do_send());
                }
                EXPECT_OK(weft_irecv(to.data(), 3, WEFT_INT, WEFT_ANY_SOURCE, WEFT_ANY_TAG, ranks_[1], &receive));
                if (posted) {
                    EXPECT_OK(do_send());
                }
                EXPECT_ERROR(WEFT_ERR_TRUNCATE, weft_wait(&receive, &status), "rank 1", "weft_irecv", "rank 0", "tag 3",
                             "12 bytes");
                EXPECT_EQ(receive, WEFT_REQUEST_NULL);
                EXPECT_EQ(status.error, WEFT_ERR_TRUNCATE);
                EXPECT_EQ(status.source, 0);
                EXPECT_EQ(status.tag, 3);
                EXPECT_EQ(status.cancelled, 0);
                EXPECT_EQ(status.bytes, 3 * sizeof(int)) << "what was received";
                EXPECT_OK(weft_wait(&send, &status));
                EXPECT_EQ(status.error, WEFT_SUCCESS);
                EXPECT_TRUE(std::equal(to.begin(), to.begin() + 3, from.begin()));
                EXPECT_EQ(std::count(to.begin() + 3, to.end(), -1), ptrdiff_t(ints) - 3);
            }
}

// A type is freed as soon as the call is back.
TEST_F(MisuseRequests, TypeFreedWhileInUse) {
    enum { Sent, Probed, Posted }; // before it is received
    for (size_t blocks : {size_t(4), long_ints / 2})
        for (int before : {Sent, Probed, Posted}) {
            SCOPED_TRACE(std::to_string(blocks) + " blocks, " + (before == Probed ? "probed" : ""));
            std::vector<int> from(2 * blocks), to(2 * blocks, -1);
            for (size_t i = 0; i < from.size(); i++)
                from[i] = int(i);
            weft_request *send = nullptr, *receive = nullptr;
            std::vector<weft_datatype *> others;
            auto typed = [&](const std::function<int(const weft_datatype *)> &start) {
                weft_datatype *type = nullptr;
                EXPECT_OK(weft_type_vector(blocks, 1, 2, WEFT_INT, &type));
                EXPECT_OK(weft_type_commit(&type));
                EXPECT_OK(start(type));
                EXPECT_OK(weft_type_free(&type));
                for (int i = 0; i < 64;
                     i++) { // its memory may be one of theirs now: the one that is free for longest is taken
                    EXPECT_OK(weft_type_vector(blocks, 1, 3, WEFT_BYTE, &type));
                    EXPECT_OK(weft_type_commit(&type));
                    others.push_back(type);
                }
            };
            auto do_send = [&] {
                typed([&](const weft_datatype *type) {
                    return weft_issend(from.data(), 1, type, 1, 3, ranks_[0], &send);
                });
            };
            if (before != Posted)
                do_send();
            weft_message *message = nullptr;
            if (before == Probed) {
                EXPECT_OK(weft_mprobe(0, 3, ranks_[1], &message, nullptr));
            }
            typed([&](const weft_datatype *type) {
                return message ? weft_imrecv(to.data(), 1, type, &message, &receive)
                               : weft_recv_init(to.data(), 1, type, 0, 3, ranks_[1], &receive);
            });
            if (before != Probed) {
                EXPECT_OK(weft_start(&receive));
            }
            if (before == Posted)
                do_send();
            EXPECT_OK(weft_wait(&receive, nullptr));
            EXPECT_OK(weft_wait(&send, nullptr));
            if (before != Probed) {
                EXPECT_OK(weft_request_free(&receive));
            }
            for (weft_datatype *&type : others)
                EXPECT_OK(weft_type_free(&type));
            for (size_t i = 0; i < to.size(); i++)
                ASSERT_EQ(to[i], i % 2 ? -1 : int(i)) << i << " of " << to.size();
        }
}

} // namespace
