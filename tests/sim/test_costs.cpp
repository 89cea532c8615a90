// SPDX-License-Identifier: BSD-3-Clause
// What the schedules cost, for every p from 1 to 128: messages, words on the wire, steps and crossings between nodes are
// those of the textbook. Nothing moves here but in the first test: schedules are values.
#include "every_algorithm.h"
#include "job.h"
#include "problem.h"
#include "textbook.h"
#include <algorithm>
#include <map>

namespace sim {
namespace {

// The schedules of all ranks for one problem.
class Plan {
  public:
    Plan(const inter_algorithm &algorithm, const Shape &shape) : schedules_(size_t(shape.size)) {
        Problem problem(algorithm.collective, shape);
        for (int rank = 0; rank < shape.size; rank++) {
            inter_view view = problem.view(rank);
            algorithm.build(&schedules_[size_t(rank)], &view);
            EXPECT_FALSE(schedules_[size_t(rank)].out_of_memory);
        }
    }
    ~Plan() {
        for (inter_schedule &schedule : schedules_)
            inter_schedule_free(&schedule);
    }
    Plan(const Plan &) = delete;

    // Calls visit(rank, step) for every send.
    template <class Visit> void sends(Visit visit) const {
        for (size_t rank = 0; rank < schedules_.size(); rank++)
            for (size_t i = 0; i < schedules_[rank].count; i++)
                if (schedules_[rank].steps[i].kind == INTER_STEP_SEND)
                    visit(int(rank), schedules_[rank].steps[i]);
    }

    // The time at which the last rank is done, when a message takes 1, both sides wait for it, and all of a stage's run
    // together; 0 with *matched false when sends and receives do not pair up, in number, order and length.
    size_t steps(bool *matched) const;

