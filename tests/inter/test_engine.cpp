// SPDX-License-Identifier: BSD-3-Clause
// The engine: how it runs schedules that are right, and how it ends those that go wrong.
#include "sim/job.h"
#include <cstring>
#include <vector>

namespace {

using sim::between;
using sim::Job;
using sim::view_of;

// Rank 0 sends `count` elements to each of the others, and another one in a second stage.
void star(inter_schedule *schedule, const inter_view *view) {
    for (int stage = 0; stage < 2; stage++) {
        size_t count = stage ? 1 : view->count;
        if (view->rank == 0)
            for (int peer = 1; peer < view->size; peer++)
                inter_schedule_send(schedule, peer, inter_at(INTER_SEND, stage ? view->count : 0), count);
        else
            inter_schedule_recv(schedule, 0, inter_at(INTER_RECV, stage ? view->count : 0), count);
        inter_schedule_next_stage(schedule);
    }
}

// Everybody sends to the right before receiving from the left: right only where messages are buffered.
void head_to_head(inter_schedule *schedule, const inter_view *view) {
    inter_schedule_send(schedule, (view->rank + 1) % view->size, inter_at(INTER_SEND, 0), 1);
    inter_schedule_next_stage(schedule);
    inter_schedule_recv(schedule, (view->rank + view->size - 1) % view->size, inter_at(INTER_RECV, 0), 1);
}

void nothing(inter_schedule *, const inter_view *) {}

inter_algorithm made_of(inter_builder *build, const char *name) {
    inter_algorithm algorithm{};
    algorithm.build = build;
    strncpy(algorithm.name, name, sizeof(algorithm.name) - 1);
    return algorithm;
}
const inter_algorithm star_algorithm = made_of(star, "star");
const inter_algorithm head_to_head_algorithm = made_of(head_to_head, "head to head");
const inter_algorithm nothing_algorithm = made_of(nothing, "nothing");

inter_algorithm find(inter_collective collective, const char *name) {
    inter_algorithm found{};
    EXPECT_TRUE(inter_algorithm_find(collective, name, &found)) << name;
    return found;
}

} // namespace

TEST(Engine, NothingToDoIsDoneAtOnce) {
    Job job(1, 0);
    inter_view view = view_of(0, 1, 1);
    inter_binding binding = between(nullptr, nullptr);
    ASSERT_EQ(job.start(0, nothing_algorithm, view, binding), WEFT_SUCCESS);
    EXPECT_TRUE(job.executions(0)[0].done);
    EXPECT_EQ(job.finished_calls(0), 1);
    EXPECT_EQ(job.engine(0).active, nullptr);
    EXPECT_FALSE(inter_engine_progress(&job.engine(0)));
}

// What would be a hang on a network is seen: the other tests rely on it.
TEST(Engine, ADeadlockIsNoticed) {
    for (uint64_t seed : {0, 1, 2}) {
        Job job(3, seed);
        char send[3] = {1, 2, 3}, recv[3] = {};
        for (int rank = 0; rank < 3; rank++)
            job.start(rank, head_to_head_algorithm, view_of(rank, 3, 1), between(&send[rank], &recv[rank]));
        EXPECT_FALSE(job.finish());
        EXPECT_EQ(job.counts().waiting_messages, 3u);
        EXPECT_EQ(job.finished_calls(0), 0);
    }
}

TEST(Engine, ElementsMayHaveAnyNumberOfBytes) {
    Job job(3, 5);
    char text[] = "abcdefghijkl", got[2][13] = {};
    for (int rank = 0; rank < 3; rank++)
        job.start(rank, star_algorithm, view_of(rank, 3, 3, 3),
                  between(rank ? nullptr : text, rank ? got[rank - 1] : nullptr));
    ASSERT_TRUE(job.finish());
    EXPECT_STREQ(got[0], text);
    EXPECT_STREQ(got[1], text);
}

