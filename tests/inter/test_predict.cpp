// SPDX-License-Identifier: BSD-3-Clause
// The LogGP clock: by hand on schedules of a few steps; against the literature's closed forms on the algorithms; and ranks
// that stand for others against all of them.
//
// Closed forms: Chan, Heimlich, Purkayastha, van de Geijn, "Collective communication: theory, practice, and experience"
// (2007); Thakur, Rabenseifner, Gropp, "Optimization of collective communication operations in MPICH" (2005); with
// α = L + 2o, β = G, γ the reduction's cost a byte.
#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <string>
extern "C" {
#include <inter/predict.h>
}

namespace {

constexpr double L = 2e-6, o = 0.5e-6, alpha = L + 2 * o, beta = 1e-9, gamma_ = 0.25e-9; // gamma is a function of libm

inter_machine machine_of(int processes = 1) {
    inter_machine machine{};
    machine.between = {L, o, 0, beta};
    machine.within = machine.between;
    machine.reduce_byte = gamma_;
    machine.processes = processes;
    return machine;
}

inter_view view_of(inter_collective collective, int size, size_t count, size_t element_bytes = 1) {
    inter_view view{};
    view.collective = collective;
    view.size = size;
    view.count = count;
    view.element_bytes = element_bytes;
    return view;
}

inter_algorithm named(inter_collective collective, const char *name) {
    inter_algorithm algorithm{};
    EXPECT_TRUE(inter_algorithm_find(collective, name, &algorithm)) << name;
    return algorithm;
}

inter_prediction predict(const inter_machine &machine, const inter_algorithm &algorithm, const inter_view &view) {
    inter_prediction prediction{};
    EXPECT_EQ(inter_predict(&machine, &algorithm, &view, 1 << 22, &prediction), INTER_PREDICTED) << algorithm.name;
    return prediction;
}

double log2_up(int p) {
    return std::ceil(std::log2(p));
}

// Schedules of a few steps, by what the rank and the size are. Places do not matter.
const inter_place nowhere{};

inter_algorithm by_hand(inter_builder *build) {
    inter_algorithm algorithm{};
    algorithm.build = build;
    return algorithm;
}

} // namespace

extern "C" {

// All ranks send `count` to rank 0, which takes them in one stage.
static void all_to_zero(inter_schedule *schedule, const inter_view *view) {
    if (view->rank)
        inter_schedule_send(schedule, 0, nowhere, view->count);
    for (int peer = 1; !view->rank && peer < view->size; peer++)
        inter_schedule_recv(schedule, peer, nowhere, view->count);
}

// Rank 1 sends to 0, which works for 100 elements before it looks; the stages are independent.
static void busy_receiver(inter_schedule *schedule, const inter_view *view) {
    if (view->rank == 1) {
        inter_schedule_send(schedule, 0, nowhere, 1);
        return;
    }
    inter_schedule_reduce(schedule, nowhere, nowhere, nowhere, 100);
    inter_schedule_recv(schedule, 1, nowhere, 1);
    inter_schedule_next_stage(schedule);
    inter_schedule_copy(schedule, nowhere, inter_at(INTER_RECV, 0), 10);
}

// Rank 0 sends two messages, in one stage or two, independent or not, and then works.
static void sender(inter_schedule *schedule, const inter_view *view) {
    for (int message = 0; message < 2; message++) {
        if (view->rank)
            inter_schedule_recv(schedule, 0, nowhere, view->count);
        else
            inter_schedule_send(schedule, 1, nowhere, view->count);
        if (view->root)
            inter_schedule_next_stage_independent(schedule);
        else
            inter_schedule_next_stage(schedule);
    }
    if (!view->rank)
        inter_schedule_reduce(schedule, nowhere, nowhere, nowhere, 1000);
}

// As many strands as the root says, each a swap of ranks 0 and 1.
static void strands(inter_schedule *schedule, const inter_view *view) {
    for (int strand = 0; strand < view->root; strand++) {
        if (strand)
            inter_schedule_next_strand(schedule);
        inter_schedule_send(schedule, 1 - view->rank, nowhere, 1);
        inter_schedule_recv(schedule, 1 - view->rank, nowhere, 1);
    }
}

static void receives_of_nobody(inter_schedule *schedule, const inter_view *view) {
    inter_schedule_recv(schedule, 1 - view->rank, nowhere, 1);
}

static void each_waits_for_the_other(inter_schedule *schedule, const inter_view *view) {
    inter_schedule_recv(schedule, 1 - view->rank, nowhere, 1);
    inter_schedule_next_stage(schedule);
    inter_schedule_send(schedule, 1 - view->rank, nowhere, 1);
}

// What `whole` builds, and a copy of nothing at rank 0: it costs nothing, but no two nodes are alike any more.
static inter_algorithm whole;
static void unlike(inter_schedule *schedule, const inter_view *view) {
    inter_view part = *view;
    part.algorithm = &whole;
    whole.build(schedule, &part);
    if (!view->rank)
        inter_schedule_copy(schedule, nowhere, inter_at(INTER_RECV, 0), 0);
}

} // extern "C"

