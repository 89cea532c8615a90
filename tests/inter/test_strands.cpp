// SPDX-License-Identifier: BSD-3-Clause
// The engine with more than one thing under way: strands beside each other, stages that nobody waits for, executions that
// run again and again, many at once, and the end of all when one part fails.
#include "sim/job.h"
#include <cstring>
#include <deque>
#include <numeric>
#include <vector>

namespace {

using sim::between;
using sim::Job;

// A strand for each element, from rank 0 to the others.
void a_strand_each(inter_schedule *schedule, const inter_view *view) {
    for (size_t i = 0; i < view->count; i++) {
        for (int peer = 1; view->rank == 0 && peer < view->size; peer++)
            inter_schedule_send(schedule, peer, inter_at(INTER_SEND, i), 1);
        if (view->rank)
            inter_schedule_recv(schedule, 0, inter_at(INTER_RECV, i), 1);
        inter_schedule_next_strand(schedule);
    }
}

// Rank 0 waits for nobody but the next: what rank 1 has may come later than what rank 2 has.
void rank_1_when_it_likes(inter_schedule *schedule, const inter_view *view) {
    if (view->rank) {
        inter_schedule_send(schedule, 0, inter_at(INTER_SEND, 0), 1);
        return;
    }
    inter_schedule_recv(schedule, 1, inter_at(INTER_RECV, 0), 1);
    inter_schedule_next_stage_independent(schedule);
    inter_schedule_recv(schedule, 2, inter_at(INTER_RECV, 1), 1);
    inter_schedule_next_stage(schedule);
    inter_schedule_copy(schedule, inter_at(INTER_RECV, 1), inter_at(INTER_RECV, 2), 1);
}

// In the first strand rank 0 waits for rank 1 independently; the strand whose lane that is must wait too.
void independent_in_the_first_strand(inter_schedule *schedule, const inter_view *view) {
    for (int strand = 0; strand <= INTER_STRANDS; strand++) {
        int peer = strand == 0 ? 1 : 2;
        if (view->rank == 0)
            inter_schedule_recv(schedule, peer, inter_at(INTER_RECV, size_t(strand)), 1);
        else if (view->rank == peer)
            inter_schedule_send(schedule, 0, inter_at(INTER_SEND, size_t(strand)), 1);
        if (strand == 0)
            inter_schedule_next_stage_independent(schedule);
        inter_schedule_next_strand(schedule);
    }
}

inter_algorithm made_of(inter_builder *build) {
    inter_algorithm algorithm{};
    algorithm.build = build;
    strcpy(algorithm.name, "test");
    return algorithm;
}

inter_view view_of(int rank, int size, size_t count) {
    return sim::view_of(rank, size, count, sizeof(int));
}

void rounds(Job &job, int count) {
    for (int round = 0; round < count; round++)
        job.round();
}

} // namespace

// Strands of equal number modulo INTER_STRANDS have equal tags; delays must not let them overtake each other.
TEST(Strands, OfEqualTagsKeepTheirOrder) {
    for (uint64_t seed = 0; seed < 200; seed++) {
        Job job(3, seed);
        std::vector<int> sent(37), got[3];
        std::iota(sent.begin(), sent.end(), 1000);
        for (int rank = 0; rank < 3; rank++) {
            got[rank].resize(sent.size());
            job.start(rank, made_of(a_strand_each), view_of(rank, 3, sent.size()),
                      between(sent.data(), got[rank].data()));
        }
        ASSERT_TRUE(job.finish()) << seed;
        EXPECT_EQ(got[1], sent) << seed;
        EXPECT_EQ(got[2], sent) << seed;
    }
}

TEST(Strands, AreUnderWayInLimitedNumber) {
    Job job(2, 0);
    std::vector<int> sent(3 * INTER_STRANDS + 1, 5), got(sent.size());
    job.start(0, made_of(a_strand_each), view_of(0, 2, sent.size()), between(sent.data(), nullptr));
    rounds(job, 3);
    EXPECT_EQ(job.counts().waiting_messages, size_t(INTER_STRANDS));
    EXPECT_EQ(job.executions(0)[0].busy_lanes, (1u << INTER_STRANDS) - 1);
    job.start(1, made_of(a_strand_each), view_of(1, 2, sent.size()), between(nullptr, got.data()));
    for (size_t most = 0; job.round();) {
        most = std::max(most, job.counts().waiting_messages);
        EXPECT_LE(most, size_t(INTER_STRANDS));
    }
    EXPECT_EQ(got, sent);
    EXPECT_EQ(job.finished_calls(0), 1);
    EXPECT_EQ(job.finished_calls(1), 1);
}