// Same ranks, same schedules, started in opposite orders: contexts and sequences keep them apart.
TEST(Engine, CollectivesUnderWayDoNotMix) {
    const std::vector<inter_id> ids = {{0, 0, false, 0},
                                       {0, 1, false, 0},
                                       {0, 1, true, 0},
                                       {1, 0, false, 0},
                                       {INTER_CONTEXTS - 1, 1, false, 0},
                                       {0, (1u << INTER_SEQUENCE_BITS) - 1, false, 0}};
    for (uint64_t seed = 0; seed < 10; seed++) {
        Job job(2, seed);
        std::vector<int> sent(ids.size() * 2), got(ids.size() * 2);
        for (size_t i = 0; i < ids.size(); i++) {
            size_t other = ids.size() - 1 - i;
            sent[2 * i] = int(100 + i), sent[2 * i + 1] = int(200 + i);
            job.start(0, star_algorithm, view_of(0, 2, 1, sizeof(int)), between(&sent[2 * i], nullptr), ids[i]);
            job.start(1, star_algorithm, view_of(1, 2, 1, sizeof(int)), between(nullptr, &got[2 * other]), ids[other]);
        }
        ASSERT_TRUE(job.finish());
        EXPECT_EQ(got, sent);
        EXPECT_EQ(job.finished_calls(1), int(ids.size()));
    }
}

TEST(Engine, AnExecutionIsUsedAgainForALongerSchedule) {
    inter_sim *sim = nullptr;
    ASSERT_EQ(inter_sim_create(1, 0, &sim), WEFT_SUCCESS);
    inter_engine engine{};
    engine.transport = inter_sim_transport(sim, 0);
    const inter_algorithm algorithm = find(INTER_ALLGATHER, "nbBKT");
    inter_execution execution{};
    for (uint64_t count = 0; count < 100; count += 7) {
        std::vector<uint64_t> send(count, count), recv(count, 0);
        inter_view view = view_of(0, 1, count, sizeof(uint64_t));
        inter_binding binding = between(send.data(), recv.data());
        ASSERT_EQ(inter_execution_start(&execution, &engine, {0, count, false, 0}, &algorithm, &view, &binding),
                  WEFT_SUCCESS);
        EXPECT_TRUE(execution.done);
        EXPECT_EQ(recv, send);
    }
    inter_execution_free(&execution);
    inter_sim_destroy(sim);
}

// What is prepared for the same collective again is there already, and only then.
TEST(Engine, AnExecutionKeepsItsScheduleForTheSameCollectiveOnly) {
    static int built;
    inter_algorithm algorithm = made_of(
        [](inter_schedule *schedule, const inter_view *view) {
            built++;
            inter_schedule_temp(schedule, view->count);
        },
        "counts");
    inter_algorithm issues_otherwise = algorithm, is_cut = algorithm;
    issues_otherwise.issue = INTER_NB1;
    is_cut.segment_bytes = 1;
    inter_engine engine{}, other_engine{};
    inter_execution execution{};
    const size_t counts[] = {1, 1, 1, 1};
    inter_view view = view_of(1, 3, 4), root = view, count = view, bytes = view, in_place = view, rank = view,
               size = view, collective = view, arrays = view;
    root.root = 2, count.count = 5, bytes.element_bytes = 2, in_place.in_place = true, rank.rank = 2, size.size = 4;
    collective.collective = INTER_GATHER;
    arrays.recv_counts = counts;
    auto builds = [&](const inter_view &of, const inter_algorithm &by, inter_engine &on) {
        int before = built;
        EXPECT_EQ(inter_execution_prepare(&execution, &on, &by, &of), WEFT_SUCCESS);
        return built != before;
    };
    EXPECT_TRUE(builds(view, algorithm, engine));
    for (const inter_view *other : {&root, &count, &bytes, &in_place, &rank, &size, &collective}) {
        EXPECT_FALSE(builds(view, algorithm, engine));
        EXPECT_TRUE(builds(*other, algorithm, engine));
        EXPECT_TRUE(builds(view, algorithm, engine));
    }
    EXPECT_TRUE(builds(view, issues_otherwise, engine));
    EXPECT_TRUE(builds(view, is_cut, engine));
    EXPECT_TRUE(builds(view, is_cut, other_engine));
    EXPECT_TRUE(builds(arrays, is_cut, other_engine));
    EXPECT_TRUE(builds(arrays, is_cut, other_engine)) << "their contents may have changed";
    EXPECT_TRUE(builds(view, is_cut, other_engine));
    inter_execution_free(&execution);
}

