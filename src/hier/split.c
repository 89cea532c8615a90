// SPDX-License-Identifier: BSD-3-Clause
#include <core/error.h>
#include <hier/split.h>
#include <stdlib.h>
#include <string.h>

/* A rank of the parent that is in a group. */
typedef struct hier_split_member {
    int32_t color, key;
    int rank, node; /* in the parent */
    bool leads;
} member;

/* By color, then by key, then by rank: the groups, one after the other, each in its order. */
static int compare(const void *left, const void *right) {
    const member *a = left, *b = right;
    if (a->color != b->color)
        return a->color < b->color ? -1 : 1;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->rank < b->rank ? -1 : 1;
}

static size_t list_members(const weft_comm *parent, const hier_split_entry *entries, member *members) {
    size_t count = 0;
    for (int rank = 0; rank < parent->size; rank++)
        if (entries[rank].color >= 0)
            members[count++] =
                (member){.color = entries[rank].color,
                         .key = entries[rank].key,
                         .rank = rank,
                         .node = hier_layout_node(parent->layout, hier_layout_place(parent->layout, rank)),
                         .leads = entries[rank].leads};
    qsort(members, count, sizeof(*members), compare);
    return count;
}

static bool spans_nodes(const member *group, size_t ranks) {
    for (size_t i = 1; i < ranks; i++)
        if (group[i].node != group[0].node)
            return true;
    return false;
}

/* Contexts that groups before use on a node of the parent, a bit each. */
typedef uint64_t used[HIER_CONTEXT_WORDS];

/* The first context that no group before uses on a node of this one; -1: there is none. */
static int choose_context(const member *group, size_t ranks, used *by_node) {
    used taken = {0};
    for (size_t i = 0; i < ranks; i++)
        for (unsigned word = 0; word < HIER_CONTEXT_WORDS; word++)
            taken[word] |= by_node[group[i].node][word];
    unsigned word = 0;
    while (word < HIER_CONTEXT_WORDS && !~taken[word])
        word++;
    if (word == HIER_CONTEXT_WORDS)
        return -1;
    int context = (int)word * 64 + __builtin_ctzll(~taken[word]);
    for (size_t i = 0; i < ranks; i++)
        by_node[group[i].node][word] |= (uint64_t)1 << context % 64;
    return context;
}

int hier_split_begin(hier_split *plan, const weft_comm *parent, const char *call) {
    size_t nodes = (size_t)parent->layout->nodes;
    *plan = (hier_split){.parent = parent, .call = call, .context = -1, .builder = -1};
    plan->members = malloc((size_t)parent->size * sizeof(*plan->members));
    plan->by_node = calloc(nodes, sizeof(used) + sizeof(size_t) + sizeof(int));
    plan->contexts = malloc(INTER_CONTEXTS * sizeof(*plan->contexts));
    return plan->members && plan->by_node && plan->contexts
               ? WEFT_SUCCESS
               : core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for the groups of %d ranks", parent->rank, call,
                            parent->size);
}

void hier_split_end(hier_split *plan) {
    free(plan->members);
    free(plan->by_node);
    free(plan->contexts);
    hier_layout_free(&plan->layout);
}

/* This rank's number in its group, and who builds for its node: who leads there, else the first rank. */
static void find_self(hier_split *plan) {
    const weft_comm *parent = plan->parent;
    bool leads = false;
    for (size_t i = 0; i < plan->ranks; i++) {
        const member *at = &plan->group[i];
        if (at->rank == parent->rank)
            plan->rank = (int)i;
        if (at->node == parent->node && (plan->builder < 0 || (at->leads && !leads))) {
            plan->builder = at->rank;
            leads = at->leads;
        }
    }
}

int hier_split_group(hier_split *plan, const hier_split_entry *entries) {
    const weft_comm *parent = plan->parent;
    used *by_node = plan->by_node;
    size_t count = list_members(parent, entries, plan->members);
    for (size_t begin = 0, end; begin < count; begin = end) {
        member *group = plan->members + begin;
        for (end = begin + 1; end < count && plan->members[end].color == group->color; end++)
            continue;
        int context = -1;
        if (spans_nodes(group, end - begin)) {
            context = choose_context(group, end - begin, by_node);
            if (context < 0)
                return core_error(WEFT_ERR_BUSY, "rank %d: %s: more groups than there are contexts, %u", parent->rank,
                                  plan->call, INTER_CONTEXTS);
            plan->context_count = context < plan->context_count ? plan->context_count : context + 1;
        }
        if (entries[parent->rank].color == group->color) {
            plan->group = group;
            plan->ranks = end - begin;
            plan->context = context;
        }
    }
    if (plan->group)
        find_self(plan);
    memcpy(plan->wanted, by_node[parent->node], sizeof(plan->wanted));
    return WEFT_SUCCESS;
}

/* Nodes in the order of their first ranks; *index: by node of the parent, -1: it has no rank. */
static int number_nodes(const member *group, size_t ranks, int *index, int nodes_before) {
    int nodes = 0;
    for (int node = 0; node < nodes_before; node++)
        index[node] = -1;
    for (size_t i = 0; i < ranks; i++)
        if (index[group[i].node] < 0)
            index[group[i].node] = nodes++;
    return nodes;
}

/* On each node in rank order, but for the leader, which comes first. */
static void place_ranks(const member *group, size_t ranks, const int *index, hier_layout_parts *parts, size_t *next,
                        int nodes) {
    memcpy(next, parts->offsets, (size_t)nodes * sizeof(*next));
    for (size_t i = 0; i < ranks; i++)
        if (group[i].leads)
            parts->places[i] = (int)next[index[group[i].node]]++;
    for (size_t i = 0; i < ranks; i++)
        if (!group[i].leads)
            parts->places[i] = (int)next[index[group[i].node]]++;
    for (size_t i = 0; i < ranks; i++)
        parts->ranks[parts->places[i]] = (int)i;
}

static bool is_in_order(const hier_layout_parts *parts, size_t ranks) {
    size_t i = 0;
    while (i < ranks && parts->places[i] == (int)i)
        i++;
    return i == ranks;
}

int hier_split_lay_out(hier_split *plan) {
    const weft_comm *parent = plan->parent;
    const member *group = plan->group;
    size_t ranks = plan->ranks, parent_nodes = (size_t)parent->layout->nodes;
    size_t *next = (size_t *)((used *)plan->by_node + parent_nodes);
    int *index = (int *)(next + parent_nodes);
    hier_layout_parts parts;
    int nodes = number_nodes(group, ranks, index, parent->layout->nodes);
    if (!hier_layout_make(&plan->layout, &parts, nodes, (int)ranks))
        return core_error(WEFT_ERR_NOMEM, "rank %d: %s: no memory for %zu ranks", parent->rank, plan->call, ranks);
    for (size_t i = 0; i < ranks; i++) {
        int node = index[group[i].node];
        parts.processes[node] = hier_layout_process(parent->layout, group[i].node);
        parts.offsets[node + 1]++;
    }
    for (int node = 0; node < nodes; node++)
        parts.offsets[node + 1] += parts.offsets[node];
    hier_world_survey(parent->world, &plan->layout);
    plan->layout.crowded = parent->layout->crowded;
    place_ranks(group, ranks, index, &parts, next, nodes);
    plan->place = parts.places[plan->rank];
    plan->node = hier_layout_node(&plan->layout, plan->place);
    if (is_in_order(&parts, ranks))
        plan->layout.places = plan->layout.ranks = NULL;
    return WEFT_SUCCESS;
}