TEST(Stages, ThatAreIndependentKeepNobodyWaitingUntilTheEnd) {
    Job job(3, 0);
    int one = 11, two = 22, got[3] = {};
    job.start(0, made_of(rank_1_when_it_likes), view_of(0, 3, 1), between(nullptr, got));
    job.start(2, made_of(rank_1_when_it_likes), view_of(2, 3, 1), between(&two, nullptr));
    rounds(job, 5);
    EXPECT_EQ(got[2], 22) << "the stages behind go on";
    EXPECT_EQ(job.finished_calls(0), 0) << "but it is not done";
    EXPECT_EQ(job.finished_calls(2), 1);
    job.start(1, made_of(rank_1_when_it_likes), view_of(1, 3, 1), between(&one, nullptr));
    EXPECT_TRUE(job.finish());
    EXPECT_EQ(got[0], 11);
    EXPECT_EQ(job.finished_calls(0), 1);
}

TEST(Stages, ThatAreIndependentHoldTheirStrandsLane) {
    Job job(3, 0);
    std::vector<int> sent(INTER_STRANDS + 1, 3), got(sent.size());
    for (int rank : {0, 2})
        job.start(rank, made_of(independent_in_the_first_strand), view_of(rank, 3, 1),
                  between(sent.data(), got.data()));
    rounds(job, 5);
    EXPECT_EQ(got[INTER_STRANDS - 1], 3);
    EXPECT_EQ(got[INTER_STRANDS], 0) << "the last strand waits for the first";
    job.start(1, made_of(independent_in_the_first_strand), view_of(1, 3, 1), between(sent.data(), nullptr));
    EXPECT_TRUE(job.finish());
    EXPECT_EQ(got, sent);
}

namespace {

// What stands before the strands of a rank, and what it is told of them.
struct Gate {
    size_t admits = 0, asked = 0, here = 0, told = 0;
};

size_t ask(void *argument) {
    static_cast<Gate *>(argument)->asked++;
    return static_cast<Gate *>(argument)->admits;
}

void tell(void *argument, size_t strands) {
    Gate *gate = static_cast<Gate *>(argument);
    EXPECT_GT(strands, gate->here);
    gate->here = strands;
    gate->told++;
}

// As Job::start(), with a gate, and without a word of the end.
void start_gated(Job &job, int rank, const inter_view &view, const inter_binding &binding, Gate *gate) {
    job.executions(rank).emplace_back();
    inter_execution &execution = job.executions(rank).back();
    execution = inter_execution{};
    execution.gate = ask;
    execution.arrived = tell;
    execution.argument = gate;
    inter_algorithm algorithm = made_of(a_strand_each);
    ASSERT_EQ(inter_execution_start(&execution, &job.engine(rank), {0, 0, false, 0}, &algorithm, &view, &binding),
              WEFT_SUCCESS);
}

} // namespace

TEST(Gates, LetStrandsBeginOneByOne) {
    const size_t strands = 3 * INTER_STRANDS + 2;
    for (uint64_t seed : {0, 1, 2}) {
        Job job(2, seed);
        std::vector<int> sent(strands, 5), got(strands);
        Gate gates[2];
        gates[1].admits = SIZE_MAX;
        start_gated(job, 0, view_of(0, 2, strands), between(sent.data(), nullptr), &gates[0]);
        start_gated(job, 1, view_of(1, 2, strands), between(nullptr, got.data()), &gates[1]);
        for (size_t admitted : {size_t(0), size_t(1), size_t(3), strands - 1}) {
            gates[0].admits = admitted;
            rounds(job, 200);
            EXPECT_EQ(job.counts().messages, admitted);
            EXPECT_EQ(gates[0].here, admitted);
            EXPECT_EQ(gates[1].here, admitted);
            EXPECT_EQ(std::count(got.begin(), got.end(), 5), std::ptrdiff_t(admitted));
            EXPECT_FALSE(job.executions(0)[0].done);
            EXPECT_TRUE(inter_execution_is_gated(&job.executions(0)[0]));
            EXPECT_FALSE(inter_execution_is_gated(&job.executions(1)[0]));
        }
        gates[0].admits = SIZE_MAX;
        EXPECT_TRUE(job.finish());
        EXPECT_EQ(got, sent);
        EXPECT_EQ(gates[1].asked, 1u) << "nobody asks when all may begin";
        EXPECT_EQ(job.engine(0).gated, 0u);
    }
}