// Who lends has a temporary buffer from when it is prepared until it is done: those that follow each other have one and the same, those under
// way at once have one each, and one that is too small makes way for another.
TEST(Engine, ExecutionsLendEachOtherTemporaryMemory) {
    const inter_algorithm algorithm = made_of(
        [](inter_schedule *schedule, const inter_view *view) {
            inter_place temp = inter_schedule_temp(schedule, view->count);
            inter_schedule_copy(schedule, inter_at(INTER_SEND, 0), temp, view->count);
            inter_schedule_copy(schedule, temp, inter_at(INTER_RECV, 0), view->count);
        },
        "copies");
    inter_sim *sim = nullptr;
    ASSERT_EQ(inter_sim_create(1, 0, &sim), WEFT_SUCCESS);
    inter_engine engine{};
    engine.transport = inter_sim_transport(sim, 0);
    std::vector<inter_execution> slots(4);
    for (inter_execution &slot : slots)
        slot.lends = true;
    auto prepare = [&](inter_execution &execution, size_t count) {
        inter_view view = view_of(0, 1, count, 1);
        EXPECT_EQ(inter_execution_prepare(&execution, &engine, &algorithm, &view), WEFT_SUCCESS);
        return execution.buffers[INTER_TEMP];
    };
    auto run = [&](inter_execution &execution, size_t count) {
        std::string sent(count, 'x'), got(count, '.');
        inter_binding binding = between(sent.data(), &got[0]);
        inter_execution_run(&execution, {0, count, false, 0}, &binding);
        EXPECT_TRUE(execution.done);
        EXPECT_EQ(got, sent);
    };
    const unsigned char *first = prepare(slots[0], 1000);
    run(slots[0], 1000);
    for (int round = 0; round < 3; round++)
        for (inter_execution &slot : slots) {
            EXPECT_EQ(prepare(slot, 1000), first);
            run(slot, 1000);
        }
    size_t before = engine.allocations;
    const unsigned char *one = prepare(slots[0], 1000), *other = prepare(slots[1], 1000);
    EXPECT_EQ(engine.allocations, before + 1);
    EXPECT_TRUE(one + 1000 <= other || other + 1000 <= one);
    run(slots[0], 1000);
    run(slots[1], 1000);
    EXPECT_EQ(prepare(slots[2], 1000), other) << "that was used last";
    run(slots[2], 1000);
    (void)prepare(slots[3], 5000);
    run(slots[3], 5000);
    before = engine.allocations;
    for (inter_execution &slot : slots) {
        (void)prepare(slot, 4000);
        (void)prepare(slot, 5000); /* it was not run */
        run(slot, 5000);
    }
    EXPECT_LE(engine.allocations - before, 2 * slots.size());
    for (inter_execution &slot : slots)
        inter_execution_free(&slot);
    inter_engine_close(&engine);
    inter_sim_destroy(sim);
}

