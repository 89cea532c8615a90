// SPDX-License-Identifier: BSD-3-Clause
// Every collective in each of its three forms, with right arguments but one, on the process communicator and as rank 1 of a team of
// two: the code, the sentence with rank, call and argument, and no request. Nothing is sent, so nobody else need be there.
#include "misuse.h"

#include <climits>

namespace {

struct arguments {
    const void *send;
    void *recv;
    size_t count;
    const weft_datatype *send_type, *recv_type;
    const size_t *send_counts, *recv_counts;
    const ptrdiff_t *send_displs, *recv_displs;
    const weft_datatype *const *send_types, *const *recv_types;
    const weft_op *op;
    int root;
    weft_comm *comm;
};

enum : unsigned { // what a collective has
    ROOT = 1,
    SEND = 2, // a send buffer, with a type unless it reduces
    REDUCES = 4,
    SEND_COUNTS = 8, // with displacements
    RECV_COUNTS = 16,
    RECV_DISPLS = 32,
    TYPES = 64,
    SCATTERS = 128, // in place is the receive buffer
    PREFIX = 256    // rank 0 receives nothing
};

struct collective {
    std::string name; // without weft_
    unsigned has;
    std::function<int(int form, const arguments &a, weft_request **request)> run;
};

#define FORMS(name, has, ...)                                                                                          \
    {                                                                                                                  \
#name, has, [](int form, const arguments &a, weft_request **request) {                                         \
            return form == 0   ? weft_##name(__VA_ARGS__, a.comm)                                                      \
                   : form == 1 ? weft_i##name(__VA_ARGS__, a.comm, request)                                            \
                               : weft_##name##_init(__VA_ARGS__, a.comm, request);                                     \
        }       \
    }
#define SEND_BLOCK  a.send, a.count, a.send_type
#define RECV_BLOCK  a.recv, a.count, a.recv_type
#define SEND_BLOCKS a.send, a.send_counts, a.send_displs
#define RECV_BLOCKS a.recv, a.recv_counts, a.recv_displs
#define VECTOR      a.send, a.recv, a.count, a.recv_type, a.op

std::vector<collective> collectives() {
    return {
        FORMS(bcast, ROOT, RECV_BLOCK, a.root),
        FORMS(scatter, ROOT | SEND | SCATTERS, SEND_BLOCK, RECV_BLOCK, a.root),
        FORMS(scatterv, ROOT | SEND | SCATTERS | SEND_COUNTS, SEND_BLOCKS, a.send_type, RECV_BLOCK, a.root),
        FORMS(gather, ROOT | SEND, SEND_BLOCK, RECV_BLOCK, a.root),
        FORMS(gatherv, ROOT | SEND | RECV_COUNTS | RECV_DISPLS, SEND_BLOCK, RECV_BLOCKS, a.recv_type, a.root),
        FORMS(allgather, SEND, SEND_BLOCK, RECV_BLOCK),
        FORMS(allgatherv, SEND | RECV_COUNTS | RECV_DISPLS, SEND_BLOCK, RECV_BLOCKS, a.recv_type),
        FORMS(alltoall, SEND, SEND_BLOCK, RECV_BLOCK),
        FORMS(alltoallv, SEND | SEND_COUNTS | RECV_COUNTS | RECV_DISPLS, SEND_BLOCKS, a.send_type, RECV_BLOCKS,
              a.recv_type),
        FORMS(alltoallw, SEND | SEND_COUNTS | RECV_COUNTS | RECV_DISPLS | TYPES, SEND_BLOCKS, a.send_types, RECV_BLOCKS,
              a.recv_types),
        FORMS(reduce, ROOT | SEND | REDUCES, VECTOR, a.root),
        FORMS(allreduce, SEND | REDUCES, VECTOR),
        FORMS(reduce_scatter, SEND | REDUCES | RECV_COUNTS, a.send, a.recv, a.recv_counts, a.recv_type, a.op),
        FORMS(reduce_scatter_block, SEND | REDUCES, VECTOR),
        FORMS(scan, SEND | REDUCES, VECTOR),
        FORMS(exscan, SEND | REDUCES | PREFIX, VECTOR),
    };
}