// Nothing of it is under way when its context is broken: it ends when the engine next looks at the gate.
TEST(Gates, HoldNobodyWhoseCallIsBroken) {
    Job job(2, 0);
    std::vector<int> sent(20, 1);
    Gate gate;
    start_gated(job, 0, view_of(0, 2, sent.size()), between(sent.data(), nullptr), &gate);
    rounds(job, 3);
    EXPECT_FALSE(job.executions(0)[0].done);
    inter_engine_break(&job.engine(0), 0);
    gate.admits = SIZE_MAX;
    EXPECT_TRUE(job.finish());
    EXPECT_TRUE(job.executions(0)[0].done);
    EXPECT_EQ(job.executions(0)[0].error, WEFT_ERR_MISMATCH);
    EXPECT_EQ(job.counts().messages, 0u);
    EXPECT_EQ(gate.told, 0u);
}

namespace {

constexpr size_t room = 5; // elements, for a message that may be shorter

// How many elements rank `from` has for `to`; what they are.
size_t elements(int from, int to) {
    return size_t(from + 2 * to) % room;
}
int element(int from, int to, size_t index) {
    return from * 100 + to * 10 + int(index);
}

// A rank's messages of one to four elements, each into room for `room`, and a strand of answers behind them, of one element each; those
// that `forgoes` says are not sent, and not expected.
struct Answering {
    int rank, size;
    bool (*forgoes)(int from, int to);
    inter_execution *execution = nullptr;
    size_t here = 0;
    std::vector<size_t> sent, received, answers, answered, places, answer_from, answer_to;
    std::vector<int> outgoing, incoming;
    inter_view answer{}, view{};

    Answering(int self, int ranks, bool (*not_sent)(int, int)) : rank(self), size(ranks), forgoes(not_sent) {
        const size_t all = size_t(size) * room;
        outgoing.assign(all + 1, 1000 + rank);
        incoming.assign(all + size_t(size), -1);
        for (int peer = 0; peer < size; peer++) {
            const bool other = peer != rank;
            sent.push_back(other ? elements(rank, peer) : 0);
            received.push_back(other && elements(peer, rank) ? room : 0);
            answers.push_back(other);
            answered.push_back(other && !forgoes(peer, rank));
            places.push_back(size_t(peer) * room);
            answer_from.push_back(all);
            answer_to.push_back(all + size_t(peer));
            for (size_t i = 0; i < sent.back(); i++)
                outgoing[places.back() + i] = element(rank, peer, i);
        }
        answer.collective = view.collective = INTER_ALLTOALLV;
        answer.rank = view.rank = rank;
        answer.size = view.size = size;
        answer.element_bytes = view.element_bytes = sizeof(int);
        answer.sparse = view.sparse = true;
        answer.send_counts = answers.data();
        answer.recv_counts = answered.data();
        answer.send_offsets = answer_from.data();
        answer.recv_offsets = answer_to.data();
        view.send_counts = sent.data();
        view.recv_counts = received.data();
        view.send_offsets = view.recv_offsets = places.data();
        view.next = &answer;
    }

    static size_t admit(void *argument) {
        auto *self = static_cast<Answering *>(argument);
        if (!self->here) // after an error it is never told
            return self->execution->error ? SIZE_MAX : 1;
        int others = 0;
        for (int peer = 0; peer < self->size; peer++)
            others += peer != self->rank && !self->forgoes(self->rank, peer);
        if (!others)
            inter_execution_forgo_all(self->execution);
        for (int peer = 0; peer < self->size && others; peer++)
            if (peer != self->rank && self->forgoes(self->rank, peer))
                inter_execution_forgo(self->execution, peer);
        return SIZE_MAX;
    }
    static void arrived(void *argument, size_t strands) {
        static_cast<Answering *>(argument)->here = strands;
    }

