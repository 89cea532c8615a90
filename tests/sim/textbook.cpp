// SPDX-License-Identifier: BSD-3-Clause
#include "textbook.h"
#include <algorithm>
#include <cstring>
#include <numeric>

namespace sim {

namespace {

size_t log2_down(size_t p) {
    size_t log = 0;
    while (p >>= 1)
        log++;
    return log;
}
size_t log2_up(size_t p) {
    return log2_down(p) + ((p & (p - 1)) != 0);
}

// Recursive doubling and halving: q ranks take part, e fold into one of them first and are unfolded last.
size_t q(size_t p) {
    return size_t(1) << log2_down(p);
}
size_t e(size_t p) {
    return p - q(p);
}
size_t unfolds(size_t p) { // steps
    return e(p) > 0 ? 2 : 0;
}

// The minimum spanning tree over the ranks first … last (Chan et al. 2007): the root sends to the far end of the other half,
// and both halves do likewise.
struct Mst {
    size_t steps;   // one message at a time
    size_t depth;   // when a rank sends to all its children at once
    size_t carried; // blocks, when each edge carries those of all ranks below it
    size_t crossings;
};
Mst mst(size_t first, size_t last, size_t root, size_t width = 1) {
    if (first == last)
        return {0, 0, 0, 0};
    size_t middle = first + (last - first) / 2;
    bool low = root <= middle;
    size_t other = low ? last : first;
    Mst mine = low ? mst(first, middle, root, width) : mst(middle + 1, last, root, width);
    Mst theirs = low ? mst(middle + 1, last, other, width) : mst(first, middle, other, width);
    return {1 + std::max(mine.steps, theirs.steps), std::max(mine.depth, 1 + theirs.depth),
            mine.carried + theirs.carried + (low ? last - middle : middle + 1 - first),
            mine.crossings + theirs.crossings + (root / width != other / width)};
}

// Blocks on their way up a binomial tree: below rank r there are as many as its lowest bit says, while there are ranks.
size_t binomial_carried(size_t p) {
    size_t carried = 0;
    for (size_t r = 1; r < p; r++)
        carried += std::min(r & (~r + 1), p - r);
    return carried;
}

// Node v of the four-ary tree has the children 4v+1 … 4v+4, and sends to one after the other.
size_t four_ary_steps(size_t p, size_t v = 0) {
    size_t steps = 0;
    for (size_t child = 1; child <= 4 && 4 * v + child < p; child++)
        steps = std::max(steps, child + four_ary_steps(p, 4 * v + child));
    return steps;
}

// Bits set in 1 … p−1: how often BRUCK's alltoall sends a block of each rank.
size_t bits_below(size_t p) {
    size_t bits = 0;
    for (size_t j = 1; j < p; j++)
        bits += size_t(__builtin_popcountll(j));
    return bits;
}

// A ring where even ranks send first. With an odd number of ranks at most (p−1)/2 messages are under way, and p(p−1) are to
// be sent.
size_t one_at_a_time_ring(size_t p) {
    return p == 1 ? 0 : p % 2 == 0 ? 2 * (p - 1) : 2 * p;
}

struct Row {
    unsigned collectives;
    const char *name;
    size_t (*messages)(size_t p);
    size_t (*elements)(size_t p, size_t root, size_t n);
    size_t (*steps)(size_t p, size_t root);
};

#define F(expression) [](size_t p) -> size_t { return expression; }
#define E(expression)                                                                                                  \
    [](size_t p, size_t root, size_t n) -> size_t {                                                                    \
        (void)p, (void)root;                                                                                           \
        return expression;                                                                                             \
    }
#define S(expression)                                                                                                  \
    [](size_t p, size_t root) -> size_t {                                                                              \
        (void)p, (void)root;                                                                                           \
        return expression;                                                                                             \
    }

const Row rows[] = {
    {INTER_BIT(INTER_BARRIER), "DISS", F(p *log2_up(p)), E(0 * n), S(log2_up(p))},

    {INTER_BIT(INTER_BCAST), "MST", F(p - 1), E(n *(p - 1)), S(log2_up(p))},
    {INTER_BIT(INTER_BCAST), "bFT", F(p - 1), E(n *(p - 1)), S(p - 1)},
    {INTER_BIT(INTER_BCAST), "nbFT", F(p - 1), E(n *(p - 1)), S(p > 1)},
    {INTER_BIT(INTER_BCAST), "bFaT", F(p - 1), E(n *(p - 1)), S(four_ary_steps(p))},
    {INTER_BIT(INTER_BCAST), "BT", F(p - 1), E(n *(p - 1)), S(log2_up(p))},
    {INTER_BIT(INTER_BCAST), "CHAIN", F(p - 1), E(n *(p - 1)), S(p - 1)},
    // The ring's link to the root, which has all, carries nothing.
    {INTER_BIT(INTER_BCAST), "SAG", F(p - 1 + (p - 1) * (p - 1)),
     E(n / p * mst(0, p - 1, root).carried + n / p * (p - 1) * (p - 1)), S(mst(0, p - 1, root).depth + p - 1)},

    {INTER_SCATTERS | INTER_GATHERS, "MST", F(p - 1), E(n *mst(0, p - 1, root).carried), S(mst(0, p - 1, root).depth)},
    {INTER_SCATTERS | INTER_GATHERS, "nbFT", F(p - 1), E(n *(p - 1)), S(p > 1)},
    {INTER_GATHERS, "nb1FT", F(p - 1), E(n *(p - 1)), S(p > 1)},
    {INTER_GATHERS, "bFT", F(p - 1), E(n *(p - 1)), S(p - 1)},

    {INTER_ALLGATHERS | INTER_BIT(INTER_BARRIER), "nbFT", F(p *(p - 1)), E(n *p *(p - 1)), S(p > 1)},
    {INTER_ALLGATHERS, "nbBKT", F(p *(p - 1)), E(n *p *(p - 1)), S(p - 1)},
    {INTER_ALLGATHERS, "bBKT", F(p *(p - 1)), E(n *p *(p - 1)), S(one_at_a_time_ring(p))},
    {INTER_ALLGATHERS, "BRUCK", F(p *log2_up(p)), E(n *p *(p - 1)), S(log2_up(p))},
    {INTER_ALLGATHERS, "nbBDE", F(q(p) * log2_down(p) + 2 * e(p)), E(n *(e(p) + p * (q(p) - 1) + p * e(p))),
     S(log2_down(p) + unfolds(p))},
    {INTER_ALLGATHERS | INTER_BIT(INTER_BARRIER), "BT", F(2 * (p - 1)), E(n *(binomial_carried(p) + p * (p - 1))),
     S(2 * log2_up(p))},
    {INTER_ALLGATHERS | INTER_BIT(INTER_BARRIER), "BTe", F(2 * (p - 1)),
     /* the tree less its top edge, which carries the upper half up; both halves over it; the whole p − 2 times */
     E(p < 2 ? 0 * n : n * (binomial_carried(p) - (p - (size_t(1) << (log2_up(p) - 1))) + p + p * (p - 2))),
     S(p < 2 ? 0 : 2 * log2_up(p) - 1)},

    /* The pairs i < j meet in the order of i + j, twice each. */
    {INTER_ALLTOALLS, "bFT", F(p *(p - 1)), E(n *p *(p - 1)), S(p < 2 ? 0 : 2 * (2 * p - 3))},
    {INTER_ALLTOALLS, "nbFT", F(p *(p - 1)), E(n *p *(p - 1)), S(p - 1)},
    {INTER_ALLTOALLS, "nb1FT", F(p *(p - 1)), E(n *p *(p - 1)), S(p > 1)},
    {INTER_ALLTOALLS, "nb2FT", F(p *(p - 1)), E(n *p *(p - 1)), S(p - 1)},
    {INTER_ALLTOALLS, "PAIR", F(p *(p - 1)), E(n *p *(p - 1)), S(p - 1)},
    {INTER_ALLTOALLS, "BRUCK", F(p *log2_up(p)), E(n *p *bits_below(p)), S(log2_up(p))},

    {INTER_BIT(INTER_REDUCE), "bFT", F(p - 1), E(n *(p - 1)), S(p - 1)},
    {INTER_BIT(INTER_REDUCE), "nbFT", F(p - 1), E(n *(p - 1)), S(p > 1)},
    {INTER_BIT(INTER_REDUCE), "MST", F(p - 1), E(n *(p - 1)), S(log2_up(p))},
    {INTER_BIT(INTER_REDUCE), "RAB", F(q(p) * log2_down(p) + q(p) - 1 + e(p)),
     E(n *(q(p) - 1) + n * log2_down(p) / 2 + n * e(p)), S(2 * log2_down(p) + (e(p) > 0))},
    {INTER_BIT(INTER_REDUCE), "CHAIN", F(p - 1), E(n *(p - 1)), S(std::max(root, p - 1 - root))},

    {INTER_BIT(INTER_ALLREDUCE), "nbFT", F(p *(p - 1)), E(n *p *(p - 1)), S(p > 1)},
    {INTER_BIT(INTER_ALLREDUCE), "BT", F(2 * (p - 1)), E(2 * n * (p - 1)), S(2 * log2_up(p))},
    {INTER_BIT(INTER_ALLREDUCE), "BTe", F(2 * (p - 1)), E(2 * n * (p - 1)), S(p < 2 ? 0 : 2 * log2_up(p) - 1)},
    {INTER_BIT(INTER_ALLREDUCE), "nbBDE", F(q(p) * log2_down(p) + 2 * e(p)), E(n *(q(p) * log2_down(p) + 2 * e(p))),
     S(log2_down(p) + unfolds(p))},
    {INTER_BIT(INTER_ALLREDUCE), "bBDE", F(q(p) * log2_down(p) + 2 * e(p)), E(n *(q(p) * log2_down(p) + 2 * e(p))),
     S(2 * log2_down(p) + unfolds(p))},
    {INTER_BIT(INTER_ALLREDUCE), "RAB", F(2 * q(p) * log2_down(p) + 2 * e(p)), E(2 * n * (q(p) - 1) + 2 * n * e(p)),
     S(2 * log2_down(p) + unfolds(p))},
    {INTER_BIT(INTER_ALLREDUCE), "BKT", F(2 * p * (p - 1)), E(2 * n * (p - 1)), S(2 * (p - 1))},

    /* The whole is np: e ranks fold it, halves are swapped, e blocks are unfolded. */
    {INTER_REDUCE_SCATTERS, "nbBDE", F(q(p) * log2_down(p) + 2 * e(p)), E(n *(p *e(p) + p * (q(p) - 1) + e(p))),
     S(log2_down(p) + unfolds(p))},
    {INTER_REDUCE_SCATTERS, "bBDE", F(q(p) * log2_down(p) + 2 * e(p)), E(n *(p *e(p) + p * (q(p) - 1) + e(p))),
     S(2 * log2_down(p) + unfolds(p))},
    {INTER_REDUCE_SCATTERS, "nbBKT", F(p *(p - 1)), E(n *p *(p - 1)), S(p - 1)},
    {INTER_REDUCE_SCATTERS, "bBKT", F(p *(p - 1)), E(n *p *(p - 1)), S(one_at_a_time_ring(p))},

    {INTER_SCANS, "nbFT", F(p *(p - 1) / 2), E(n *p *(p - 1) / 2), S(p > 1)},
    {INTER_SCANS, "linear", F(p - 1), E(n *(p - 1)), S(p - 1)},
    /* Step k: all but the first 2^k ranks receive. */
    {INTER_SCANS, "BDE", F(p *log2_up(p) + 1 - (size_t(1) << log2_up(p))),
     E(n *(p *log2_up(p) + 1 - (size_t(1) << log2_up(p)))), S(log2_up(p))},

    {INTER_BIT(INTER_REDUCE), "FOLD", F(p - 1), E(n *(p - 1)), S(p > 1)},
    {INTER_BIT(INTER_REDUCE), "SFOLD", F(p *(p - 1) + p - 1), E(n *(p - 1) + n * (p - 1) / p), S(p > 1 ? 2 : 0)},
    {INTER_BIT(INTER_ALLREDUCE), "FOLD", F(p *(p - 1)), E(n *p *(p - 1)), S(p > 1)},
    {INTER_BIT(INTER_ALLREDUCE), "SFOLD", F(2 * p * (p - 1)), E(2 * n * (p - 1)), S(p > 1 ? 2 : 0)},
    {INTER_REDUCE_SCATTERS, "FOLD", F(p *(p - 1)), E(n *p *(p - 1)), S(p > 1)},
    {INTER_SCANS, "FOLD", F(p *(p - 1) / 2), E(n *p *(p - 1) / 2), S(p > 1)},
};

#undef F
#undef E
#undef S

} // namespace

size_t unit_of(const inter_algorithm &algorithm, size_t p) {
    if (algorithm.parts[0])
        return std::lcm(unit_of(*algorithm.parts[0], p), unit_of(*algorithm.parts[1], p));
    return strcmp(algorithm.name, "RAB") == 0                                           ? 2 * q(p)
           : strcmp(algorithm.name, "SAG") == 0 || strcmp(algorithm.name, "SFOLD") == 0 ? p
                                                                                        : 1;
}

// A composed algorithm costs what its parts cost, one after the other.
Cost cost_of(inter_collective collective, const inter_algorithm &algorithm, size_t p, size_t root, size_t n) {
    if (algorithm.parts[0]) {
        bool scatters = inter_is(collective, INTER_REDUCE_SCATTERS), reduces = inter_is(collective, INTER_REDUCTIONS);
        size_t whole = collective == INTER_ALLREDUCE ? n : n * p;
        Cost first = cost_of(reduces ? INTER_REDUCE : INTER_GATHER, *algorithm.parts[0], p, 0, reduces ? whole : n);
        Cost second = cost_of(scatters ? INTER_SCATTERV : INTER_BCAST, *algorithm.parts[1], p, 0, scatters ? n : whole);
        return {first.known && second.known, first.messages + second.messages, first.elements + second.elements,
                first.steps + second.steps};
    }
    for (const Row &row : rows)
        if (inter_is(collective, row.collectives) && strcmp(row.name, algorithm.name) == 0)
            return {true, row.messages(p), row.elements(p, root, n), row.steps(p, root)};
    return {false, 0, 0, 0};
}

size_t crossings_of(inter_collective collective, const inter_algorithm &algorithm, size_t p, size_t root,
                    size_t width) {
    auto cross = [&](size_t a, size_t b) { return a % p / width != b % p / width; };
    bool sags = strcmp(algorithm.name, "SAG") == 0;
    size_t crossings = 0;
    for (size_t v = 1; v < p && !sags; v++) { // counted from the root
        size_t parent = 0;
        if (strcmp(algorithm.name, "bFaT") == 0)
            parent = (v - 1) / 4;
        else if (strcmp(algorithm.name, "BT") == 0)
            parent = v & (v - 1);
        else if (strcmp(algorithm.name, "CHAIN") == 0 && collective == INTER_BCAST)
            parent = v - 1;
        crossings += cross(root + v, root + parent);
    }
    if (strcmp(algorithm.name, "MST") == 0 || sags)
        crossings = mst(0, p - 1, root, width).crossings;
    if (sags) // all blocks but one over each link between neighbouring nodes but that to the root
        crossings += (p - 1) * (p / width - cross(root + p - 1, root));
    if (strcmp(algorithm.name, "CHAIN") == 0 && collective == INTER_REDUCE)
        crossings = p / width - 1;
    if (strcmp(algorithm.name, "SFOLD") == 0) // slices go from all to all, then to the root
        crossings = (p + 1) * (p - width);
    if (strcmp(algorithm.name, "RAB") == 0) // powers of two: swaps at distances of a node and more, gathered likewise:
        crossings =
            p * log2_down(p / width) + p - width; // at the largest distance by half of the ranks, then a quarter
    return crossings;
}

} // namespace sim