TEST(PredictByHand, TheReceiversPortTakesOneMessageAtATime) {
    inter_machine machine{};
    machine.processes = 1;
    machine.between = {10, 1, 3, 2}; // L o g G
    machine.within = {1, 0, 0, 0.5};
    inter_algorithm algorithm = by_hand(all_to_zero);
    // 1 + 10 + 8 on the wire, then the other three take the port for max(3, 4·2) each, the last one the CPU.
    EXPECT_DOUBLE_EQ(predict(machine, algorithm, view_of(INTER_GATHER, 5, 4)).seconds, 1 + 10 + 8 + 3 * 8 + 1);
    // One byte: the gap counts.
    EXPECT_DOUBLE_EQ(predict(machine, algorithm, view_of(INTER_GATHER, 5, 1)).seconds, 1 + 10 + 2 + 3 * 3 + 1);
    // Two nodes of 3: two come over edges within, two ports work side by side.
    machine.processes = 3;
    inter_prediction both = predict(machine, algorithm, view_of(INTER_GATHER, 6, 4));
    EXPECT_DOUBLE_EQ(both.seconds, 1 + 10 + 8 + 2 * 8 + 1);
    EXPECT_EQ(both.messages_within, 2);
    EXPECT_EQ(both.messages_between, 3);
    EXPECT_EQ(both.bytes_within, 8);
    EXPECT_EQ(both.bytes_between, 12);
}

TEST(PredictByHand, AMessageWaitsForABusyReceiver) {
    inter_machine machine{};
    machine.processes = 1;
    machine.between = {10, 1, 0, 1};
    machine.reduce_byte = 1;
    machine.copy_byte = 2;
    EXPECT_DOUBLE_EQ(predict(machine, by_hand(busy_receiver), view_of(INTER_BCAST, 2, 1)).seconds, 100 + 1 + 20);
}

TEST(PredictByHand, IndependentStagesDoNotWait) {
    inter_machine machine{};
    machine.processes = 1;
    machine.between = {10, 1, 0, 1};
    machine.reduce_byte = 1;
    inter_view view = view_of(INTER_BCAST, 2, 400);
    // The second send begins when the first has left; the work when both have.
    EXPECT_DOUBLE_EQ(predict(machine, by_hand(sender), view).seconds, (1 + 400) + (1 + 400) + 1000);
    view.root = 1;
    EXPECT_DOUBLE_EQ(predict(machine, by_hand(sender), view).seconds, 1 + 1 + 1000);
    view.count = 4000; // the strand ends when its sends have left; the second receive 11 later
    EXPECT_DOUBLE_EQ(predict(machine, by_hand(sender), view).seconds, 1 + 2 * 4000 + 10 + 1);
}

TEST(PredictByHand, SoManyStrandsAtOnce) {
    inter_machine machine{};
    machine.processes = 1;
    machine.between = {1000, 0, 0, 0};
    inter_view view = view_of(INTER_BCAST, 2, 1);
    for (int count : {1, INTER_STRANDS, INTER_STRANDS + 1, 2 * INTER_STRANDS, 3 * INTER_STRANDS + 1}) {
        view.root = count;
        int windows = (count + INTER_STRANDS - 1) / INTER_STRANDS;
        EXPECT_DOUBLE_EQ(predict(machine, by_hand(strands), view).seconds, 1000 * windows) << count;
    }
}

