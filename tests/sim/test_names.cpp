// SPDX-License-Identifier: BSD-3-Clause
// The table of algorithms: every name of ALGORITHMS.md is there and no other, names are read as they should be, and what a
// row says of its algorithm is true.
#include "proof.h"
#include "table_of_names.h"
#include <algorithm>

namespace sim {
namespace {

constexpr unsigned all = INTER_BIT(INTER_COLLECTIVES) - 1;

class Row : public ::testing::TestWithParam<Algorithm> {};

bool finds(inter_collective collective, const std::string &name, inter_algorithm *found = nullptr) {
    inter_algorithm algorithm{}, before{};
    algorithm.name[0] = before.name[0] = '#';
    bool is_found = inter_algorithm_find(collective, name.c_str(), &algorithm);
    EXPECT_TRUE(is_found || memcmp(&algorithm, &before, sizeof(before)) == 0) << name << ": written to without success";
    if (found)
        *found = algorithm;
    return is_found;
}

// A rank's messages, as kind, peer, count and stage.
using Messages = std::vector<std::tuple<int, int, size_t, unsigned>>;

Messages messages(const Plan &plan, int rank) {
    Messages list;
    const inter_schedule &schedule = plan.schedule(rank);
    for (size_t i = 0; i < schedule.count; i++)
        if (schedule.steps[i].kind == INTER_STEP_SEND || schedule.steps[i].kind == INTER_STEP_RECV)
            list.emplace_back(schedule.steps[i].kind, schedule.steps[i].peer, schedule.steps[i].count,
                              schedule.steps[i].stage);
    std::sort(list.begin(), list.end());
    return list;
}

// Is every rank's list rank 0's, its peers moved by `move(peer, rank)`?
template <class Move> bool moves_into_each_other(const Plan &plan, Move move) {
    const Messages first = messages(plan, 0);
    for (int rank = 1; rank < plan.size(); rank++) {
        Messages moved = first;
        for (auto &message : moved)
            std::get<1>(message) = move(std::get<1>(message), rank);
        std::sort(moved.begin(), moved.end());
        if (moved != messages(plan, rank))
            return false;
    }
    return true;
}

bool is_symmetric(const Algorithm &algorithm, int size) {
    Plan plan;
    Shape shape;
    shape.size = size;
    shape.count = size_t(size); // whatever is cut, is cut evenly
    Problem problem(algorithm.collective, shape);
    plan.build(algorithm.is, problem);
    return moves_into_each_other(plan, [&](int peer, int rank) { return (peer + rank) % size; }) ||
           ((size & (size - 1)) == 0 && moves_into_each_other(plan, [](int peer, int rank) { return peer ^ rank; }));
}

} // namespace

TEST(Names, AreThoseOfTheTable) {
    std::set<std::string> collectives;
    for (int c = 0; c < INTER_COLLECTIVES; c++) {
        inter_collective collective = inter_collective(c);
        collectives.insert(inter_collective_name(collective));
        const std::vector<std::string> &wanted = table_of_names().at(inter_collective_name(collective));
        std::set<std::string> listed;
        inter_algorithm found{};
        for (int i = 0; i < inter_algorithm_names(collective); i++) {
            ASSERT_TRUE(inter_algorithm_at(collective, i, &found));
            EXPECT_TRUE(listed.insert(found.name).second) << found.name << " twice";
        }
        EXPECT_EQ(listed, std::set<std::string>(wanted.begin(), wanted.end())) << inter_collective_name(collective);
    }
    EXPECT_EQ(collectives.size(), table_of_names().size());
}

TEST(Names, EveryListedAlgorithmIsFoundByItsName) {
    for (bool compositions : {false, true})
        for (const Algorithm &algorithm : algorithms_of(all, compositions)) {
            inter_algorithm found{};
            ASSERT_TRUE(finds(algorithm.collective, algorithm.is.name, &found)) << name_of(algorithm);
            EXPECT_STREQ(found.name, algorithm.is.name);
            EXPECT_EQ(found.build, algorithm.is.build);
            EXPECT_EQ(found.parts[0], algorithm.is.parts[0]);
            EXPECT_EQ(found.parts[1], algorithm.is.parts[1]);
            EXPECT_NE(found.build, nullptr);
        }
}

TEST(Names, CompositionsAreAllPairs) {
    auto count = [](inter_collective c) { return size_t(inter_algorithm_names(c)); };
    auto composed = [](inter_collective c) { return algorithms_of(INTER_BIT(c), true).size(); };
    EXPECT_EQ(composed(INTER_BARRIER), count(INTER_GATHER) * count(INTER_BCAST));
    EXPECT_EQ(composed(INTER_ALLGATHER), count(INTER_GATHER) * count(INTER_BCAST));
    EXPECT_EQ(composed(INTER_ALLREDUCE), count(INTER_REDUCE) * count(INTER_BCAST));
    EXPECT_EQ(composed(INTER_REDUCE_SCATTER), count(INTER_REDUCE) * count(INTER_SCATTERV));
    EXPECT_EQ(composed(INTER_BCAST), 0u);
    inter_algorithm untouched{}, found{};
    EXPECT_FALSE(inter_algorithm_at(INTER_BCAST, inter_algorithm_names(INTER_BCAST), &untouched));
    EXPECT_EQ(memcmp(&untouched, &found, sizeof(found)), 0);
}

TEST(Names, ComposedNamesHaveTheirParts) {
    inter_algorithm found{};
    ASSERT_TRUE(finds(INTER_ALLREDUCE, "MSTReduce+nbFTBcast", &found));
    EXPECT_STREQ(found.parts[0]->name, "MST");
    EXPECT_STREQ(found.parts[1]->name, "nbFT");
    ASSERT_TRUE(finds(INTER_ALLREDUCE, "Reduce+Bcast", &found));
    EXPECT_NE(found.parts[0], nullptr);
    ASSERT_TRUE(finds(INTER_ALLREDUCE, "Reduce+nbFTBcast", &found));
    EXPECT_STREQ(found.parts[1]->name, "nbFT");
    EXPECT_STREQ(found.name, "Reduce+nbFTBcast");
    ASSERT_TRUE(finds(INTER_BARRIER, "nbFTGather+bFaTBcast", &found));
    EXPECT_STREQ(found.parts[1]->name, "bFaT");
    ASSERT_TRUE(finds(INTER_REDUCE_SCATTER, "RABReduce+MSTScatterv", &found));
    EXPECT_STREQ(found.parts[0]->name, "RAB");
}

TEST(Names, EndWithASegmentSizeWhereSomethingIsCut) {
    inter_algorithm found{};
    const struct {
        const char *name;
        size_t bytes;
    } sizes[] = {{"CHAIN:0", 0}, {"CHAIN:1", 1}, {"CHAIN:64K", 65536}, {"MST:2M", 2 << 20}, {"CHAIN:007", 7}};
    for (const auto &size : sizes) {
        ASSERT_TRUE(finds(INTER_BCAST, size.name, &found)) << size.name;
        EXPECT_EQ(found.segment_bytes, size.bytes) << size.name;
        EXPECT_STREQ(found.name, size.name);
    }
    ASSERT_TRUE(finds(INTER_BCAST, "CHAIN", &found));
    EXPECT_GT(found.segment_bytes, 0u);
    ASSERT_TRUE(finds(INTER_ALLREDUCE, "MSTReduce+CHAINBcast", &found));
    EXPECT_GT(found.segment_bytes, 0u);
    ASSERT_TRUE(finds(INTER_ALLREDUCE, "MSTReduce+CHAINBcast:3K", &found));
    EXPECT_EQ(found.segment_bytes, 3072u);
    for (const char *name : {"CHAIN:", "CHAIN:x", "CHAIN:64k", "CHAIN:64KB", "CHAIN:-1", "CHAIN: 1", "CHAIN:1 ",
                             "CHAIN:+1", "CHAIN:K", "CHAIN:0x10", "CHAIN:1:1", ":64K", ":", "CHAIN:1G",
                             "CHAIN:99999999999999999999999", "CHAIN:18446744073709551615K"})
        EXPECT_FALSE(finds(INTER_BCAST, name)) << name;
    ASSERT_TRUE(finds(INTER_ALLGATHER, "nbFT:1K", &found));
    EXPECT_EQ(found.segment_bytes, 1024u);
    EXPECT_FALSE(finds(INTER_GATHER, "MST:1"));
    EXPECT_FALSE(finds(INTER_ALLGATHERV, "nbFT:1K"));
    EXPECT_TRUE(finds(INTER_ALLTOALL, "PAIR:64K"));
    EXPECT_FALSE(finds(INTER_ALLTOALLV, "PAIR:64K"));
    EXPECT_FALSE(finds(INTER_BARRIER, "DISS:1"));
    ASSERT_TRUE(finds(INTER_REDUCE_SCATTER, "Reduce+Scatterv:64K", &found));
    EXPECT_EQ(found.segment_bytes, 65536u);
}

TEST(Names, ThatAreNoneAreRefused) {
    for (int c = 0; c < INTER_COLLECTIVES; c++)
        for (const std::string &name : {std::string(),
                                        std::string("+"),
                                        std::string("++"),
                                        std::string("Reduce+"),
                                        std::string("+Bcast"),
                                        std::string("Reduce"),
                                        std::string("Bcast"),
                                        std::string("mst"),
                                        std::string("MS"),
                                        std::string("MSTT"),
                                        std::string(" MST"),
                                        std::string("MST "),
                                        std::string("Reduce+Bcast+Bcast"),
                                        std::string("Bcast+Reduce"),
                                        std::string("xReduce+Bcast"),
                                        std::string("Reduce+xBcast"),
                                        std::string("MSTReduce+Gather"),
                                        std::string("Reduce+Bcast "),
                                        std::string(INTER_NAME_BYTES, 'M'),
                                        std::string(100000, 'M'),
                                        "MSTReduce+" + std::string(100000, 'M') + "Bcast",
                                        std::string(100000, '+')})
            EXPECT_FALSE(finds(inter_collective(c), name)) << c << " " << name.substr(0, 50);
    EXPECT_FALSE(finds(INTER_BCAST, "DISS"));
    EXPECT_FALSE(finds(INTER_ALLTOALLV, "BRUCK"));
    EXPECT_FALSE(finds(INTER_ALLREDUCE, "Gather+Bcast"));
    EXPECT_FALSE(finds(INTER_ALLGATHER, "Reduce+Bcast"));
}

TEST_P(Row, IsSymmetricWhereItSaysSo) {
    for (int size = 1; GetParam().is.symmetric && size <= 40; size++)
        ASSERT_TRUE(is_symmetric(GetParam(), size)) << size;
}

// That operands keep their order elsewhere, the proof shows. Without this a restriction could stand that nothing needs.
TEST_P(Row, TakesOperandsOutOfOrderWhereItSaysSo) {
    if (!GetParam().is.commutes)
        return;
    Algorithm claims_order = GetParam();
    claims_order.is.commutes = false;
    Shape shape;
    shape.size = 5;
    shape.count = 5;
    EXPECT_FALSE(prove(claims_order, shape, 1));
}

// Where it moves blocks one by one, nothing is packed: what it keeps in temporary memory does not grow when they lie apart.
TEST_P(Row, MovesSingleBlocksWhereItSaysSo) {
    if (!GetParam().is.single_blocks || !inter_is(GetParam().collective, with_displs))
        return;
    for (int size : {2, 3, 8, 13})
        for (int root : {0, size - 1}) {
            Shape shape;
            shape.size = size;
            shape.root = root;
            shape.count = 3;
            shape.uneven = true;
            Plan packed, spread;
            packed.build(GetParam().is, Problem(GetParam().collective, shape));
            shape.spread = true;
            spread.build(GetParam().is, Problem(GetParam().collective, shape));
            for (int rank = 0; rank < size; rank++) {
                EXPECT_EQ(spread.schedule(rank).temp_count, packed.schedule(rank).temp_count);
                EXPECT_EQ(spread.schedule(rank).count, packed.schedule(rank).count);
            }
        }
}

// That the others do without the counts, the proof shows.
TEST_P(Row, NeedsCountsWhereItSaysSo) {
    if (!GetParam().is.needs_counts ||
        !inter_is(GetParam().collective, INTER_BIT(INTER_GATHERV) | INTER_BIT(INTER_SCATTERV)))
        return;
    Algorithm claims_none = GetParam();
    claims_none.is.needs_counts = false;
    Shape shape;
    shape.size = 8;
    shape.uneven = shape.alone = true;
    EXPECT_FALSE(prove(claims_none, shape, 1));
}

INSTANTIATE_TEST_SUITE_P(Every, Row, ::testing::ValuesIn(algorithms_of(all, false)), test_name);

} // namespace sim
