// SPDX-License-Identifier: BSD-3-Clause
// What the tests of wrong use of messages share: ranks 0 and 1 of a team, both of this thread, and every call by its kind.
#ifndef TESTS_HIER_MISUSE_MESSAGES_H
#define TESTS_HIER_MISUSE_MESSAGES_H

#include "misuse.h"

#include <algorithm>
#include <climits>
#include <cstring>

namespace misuse {

// The arguments that messages have in common.
struct arguments {
    void *buffer;
    size_t count;
    const weft_datatype *type;
    int peer, tag;
    weft_comm *comm;
};

struct message_call {
    const char *name;
    std::function<int(const arguments &, weft_request **)> run;
    bool makes_request = false;
    const char *buffer = "buffer"; // its name
};

#define BLOCKING(name)                                                                                                 \
    {                                                                                                                  \
#name, [](const misuse::arguments &a,                                                                          \
                  weft_request **) { return name(a.buffer, a.count, a.type, a.peer, a.tag, a.comm); }                  \
    }
#define REQUESTED(name)                                                                                                \
    {                                                                                                                  \
#name,                                                                                                         \
            [](const misuse::arguments &a,                                                                             \
               weft_request **request) { return name(a.buffer, a.count, a.type, a.peer, a.tag, a.comm, request); },    \
                                                                                                                 true  \
    }

inline const std::vector<message_call> &sends() {
    static const std::vector<message_call> all = {
        BLOCKING(weft_send),
        BLOCKING(weft_ssend),
        BLOCKING(weft_bsend),
        BLOCKING(weft_rsend),
        REQUESTED(weft_isend),
        REQUESTED(weft_issend),
        REQUESTED(weft_ibsend),
        REQUESTED(weft_irsend),
        REQUESTED(weft_send_init),
        REQUESTED(weft_ssend_init),
        REQUESTED(weft_bsend_init),
        REQUESTED(weft_rsend_init),
        {"weft_sendrecv",
         [](const arguments &a, weft_request **) {
             int got = 0;
             return weft_sendrecv(a.buffer, a.count, a.type, a.peer, a.tag, &got, 1, WEFT_INT, 0, 0, a.comm, nullptr);
         },
         false, "send"},
        {"weft_sendrecv_replace",
         [](const arguments &a, weft_request **) {
             return weft_sendrecv_replace(a.buffer, a.count, a.type, a.peer, a.tag, 0, 0, a.comm, nullptr);
         }},
        {"weft_isendrecv",
         [](const arguments &a, weft_request **request) {
             static int got;
             return weft_isendrecv(a.buffer, a.count, a.type, a.peer, a.tag, &got, 1, WEFT_INT, 0, 0, a.comm, request);
         },
         true, "send"},
        {"weft_isendrecv_replace",
         [](const arguments &a, weft_request **request) {
             return weft_isendrecv_replace(a.buffer, a.count, a.type, a.peer, a.tag, 0, 0, a.comm, request);
         },
         true},
    };
    return all;
}

inline const std::vector<message_call> &receives() {
    static const std::vector<message_call> all = {
        {"weft_recv",
         [](const arguments &a, weft_request **) {
             return weft_recv(a.buffer, a.count, a.type, a.peer, a.tag, a.comm, nullptr);
         }},
        REQUESTED(weft_irecv),
        REQUESTED(weft_recv_init),
        {"weft_sendrecv",
         [](const arguments &a, weft_request **) {
             int sent = 0;
             return weft_sendrecv(&sent, 1, WEFT_INT, 0, 0, a.buffer, a.count, a.type, a.peer, a.tag, a.comm, nullptr);
         },
         false, "recv"},
        {"weft_isendrecv",
         [](const arguments &a, weft_request **request) {
             static const int sent = 0;
             return weft_isendrecv(&sent, 1, WEFT_INT, 0, 0, a.buffer, a.count, a.type, a.peer, a.tag, a.comm, request);
         },
         true, "recv"},
    };
    return all;
}