TEST(PredictByHand, WhatIsWrongIsSaid) {
    inter_machine machine = machine_of();
    inter_prediction prediction{};
    prediction.seconds = 7;
    inter_view view = view_of(INTER_BCAST, 2, 1);
    inter_algorithm nobody = by_hand(receives_of_nobody), mutual = by_hand(each_waits_for_the_other);
    EXPECT_EQ(inter_predict(&machine, &nobody, &view, 9, &prediction), INTER_PREDICT_UNMATCHED);
    EXPECT_EQ(inter_predict(&machine, &mutual, &view, 9, &prediction), INTER_PREDICT_UNMATCHED);
    inter_algorithm mst = named(INTER_BCAST, "MST");
    view.size = 11;
    EXPECT_EQ(inter_predict(&machine, &mst, &view, 9, &prediction), INTER_PREDICT_TOO_LARGE);
    EXPECT_EQ(prediction.seconds, 7);
    EXPECT_EQ(inter_predict(&machine, &mst, &view, 10, &prediction), INTER_PREDICTED);
    view.size = 1;
    EXPECT_EQ(inter_predict(&machine, &mst, &view, 0, &prediction), INTER_PREDICTED);
    EXPECT_EQ(prediction.seconds, 0);
}

// A thousand million million segments: neither memory nor time is there for their steps.
TEST(PredictByHand, WhatIsTooLargeIsNotBuilt) {
    inter_machine machine = machine_of();
    inter_prediction prediction{};
    for (const char *name : {"nbFT:1K", "RAB:1K", "Reduce+Bcast:1K"}) {
        inter_algorithm pieces = named(INTER_ALLREDUCE, name);
        inter_view view = view_of(INTER_ALLREDUCE, 4, size_t(1) << 60);
        EXPECT_EQ(inter_predict(&machine, &pieces, &view, 1000, &prediction), INTER_PREDICT_TOO_LARGE) << name;
    }
    inter_algorithm blocks = named(INTER_ALLGATHER, "nbFT:1K");
    inter_view view = view_of(INTER_ALLGATHER, 4, size_t(1) << 60);
    EXPECT_EQ(inter_predict(&machine, &blocks, &view, 1000, &prediction), INTER_PREDICT_TOO_LARGE);
}

// One algorithm for p ranks and n bytes (of a vector, or of all blocks of the whole) and what the literature says.
struct Form {
    inter_collective collective;
    const char *name;
    // Holds for powers of two; for any p; for powers of two, and is a bound for the others; is a bound, but for long vectors.
    enum { POWERS, ANY, TREES, BOUND } sizes;
    double (*seconds)(double p, double n);
};

static void PrintTo(const Form &form, std::ostream *out) {
    *out << inter_collective_name(form.collective) << ' ' << form.name;
}

class ClosedForm : public ::testing::TestWithParam<Form> {};

TEST_P(ClosedForm, WithinOnePercent) {
    const Form &form = GetParam();
    const inter_algorithm algorithm = named(form.collective, form.name);
    const bool blocks = inter_is(form.collective, INTER_SCATTERS | INTER_GATHERS | INTER_ALLGATHERS | INTER_ALLTOALLS |
                                                      INTER_REDUCE_SCATTERS);
    for (int p : {2, 3, 4, 5, 8, 13, 16, 64, 100, 128, 256})
        for (size_t a_rank : {size_t(8), size_t(1) << 10, size_t(1) << 16}) {
            bool power = !(p & (p - 1));
            if (form.sizes == Form::POWERS && !power)
                continue;
            size_t n = a_rank * size_t(p);
            for (int processes : {1, p}) { // all edges between nodes, or all within: here they cost the same
                inter_view view = view_of(form.collective, p, blocks ? a_rank : n);
                double expected = form.seconds(p, double(n));
                double got = predict(machine_of(processes), algorithm, view).seconds;
                bool bound = (form.sizes == Form::TREES && !power) || (form.sizes == Form::BOUND && a_rank < 1 << 16);
                EXPECT_NEAR(bound ? std::max(got / expected, 1.0) : got / expected, 1,
                            form.sizes == Form::BOUND ? 0.02 : 0.01)
                    << p << " ranks, " << n << " bytes: " << got << " s";
            }
        }
}