// Rank 1 wants fewer bytes than come, rank 2 more. Both go on to the second stage, which rank 0 waits for, and report it.
TEST(Engine, WrongLengthsAreReportedAndKeepNobodyWaiting) {
    Job job(3, 0);
    char text[] = "abcdefgh", got[2][9] = {"........", "........"};
    const size_t wanted[] = {4, 2, 6};
    for (int rank = 0; rank < 3; rank++)
        job.start(rank, star_algorithm, view_of(rank, 3, wanted[rank]),
                  between(rank ? nullptr : text, rank ? got[rank - 1] : nullptr));
    EXPECT_TRUE(job.finish());
    EXPECT_EQ(job.finished_error(1), WEFT_ERR_TRUNCATE);
    EXPECT_EQ(job.finished_error(2), WEFT_ERR_MISMATCH);
    EXPECT_EQ(job.executions(1)[0].error, WEFT_ERR_TRUNCATE);
    EXPECT_STREQ(got[0], "abe.....");
    EXPECT_STREQ(got[1], "abcd..e.");
    EXPECT_EQ(job.counts().waiting_receives, 0u);
    EXPECT_EQ(job.finished_calls(0), 1);
    EXPECT_EQ(job.finished_calls(1), 1);
}

TEST(Engine, ADeadPeerEndsAllExecutions) {
    Job job(3, 0);
    char bytes[16] = {};
    for (uint64_t sequence = 0; sequence < 2; sequence++)
        for (int rank = 0; rank < 2; rank++) /* rank 2 does not come */
            job.start(rank, star_algorithm, view_of(rank, 3, 4), between(bytes, rank ? bytes + 8 : nullptr),
                      {0, sequence, false, 0});
    EXPECT_FALSE(job.finish());
    EXPECT_EQ(job.finished_calls(0), 0);
    job.engine(0).transport->failed_peer = 2;
    for (int round = 0; round < 3; round++)
        inter_engine_progress(&job.engine(0));
    EXPECT_EQ(job.engine(0).active, nullptr);
    EXPECT_EQ(job.finished_calls(0), 2);
    EXPECT_EQ(job.finished_error(0), WEFT_ERR_PROC_FAILED);
    EXPECT_STREQ(weft_last_error(), "rank 0: process 2 died or is out of reach");
    EXPECT_EQ(job.start(0, star_algorithm, view_of(0, 3, 4), between(bytes, nullptr), {0, 2, false, 0}), WEFT_SUCCESS);
    EXPECT_EQ(job.finished_calls(0), 3); /* at once */
    EXPECT_EQ(job.finished_error(0), WEFT_ERR_PROC_FAILED);
    EXPECT_EQ(job.counts().waiting_messages, 0u);
}

TEST(Engine, AMessageThatCannotBeStartedIsAnError) {
    Job job(2, 0);
    char bytes[16] = {};
    job.engine(0).transport->send = [](inter_transport *, int, uint64_t, const void *, size_t, inter_request *) {
        return int(WEFT_ERR_TRANSPORT);
    };
    ASSERT_EQ(job.start(0, star_algorithm, view_of(0, 2, 4), between(bytes, nullptr)), WEFT_SUCCESS);
    EXPECT_TRUE(job.executions(0)[0].done);
    EXPECT_EQ(job.finished_calls(0), 1);
    EXPECT_EQ(job.finished_error(0), WEFT_ERR_TRANSPORT);
    EXPECT_EQ(job.engine(0).active, nullptr);
}

TEST(Engine, TemporaryMemoryThatOverflowsIsRefused) {
    Job job(4, 0);
    int calls = 0;
    inter_view view = view_of(1, 4, SIZE_MAX / 4, 8);
    view.collective = INTER_ALLREDUCE;
    inter_binding binding = between(&calls, &calls);
    binding.type = WEFT_UINT64_T;
    binding.op = WEFT_SUM;
    EXPECT_EQ(job.start(1, find(INTER_ALLREDUCE, "nbBDE"), view, binding), WEFT_ERR_NOMEM);
    EXPECT_EQ(job.finished_calls(1), 0);
    EXPECT_EQ(job.counts().messages, 0u);
    EXPECT_NE(strstr(weft_last_error(), "allreduce nbBDE"), nullptr) << weft_last_error();
}