    void start(Job &job, bool at_most) {
        job.executions(rank).emplace_back();
        execution = &job.executions(rank).back();
        *execution = inter_execution{};
        run(job, at_most, 0);
    }

    // Once more, with others that are forgone.
    void again(Job &job, bool (*not_sent)(int, int), uint64_t number) {
        forgoes = not_sent;
        here = 0;
        std::fill(incoming.begin(), incoming.end(), -1);
        for (int peer = 0; peer < size; peer++)
            answered[size_t(peer)] = peer != rank && !forgoes(peer, rank);
        run(job, true, number);
    }

    void run(Job &job, bool at_most, uint64_t number) {
        inter_algorithm algorithm;
        ASSERT_TRUE(inter_algorithm_find(INTER_ALLTOALLV, "nb1FT", &algorithm));
        execution->gate = admit;
        execution->arrived = arrived;
        execution->argument = this;
        inter_binding binding = between(outgoing.data(), incoming.data());
        binding.at_most = at_most;
        ASSERT_EQ(
            inter_execution_start(execution, &job.engine(rank), {0, number, false, 0}, &algorithm, &view, &binding),
            WEFT_SUCCESS);
    }

    void check(uint64_t seed) const {
        for (int peer = 0; peer < size; peer++) {
            if (peer == rank)
                continue;
            for (size_t i = 0; i < room; i++)
                EXPECT_EQ(incoming[places[size_t(peer)] + i], i < elements(peer, rank) ? element(peer, rank, i) : -1)
                    << peer << " to " << rank << ", seed " << seed;
            EXPECT_EQ(incoming[answer_to[size_t(peer)]], forgoes(peer, rank) ? -1 : 1000 + peer)
                << peer << " to " << rank << ", seed " << seed;
        }
    }
};

} // namespace

// A view that follows another: its messages go when the others have come, but for those that are forgone then; what is empty is no message.
TEST(Following, IsSentButForWhatIsForgone) {
    bool (*const patterns[])(int, int) = {[](int, int) { return false; }, [](int from, int to) { return from < to; },
                                          [](int, int) { return true; }};
    for (auto *forgoes : patterns)
        for (uint64_t seed = 0; seed < 50; seed++) {
            const int size = 4;
            Job job(size, seed);
            std::deque<Answering> ranks;
            size_t messages = 0;
            for (int rank = 0; rank < size; rank++) {
                ranks.emplace_back(rank, size, forgoes);
                ranks.back().start(job, true);
                for (int peer = 0; peer < size; peer++)
                    messages += peer == rank ? 0 : (elements(rank, peer) > 0) + !forgoes(rank, peer);
            }
            ASSERT_TRUE(job.finish()) << seed;
            for (const Answering &rank : ranks) {
                EXPECT_EQ(rank.execution->error, WEFT_SUCCESS);
                rank.check(seed);
            }
            EXPECT_EQ(job.counts().messages, messages) << seed;
        }
}

// A schedule that is kept for the next time forgoes nothing then, unless it is told so again.
TEST(Following, IsForgoneOnce) {
    bool (*const patterns[])(int, int) = {[](int from, int) { return from == 1; }, [](int, int) { return false; }};
    Job job(2, 0);
    Answering zero(0, 2, patterns[0]), one(1, 2, patterns[0]);
    one.view.contents = 7; // its arrays are the same each time: it does not know what the other is to be answered
    zero.start(job, true);
    one.start(job, true);
    for (uint64_t round = 1; round < 7; round++) {
        ASSERT_TRUE(job.finish()) << round;
        for (const Answering *rank : {&zero, &one}) {
            EXPECT_EQ(rank->execution->error, WEFT_SUCCESS);
            rank->check(round);
        }
        const auto *steps = one.execution->schedule.steps;
        zero.again(job, patterns[round / 2 % 2], round);
        one.again(job, patterns[round / 2 % 2], round);
        EXPECT_EQ(one.execution->schedule.steps, steps);
    }
    ASSERT_TRUE(job.finish());
    zero.check(7);
    one.check(7);
}