  private:
    struct End {
        size_t rank, stage, count;
    };
    std::vector<inter_schedule> schedules_;
};

size_t Plan::steps(bool *matched) const {
    std::map<std::pair<int, int>, std::pair<std::vector<End>, std::vector<End>>> links; // from, to: sends, receives
    std::vector<std::vector<size_t>> begins(schedules_.size());                         // when each stage begins
    for (size_t rank = 0; rank < schedules_.size(); rank++) {
        for (size_t i = 0; i < schedules_[rank].count; i++) {
            const inter_step &step = schedules_[rank].steps[i];
            begins[rank].resize(step.stage + 2);
            if (step.kind == INTER_STEP_SEND)
                links[{int(rank), step.peer}].first.push_back({rank, step.stage, step.count});
            if (step.kind == INTER_STEP_RECV)
                links[{step.peer, int(rank)}].second.push_back({rank, step.stage, step.count});
        }
    }
    *matched = std::all_of(links.begin(), links.end(), [](const auto &link) {
        const auto &[sends, receives] = link.second;
        return std::equal(sends.begin(), sends.end(), receives.begin(), receives.end(),
                          [](const End &a, const End &b) { return a.count == b.count; });
    });
    size_t last = 0;
    // Longest path by relaxation; with a cycle it would grow for ever, but the other tests have run the schedules.
    for (bool changed = *matched; changed && last <= 1000;) {
        changed = false;
        auto not_before = [&](size_t rank, size_t stage, size_t time) {
            for (; stage < begins[rank].size() && begins[rank][stage] < time; stage++) {
                begins[rank][stage] = time;
                changed = true;
            }
            last = std::max(last, time);
        };
        for (const auto &[peers, ends] : links)
            for (size_t i = 0; i < ends.first.size(); i++) {
                const End &from = ends.first[i], &to = ends.second[i];
                size_t time = std::max(begins[from.rank][from.stage], begins[to.rank][to.stage]) + 1;
                not_before(from.rank, from.stage + 1, time);
                not_before(to.rank, to.stage + 1, time);
            }
    }
    return *matched ? last : 0;
}

// What alltoallv's problem has to move between different ranks.
size_t words_between(int size, size_t n) {
    size_t words = 0;
    for (int from = 0; from < size; from++)
        for (int to = 0; to < size; to++)
            words += from == to ? 0 : n * units_from_to(from, to);
    return words;
}

// Messages that leave their node, when 128 ranks lie on 8 nodes, 16 on each.
size_t crossings(const inter_algorithm &algorithm, int root) {
    size_t count = 0;
    Plan(algorithm, {128, root, 1, false, false}).sends([&](int rank, const inter_step &step) {
        count += rank / 16 != step.peer / 16;
    });
    return count;
}

} // namespace

TEST_P(EveryAlgorithm, SendsTheTextbookNumberOfMessages) {
    const inter_algorithm &algorithm = *GetParam();
    const Cost *cost = textbook(algorithm);
    ASSERT_NE(cost, nullptr) << "the algorithm needs a row in textbook.h";
    for (int size = 1; size <= largest_job; size++)
        for (int root : has_root(algorithm.collective) ? some_roots(size) : std::set<int>{0}) {
            Problem problem(algorithm.collective, {size, root, 1, false, false});
            Job job(size, 0);
            for (int rank = 0; rank < size; rank++)
                job.start(rank, algorithm, problem.view(rank), problem.binding(rank));
            ASSERT_TRUE(job.finish()) << "p = " << size << ", root " << root;
            ASSERT_EQ(job.counts().messages, cost->messages(size_t(size))) << "p = " << size << ", root " << root;
        }
}

TEST_P(EveryAlgorithm, TakesTheTextbookNumberOfSteps) {
    const inter_algorithm &algorithm = *GetParam();
    const Cost *cost = textbook(algorithm);
    ASSERT_NE(cost, nullptr) << "the algorithm needs a row in textbook.h";
    for (int size = 1; size <= largest_job; size++)
        for (int root : has_root(algorithm.collective) ? some_roots(size) : std::set<int>{0}) {
            bool matched = false;
            size_t steps = Plan(algorithm, {size, root, 1, false, false}).steps(&matched);
            ASSERT_TRUE(matched) << "p = " << size << ", root " << root;
            ASSERT_LE(steps, cost->steps(size_t(size))) << "p = " << size << ", root " << root;
            size_t least = (cost->least_steps ? cost->least_steps : cost->steps)(size_t(size));
            ASSERT_GE(steps, least) << "p = " << size << ", root " << root;
        }
}

TEST_P(EveryAlgorithm, SendsToOthersOnly) {
    for (int size = 1; size <= largest_job; size++)
        Plan(*GetParam(), {size, size / 2, 1, false, false}).sends([&](int rank, const inter_step &step) {
            EXPECT_NE(step.peer, rank);
            EXPECT_GE(step.peer, 0);
            EXPECT_LT(step.peer, size);
        });
}

// n words of each rank: all words of a tree's level travel once, a vector once a message.
TEST_P(EveryAlgorithm, MovesTheTextbookNumberOfWords) {
    const inter_algorithm &algorithm = *GetParam();
    constexpr size_t n = 3;
    bool blocks_on_a_tree = algorithm.collective == INTER_GATHER || algorithm.collective == INTER_SCATTER;
    for (int size : {1, 2, 4, 8, 16, 32, 64, 128}) {
        size_t words = 0, p = size_t(size);
        Plan(algorithm, {size, size / 2, n, false, false}).sends([&](int, const inter_step &step) {
            words += step.count;
        });
        size_t expected = n * textbook(algorithm)->messages(p);
        if (algorithm.collective == INTER_BARRIER)
            expected = 0;
        else if (blocks_on_a_tree && strcmp(algorithm.name, "MST") == 0)
            expected = n * p * log2_up(p) / 2;
        else if (algorithm.collective == INTER_ALLTOALLV)
            expected = words_between(size, n);
        EXPECT_EQ(words, expected) << "p = " << size;
    }
}

// With ranks placed node by node, halving contiguous ranges crosses nodes only at the top: 7 of 127.
TEST_P(EveryAlgorithm, TreesCrossNodesSeldom) {
    const inter_algorithm &algorithm = *GetParam();
    if (!has_root(algorithm.collective))
        return;
    bool tree = strcmp(algorithm.name, "MST") == 0;
    for (int root = 0; root < 128; root++)
        ASSERT_EQ(crossings(algorithm, root), tree ? 7u : 112u) << "root " << root;
}

TEST(Table, IsGroupedByCollectiveAndComplete) {
    std::set<int> seen;
    int current = -1;
    for (const inter_algorithm *algorithm : every_algorithm()) {
        if (int(algorithm->collective) != current) {
            current = algorithm->collective;
            EXPECT_TRUE(seen.insert(current).second) << inter_collective_name(algorithm->collective);
        }
        EXPECT_EQ(inter_algorithm_find(algorithm->collective, algorithm->name), algorithm);
    }
    EXPECT_EQ(seen.size(), size_t(INTER_COLLECTIVES));
    EXPECT_EQ(inter_algorithm_find(INTER_BCAST, "DISS"), nullptr);
    EXPECT_EQ(inter_algorithm_find(INTER_BARRIER, ""), nullptr);
}

INSTANTIATE_TEST_SUITE_P(Table, EveryAlgorithm, ::testing::ValuesIn(every_algorithm()), algorithm_name);

} // namespace sim
