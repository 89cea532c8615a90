// SPDX-License-Identifier: BSD-3-Clause
// Every allocation fails once, one after the other: the call says so, nothing is left behind, and made again it succeeds.
#include "effort.h"
#include "intra/threads.h"
#include "short_memory.h"
#include "sim_worlds.h"
#include <cstring>
#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>
extern "C" {
#include <hier/world.h>
#include <inter/transport_sim_private.h>
#include <weft/weft.h>
}

namespace {

// A call that may find no memory, once; then it is made again. False, with a failure noted: it did not succeed.
template <class Function> bool done(const char *what, Function call) {
    int code = call();
    if (code == WEFT_ERR_NOMEM) {
        EXPECT_TRUE(short_memory::failed()) << what;
        EXPECT_NE(std::string(weft_last_error()).find("memory"), std::string::npos)
            << what << ": " << weft_last_error();
        code = call();
    }
    EXPECT_EQ(code, WEFT_SUCCESS) << what << ": " << weft_last_error();
    return code == WEFT_SUCCESS;
}
#define DONE(call) done(#call, [&] { return call; })

// Runs the program until it takes no more memory for good: pools of handles keep what was freed for a while.
void fill_pools(const std::function<void()> &program) {
    for (size_t blocks = SIZE_MAX, runs = 0; blocks != short_memory::blocks() && runs < 500; runs++) {
        blocks = short_memory::blocks();
        program();
    }
}

// Runs the program with its first allocation failing, then its second … until none is left to fail. With pools of handles that are
// empty at first; and that are full, so that what a program leaves behind is seen. With sanitizers one in three.
void with_each_failing(const std::function<void()> &program, const std::vector<bool> &pools = {false, true}) {
    threads::Watchdog watchdog(280);
    for (bool full : pools) {
        if (full)
            fill_pools(program);
        size_t before = short_memory::blocks();
        bool failed = true;
        auto run = [&](size_t number) {
            short_memory::fail(number);
            program();
            failed = short_memory::failed();
            short_memory::fail(0);
        };
        for (size_t number = effort::sanitized && full ? 2 : 1; failed; number += effort::sanitized ? 3 : 1) {
            SCOPED_TRACE("allocation " + std::to_string(number));
            run(number);
            ASSERT_FALSE(::testing::Test::HasFailure());
            if (full && short_memory::blocks() != before) { // a pool may have got more, once
                before = short_memory::blocks();
                run(number);
            }
            ASSERT_TRUE(!full || short_memory::blocks() == before) << short_memory::blocks() << ", not " << before;
            ASSERT_TRUE(failed || number > 10);
        }
    }
}

void types() {
    const size_t lengths[] = {2, 1, 3}, sizes[] = {4, 5}, subsizes[] = {2, 3}, starts[] = {1, 1}, arguments[] = {2, 3};
    const ptrdiff_t displs[] = {0, 4, 9}, bytes[] = {0, 64, 144};
    const int processes[] = {2, 2};
    const weft_distribute distributions[] = {WEFT_DISTRIBUTE_BLOCK, WEFT_DISTRIBUTE_CYCLIC};
    const weft_datatype *members[] = {WEFT_DOUBLE, WEFT_INT, WEFT_FLOAT};
    std::vector<weft_datatype *> made;
    auto make = [&](const char *what, auto call) {
        weft_datatype *type = nullptr;
        if (!done(what, [&] { return call(&type); }) || !DONE(weft_type_commit(&type)))
            return;
        made.push_back(type);
        std::vector<unsigned char> from(4096, 1), to(4096), packed(8192);
        size_t position = 0, room = 0;
        DONE(weft_pack_external_size("external32", 2, type, &room));
        ASSERT_LE(room, packed.size());
        DONE(weft_pack(from.data(), 2, type, packed.data(), packed.size(), &position));
        position = 0;
        DONE(weft_unpack(packed.data(), packed.size(), &position, to.data(), 2, type));
        position = 0;
        done("weft_pack_external", [&] {
            position = 0;
            return weft_pack_external("external32", from.data(), 2, type, packed.data(), packed.size(), &position);
        });
    };
    make("contiguous", [&](weft_datatype **type) { return weft_type_contiguous(3, WEFT_INT, type); });
    make("vector", [&](weft_datatype **type) { return weft_type_vector(3, 2, 4, WEFT_INT, type); });
    make("hvector", [&](weft_datatype **type) { return weft_type_hvector(3, 2, 48, WEFT_INT, type); });
    make("indexed", [&](weft_datatype **type) { return weft_type_indexed(3, lengths, displs, WEFT_INT, type); });
    make("hindexed", [&](weft_datatype **type) { return weft_type_hindexed(3, lengths, bytes, WEFT_INT, type); });
    make("indexed_block", [&](weft_datatype **type) { return weft_type_indexed_block(3, 2, displs, WEFT_INT, type); });
    make("hindexed_block", [&](weft_datatype **type) { return weft_type_hindexed_block(3, 2, bytes, WEFT_INT, type); });
    make("struct", [&](weft_datatype **type) { return weft_type_struct(3, lengths, bytes, members, type); });
    make("subarray", [&](weft_datatype **type) {
        return weft_type_subarray(2, sizes, subsizes, starts, WEFT_ORDER_C, WEFT_INT, type);
    });
    make("darray", [&](weft_datatype **type) {
        return weft_type_darray(4, 1, 2, sizes, distributions, arguments, processes, WEFT_ORDER_C, WEFT_INT, type);
    });
    for (size_t i = 0, simple = made.size(); i < simple; i++) {
        weft_datatype *of = made[i];
        make("resized", [&](weft_datatype **type) { return weft_type_resized(of, 0, 512, type); });
        make("dup", [&](weft_datatype **type) { return weft_type_dup(of, type); });
        make("vector of", [&](weft_datatype **type) { return weft_type_vector(2, 1, 2, of, type); });
    }
    for (weft_datatype *&type : made)
        EXPECT_EQ(weft_type_free(&type), WEFT_SUCCESS);
}

// Fresh each time; the world of one process.
class World {
  public:
    World() {
        core_config config{};
        config.thread_level = WEFT_THREAD_SERIALIZED;
        config.slots = 4;
        config.eager_limit = 256;
        config.unexpected_limit = 1 << 20;
        hier_card card{};
        card.cores = card.host_cores = 2;
        made_ = done("hier_world_create", [&] { return hier_world_create(&config, &card, nullptr, nullptr, &world_); });
    }
    ~World() {
        if (made_)
            hier_world_destroy(world_);
    }
    World(const World &) = delete;
    // Calls body on the process communicator and on a team's only rank.
    void run(const std::function<void(weft_comm *)> &body) {
        weft_team *team = nullptr;
        weft_comm *comm = nullptr;
        if (!made_)
            return;
        body(world_->process_comm);
        if (!DONE(weft_team_create(world_->process_comm, 1, &team)))
            return;
        if (DONE(weft_team_enter(team, 0, &comm))) {
            body(comm);
            EXPECT_EQ(weft_team_leave(&comm), WEFT_SUCCESS);
        }
        EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
    }

