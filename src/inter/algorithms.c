// SPDX-License-Identifier: BSD-3-Clause
/* The table of algorithms, one line each, and how a name is read; the builders are in algorithms/. */
#include <inter/algorithms.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Long enough that the start of a message counts little, short enough that a segment stays in a core's cache. */
#define CHAIN_SEGMENT_BYTES ((size_t)64 << 10)

static const inter_algorithm table[] = {
    /* A barrier is an allgather of nothing. */
    {INTER_BIT(INTER_BARRIER), "DISS", inter_barrier_diss, .issue = INTER_NB1, .symmetric = true},
    {INTER_BIT(INTER_BARRIER), "nbFTGather+bFaTBcast", NULL, .issue = INTER_NB},

    {INTER_BIT(INTER_BCAST), "MST", inter_bcast_mst, .issue = INTER_B},
    {INTER_BIT(INTER_BCAST), "bFT", inter_bcast_ft, .issue = INTER_B},
    {INTER_BIT(INTER_BCAST), "nbFT", inter_bcast_ft, .issue = INTER_NB},
    {INTER_BIT(INTER_BCAST), "bFaT", inter_bcast_fat, .issue = INTER_B},
    {INTER_BIT(INTER_BCAST), "BT", inter_bcast_bt, .issue = INTER_B},
    {INTER_BIT(INTER_BCAST), "SAG", inter_bcast_sag, .issue = INTER_NB},
    {INTER_BIT(INTER_BCAST), "CHAIN", inter_bcast_chain, .issue = INTER_B, .segment_bytes = CHAIN_SEGMENT_BYTES},

    {INTER_SCATTERS, "MST", inter_scatter_mst, .issue = INTER_NB, .needs_counts = true},
    {INTER_SCATTERS, "nbFT", inter_scatter_ft, .issue = INTER_NB, .single_blocks = true},

    {INTER_GATHERS, "MST", inter_gather_mst, .issue = INTER_NB, .needs_counts = true},
    {INTER_GATHERS, "bFT", inter_gather_ft, .issue = INTER_B, .single_blocks = true},
    {INTER_GATHERS, "nbFT", inter_gather_ft, .issue = INTER_NB, .single_blocks = true},
    {INTER_GATHERS, "nb1FT", inter_gather_ft, .issue = INTER_NB1, .single_blocks = true},

    {INTER_ALLGATHERS, "nbBKT", inter_allgather_bkt, .issue = INTER_NB1, .single_blocks = true, .symmetric = true},
    {INTER_ALLGATHERS, "bBKT", inter_allgather_bkt, .issue = INTER_B, .single_blocks = true},
    {INTER_ALLGATHERS | INTER_BIT(INTER_BARRIER), "nbFT", inter_allgather_ft, .issue = INTER_NB1, .single_blocks = true,
     .symmetric = true},
    {INTER_ALLGATHERS | INTER_BIT(INTER_BARRIER), "BT", inter_allgather_bt, .issue = INTER_B},
    {INTER_ALLGATHERS | INTER_BIT(INTER_BARRIER), "BTe", inter_allgather_bte, .issue = INTER_B},
    {INTER_ALLGATHERS, "nbBDE", inter_allgather_bde, .issue = INTER_NB1},
    {INTER_ALLGATHERS, "BRUCK", inter_allgather_bruck, .issue = INTER_NB1, .symmetric = true},
    {INTER_ALLGATHERS | INTER_BIT(INTER_BARRIER), "Gather+Bcast", NULL, .issue = INTER_B},

    {INTER_ALLTOALLS, "nb1FT", inter_alltoall_ft, .issue = INTER_NB1, .single_blocks = true, .symmetric = true},
    {INTER_ALLTOALLS, "bFT", inter_alltoall_ft, .issue = INTER_B, .single_blocks = true},
    {INTER_ALLTOALLS, "nbFT", inter_alltoall_ft, .issue = INTER_NB, .single_blocks = true, .symmetric = true},
    {INTER_ALLTOALLS, "nb2FT", inter_alltoall_ft, .issue = INTER_NB2, .single_blocks = true, .symmetric = true},
    {INTER_ALLTOALLS, "PAIR", inter_alltoall_pair, .issue = INTER_NB1, .single_blocks = true, .symmetric = true},
    {INTER_BIT(INTER_ALLTOALL), "BRUCK", inter_alltoall_bruck, .issue = INTER_NB1, .symmetric = true},

    {INTER_BIT(INTER_REDUCE), "MST", inter_reduce_mst, .issue = INTER_B},
    {INTER_BIT(INTER_REDUCE), "bFT", inter_reduce_ft, .issue = INTER_B},
    {INTER_BIT(INTER_REDUCE), "nbFT", inter_reduce_ft, .issue = INTER_NB},
    {INTER_BIT(INTER_REDUCE), "RAB", inter_reduce_rab, .issue = INTER_NB1},
    {INTER_BIT(INTER_REDUCE), "CHAIN", inter_reduce_chain, .issue = INTER_B, .segment_bytes = CHAIN_SEGMENT_BYTES},

    {INTER_BIT(INTER_ALLREDUCE), "nbBDE", inter_allreduce_bde, .issue = INTER_NB1},
    {INTER_BIT(INTER_ALLREDUCE), "bBDE", inter_allreduce_bde, .issue = INTER_B},
    {INTER_BIT(INTER_ALLREDUCE), "nbFT", inter_allreduce_ft, .issue = INTER_NB1, .symmetric = true},
    {INTER_BIT(INTER_ALLREDUCE), "BT", inter_allreduce_bt, .issue = INTER_B},
    {INTER_BIT(INTER_ALLREDUCE), "BTe", inter_allreduce_bte, .issue = INTER_B},
    {INTER_BIT(INTER_ALLREDUCE), "RAB", inter_allreduce_rab, .issue = INTER_NB1},
    {INTER_BIT(INTER_ALLREDUCE), "BKT", inter_allreduce_bkt, .issue = INTER_NB1, .commutes = true, .symmetric = true},
    {INTER_BIT(INTER_ALLREDUCE), "Reduce+Bcast", NULL, .issue = INTER_B},

    {INTER_REDUCE_SCATTERS, "Reduce+Scatterv", NULL, .issue = INTER_B},
    {INTER_REDUCE_SCATTERS, "bBDE", inter_reduce_scatter_bde, .issue = INTER_B, .commutes = true},
    {INTER_REDUCE_SCATTERS, "nbBDE", inter_reduce_scatter_bde, .issue = INTER_NB1, .commutes = true},
    {INTER_REDUCE_SCATTERS, "bBKT", inter_reduce_scatter_bkt, .issue = INTER_B, .commutes = true,
     .single_blocks = true},
    {INTER_REDUCE_SCATTERS, "nbBKT", inter_reduce_scatter_bkt, .issue = INTER_NB1, .commutes = true,
     .single_blocks = true, .symmetric = true},

    {INTER_SCANS, "BDE", inter_scan_bde, .issue = INTER_NB1},
    {INTER_SCANS, "nbFT", inter_scan_ft, .issue = INTER_NB1},
    {INTER_SCANS, "linear", inter_scan_linear, .issue = INTER_B},

    {INTER_REDUCTIONS, "FOLD", inter_reduction_fold, .issue = INTER_NB1, .bracketed = true},
    {INTER_BIT(INTER_REDUCE) | INTER_BIT(INTER_ALLREDUCE), "SFOLD", inter_reduction_sfold, .issue = INTER_NB1,
     .bracketed = true},
};
#define ROWS (sizeof(table) / sizeof(table[0]))