// Without at_most a shorter message than there is room for is an error of its receiver, who takes the others all the same.
TEST(Following, LengthsAreComparedElsewhere) {
    Job job(4, 0);
    std::deque<Answering> ranks;
    for (int rank = 0; rank < 4; rank++) {
        ranks.emplace_back(rank, 4, [](int, int) { return false; });
        ranks.back().start(job, false);
    }
    EXPECT_TRUE(job.finish());
    for (const Answering &rank : ranks) {
        EXPECT_EQ(rank.execution->error, WEFT_ERR_MISMATCH);
        for (int peer = 0; peer < 4; peer++)
            for (size_t i = 0; peer != rank.rank && i < elements(peer, rank.rank); i++)
                EXPECT_EQ(rank.incoming[rank.places[size_t(peer)] + i], element(peer, rank.rank, i));
    }
}

// Prepared once, run many times with other buffers: memory is taken once, also with random delays.
TEST(Persistent, RunsAgainWithoutMemory) {
    inter_algorithm algorithm{};
    ASSERT_TRUE(inter_algorithm_find(INTER_ALLREDUCE, "nbBDE:8", &algorithm));
    for (uint64_t seed : {0, 1, 2}) {
        const int size = 5;
        Job job(size, seed);
        std::vector<std::vector<int>> sent(size, std::vector<int>(50)), got = sent;
        for (uint64_t run = 0; run < 20; run++) {
            for (int rank = 0; rank < size; rank++) {
                inter_binding binding = between(sent[size_t(rank)].data(), got[size_t(rank)].data());
                binding.type = WEFT_INT;
                binding.op = WEFT_SUM;
                std::fill(sent[size_t(rank)].begin(), sent[size_t(rank)].end(), rank + int(run));
                inter_view view = view_of(rank, size, 50);
                view.collective = INTER_ALLREDUCE;
                if (run == 0)
                    ASSERT_EQ(job.start(rank, algorithm, view, binding, {0, 0, true, 0}), WEFT_SUCCESS);
                else
                    inter_execution_run(&job.executions(rank)[0], {0, run, true, 0}, &binding);
            }
            ASSERT_TRUE(job.finish());
            for (int rank = 0; rank < size; rank++) {
                EXPECT_EQ(got[size_t(rank)], std::vector<int>(50, 10 + 5 * int(run)));
                EXPECT_EQ(job.engine(rank).allocations, 1u);
                EXPECT_EQ(job.finished_calls(rank), int(run) + 1);
            }
        }
    }
}

// `finished` may start the execution again.
TEST(Persistent, MayBeStartedAgainWhenItIsToldThatItIsDone) {
    Job job(2, 3);
    struct Again {
        inter_execution *execution;
        inter_binding binding;
        int left;
    } again[2];
    int sent[2] = {7, 7}, got[2] = {};
    for (int rank = 0; rank < 2; rank++) {
        inter_binding binding = between(&sent[rank], &got[rank]);
        ASSERT_EQ(job.start(rank, made_of(a_strand_each), view_of(rank, 2, 1), binding, {0, 0, true, 0}), WEFT_SUCCESS);
        again[rank] = {&job.executions(rank)[0], binding, 9};
        job.executions(rank)[0].argument = &again[rank];
        job.executions(rank)[0].finished = [](void *argument, int error) {
            Again *self = static_cast<Again *>(argument);
            EXPECT_EQ(error, WEFT_SUCCESS);
            if (self->left-- > 0)
                inter_execution_run(self->execution, {0, uint64_t(10 - self->left), true, 0}, &self->binding);
        };
    }
    EXPECT_TRUE(job.finish());
    EXPECT_EQ(again[0].left, -1);
    EXPECT_EQ(again[1].left, -1);
    EXPECT_EQ(job.counts().messages, 10u);
    EXPECT_EQ(job.engine(0).allocations, 1u);
}