class Forms : public ::testing::Test {
  protected:
    void SetUp() override {
        ASSERT_EQ(WEFT_SUCCESS, weft_init(nullptr)) << weft_last_error();
        EXPECT_OK(weft_team_create(weft_process_comm(), 2, &team_));
        EXPECT_OK(weft_team_enter(team_, 0, &given_back_));
        EXPECT_OK(weft_team_enter(team_, 1, &worker_));
        weft_comm *stale = given_back_;
        EXPECT_OK(weft_team_leave(&stale));
    }
    void TearDown() override {
        EXPECT_OK(weft_team_leave(&worker_));
        EXPECT_OK(weft_team_free(&team_));
        EXPECT_OK(weft_finalize());
    }
    arguments right(weft_comm *comm) {
        return {a_,      b_,      1,      WEFT_INT, WEFT_INT, counts_,         counts_,
                displs_, displs_, types_, types_,   WEFT_SUM, weft_rank(comm), comm};
    }
    // Each collective and form, on each communicator: `spoil` makes one thing wrong, and says what the sentence names; "": not here.
    void on_each(int code, const std::function<std::string(arguments &wrong, unsigned has)> &spoil) {
        for (weft_comm *comm : {weft_process_comm(), worker_})
            for (const collective &of : collectives())
                for (int form = 0; form < 3; form++) {
                    arguments wrong = right(comm);
                    std::string named = spoil(wrong, of.has);
                    if (named.empty())
                        continue;
                    static const char *const before[] = {"weft_", "weft_i", "weft_"};
                    std::string call = before[form] + of.name + (form == 2 ? "_init" : "");
                    misuse::words words = {call, named};
                    if (wrong.comm == comm)
                        words.push_back("rank " + std::to_string(weft_rank(comm)));
                    weft_request *request = nullptr;
                    misuse::expect_error(code, of.run(form, wrong, &request), words, (call + ": " + named).c_str());
                    EXPECT_EQ(request, nullptr) << call;
                }
    }
    weft_team *team_ = nullptr;
    weft_comm *worker_ = nullptr, *given_back_ = nullptr;
    int a_[64] = {0}, b_[64] = {0};
    size_t counts_[2] = {1, 1};
    ptrdiff_t displs_[2] = {0, 4};
    const weft_datatype *types_[2] = {WEFT_INT, WEFT_INT};
};

bool receives(const arguments &of, unsigned has) {
    return !(has & PREFIX) || weft_rank(of.comm) > 0;
}

TEST_F(Forms, Communicators) {
    for (bool null : {true, false})
        on_each(WEFT_ERR_ARG, [&](arguments &wrong, unsigned) {
            wrong.comm = null ? nullptr : given_back_;
            return "communicator";
        });
}

TEST_F(Forms, NoRequest) {
    for (weft_comm *comm : {weft_process_comm(), worker_})
        for (const collective &of : collectives())
            for (int form : {1, 2})
                misuse::expect_error(WEFT_ERR_ARG, of.run(form, right(comm), nullptr), {of.name, "request is NULL"},
                                     of.name.c_str());
}

TEST_F(Forms, Roots) {
    for (int root : {-1, 2, INT_MAX, INT_MIN})
        on_each(WEFT_ERR_RANK, [&](arguments &wrong, unsigned has) {
            wrong.root = root;
            return has & ROOT ? "root is " + std::to_string(root) : "";
        });
}

TEST_F(Forms, Buffers) {
    on_each(WEFT_ERR_ARG, [&](arguments &wrong, unsigned has) {
        wrong.send = nullptr;
        return has & SEND ? "send is NULL" : "";
    });
    on_each(WEFT_ERR_ARG, [&](arguments &wrong, unsigned has) {
        wrong.recv = nullptr;
        return !receives(wrong, has) ? "" : has & SEND ? "recv is NULL" : "buffer is NULL";
    });
    on_each(WEFT_ERR_ARG, [&](arguments &wrong, unsigned has) {
        (has & SCATTERS ? *const_cast<void **>(&wrong.send) : wrong.recv) = WEFT_IN_PLACE;
        return receives(wrong, has) ? "WEFT_IN_PLACE" : "";
    });
    on_each(WEFT_ERR_ARG, [&](arguments &wrong, unsigned has) {
        if (!(has & ROOT) || !(has & SEND) || weft_size(wrong.comm) == 1)
            return "";
        wrong.root = 0; // another
        (has & SCATTERS ? wrong.recv : *const_cast<void **>(&wrong.send)) = WEFT_IN_PLACE;
        return "WEFT_IN_PLACE";
    });
}

TEST_F(Forms, Types) {
    weft_datatype *freed = nullptr, *raw = nullptr;
    EXPECT_OK(weft_type_contiguous(1, WEFT_INT, &freed));
    EXPECT_OK(weft_type_contiguous(1, WEFT_INT, &raw));
    const weft_datatype *stale = freed;
    EXPECT_OK(weft_type_commit(&freed));
    EXPECT_OK(weft_type_free(&freed));
    for (const weft_datatype *type : {(const weft_datatype *)nullptr, stale, (const weft_datatype *)raw}) {
        const weft_datatype *types[] = {type, type};
        on_each(WEFT_ERR_ARG, [&](arguments &wrong, unsigned has) {
            wrong.send_type = type;
            wrong.send_types = types;
            return (has & SEND) && !(has & REDUCES) ? "send_type" : "";
        });
        on_each(WEFT_ERR_ARG, [&](arguments &wrong, unsigned) {
            wrong.recv_type = type;
            wrong.recv_types = types;
            return "type";
        });
    }
    EXPECT_OK(weft_type_free(&raw));
}