// These have no buffer.
inline const std::vector<message_call> &probes() {
    static weft_status status;
    static int found;
    static weft_message *message;
    static const std::vector<message_call> all = {
        {"weft_probe", [](const arguments &a, weft_request **) { return weft_probe(a.peer, a.tag, a.comm, &status); }},
        {"weft_iprobe",
         [](const arguments &a, weft_request **) { return weft_iprobe(a.peer, a.tag, a.comm, &found, &status); }},
        {"weft_mprobe",
         [](const arguments &a, weft_request **) { return weft_mprobe(a.peer, a.tag, a.comm, &message, &status); }},
        {"weft_improbe",
         [](const arguments &a, weft_request **) {
             return weft_improbe(a.peer, a.tag, a.comm, &found, &message, &status);
         }},
    };
    return all;
}

inline std::vector<message_call> all_messages() {
    std::vector<message_call> all = sends();
    all.insert(all.end(), receives().begin(), receives().end());
    all.insert(all.end(), probes().begin(), probes().end());
    return all;
}

// A request that no call under test may write.
inline weft_request *const untouched_request = reinterpret_cast<weft_request *>(uintptr_t{0x5a5a});
inline const weft_status untouched_status = {-77, -78, -79, -80, 81};

inline void expect_untouched(const weft_status &status) {
    EXPECT_EQ(status.source, untouched_status.source);
    EXPECT_EQ(status.tag, untouched_status.tag);
    EXPECT_EQ(status.error, untouched_status.error);
    EXPECT_EQ(status.cancelled, untouched_status.cancelled);
    EXPECT_EQ(status.bytes, untouched_status.bytes);
}

// The call fails, names what it must, and writes no request.
inline void expect_message_error(int expected, const message_call &call, const arguments &wrong, words named) {
    weft_request *request = untouched_request;
    named.emplace_back(call.name);
    expect_error(expected, call.run(wrong, &request), named, call.name);
    EXPECT_EQ(request, untouched_request) << call.name;
}

class Messages : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
        ASSERT_EQ(WEFT_SUCCESS, weft_team_create(weft_process_comm(), 2, &team_)) << weft_last_error();
        for (int thread : {0, 1})
            ASSERT_EQ(WEFT_SUCCESS, weft_team_enter(team_, thread, &ranks_[thread])) << weft_last_error();
    }
    void TearDown() override {
        expect_nothing(weft_process_comm(), weft_process_comm());
        expect_nothing(ranks_[0], ranks_[1]);
        expect_nothing(ranks_[1], ranks_[0]);
        expect_nothing(ranks_[1], ranks_[1]);
        for (weft_comm *&rank : ranks_)
            EXPECT_OK(weft_team_leave(&rank));
        EXPECT_OK(weft_team_free(&team_));
        EXPECT_OK(weft_finalize());
    }
    // No message waits at `to`, and no receive: what `from` sends is there until it is received.
    static void expect_nothing(weft_comm *from, weft_comm *to) {
        int found = -1, out = 4711, in = 0;
        weft_status status;
        EXPECT_OK(weft_iprobe(WEFT_ANY_SOURCE, WEFT_ANY_TAG, to, &found, &status));
        EXPECT_EQ(found, 0) << "a message of tag " << status.tag << " is there";
        for (int tag : {0, 3, WEFT_TAG_UB}) {
            EXPECT_OK(weft_send(&out, 1, WEFT_INT, weft_rank(to), tag, from));
            EXPECT_OK(weft_iprobe(weft_rank(from), tag, to, &found, &status));
            ASSERT_EQ(found, 1) << "a receive that should not be there took a message of tag " << tag;
            EXPECT_OK(weft_recv(&in, 1, WEFT_INT, weft_rank(from), tag, to, &status));
            EXPECT_EQ(in, out);
            EXPECT_EQ(status.tag, tag);
            EXPECT_EQ(status.bytes, sizeof(in));
        }
    }
    // The communicators with the rank that sentences name.
    void on_each(const std::function<void(weft_comm *comm, const std::string &rank)> &run) {
        run(weft_process_comm(), "rank 0");
        run(ranks_[1], "rank 1");
    }
    weft_team *team_ = nullptr;
    weft_comm *ranks_[2] = {nullptr, nullptr};
    int a_[64] = {0}, b_[64] = {0};
};

} // namespace misuse

#endif