/* An algorithm of two others: "MSTReduce+nbFTBcast". */
static const struct composition {
    unsigned collectives;
    enum inter_collective first, second;
    const char *first_word, *second_word;
    inter_builder *build;
} compositions[] = {
    {INTER_ALLGATHERS | INTER_BIT(INTER_BARRIER), INTER_GATHER, INTER_BCAST, "Gather", "Bcast",
     inter_allgather_composed},
    {INTER_BIT(INTER_ALLREDUCE), INTER_REDUCE, INTER_BCAST, "Reduce", "Bcast", inter_allreduce_composed},
    {INTER_REDUCE_SCATTERS, INTER_REDUCE, INTER_SCATTERV, "Reduce", "Scatterv", inter_reduce_scatter_composed},
};
#define COMPOSITIONS (sizeof(compositions) / sizeof(compositions[0]))

const char *inter_collective_name(enum inter_collective collective) {
    static const char *const names[INTER_COLLECTIVES] = {
        [INTER_BARRIER] = "barrier",
        [INTER_BCAST] = "bcast",
        [INTER_SCATTER] = "scatter",
        [INTER_SCATTERV] = "scatterv",
        [INTER_GATHER] = "gather",
        [INTER_GATHERV] = "gatherv",
        [INTER_ALLGATHER] = "allgather",
        [INTER_ALLGATHERV] = "allgatherv",
        [INTER_ALLTOALL] = "alltoall",
        [INTER_ALLTOALLV] = "alltoallv",
        [INTER_ALLTOALLW] = "alltoallw",
        [INTER_REDUCE] = "reduce",
        [INTER_ALLREDUCE] = "allreduce",
        [INTER_REDUCE_SCATTER] = "reduce_scatter",
        [INTER_REDUCE_SCATTER_BLOCK] = "reduce_scatter_block",
        [INTER_SCAN] = "scan",
        [INTER_EXSCAN] = "exscan",
    };
    return names[collective];
}

