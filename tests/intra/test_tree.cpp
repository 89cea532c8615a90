// SPDX-License-Identifier: BSD-3-Clause
// The tree over the threads of a team: it spans them, keeps their order, and crosses the borders of the machine's groups as seldom
// as can be.
#include <gtest/gtest.h>
#include <vector>
extern "C" {
#include <intra/tree.h>
}

namespace {

const std::vector<std::vector<int>> machines = {{},         {2},      {4, 8},        {6, 24, 48},      {8, 64, 128},
                                                {3, 7, 21}, {5, 500}, {2, 4, 8, 16}, {16, 4096, 8192}, {1, 1, 2}};

intra_tree tree_of(int threads, const std::vector<int> &groups) {
    intra_tree tree;
    intra_tree_build(&tree, threads, groups.data(), int(groups.size()));
    return tree;
}

// The threads below one, itself first, in the order of a walk.
void walk(const intra_tree &tree, int thread, std::vector<int> *order) {
    order->push_back(thread);
    for (int i = 0; i < intra_tree_children(&tree, thread); i++)
        walk(tree, intra_tree_child(&tree, thread, i), order);
}

int edges_across(const intra_tree &tree, int size) {
    int edges = 0;
    for (int thread = 1; thread < tree.threads; thread++)
        edges += thread / size != intra_tree_parent(&tree, thread) / size;
    return edges;
}

} // namespace

TEST(Tree, AWalkMeetsAllThreadsInTheirOrder) {
    for (const auto &groups : machines)
        for (int threads = 1; threads < 300; threads++) {
            intra_tree tree = tree_of(threads, groups);
            std::vector<int> order;
            walk(tree, 0, &order);
            ASSERT_EQ(order.size(), size_t(threads));
            for (int thread = 0; thread < threads; thread++)
                ASSERT_EQ(order[size_t(thread)], thread) << threads << " threads";
        }
}

TEST(Tree, ParentsKnowTheirChildren) {
    for (const auto &groups : machines)
        for (int threads : {2, 5, 16, 17, 100, 4096}) {
            intra_tree tree = tree_of(threads, groups);
            for (int thread = 0; thread < threads; thread++)
                for (int i = 0; i < intra_tree_children(&tree, thread); i++)
                    ASSERT_EQ(intra_tree_parent(&tree, intra_tree_child(&tree, thread, i)), thread);
        }
}

// One edge into each group but the first.
TEST(Tree, GroupsAreEnteredOnce) {
    EXPECT_EQ(edges_across(tree_of(16, {4, 8}), 4), 3);
    EXPECT_EQ(edges_across(tree_of(16, {4, 8}), 8), 1);
    EXPECT_EQ(edges_across(tree_of(48, {6, 24, 48}), 6), 7);
    EXPECT_EQ(edges_across(tree_of(48, {6, 24, 48}), 24), 1);
    EXPECT_EQ(edges_across(tree_of(128, {8, 64, 128}), 64), 1);
    EXPECT_EQ(edges_across(tree_of(20, {3, 7, 21}), 3), 6) << "7 is no multiple of 3";
}

// Without groups, four at a time.
TEST(Tree, FewChildren) {
    for (int threads : {4, 16, 64, 256})
        EXPECT_LE(intra_tree_children(std::vector<intra_tree>{tree_of(threads, {})}.data(), 0), 12);
}