static std::string name_of(const ::testing::TestParamInfo<Form> &info) {
    std::string name = std::string(inter_collective_name(info.param.collective)) + "_" + info.param.name;
    std::replace(name.begin(), name.end(), '+', '_');
    return name;
}

INSTANTIATE_TEST_SUITE_P(
    Chan2007AndThakur2005, ClosedForm,
    ::testing::Values(
        Form{INTER_BARRIER, "DISS", Form::ANY, [](double p, double) { return log2_up(int(p)) * alpha; }},
        Form{INTER_BCAST, "MST", Form::TREES, [](double p, double n) { return log2_up(int(p)) * (alpha + n * beta); }},
        Form{INTER_BCAST, "BT", Form::TREES, [](double p, double n) { return log2_up(int(p)) * (alpha + n * beta); }},
        // The root, to which nothing is sent, need not keep step: that saves up to as much as the scatter's start-ups.
        Form{INTER_BCAST, "SAG", Form::BOUND,
             [](double p, double n) { return (std::log2(p) + p - 1) * alpha + 2 * (p - 1) / p * n * beta; }},
        Form{INTER_SCATTER, "MST", Form::POWERS,
             [](double p, double n) { return std::log2(p) * alpha + (p - 1) / p * n * beta; }},
        Form{INTER_GATHER, "MST", Form::POWERS,
             [](double p, double n) { return std::log2(p) * alpha + (p - 1) / p * n * beta; }},
        Form{INTER_ALLGATHER, "nbBDE", Form::POWERS,
             [](double p, double n) { return std::log2(p) * alpha + (p - 1) / p * n * beta; }},
        Form{INTER_ALLGATHER, "BRUCK", Form::ANY,
             [](double p, double n) { return log2_up(int(p)) * alpha + (p - 1) / p * n * beta; }},
        Form{INTER_ALLGATHER, "nbBKT", Form::ANY, [](double p, double n) { return (p - 1) * (alpha + n / p * beta); }},
        Form{INTER_ALLTOALL, "PAIR", Form::ANY, [](double p, double n) { return (p - 1) * (alpha + n / p * beta); }},
        Form{INTER_ALLTOALL, "BRUCK", Form::POWERS,
             [](double p, double n) { return std::log2(p) * (alpha + n / 2 * beta); }},
        Form{INTER_REDUCE, "MST", Form::TREES,
             [](double p, double n) { return log2_up(int(p)) * (alpha + n * beta + n * gamma_); }},
        Form{INTER_REDUCE, "RAB", Form::POWERS,
             [](double p, double n) { return 2 * std::log2(p) * alpha + (p - 1) / p * n * (2 * beta + gamma_); }},
        Form{INTER_ALLREDUCE, "nbBDE", Form::POWERS,
             [](double p, double n) { return std::log2(p) * (alpha + n * beta + n * gamma_); }},
        Form{INTER_ALLREDUCE, "RAB", Form::POWERS,
             [](double p, double n) { return 2 * std::log2(p) * alpha + (p - 1) / p * n * (2 * beta + gamma_); }},
        Form{INTER_ALLREDUCE, "BKT", Form::ANY,
             [](double p, double n) { return 2 * (p - 1) * alpha + (p - 1) / p * n * (2 * beta + gamma_); }},
        Form{INTER_ALLREDUCE, "MSTReduce+MSTBcast", Form::POWERS,
             [](double p, double n) { return std::log2(p) * (2 * alpha + 2 * n * beta + n * gamma_); }},
        Form{INTER_REDUCE_SCATTER_BLOCK, "nbBDE", Form::POWERS,
             [](double p, double n) { return std::log2(p) * alpha + (p - 1) / p * n * (beta + gamma_); }},
        Form{INTER_REDUCE_SCATTER_BLOCK, "nbBKT", Form::ANY,
             [](double p, double n) { return (p - 1) * alpha + (p - 1) / p * n * (beta + gamma_); }}),
    name_of);

// A pipelined chain: the first segment needs p − 1 steps, each further one the time of the last link.
TEST(Predict, ChainsArePipelined) {
    const int p = 9, segments = 20; // more than there are strands at once
    const size_t segment = 64 << 10;
    inter_view view = view_of(INTER_BCAST, p, segments * segment);
    double one = double(segment) * beta;
    double got = predict(machine_of(), named(INTER_BCAST, "CHAIN:64K"), view).seconds;
    EXPECT_NEAR(got / ((p - 1) * (alpha + one) + (segments - 1) * one), 1, 0.01);
}