/* The row of a collective with a name of so many letters (none: the first); composed rows only when asked for. */
static const inter_algorithm *find_row(enum inter_collective collective, const char *name, size_t letters) {
    for (size_t row = 0; row < ROWS; row++)
        if (inter_is(collective, table[row].collectives) &&
            (!letters || (strlen(table[row].name) == letters && strncmp(table[row].name, name, letters) == 0)))
            return &table[row];
    return NULL;
}

static const struct composition *composition_of(enum inter_collective collective) {
    for (size_t i = 0; i < COMPOSITIONS; i++)
        if (inter_is(collective, compositions[i].collectives))
            return &compositions[i];
    return NULL;
}

static inter_algorithm compose(const struct composition *composition, const inter_algorithm *first,
                               const inter_algorithm *second) {
    inter_algorithm made = {.collectives = composition->collectives, .build = composition->build};
    made.parts[0] = first;
    made.parts[1] = second;
    made.commutes = first->commutes;
    if (inter_is(INTER_ALLREDUCE, composition->collectives))
        made.segment_bytes =
            first->segment_bytes > second->segment_bytes ? first->segment_bytes : second->segment_bytes;
    return made;
}

/* The length of `text` without the word that it ends with; −1 when it does not. */
static long without(const char *text, size_t letters, const char *word) {
    size_t word_letters = strlen(word);
    if (letters < word_letters || strncmp(text + letters - word_letters, word, word_letters) != 0)
        return -1;
    return (long)(letters - word_letters);
}

static bool find_composed(enum inter_collective collective, const char *name, size_t letters,
                          inter_algorithm *algorithm) {
    const struct composition *composition = composition_of(collective);
    const char *plus = memchr(name, '+', letters);
    if (!composition || !plus)
        return false;
    const char *second = plus + 1;
    long first_letters = without(name, (size_t)(plus - name), composition->first_word);
    long second_letters = without(second, letters - (size_t)(second - name), composition->second_word);
    if (first_letters < 0 || second_letters < 0)
        return false;
    const inter_algorithm *a = find_row(composition->first, name, (size_t)first_letters);
    const inter_algorithm *b = find_row(composition->second, second, (size_t)second_letters);
    if (!a || !b)
        return false;
    *algorithm = compose(composition, a, b);
    return true;
}

/* "64K": a number and a suffix. */
static bool parse_bytes(const char *text, size_t *bytes) {
    char *end;
    if (*text < '0' || *text > '9')
        return false;
    unsigned long long number = strtoull(text, &end, 10);
    unsigned shift = *end == 'K' ? 10 : *end == 'M' ? 20 : 0;
    if (end[shift ? 1 : 0] || number > SIZE_MAX >> (shift + 1))
        return false;
    *bytes = (size_t)number << shift;
    return true;
}

bool inter_algorithm_find(enum inter_collective collective, const char *name, inter_algorithm *algorithm) {
    const char *colon = strchr(name, ':');
    size_t letters = colon ? (size_t)(colon - name) : strlen(name), segment_bytes = 0;
    if (!letters || strlen(name) >= INTER_NAME_BYTES)
        return false;
    if (colon && (!inter_is(collective, INTER_SEGMENTED) || !parse_bytes(colon + 1, &segment_bytes)))
        return false;
    const inter_algorithm *row = find_row(collective, name, letters);
    inter_algorithm found;
    if (row && row->build)
        found = *row;
    else if (!find_composed(collective, name, letters, &found))
        return false;
    memcpy(found.name, name, strlen(name) + 1);
    if (colon)
        found.segment_bytes = segment_bytes;
    *algorithm = found;
    return true;
}

/* The index-th row that serves a collective. */
static const inter_algorithm *row_at(enum inter_collective collective, int index) {
    for (size_t row = 0; row < ROWS; row++)
        if (inter_is(collective, table[row].collectives) && index-- == 0)
            return &table[row];
    return NULL;
}

int inter_algorithm_names(enum inter_collective collective) {
    int count = 0;
    while (row_at(collective, count))
        count++;
    return count;
}

bool inter_algorithm_at(enum inter_collective collective, int index, inter_algorithm *algorithm) {
    int names = inter_algorithm_names(collective);
    if (index < names)
        return inter_algorithm_find(collective, row_at(collective, index)->name, algorithm);
    const struct composition *composition = composition_of(collective);
    int seconds = composition ? inter_algorithm_names(composition->second) : 0;
    if (!seconds)
        return false;
    const inter_algorithm *first = row_at(composition->first, (index - names) / seconds);
    const inter_algorithm *second = row_at(composition->second, (index - names) % seconds);
    if (!first)
        return false;
    char name[3 * INTER_NAME_BYTES];
    snprintf(name, sizeof(name), "%s%s+%s%s", first->name, composition->first_word, second->name,
             composition->second_word);
    return inter_algorithm_find(collective, name, algorithm);
}