// 60 collectives of several kinds at once, started in another order by each rank; they end in any order.
TEST(Executions, AreUnderWayInAnyNumberAndOrder) {
    const char *const names[] = {"nbBDE", "BKT", "RAB", "Reduce+Bcast", "nbBDE:12", "CHAINReduce+CHAINBcast:8"};
    const size_t many = 60, words = 25;
    const int size = 6;
    for (uint64_t seed = 1; seed < 6; seed++) {
        Job job(size, seed);
        std::vector<std::vector<int>> sent(many * size_t(size), std::vector<int>(words)), got = sent;
        std::vector<size_t> order(many);
        std::iota(order.begin(), order.end(), size_t(0));
        std::mt19937_64 random(seed);
        for (int rank = 0; rank < size; rank++) {
            std::shuffle(order.begin(), order.end(), random);
            for (size_t i : order) {
                size_t mine = i * size_t(size) + size_t(rank);
                inter_algorithm algorithm{};
                ASSERT_TRUE(inter_algorithm_find(INTER_ALLREDUCE, names[i % 6], &algorithm));
                inter_view view = view_of(rank, size, words);
                view.collective = INTER_ALLREDUCE;
                std::fill(sent[mine].begin(), sent[mine].end(), int(i) + rank);
                inter_binding binding = between(sent[mine].data(), got[mine].data());
                binding.type = WEFT_INT;
                binding.op = WEFT_SUM;
                ASSERT_EQ(job.start(rank, algorithm, view, binding, {0, i, false, 0}), WEFT_SUCCESS);
                job.round();
            }
        }
        ASSERT_TRUE(job.finish());
        for (size_t mine = 0; mine < got.size(); mine++)
            EXPECT_EQ(got[mine], std::vector<int>(words, int(mine / size_t(size)) * size + 15));
        for (int rank = 0; rank < size; rank++)
            EXPECT_EQ(job.finished_calls(rank), int(many));
    }
}

// The fifth message cannot be started: the four strands under way are taken back, and none begins after it.
TEST(Errors, InOneStrandEndAll) {
    static int sends_left;
    static int (*really_send)(inter_transport *, int, uint64_t, const void *, size_t, inter_request *);
    Job job(2, 0);
    std::vector<int> sent(20, 1);
    really_send = job.engine(0).transport->send;
    sends_left = 4;
    job.engine(0).transport->send = [](inter_transport *self, int peer, uint64_t tag, const void *buffer, size_t bytes,
                                       inter_request *request) {
        return sends_left-- > 0 ? really_send(self, peer, tag, buffer, bytes, request) : int(WEFT_ERR_TRANSPORT);
    };
    job.start(0, made_of(a_strand_each), view_of(0, 2, sent.size()), between(sent.data(), nullptr));
    job.finish();
    EXPECT_EQ(job.finished_calls(0), 1);
    EXPECT_EQ(job.finished_error(0), WEFT_ERR_TRANSPORT);
    EXPECT_EQ(job.counts().waiting_messages, 0u);
    EXPECT_EQ(job.counts().messages, 4u);
    EXPECT_EQ(sends_left, -1) << "nothing was tried after the error";
}

// A persistent execution that failed runs again when what was wrong is right.
TEST(Errors, LeaveAnExecutionThatCanBeRunAgain) {
    Job job(2, 0);
    std::vector<int> sent(20, 9), got(20);
    auto really_send = job.engine(0).transport->send;
    job.engine(0).transport->send = [](inter_transport *, int, uint64_t, const void *, size_t, inter_request *) {
        return int(WEFT_ERR_TRANSPORT);
    };
    inter_binding from = between(sent.data(), nullptr), to = between(nullptr, got.data());
    ASSERT_EQ(job.start(0, made_of(a_strand_each), view_of(0, 2, 20), from, {0, 0, true, 0}), WEFT_SUCCESS);
    job.finish();
    EXPECT_EQ(job.finished_error(0), WEFT_ERR_TRANSPORT);
    job.engine(0).transport->send = really_send;
    inter_execution_run(&job.executions(0)[0], {0, 1, true, 0}, &from);
    ASSERT_EQ(job.start(1, made_of(a_strand_each), view_of(1, 2, 20), to, {0, 1, true, 0}), WEFT_SUCCESS);
    EXPECT_TRUE(job.finish());
    EXPECT_EQ(job.finished_error(0), WEFT_SUCCESS);
    EXPECT_EQ(got, sent);
}