TEST(Predict, EdgesAreCheapOrDear) {
    // 16 ranks on 4 nodes: MST crosses nodes in its first two levels, in the last two it does not.
    inter_machine machine = machine_of(4);
    machine.within = {0.1e-6, 0.05e-6, 0, 0.1e-9};
    inter_prediction mst = predict(machine, named(INTER_BCAST, "MST"), view_of(INTER_BCAST, 16, 1 << 20));
    double across = alpha + (1 << 20) * beta, inside = 0.2e-6 + (1 << 20) * 0.1e-9;
    EXPECT_NEAR(mst.seconds / (2 * across + 2 * inside), 1, 0.01);
    EXPECT_EQ(mst.messages_between, 3);
    EXPECT_EQ(mst.messages_within, 12);
    EXPECT_EQ(mst.bytes_between, 3.0 * (1 << 20));
}

// Where the ranks of one node stand for all, the time is the same as when all are run. Where `symmetric` is wrong, this
// fails.
TEST(Predict, OneNodeStandsForAll) {
    for (int c = 0; c < INTER_COLLECTIVES; c++) {
        auto collective = static_cast<inter_collective>(c);
        for (int i = 0; i < inter_algorithm_names(collective); i++) {
            inter_algorithm algorithm{};
            ASSERT_TRUE(inter_algorithm_at(collective, i, &algorithm));
            for (int processes : {1, 2, 3, 4, 8})
                for (int nodes : {2, 3, 4, 5, 8}) {
                    SCOPED_TRACE(std::string(inter_collective_name(collective)) + ' ' + algorithm.name + ", " +
                                 std::to_string(nodes) + " x " + std::to_string(processes));
                    int p = nodes * processes;
                    inter_machine machine = machine_of(processes);
                    machine.within = {0.2e-6, 0.1e-6, 0.05e-6, 0.1e-9};
                    machine.copy_byte = 0.1e-9;
                    inter_view view = view_of(collective, p, collective == INTER_BARRIER ? 0 : size_t(p) * 1000);
                    inter_prediction one = predict(machine, algorithm, view);
                    whole = algorithm;
                    algorithm.build = unlike;
                    inter_prediction all = predict(machine, algorithm, view);
                    algorithm.build = whole.build;
                    EXPECT_NEAR(one.seconds, all.seconds, 1e-9 * all.seconds);
                    EXPECT_EQ(one.messages_between, all.messages_between);
                    EXPECT_EQ(one.messages_within, all.messages_within);
                    EXPECT_EQ(one.bytes_between, all.bytes_between);
                }
        }
    }
}

// 65,536 ranks in a ring are 65,536 steps of one rank.
TEST(Predict, ALargeRingIsCheap) {
    const int p = 65536;
    inter_prediction ring = predict(machine_of(), named(INTER_ALLGATHER, "nbBKT"), view_of(INTER_ALLGATHER, p, 100));
    EXPECT_NEAR(ring.seconds / ((p - 1) * (alpha + 100 * beta)), 1, 0.01);
    EXPECT_EQ(ring.messages_between, double(p) * (p - 1));
}

// The limit counts what is run: of nbBDE one rank's 16 messages when the schedules show that all are alike, of bBDE (the
// lower rank sends first) all.
TEST(Predict, TheLimitCountsTheMessagesThatAreRun) {
    const int p = 65536;
    inter_machine machine = machine_of();
    inter_view view = view_of(INTER_ALLREDUCE, p, 8);
    inter_prediction prediction{};
    inter_algorithm both = named(INTER_ALLREDUCE, "nbBDE"), one = named(INTER_ALLREDUCE, "bBDE");
    ASSERT_EQ(inter_predict(&machine, &both, &view, 15 * p, &prediction), INTER_PREDICTED);
    EXPECT_EQ(prediction.messages_between, 16.0 * p);
    EXPECT_EQ(prediction.messages_run, 16u);
    EXPECT_EQ(inter_predict(&machine, &one, &view, 15 * p, &prediction), INTER_PREDICT_TOO_LARGE);
}
