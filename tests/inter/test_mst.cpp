// SPDX-License-Identifier: BSD-3-Clause
// The minimum spanning tree as pure arithmetic: for every p and root the ranks' views of it agree, and it is a tree over
// contiguous ranges, no deeper than ⌈log2 p⌉.
#include <gtest/gtest.h>
#include <vector>
extern "C" {
#include <inter/mst.h>
}

namespace {

struct Tree {
    int size, root;
    std::vector<std::vector<inter_mst_edge>> edges; // by rank

    Tree(int p, int at) : size(p), root(at), edges(size_t(p)) {
        for (int rank = 0; rank < size; rank++) {
            inter_mst_edge found[INTER_MST_MAX_EDGES];
            int count = inter_mst_edges(rank, size, root, found);
            edges[size_t(rank)].assign(found, found + count);
        }
    }
    const inter_mst_edge *parent(int rank) const {
        const auto &own = edges[size_t(rank)];
        return !own.empty() && own[0].parent ? &own[0] : nullptr;
    }
    int depth(int rank) const {
        int depth = 0;
        for (; rank != root && depth <= size; depth++)
            rank = parent(rank) ? parent(rank)->peer : root;
        return depth;
    }
};

int log2_up(int p) {
    int log = 0;
    while (1 << log < p)
        log++;
    return log;
}

template <class Check> void for_every_tree(int largest, Check check) {
    for (int size = 1; size <= largest; size++)
        for (int root = 0; root < size; root++) {
            check(Tree(size, root));
            ASSERT_FALSE(::testing::Test::HasFailure()) << "p = " << size << ", root " << root;
        }
}

} // namespace

TEST(Mst, EveryRankButTheRootHasOneParentAndItComesFirst) {
    for_every_tree(70, [](const Tree &tree) {
        for (int rank = 0; rank < tree.size; rank++) {
            int parents = 0;
            for (const inter_mst_edge &edge : tree.edges[size_t(rank)])
                parents += edge.parent;
            EXPECT_EQ(parents, rank != tree.root);
            EXPECT_EQ(tree.parent(rank) != nullptr, rank != tree.root);
        }
    });
}

TEST(Mst, BothEndsOfAnEdgeSeeTheSameRange) {
    for_every_tree(70, [](const Tree &tree) {
        for (int rank = 0; rank < tree.size; rank++)
            for (const inter_mst_edge &edge : tree.edges[size_t(rank)]) {
                EXPECT_TRUE(edge.peer >= 0 && edge.peer < tree.size && edge.peer != rank);
                if (edge.parent) {
                    int seen = 0;
                    for (const inter_mst_edge &back : tree.edges[size_t(edge.peer)])
                        seen += !back.parent && back.peer == rank && back.other_first == edge.other_first &&
                                back.other_last == edge.other_last;
                    EXPECT_EQ(seen, 1);
                } else {
                    EXPECT_NE(tree.parent(edge.peer), nullptr);
                    EXPECT_EQ(tree.parent(edge.peer)->peer, rank);
                }
            }
    });
}

// What is below a rank is a contiguous range that holds it; its children's ranges and itself partition it.
TEST(Mst, RangesAreContiguousAndNested) {
    for_every_tree(70, [](const Tree &tree) {
        for (int rank = 0; rank < tree.size; rank++) {
            const inter_mst_edge *up = tree.parent(rank);
            int first = up ? up->other_first : 0, last = up ? up->other_last : tree.size - 1;
            EXPECT_TRUE(first <= rank && rank <= last);
            EXPECT_TRUE(!up || rank == first || rank == last) << "a half's root is the end far from the parent";
            std::vector<int> covered(size_t(tree.size), 0);
            covered[size_t(rank)]++;
            for (const inter_mst_edge &edge : tree.edges[size_t(rank)])
                for (int below = edge.other_first; !edge.parent && below <= edge.other_last; below++)
                    covered[size_t(below)]++;
            for (int any = 0; any < tree.size; any++)
                EXPECT_EQ(covered[size_t(any)], any >= first && any <= last) << "rank " << rank << " and " << any;
        }
    });
}

TEST(Mst, IsNoDeeperThanTheLogarithm) {
    for_every_tree(130, [](const Tree &tree) {
        for (int rank = 0; rank < tree.size; rank++) {
            EXPECT_LE(tree.depth(rank), log2_up(tree.size));
            EXPECT_LE(int(tree.edges[size_t(rank)].size()), log2_up(tree.size));
        }
    });
}

TEST(Mst, TheLargestJobsFit) {
    for (int size : {1 << 20, (1 << 20) - 1, 1 << 30, 2147483647})
        for (int rank : {0, size / 3, size - 1}) {
            inter_mst_edge edges[INTER_MST_MAX_EDGES];
            int count = inter_mst_edges(rank, size, size / 2, edges);
            EXPECT_GE(count, 1);
            EXPECT_LE(count, INTER_MST_MAX_EDGES);
        }
}