  private:
    hier_world *world_ = nullptr;
    bool made_ = false;
};

// Rows of two out of three.
class Rows {
  public:
    explicit Rows(size_t rows) {
        made_ = DONE(weft_type_vector(rows, 2, 3, WEFT_INT, &type_)) && DONE(weft_type_commit(&type_));
    }
    ~Rows() {
        EXPECT_TRUE(!type_ || weft_type_free(&type_) == WEFT_SUCCESS);
    }
    Rows(const Rows &) = delete;
    explicit operator bool() const {
        return made_;
    }
    const weft_datatype *type() const {
        return type_;
    }

  private:
    weft_datatype *type_ = nullptr;
    bool made_ = false;
};

constexpr size_t rows = 400; // of them 3200 bytes: longer than what goes by cells, or at once

void complete(const char *what, const std::function<int(weft_request **)> &make, bool persistent = false) {
    weft_request *request = WEFT_REQUEST_NULL;
    if (!done(what, [&] { return make(&request); }))
        return;
    for (int start = 0; start < (persistent ? 2 : 1); start++) {
        if (persistent && !DONE(weft_start(&request)))
            break;
        DONE(weft_wait(&request, WEFT_STATUS_IGNORE));
    }
    EXPECT_TRUE(!persistent || weft_request_free(&request) == WEFT_SUCCESS);
}

// A collective in its three forms.
#define FORMS(name, ...)                                                                                               \
    do {                                                                                                               \
        DONE(weft_##name(__VA_ARGS__, comm));                                                                          \
        complete("weft_i" #name, [&](weft_request **request) { return weft_i##name(__VA_ARGS__, comm, request); });    \
        complete(                                                                                                      \
            "weft_" #name "_init",                                                                                     \
            [&](weft_request **request) { return weft_##name##_init(__VA_ARGS__, comm, request); }, true);             \
    } while (0)

void take_larger(const void *in, void *inout, size_t count, const weft_datatype *) {
    for (size_t i = 0; i < count; i++)
        static_cast<int *>(inout)[i] = std::max(static_cast<const int *>(in)[i], static_cast<int *>(inout)[i]);
}

void collectives_of(weft_comm *comm, const weft_datatype *type) {
    std::vector<int> a(3 * rows, 1), b(3 * rows);
    const size_t one = 1;
    const ptrdiff_t none = 0;
    const weft_datatype *const types[] = {type};
    FORMS(bcast, a.data(), 1, type, 0);
    FORMS(scatter, a.data(), 1, type, b.data(), 1, type, 0);
    FORMS(scatterv, a.data(), &one, &none, type, b.data(), 1, type, 0);
    FORMS(gather, a.data(), 1, type, b.data(), 1, type, 0);
    FORMS(gatherv, a.data(), 1, type, b.data(), &one, &none, type, 0);
    FORMS(allgather, a.data(), 1, type, b.data(), 1, type);
    FORMS(allgatherv, a.data(), 1, type, b.data(), &one, &none, type);
    FORMS(alltoall, a.data(), 1, type, b.data(), 1, type);
    FORMS(alltoall, WEFT_IN_PLACE, 1, type, b.data(), 1, type);
    FORMS(alltoallv, a.data(), &one, &none, type, b.data(), &one, &none, type);
    FORMS(alltoallw, a.data(), &one, &none, types, b.data(), &one, &none, types);
    FORMS(alltoallw, WEFT_IN_PLACE, &one, &none, types, b.data(), &one, &none, types);
    weft_op *larger = nullptr;
    if (!done("weft_op_create", [&] { return weft_op_create(take_larger, 0, &larger); }))
        return;
    for (const weft_op *op : {WEFT_SUM, static_cast<const weft_op *>(larger)}) {
        FORMS(reduce, a.data(), b.data(), rows, WEFT_INT, op, 0);
        FORMS(allreduce, a.data(), b.data(), rows, WEFT_INT, op);
        FORMS(reduce_scatter, a.data(), b.data(), &one, WEFT_INT, op);
        FORMS(reduce_scatter_block, a.data(), b.data(), rows, WEFT_INT, op);
        FORMS(scan, a.data(), b.data(), rows, WEFT_INT, op);
        FORMS(exscan, a.data(), b.data(), rows, WEFT_INT, op);
    }
    EXPECT_EQ(weft_op_free(&larger), WEFT_SUCCESS);
}

void collectives() {
    World world;
    Rows type(rows);
    if (type)
        world.run([&](weft_comm *comm) { collectives_of(comm, type.type()); });
}

constexpr int many = 40;

// To oneself: short and long, of a layout and of bytes, received after they came and before, in any order.
void messages_of(weft_comm *comm, const weft_datatype *type) {
    std::vector<int> out(3 * rows, 1), in(3 * rows);
    std::vector<weft_request *> requests(2 * many, WEFT_REQUEST_NULL);
    auto send = [&](int tag, weft_request **request) {
        return tag % 3 ? weft_isend(out.data(), size_t(tag), WEFT_INT, 0, tag, comm, request)
                       : weft_isend(out.data(), 1, type, 0, tag, comm, request);
    };
    auto receive = [&](int tag, weft_request **request) {
        int source = tag % 2 ? 0 : WEFT_ANY_SOURCE;
        return tag % 3 ? weft_irecv(in.data(), size_t(tag), WEFT_INT, source, tag, comm, request)
                       : weft_irecv(in.data(), 1, type, source, tag, comm, request);
    };
    for (bool first : {true, false}) {
        for (int tag = 0; tag < many; tag++)
            done("isend or irecv", [&] { return first ? send(tag, &requests[tag]) : receive(tag, &requests[tag]); });
        for (int tag = many; tag-- > 0;)
            done("irecv or isend",
                 [&] { return first ? receive(tag, &requests[many + tag]) : send(tag, &requests[many + tag]); });
        DONE(weft_waitall(requests.size(), requests.data(), WEFT_STATUSES_IGNORE));
        EXPECT_EQ(in[0], 1);
    }
    char room[1000];
    if (!DONE(weft_comm_attach_buffer(comm, room, sizeof(room))))
        return;
    weft_request *persistent = WEFT_REQUEST_NULL;
    weft_message *message = nullptr;
    DONE(weft_bsend(out.data(), 20, WEFT_INT, 0, 1, comm));
    DONE(weft_mprobe(WEFT_ANY_SOURCE, WEFT_ANY_TAG, comm, &message, WEFT_STATUS_IGNORE));
    DONE(weft_mrecv(in.data(), 20, WEFT_INT, &message, WEFT_STATUS_IGNORE));
    if (DONE(weft_send_init(out.data(), 1, type, 0, 2, comm, &persistent))) {
        for (int start = 0; start < 2; start++) {
            DONE(weft_start(&persistent));
            DONE(weft_recv(in.data(), 1, type, 0, 2, comm, WEFT_STATUS_IGNORE));
            DONE(weft_wait(&persistent, WEFT_STATUS_IGNORE));
        }
        EXPECT_EQ(weft_request_free(&persistent), WEFT_SUCCESS);
    }
    DONE(weft_sendrecv_replace(in.data(), 1, type, 0, 3, 0, 3, comm, WEFT_STATUS_IGNORE));
    weft_request *both = WEFT_REQUEST_NULL;
    if (DONE(weft_isendrecv_replace(in.data(), 1, type, 0, 3, 0, 3, comm, &both)))
        DONE(weft_wait(&both, WEFT_STATUS_IGNORE));
    if (DONE(weft_irecv(in.data(), 1, WEFT_INT, 0, 4, comm, &persistent))) {
        DONE(weft_cancel(&persistent));
        DONE(weft_wait(&persistent, WEFT_STATUS_IGNORE));
    }
    void *back = nullptr;
    size_t bytes = 0;
    EXPECT_EQ(weft_comm_detach_buffer(comm, &back, &bytes), WEFT_SUCCESS);
}

void messages() {
    World world;
    Rows type(rows);
    if (type)
        world.run([&](weft_comm *comm) { messages_of(comm, type.type()); });
}

// Of a communicator, and of those; with something on each.
void derive(weft_comm *comm, int depth) {
    weft_comm *made = nullptr;
    if (!(depth ? DONE(weft_comm_dup(comm, &made)) : DONE(weft_comm_split(comm, 1, -weft_rank(comm), &made))))
        return;
    int one = 1, sum = 0;
    DONE(weft_allreduce(&one, &sum, 1, WEFT_INT, WEFT_SUM, made));
    EXPECT_EQ(sum, weft_size(made));
    if (depth < 2)
        derive(made, depth + 1);
    EXPECT_EQ(weft_comm_free(&made), WEFT_SUCCESS);
}

void communicators() {
    World world;
    world.run([](weft_comm *comm) { derive(comm, 0); });
}

// All of so many threads are there.
void meet(std::atomic<int> &arrived, int all) {
    for (int target = (arrived++ / all + 1) * all; arrived < target;)
        std::this_thread::yield();
}

// Of several ranks: who finds no memory tries again, and either meets those who wait for him, or all are told. True: it has succeeded.
template <class Function> bool told(const char *what, Function call) {
    int code = call();
    for (int attempts = 0; code == WEFT_ERR_NOMEM && attempts < 2; attempts++) {
        EXPECT_NE(std::string(weft_last_error()).find("memory"), std::string::npos)
            << what << ": " << weft_last_error();
        code = call();
    }
    EXPECT_TRUE(!code || short_memory::failed()) << what << ": " << weft_last_error();
    EXPECT_TRUE(!code || code == WEFT_ERR_MISMATCH) << what << ": " << weft_last_error();
    return code == WEFT_SUCCESS;
}
#define TOLD(call) told(#call, [&] { return call; })

void use(weft_comm *comm, const weft_datatype *type) {
    std::vector<int> a(3 * rows * size_t(weft_size(comm)), 1), b(a.size());
    weft_comm *made = nullptr;
    weft_request *request = WEFT_REQUEST_NULL;
    if (!TOLD(weft_alltoall(a.data(), 1, type, b.data(), 1, type, comm)) ||
        !TOLD(weft_bcast(a.data(), 1, type, 1, comm)) ||
        !TOLD(weft_allreduce(a.data(), b.data(), rows, WEFT_INT, WEFT_SUM, comm)) ||
        !TOLD(weft_iallgather(a.data(), 1, type, b.data(), 1, type, comm, &request)) ||
        !TOLD(weft_wait(&request, WEFT_STATUS_IGNORE)) || !TOLD(weft_comm_split(comm, 0, -weft_rank(comm), &made)))
        return;
    TOLD(weft_reduce(a.data(), b.data(), rows, WEFT_INT, WEFT_SUM, 0, made));
    EXPECT_EQ(weft_comm_free(&made), WEFT_SUCCESS);
}

// Two processes of so many threads each, in this one. What stands in for the network always has memory.
void of_several(int threads, const char *algorithm = "") {
    JobShape shape{{threads, threads}};
    shape.slots = 4;
    shape.algorithm = algorithm;
    std::atomic<int> processes{0}, teams{0};
    short_memory::hold(true);
    Rows type(rows);
    SimWorlds worlds(shape);
    worlds.run_processes([&](int, hier_world *world) {
        weft_team *team = nullptr;
        meet(processes, 2);
        short_memory::hold(false);
        if (TOLD(weft_team_create(world->process_comm, threads, &team))) {
            teams++;
            threads::run(threads, [&](int thread) {
                weft_comm *comm = nullptr;
                if (!TOLD(weft_team_enter(team, thread, &comm)))
                    return;
                use(comm, type.type());
                EXPECT_EQ(weft_team_leave(&comm), WEFT_SUCCESS);
            });
            EXPECT_EQ(weft_team_free(&team), WEFT_SUCCESS);
        }
        meet(processes, 2);
        short_memory::hold(true);
    });
    short_memory::hold(false);
    EXPECT_NE(teams, 1) << "made in one process, and not in the other";
}

constexpr size_t vast = 5000; // ints of an element: more than fits what a reduction has on its stack

void add_vast(const void *in, void *inout, size_t count, const weft_datatype *) {
    for (size_t i = 0; i < count * vast; i++)
        static_cast<int *>(inout)[i] += static_cast<const int *>(in)[i];
}

// A reduction of elements, each rank's its number: who is told that it succeeded has the right result.
class VastReductions {
  public:
    VastReductions(weft_comm *on, const weft_datatype *of, const weft_op *by)
        : comm(on), type(of), op(by), rank(weft_rank(on)), size(weft_size(on)), operand(size_t(size) * vast),
          result(operand.size()) {}

    void run() {
        const int all = size * (size + 1) / 2, up_to = (rank + 1) * (rank + 2) / 2, before = up_to - rank - 1;
        const std::vector<size_t> ones(size_t(size), 1);
        const size_t elements = size_t(size);
        check("allreduce", false, elements, all,
              [&](const void *send) { return weft_allreduce(send, result.data(), elements, type, op, comm); });
        check("reduce", rank == 1, rank == 1 ? elements : 0, all,
              [&](const void *send) { return weft_reduce(send, result.data(), elements, type, op, 1, comm); });
        check("reduce_scatter", false, 1, all,
              [&](const void *send) { return weft_reduce_scatter(send, result.data(), ones.data(), type, op, comm); });
        check("scan", false, elements, up_to,
              [&](const void *send) { return weft_scan(send, result.data(), elements, type, op, comm); });
        check("exscan", true, rank ? elements : 0, before,
              [&](const void *send) { return weft_exscan(send, result.data(), elements, type, op, comm); });
    }

  private:
    template <class Function>
    void check(const char *what, bool in_place, size_t elements, int expected, Function call) {
        bool succeeded = told(what, [&] {
            std::fill(operand.begin(), operand.end(), rank + 1);
            std::fill(result.begin(), result.end(), in_place ? rank + 1 : -1);
            return call(in_place ? WEFT_IN_PLACE : operand.data());
        });
        if (!succeeded)
            return;
        for (size_t i = 0; i < elements * vast; i++)
            if (result[i] != expected) {
                ADD_FAILURE() << what << " on rank " << rank << ": " << result[i] << " at " << i << ", expected "
                              << expected;
                return;
            }
    }

    weft_comm *comm;
    const weft_datatype *type;
    const weft_op *op;
    int rank, size;
    std::vector<int> operand, result;
};

// By the threads of processes, or by the processes themselves.
const char by_slices[] = "allreduce=/slices,reduce=/slices,reduce_scatter=/slices,scan=/slices,exscan=/slices";

void reductions_of_several(const Threads &threads, bool reproducible, bool of_processes = false,
                           const char *algorithm = by_slices) {
    JobShape shape{threads};
    shape.algorithm = algorithm;
    shape.reproducible = reproducible;
    std::atomic<int> arrived{0};
    short_memory::hold(true);
    weft_datatype *type = nullptr;
    weft_op *op = nullptr;
    ASSERT_EQ(weft_type_contiguous(vast, WEFT_INT, &type), WEFT_SUCCESS);
    ASSERT_EQ(weft_type_commit(&type), WEFT_SUCCESS);
    ASSERT_EQ(weft_op_create(add_vast, 0, &op), WEFT_SUCCESS);
    auto body = [&](weft_comm *comm) { // who is through drives for the others when it leaves
        VastReductions reductions(comm, type, op);
        meet(arrived, shape.ranks());
        short_memory::hold(false);
        reductions.run();
    };
    {
        SimWorlds worlds(shape);
        if (of_processes)
            worlds.run_processes([&](int, hier_world *world) { body(world->process_comm); });
        else
            worlds.run(body);
    }
    short_memory::hold(true);
    EXPECT_EQ(weft_type_free(&type), WEFT_SUCCESS);
    EXPECT_EQ(weft_op_free(&op), WEFT_SUCCESS);
    short_memory::hold(false);
}

// Process 0 finds no memory for a collective that the other one has not called yet, and calls it again: then it is as if it had not failed.
void call_again(weft_comm *comm, std::atomic<int> &arrived,
                const std::function<int(weft_comm *, int *sum, weft_request **)> &call, bool persistent) {
    int sum = 0, one = 1, all = 0;
    weft_request *request = WEFT_REQUEST_NULL;
    meet(arrived, 2);
    if (weft_rank(comm) == 0) {
        short_memory::fail(1);
        int code = call(comm, &sum, &request);
        bool failed = short_memory::failed();
        short_memory::fail(0);
        EXPECT_EQ(code, WEFT_ERR_NOMEM) << weft_last_error();
        EXPECT_TRUE(failed);
    }
    meet(arrived, 2);
    EXPECT_EQ(call(comm, &sum, &request), WEFT_SUCCESS) << weft_last_error();
    if (persistent) {
        EXPECT_EQ(weft_start(&request), WEFT_SUCCESS) << weft_last_error();
    }
    EXPECT_EQ(weft_wait(&request, WEFT_STATUS_IGNORE), WEFT_SUCCESS) << weft_last_error();
    if (persistent) {
        EXPECT_EQ(weft_request_free(&request), WEFT_SUCCESS) << weft_last_error();
    }
    EXPECT_EQ(sum, 2);
    EXPECT_EQ(weft_allreduce(&one, &all, 1, WEFT_INT, WEFT_SUM, comm), WEFT_SUCCESS) << weft_last_error();
    EXPECT_EQ(all, 2);
}

// From rank 0 to rank 1, short ones and offered ones by turns, received in another order than sent: what is received is right, and
// who waits for what was lost is told.
void letters(weft_comm *comm) {
    constexpr size_t count = 8;
    const bool sends = weft_rank(comm) == 0;
    std::vector<std::vector<int>> data(count);
    std::vector<weft_request *> requests(count, WEFT_REQUEST_NULL);
    for (size_t i = 0; i < count; i++) {
        size_t tag = sends ? i : count - 1 - i;
        std::vector<int> &of = data[tag];
        of.assign(tag % 2 ? rows : 20, sends ? int(tag) : -1);
        told(sends ? "isend" : "irecv", [&] {
            return sends ? weft_isend(of.data(), of.size(), WEFT_INT, 1, int(tag), comm, &requests[tag])
                         : weft_irecv(of.data(), of.size(), WEFT_INT, 0, int(tag), comm, &requests[tag]);
        });
    }
    for (size_t tag = 0; tag < count; tag++) {
        const bool receives = requests[tag] && !sends;
        int code = weft_wait(&requests[tag], WEFT_STATUS_IGNORE);
        EXPECT_TRUE(!code || (code == WEFT_ERR_NOMEM && short_memory::failed())) << weft_last_error();
        if (code && sends) { // it was not sent
            DONE(weft_send(data[tag].data(), data[tag].size(), WEFT_INT, 1, int(tag), comm));
        }
        if (receives && !code) {
            EXPECT_EQ(data[tag], std::vector<int>(data[tag].size(), int(tag))) << "message " << tag;
        }
    }
}

void letters_of_several() {
    std::atomic<int> arrived{0};
    JobShape shape{{1, 1}};
    shape.eager_limit = 256;
    short_memory::hold(true);
    {
        SimWorlds worlds(shape);
        worlds.run([&](weft_comm *comm) {
            meet(arrived, 2);
            short_memory::hold(false);
            letters(comm);
        });
    }
    short_memory::hold(false);
}

} // namespace

TEST(NoMemory, ForTypes) {
    with_each_failing(types);
}

TEST(NoMemory, ForCollectives) {
    with_each_failing(collectives);
}

TEST(NoMemory, ForMessages) {
    with_each_failing(messages);
}

TEST(NoMemory, ForCommunicators) {
    with_each_failing(communicators);
}

TEST(NoMemory, ForSeveral) {
    short_memory::spare(sizeof(inter_sim_item));
    with_each_failing([] { of_several(2); }, {true});
}

TEST(NoMemory, ForWhatIsReadDirectly) {
    short_memory::spare(sizeof(inter_sim_item));
    with_each_failing([] { of_several(2, "allgather=/direct,alltoall=/direct"); }, {true});
}

TEST(NoMemory, ForSeveralByCounter) {
    short_memory::spare(sizeof(inter_sim_item));
    with_each_failing([] { of_several(2, "barrier=/counter,bcast=/counter,reduce=/counter,allreduce=/counter"); },
                      {true});
}

// Of elements that are too large for the stack: one thread lacks memory for what others get of it.
TEST(NoMemory, ForReductionsOfAProcess) {
    with_each_failing([] { reductions_of_several({3}, false); }, {true});
}

TEST(NoMemory, ForReductionsByWhoCombinesForOthers) {
    short_memory::spare(sizeof(inter_sim_item));
    with_each_failing([] { reductions_of_several({3}, false, false, "allreduce=/counter,reduce=/counter"); }, {true});
    with_each_failing([] { reductions_of_several({3, 1}, false, false, "allreduce=/tree,reduce=/tree"); }, {true});
}

TEST(NoMemory, ForReproducibleReductionsOfAProcess) {
    with_each_failing([] { reductions_of_several({3}, true); }, {true});
}

TEST(NoMemory, ForReductionsOfSeveral) {
    short_memory::spare(sizeof(inter_sim_item));
    with_each_failing([] { reductions_of_several({1, 2}, false); }, {true});
}

TEST(NoMemory, ForReproducibleReductionsOfSeveral) {
    short_memory::spare(sizeof(inter_sim_item));
    with_each_failing([] { reductions_of_several({1, 2}, true); }, {true});
}

TEST(NoMemory, ForReductionsOfProcesses) {
    short_memory::spare(sizeof(inter_sim_item));
    for (bool reproducible : {false, true})
        with_each_failing([&] { reductions_of_several({1, 1, 1}, reproducible, true); }, {true});
}

TEST(NoMemory, ForMessagesOfSeveral) {
    short_memory::spare(sizeof(inter_sim_item));
    with_each_failing(letters_of_several);
}

// Of a message that cannot be unpacked it is told whose it was, and that nothing has come.
TEST(NoMemory, ToUnpackAMessageOfAnyRank) {
    threads::Watchdog watchdog(60);
    std::atomic<int> arrived{0};
    SimWorlds worlds(JobShape{{1, 1}});
    worlds.run([&](weft_comm *comm) {
        std::vector<int> data(2 * rows);
        Rows type(rows / 2);
        ASSERT_TRUE(type);
        if (weft_rank(comm) == 0) {
            EXPECT_EQ(weft_ssend(data.data(), rows, WEFT_INT, 1, 5, comm), WEFT_SUCCESS) << weft_last_error();
        } else {
            weft_status status;
            EXPECT_EQ(weft_probe(0, 5, comm, &status), WEFT_SUCCESS) << weft_last_error();
            short_memory::fail(1, true);
            EXPECT_EQ(weft_recv(data.data(), 1, type.type(), WEFT_ANY_SOURCE, 5, comm, &status), WEFT_ERR_NOMEM);
            short_memory::fail(0);
            EXPECT_EQ(status.source, 0);
            EXPECT_EQ(status.bytes, 0u);
            EXPECT_NE(strstr(weft_last_error(), "from rank 0 failed"), nullptr) << weft_last_error();
        }
        meet(arrived, 2);
    });
}

// One of two processes only: what it called in vain is not among the calls that the other one must have made.
TEST(NoMemory, OfOneProcessIsNoMismatch) {
    threads::Watchdog watchdog(60);
    static const int one = 1;
    for (bool persistent : {false, true}) {
        std::atomic<int> arrived{0};
        SimWorlds worlds(JobShape{{1, 1}});
        worlds.run_processes([&](int, hier_world *world) {
            call_again(
                world->process_comm, arrived,
                [&](weft_comm *comm, int *sum, weft_request **request) {
                    return persistent ? weft_allreduce_init(&one, sum, 1, WEFT_INT, WEFT_SUM, comm, request)
                                      : weft_iallreduce(&one, sum, 1, WEFT_INT, WEFT_SUM, comm, request);
                },
                persistent);
        });
    }
}
