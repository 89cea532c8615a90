// SPDX-License-Identifier: BSD-3-Clause
// Wrong arguments of messages: the code, the rank and the argument are named, nothing is written, sent or posted (the fixture
// looks). Ranks 0 and 1 are both this thread's, so nobody else need be there.
#include "misuse_messages.h"

namespace {

using misuse::arguments;
using MisuseMessages = misuse::Messages;

TEST_F(MisuseMessages, PeerOutOfRange) {
    on_each([&](weft_comm *comm, const std::string &rank) {
        for (int peer : {weft_size(comm), -3, INT_MAX, INT_MIN}) {
            arguments wrong{a_, 1, WEFT_INT, peer, 3, comm};
            for (const auto &call : misuse::sends())
                misuse::expect_message_error(WEFT_ERR_RANK, call, wrong, {rank, "dest is " + std::to_string(peer)});
            for (const auto &call : misuse::receives())
                misuse::expect_message_error(WEFT_ERR_RANK, call, wrong, {rank, "source is " + std::to_string(peer)});
            for (const auto &call : misuse::probes())
                misuse::expect_message_error(WEFT_ERR_RANK, call, wrong, {rank, "source is " + std::to_string(peer)});
        }
        // Nobody sends to anybody.
        for (const auto &call : misuse::sends())
            misuse::expect_message_error(WEFT_ERR_RANK, call, {a_, 1, WEFT_INT, WEFT_ANY_SOURCE, 3, comm},
                                         {rank, "dest is -1"});
        EXPECT_ERROR(WEFT_ERR_RANK, weft_sendrecv_replace(a_, 1, WEFT_INT, 0, 0, 2, 0, comm, nullptr), rank,
                     "source is 2");
    });
}

TEST_F(MisuseMessages, TagOutOfRange) {
    on_each([&](weft_comm *comm, const std::string &rank) {
        for (int tag : {-2, INT_MIN}) {
            std::string named = "tag is " + std::to_string(tag);
            for (const auto &call : misuse::all_messages())
                misuse::expect_message_error(WEFT_ERR_ARG, call, {a_, 1, WEFT_INT, 0, tag, comm}, {rank, named});
            // Nobody is there, but the tag is wrong all the same.
            for (const auto &call : misuse::all_messages())
                misuse::expect_message_error(WEFT_ERR_ARG, call, {a_, 1, WEFT_INT, WEFT_PROC_NULL, tag, comm},
                                             {rank, named});
            EXPECT_ERROR(WEFT_ERR_ARG, weft_sendrecv_replace(a_, 1, WEFT_INT, 0, 0, 0, tag, comm, nullptr), rank,
                         named);
        }
        for (const auto &call : misuse::sends())
            misuse::expect_message_error(WEFT_ERR_ARG, call, {a_, 1, WEFT_INT, 0, WEFT_ANY_TAG, comm},
                                         {rank, "tag is -1"});
    });
}

TEST_F(MisuseMessages, NoBuffer) {
    on_each([&](weft_comm *comm, const std::string &rank) {
        for (void *buffer : {(void *)nullptr, WEFT_IN_PLACE}) {
            arguments wrong{buffer, 2, WEFT_INT, 0, 3, comm};
            std::string what = buffer ? " is WEFT_IN_PLACE" : " is NULL";
            for (const auto &calls : {misuse::sends(), misuse::receives()})
                for (const auto &call : calls)
                    misuse::expect_message_error(WEFT_ERR_ARG, call, wrong, {rank, " " + (call.buffer + what)});
        }
    });
}

TEST_F(MisuseMessages, WrongTypes) {
    weft_datatype *open = nullptr, *freed = nullptr;
    EXPECT_OK(weft_type_contiguous(2, WEFT_INT, &open));
    EXPECT_OK(weft_type_contiguous(2, WEFT_INT, &freed));
    EXPECT_OK(weft_type_commit(&freed));
    weft_datatype *stale = freed;
    EXPECT_OK(weft_type_free(&freed));
    on_each([&](weft_comm *comm, const std::string &rank) {
        for (const auto &calls : {misuse::sends(), misuse::receives()})
            for (const auto &call : calls) {
                for (size_t count : {0, 1})
                    misuse::expect_message_error(WEFT_ERR_ARG, call, {a_, count, open, 0, 3, comm},
                                                 {rank, "type is not committed"});
                for (const weft_datatype *type : {(const weft_datatype *)stale, (const weft_datatype *)nullptr})
                    misuse::expect_message_error(WEFT_ERR_ARG, call, {a_, 1, type, 0, 3, comm},
                                                 {rank, "type is not a datatype"});
            }
    });
    EXPECT_OK(weft_type_free(&open));
}

TEST_F(MisuseMessages, MoreThanMemoryCanHold) {
    on_each([&](weft_comm *comm, const std::string &rank) {
        for (size_t count : {SIZE_MAX, SIZE_MAX / 4 + 1, (size_t)PTRDIFF_MAX / 4 + 1})
            for (const auto &calls : {misuse::sends(), misuse::receives()})
                for (const auto &call : calls)
                    misuse::expect_message_error(WEFT_ERR_ARG, call, {a_, count, WEFT_INT, 0, 3, comm},
                                                 {rank, std::to_string(count) + " elements"});
    });
}

TEST_F(MisuseMessages, NullResults) {
    weft_status status = misuse::untouched_status;
    int found = -5;
    weft_message *message = nullptr;
    EXPECT_OK(weft_send(a_, 1, WEFT_INT, 1, 3, ranks_[0])); // something to find, which is not taken
    for (const auto &calls : {misuse::sends(), misuse::receives()})
        for (const auto &call : calls)
            if (call.makes_request)
                misuse::expect_error(WEFT_ERR_ARG, call.run({a_, 1, WEFT_INT, 1, 3, ranks_[1]}, nullptr),
                                     {"rank 1", call.name, "request is NULL"}, call.name);
    EXPECT_ERROR(WEFT_ERR_ARG, weft_iprobe(0, 3, ranks_[1], nullptr, &status), "rank 1", "weft_iprobe",
                 "found is NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_mprobe(0, 3, ranks_[1], nullptr, &status), "rank 1", "weft_mprobe",
                 "message is NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_improbe(0, 3, ranks_[1], nullptr, &message, &status), "rank 1", "found is NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_improbe(0, 3, ranks_[1], &found, nullptr, &status), "rank 1", "message is NULL");
    EXPECT_EQ(found, -5);
    EXPECT_EQ(message, nullptr);
    misuse::expect_untouched(status);
    EXPECT_OK(weft_recv(b_, 1, WEFT_INT, 0, 3, ranks_[1], nullptr));
    // imrecv without a request: the message is still there.
    EXPECT_OK(weft_send(a_, 1, WEFT_INT, 1, 3, ranks_[0]));
    EXPECT_OK(weft_mprobe(0, 3, ranks_[1], &message, nullptr));
    EXPECT_ERROR(WEFT_ERR_ARG, weft_imrecv(b_, 1, WEFT_INT, &message, nullptr), "rank 1", "weft_imrecv",
                 "request is NULL");
    EXPECT_OK(weft_mrecv(b_, 1, WEFT_INT, &message, nullptr));
}

TEST_F(MisuseMessages, Counts) {
    weft_status status = {0, 0, 0, 0, 8};
    size_t count = 99;
    EXPECT_ERROR(WEFT_ERR_ARG, weft_get_count(nullptr, WEFT_INT, &count), "weft_get_count", "status is NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_get_count(&status, WEFT_INT, nullptr), "weft_get_count", "count is NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_get_count(&status, nullptr, &count), "weft_get_count", "type");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_get_elements(nullptr, WEFT_INT, &count), "weft_get_elements", "status is NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_get_elements(&status, WEFT_INT, nullptr), "weft_get_elements", "count is NULL");
    EXPECT_ERROR(WEFT_ERR_ARG, weft_get_elements(&status, nullptr, &count), "weft_get_elements", "type");
    EXPECT_EQ(count, 99u);
    EXPECT_OK(weft_get_count(&status, WEFT_INT, &count));
    EXPECT_EQ(count, 2u);
    status.bytes = 7;
    EXPECT_OK(weft_get_count(&status, WEFT_INT, &count));
    EXPECT_EQ(count, WEFT_UNDEFINED);
}

// Of a type of no elements there are none in nothing, and no number of them in what has bytes.
TEST_F(MisuseMessages, CountsOfNoElements) {
    weft_datatype *none = nullptr;
    EXPECT_OK(weft_type_contiguous(0, WEFT_INT, &none));
    EXPECT_OK(weft_type_commit(&none));
    weft_status status = {0, 0, 0, 0, 8};
    size_t count = 99;
    EXPECT_OK(weft_get_count(&status, none, &count));
    EXPECT_EQ(count, WEFT_UNDEFINED);
    status.bytes = 0;
    EXPECT_OK(weft_get_count(&status, none, &count));
    EXPECT_EQ(count, 0u);
    EXPECT_OK(weft_type_free(&none));
}

// A message takes the room of another one of the same length, and not a byte more, between two that are still there.
TEST_F(MisuseMessages, GapInTheAttachedBuffer) {
    constexpr size_t ints = 1 << 16; // not copied on its way
    std::vector<int> out(ints), in(ints);
    std::vector<char> memory(3 * (WEFT_BSEND_OVERHEAD + ints * sizeof(int)));
    void *base = nullptr;
    size_t bytes = 0;
    EXPECT_OK(weft_comm_attach_buffer(ranks_[0], memory.data(), memory.size()));
    auto send = [&](int tag) {
        std::fill(out.begin(), out.end(), tag);
        return weft_bsend(out.data(), ints, WEFT_INT, 1, tag, ranks_[0]);
    };
    auto receive = [&](int tag) {
        EXPECT_OK(weft_recv(in.data(), ints, WEFT_INT, 0, tag, ranks_[1], nullptr));
        EXPECT_EQ(std::count(in.begin(), in.end(), tag), ptrdiff_t(ints));
    };
    for (int tag : {1, 2, 3})
        EXPECT_OK(send(tag));
    EXPECT_ERROR(WEFT_ERR_NOMEM, send(4), "no room");
    receive(2);
    const int code = send(4);
    EXPECT_EQ(WEFT_SUCCESS, code) << weft_last_error();
    if (code == WEFT_SUCCESS) {
        EXPECT_ERROR(WEFT_ERR_NOMEM, send(5), "no room");
        receive(4);
    }
    for (int tag : {1, 3})
        receive(tag);
    EXPECT_OK(weft_comm_detach_buffer(ranks_[0], &base, &bytes));
}

TEST_F(MisuseMessages, HandleOfAnotherThread) {
    weft_request *request = nullptr, *inactive = nullptr;
    weft_message *message = nullptr;
    EXPECT_OK(weft_irecv(b_, 1, WEFT_INT, 0, 5, ranks_[1], &request));
    EXPECT_OK(weft_recv_init(b_, 1, WEFT_INT, 0, 5, ranks_[1], &inactive));
    EXPECT_OK(weft_send(a_, 1, WEFT_INT, 1, 3, ranks_[0]));
    EXPECT_OK(weft_mprobe(0, 3, ranks_[1], &message, nullptr));
    misuse::elsewhere([&] {
        for (const auto &call : misuse::all_messages())
            misuse::expect_message_error(WEFT_ERR_THREAD, call, {a_, 1, WEFT_INT, 0, 3, ranks_[1]}, {"rank 1"});
        void *base = nullptr;
        size_t bytes = 0;
        int done = -1;
        weft_request *made = nullptr, *of_other = request;
        weft_message *taken = message;
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_comm_attach_buffer(ranks_[1], b_, sizeof(b_)), "rank 1",
                     "weft_comm_attach_buffer");
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_comm_detach_buffer(ranks_[1], &base, &bytes), "rank 1",
                     "weft_comm_detach_buffer");
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_wait(&of_other, nullptr), "rank 1", "weft_wait");
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_testall(1, &of_other, &done, nullptr), "rank 1", "weft_testall");
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_cancel(&of_other), "rank 1", "weft_cancel");
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_start(&inactive), "rank 1", "weft_start");
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_request_free(&inactive), "rank 1", "weft_request_free");
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_mrecv(b_, 1, WEFT_INT, &taken, nullptr), "rank 1", "weft_mrecv");
        EXPECT_ERROR(WEFT_ERR_THREAD, weft_imrecv(b_, 1, WEFT_INT, &taken, &made), "rank 1", "weft_imrecv");
        EXPECT_EQ(of_other, request);
        EXPECT_EQ(taken, message);
        EXPECT_EQ(made, nullptr);
        EXPECT_EQ(base, nullptr);
        EXPECT_EQ(done, -1);
    });
    EXPECT_OK(weft_mrecv(b_, 1, WEFT_INT, &message, nullptr));
    EXPECT_OK(weft_request_free(&inactive));
    EXPECT_OK(weft_send(a_, 1, WEFT_INT, 1, 5, ranks_[0]));
    EXPECT_OK(weft_wait(&request, nullptr));
}