TEST_F(Forms, Operations) {
    on_each(WEFT_ERR_ARG, [&](arguments &wrong, unsigned has) {
        wrong.op = nullptr;
        return has & REDUCES ? "op is not an operation" : "";
    });
    on_each(WEFT_ERR_ARG, [&](arguments &wrong, unsigned has) {
        wrong.op = WEFT_BAND;
        wrong.recv_type = WEFT_DOUBLE;
        return has & REDUCES ? "WEFT_BAND is not defined for WEFT_DOUBLE" : "";
    });
}

TEST_F(Forms, Arrays) {
    struct {
        unsigned needs;
        const char *named;
        void (*spoil)(arguments &);
    } const wrongs[] = {{SEND_COUNTS, "send_counts is NULL", [](arguments &a) { a.send_counts = nullptr; }},
                        {SEND_COUNTS, "send_displs is NULL", [](arguments &a) { a.send_displs = nullptr; }},
                        {RECV_COUNTS, "recv_counts is NULL", [](arguments &a) { a.recv_counts = nullptr; }},
                        {RECV_DISPLS, "recv_displs is NULL", [](arguments &a) { a.recv_displs = nullptr; }},
                        {TYPES, "send_types is NULL", [](arguments &a) { a.send_types = nullptr; }},
                        {TYPES, "recv_types is NULL", [](arguments &a) { a.recv_types = nullptr; }}};
    for (const auto &of : wrongs)
        on_each(WEFT_ERR_ARG, [&](arguments &wrong, unsigned has) {
            of.spoil(wrong);
            return has & of.needs ? of.named : "";
        });
}

TEST_F(Forms, CountsThatMemoryCannotHold) {
    for (size_t huge : {SIZE_MAX, SIZE_MAX / 2, SIZE_MAX / 4 + 1}) {
        const size_t counts[] = {huge, huge};
        on_each(WEFT_ERR_ARG, [&](arguments &wrong, unsigned) {
            wrong.count = huge;
            wrong.send_counts = wrong.recv_counts = counts;
            return "more";
        });
    }
}

// Also of types whose elements lie one behind the other: the product was not looked at, and overflowed.
TEST_F(Forms, DisplacementsThatMemoryCannotHold) {
    for (ptrdiff_t wild : {PTRDIFF_MAX, PTRDIFF_MIN, PTRDIFF_MAX / 2}) {
        const ptrdiff_t displs[] = {wild, wild};
        std::string named = "_displs[0] is " + std::to_string(wild);
        on_each(WEFT_ERR_ARG, [&](arguments &wrong, unsigned has) {
            wrong.send_displs = displs;
            return has & SEND_COUNTS ? "send" + named : "";
        });
        on_each(WEFT_ERR_ARG, [&](arguments &wrong, unsigned has) {
            wrong.recv_displs = displs;
            return has & RECV_DISPLS ? "recv" + named : "";
        });
    }
}

// Of an empty block the displacement means nothing, whatever it is.
TEST_F(Forms, DisplacementsOfNothing) {
    const size_t none[] = {0};
    weft_team *alone = nullptr;
    weft_comm *thread = nullptr;
    EXPECT_OK(weft_team_create(weft_process_comm(), 1, &alone));
    EXPECT_OK(weft_team_enter(alone, 0, &thread));
    for (ptrdiff_t wild : {PTRDIFF_MAX, PTRDIFF_MIN})
        for (weft_comm *comm : {weft_process_comm(), thread})
            for (const collective &of : collectives())
                for (int form = 0; (of.has & (SEND_COUNTS | RECV_DISPLS)) && form < 3; form++) {
                    const ptrdiff_t displs[] = {wild};
                    arguments empty = right(comm);
                    empty.count = 0;
                    empty.send_counts = empty.recv_counts = none;
                    empty.send_displs = empty.recv_displs = displs;
                    weft_request *request = nullptr;
                    EXPECT_OK(of.run(form, empty, &request)) << of.name;
                    if (form == 2) {
                        EXPECT_OK(weft_start(&request)) << of.name;
                    }
                    EXPECT_OK(weft_wait(&request, nullptr)) << of.name;
                    if (form == 2) {
                        EXPECT_OK(weft_request_free(&request)) << of.name;
                    }
                }
    EXPECT_OK(weft_team_leave(&thread));
    EXPECT_OK(weft_team_free(&alone));
}

} // namespace