TEST_F(MisuseMessages, HandleGivenBack) {
    weft_comm *stale = ranks_[1];
    EXPECT_OK(weft_team_leave(&ranks_[1]));
    void *base = nullptr;
    size_t bytes = 0;
    for (weft_comm *wrong : {stale, (weft_comm *)nullptr}) {
        for (const auto &call : misuse::all_messages())
            misuse::expect_message_error(WEFT_ERR_ARG, call, {a_, 1, WEFT_INT, 0, 3, wrong}, {"communicator"});
        EXPECT_ERROR(WEFT_ERR_ARG, weft_comm_attach_buffer(wrong, b_, sizeof(b_)), "weft_comm_attach_buffer",
                     "communicator");
        EXPECT_ERROR(WEFT_ERR_ARG, weft_comm_detach_buffer(wrong, &base, &bytes), "weft_comm_detach_buffer",
                     "communicator");
    }
    EXPECT_OK(weft_team_enter(team_, 1, &ranks_[1]));
}

// To and from nobody: complete at once, with the status that says so, in every call.
TEST_F(MisuseMessages, Nobody) {
    on_each([&](weft_comm *comm, const std::string &) {
        auto expect_nobody = [](const weft_status &status, const char *call) {
            EXPECT_EQ(status.source, WEFT_PROC_NULL) << call;
            EXPECT_EQ(status.tag, WEFT_ANY_TAG) << call;
            EXPECT_EQ(status.bytes, 0u) << call;
            EXPECT_EQ(status.error, WEFT_SUCCESS) << call;
            EXPECT_EQ(status.cancelled, 0) << call;
        };
        b_[0] = 17;
        weft_status status = misuse::untouched_status;
        for (bool receives : {false, true})
            for (const auto &call : receives ? misuse::receives() : misuse::sends()) {
                if (strstr(call.name, "sendrecv"))
                    continue; // whose other half has a peer
                weft_request *request = nullptr;
                EXPECT_OK(call.run({b_, 1, WEFT_INT, WEFT_PROC_NULL, 3, comm}, &request)) << call.name;
                if (!call.makes_request)
                    continue;
                bool persistent = strstr(call.name, "_init") != nullptr;
                for (int round = 0; round < (persistent ? 3 : 1); round++) {
                    int done = 0;
                    if (persistent) {
                        EXPECT_OK(weft_start(&request));
                    }
                    EXPECT_OK(weft_test(&request, &done, &status)) << call.name;
                    EXPECT_EQ(done, 1) << call.name;
                    if (receives)
                        expect_nobody(status, call.name);
                }
                if (persistent) {
                    EXPECT_OK(weft_request_free(&request));
                }
                EXPECT_EQ(request, WEFT_REQUEST_NULL) << call.name;
            }
        EXPECT_OK(weft_recv(b_, 1, WEFT_INT, WEFT_PROC_NULL, 3, comm, &status));
        expect_nobody(status, "weft_recv");
        status = misuse::untouched_status;
        EXPECT_OK(weft_sendrecv(a_, 1, WEFT_INT, WEFT_PROC_NULL, 3, b_, 1, WEFT_INT, WEFT_PROC_NULL, 3, comm, &status));
        expect_nobody(status, "weft_sendrecv");
        status = misuse::untouched_status;
        EXPECT_OK(weft_sendrecv_replace(b_, 1, WEFT_INT, WEFT_PROC_NULL, 3, WEFT_PROC_NULL, 3, comm, &status));
        expect_nobody(status, "weft_sendrecv_replace");
        for (bool replaces : {false, true}) {
            weft_request *request = nullptr;
            int done = 0;
            EXPECT_OK(
                replaces ? weft_isendrecv_replace(b_, 1, WEFT_INT, WEFT_PROC_NULL, 3, WEFT_PROC_NULL, 3, comm, &request)
                         : weft_isendrecv(a_, 1, WEFT_INT, WEFT_PROC_NULL, 3, b_, 1, WEFT_INT, WEFT_PROC_NULL, 3, comm,
                                          &request));
            status = misuse::untouched_status;
            EXPECT_OK(weft_request_get_status(request, &done, &status));
            EXPECT_EQ(done, 1);
            expect_nobody(status, "weft_isendrecv, told");
            EXPECT_ERROR(WEFT_ERR_ARG, weft_cancel(&request), "expected an active receive");
            EXPECT_ERROR(WEFT_ERR_BUSY, weft_request_free(&request), "complete it first");
            status = misuse::untouched_status;
            EXPECT_OK(weft_wait(&request, &status));
            expect_nobody(status, "weft_isendrecv");
        }
        status = misuse::untouched_status;
        EXPECT_OK(weft_probe(WEFT_PROC_NULL, 3, comm, &status));
        expect_nobody(status, "weft_probe");
        int found = 0;
        status = misuse::untouched_status;
        EXPECT_OK(weft_iprobe(WEFT_PROC_NULL, 3, comm, &found, &status));
        EXPECT_EQ(found, 1);
        expect_nobody(status, "weft_iprobe");
        weft_message *message = nullptr;
        weft_request *request = nullptr;
        EXPECT_OK(weft_mprobe(WEFT_PROC_NULL, 3, comm, &message, &status));
        EXPECT_NE(message, WEFT_MESSAGE_NULL);
        status = misuse::untouched_status;
        EXPECT_OK(weft_mrecv(b_, 1, WEFT_INT, &message, &status));
        EXPECT_EQ(message, WEFT_MESSAGE_NULL);
        expect_nobody(status, "weft_mrecv");
        found = 0;
        EXPECT_OK(weft_improbe(WEFT_PROC_NULL, 3, comm, &found, &message, &status));
        EXPECT_EQ(found, 1);
        EXPECT_OK(weft_imrecv(b_, 1, WEFT_INT, &message, &request));
        EXPECT_EQ(message, WEFT_MESSAGE_NULL);
        status = misuse::untouched_status;
        EXPECT_OK(weft_wait(&request, &status));
        expect_nobody(status, "weft_imrecv");
        EXPECT_EQ(b_[0], 17);
    });
}

} // namespace
