// SPDX-License-Identifier: BSD-3-Clause
#include <core/rollcall.h>
#include <stdlib.h>
#include <string.h>

/* A communicator has as many ranks at most: what is told of more is not gone through. */
#define MAX_RANKS  (1 << 22)
/* So many are named one by one. */
#define MANY_RANKS 32

core_row *core_roll_add(core_roll *roll) {
    if (roll->count == roll->capacity) {
        size_t capacity = roll->capacity ? roll->capacity * 2 : 16;
        core_row *rows = realloc(roll->rows, capacity * sizeof(*rows));
        if (!rows)
            return NULL;
        roll->rows = rows;
        roll->capacity = capacity;
    }
    core_row *row = &roll->rows[roll->count++];
    memset(row, 0, sizeof(*row));
    row->thread = row->home = row->home_rank = row->comm = row->rank = row->ranks = CORE_NO_NUMBER;
    row->root = row->peer = row->tag = CORE_NO_NUMBER;
    row->bytes = CORE_NO_BYTES;
    return row;
}

void core_roll_free(core_roll *roll) {
    free(roll->rows);
    *roll = (core_roll){0};
}

static void clean(char *text, size_t bytes) {
    text[bytes - 1] = 0;
    for (; *text; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}

bool core_roll_check(core_row *rows, size_t count, int process) {
    for (size_t i = 0; i < count; i++) {
        core_row *row = &rows[i];
        if (row->presence < 0 || row->presence >= CORE_PRESENCES || row->process != process ||
            !(row->waited_s >= 0 && row->waited_s < 1e12))
            return false;
        clean(row->call, sizeof(row->call));
        clean(row->of, sizeof(row->of));
        clean(row->place, sizeof(row->place));
    }
    return true;
}

static int order(long long a, long long b) {
    return (a > b) - (a < b);
}

static int order_numbers(uint64_t a, uint64_t b) {
    return (a > b) - (a < b);
}

/* "bcast" of weft_bcast and of weft_ibcast: ranks may meet in the one by the other. */
static const char *operation_of(const core_row *row) {
    const char *name = *row->of ? row->of : row->call;
    if (strncmp(name, "weft_", 5) != 0)
        return name;
    name += 5;
    return *row->of && *name == 'i' ? name + 1 : name;
}

/* Of waits, and of what was begun. Numbers of communicators within a process are that process's. */
static int compare_comms(const core_row *a, const core_row *b) {
    int result = order(a->comm, b->comm);
    if (!result)
        result = order_numbers(a->identity, b->identity);
    return result || !core_is_local(a->comm) ? result : order(a->process, b->process);
}

/* Orders waits so that those for the same stand together. Messages are the same when they are of the same kind. */
static int compare_operations(const core_row *a, const core_row *b) {
    int result = compare_comms(a, b);
    if (!result)
        result = order(a->collective, b->collective);
    if (!result)
        result = order_numbers(a->sequence, b->sequence);
    if (!result)
        result = order_numbers(a->round, b->round);
    if (!result)
        result = strcmp(operation_of(a), operation_of(b));
    if (!result)
        result = order(a->root, b->root);
    return result;
}

static bool same_operation(const core_row *a, const core_row *b) {
    return compare_operations(a, b) == 0;
}

static int compare_places(const core_row *a, const core_row *b) {
    int result = order(a->process, b->process);
    if (!result)
        result = order(a->thread, b->thread);
    return result ? result : order(a->comm, b->comm);
}

/* Orders what was begun by what it is of, and waits beside it. */
static int compare_begun(const core_row *a, const core_row *b) {
    int result = compare_comms(a, b);
    if (!result)
        result = order(a->collective, b->collective);
    if (!result && a->collective == CORE_PERSISTENT)
        result = order_numbers(a->sequence, b->sequence);
    return result;
}

static int by_operation(const void *left, const void *right) {
    const core_row *a = left, *b = right;
    int result = order(a->presence, b->presence);
    if (!result && a->presence == CORE_WAITING)
        result = compare_operations(a, b);
    else if (!result && a->presence == CORE_BEGUN)
        result = compare_begun(a, b);
    return result ? result : compare_places(a, b);
}

/* In sorted rows, from `low` on: the first that does not come before the one that is sought. */
static size_t first_of(const core_roll *roll, size_t low, const core_row *sought,
                       int (*compare)(const core_row *, const core_row *)) {
    for (size_t high = roll->count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (compare(&roll->rows[middle], sought) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static int compare_presences(const core_row *a, const core_row *b) {
    return order(a->presence, b->presence);
}

static size_t first_wait(const core_roll *roll) {
    return first_of(roll, 0, &(core_row){.presence = CORE_WAITING}, compare_presences);
}

static size_t first_begun(const core_roll *roll) {
    return first_of(roll, 0, &(core_row){.presence = CORE_BEGUN}, compare_presences);
}

/* Behind the last row of the operation that begins at `first`. */
static size_t end_of_group(const core_roll *roll, size_t first) {
    size_t end = first + 1;
    while (end < roll->count && roll->rows[end].presence == CORE_WAITING &&
           same_operation(&roll->rows[first], &roll->rows[end]))
        end++;
    return end;
}

/* A group of rows in one operation, and how far from the majority's it is. */
typedef struct group {
    size_t first, count;
    int oddness; /* the highest comes first */
} group;

static int by_oddness(const void *left, const void *right) {
    const group *a = left, *b = right;
    int result = order(b->oddness, a->oddness);
    if (!result)
        result = order((long long)a->count, (long long)b->count);
    return result ? result : order((long long)a->first, (long long)b->first);
}

enum { MAJORITY, ELSEWHERE, BEHIND };

/* Does it come before the other of the same communicator? Persistent ones are started in any order, but for their rounds. */
static bool is_behind(const core_row *row, const core_row *other) {
    if (!row->collective || compare_comms(row, other) != 0 || row->collective != other->collective)
        return false;
    if (row->collective == CORE_PERSISTENT)
        return row->sequence == other->sequence && row->round < other->round;
    return row->sequence < other->sequence;
}

static int oddness(const core_row *row, const core_row *most) {
    if (same_operation(row, most))
        return MAJORITY;
    return is_behind(row, most) ? BEHIND : ELSEWHERE;
}

/* How much of a majority it is: of as many, a collective; who waits for a message is the odd one. */
static size_t weight(const core_roll *roll, const group *of) {
    return 2 * of->count + (roll->rows[of->first].collective != 0);
}

/* Reorders the waits, which stand together by operation from `first` to `last`, exclusively. Without memory they stay so. */
static void sort_waits(core_roll *roll, size_t first, size_t last) {
    size_t waits = last - first, groups = 0, most = 0;
    group *found = malloc(waits * sizeof(*found));
    core_row *sorted = malloc(waits * sizeof(*sorted));
    for (size_t at = first, end; found && sorted && at < last; at = end) {
        end = end_of_group(roll, at);
        found[groups] = (group){.first = at, .count = end - at};
        if (weight(roll, &found[groups]) > weight(roll, &found[most]))
            most = groups;
        groups++;
    }
    if (groups) {
        const core_row *majority = &roll->rows[found[most].first];
        for (size_t i = 0; i < groups; i++)
            found[i].oddness = oddness(&roll->rows[found[i].first], majority);
        qsort(found, groups, sizeof(*found), by_oddness);
        core_row *to = sorted;
        for (size_t i = 0; i < groups; to += found[i].count, i++)
            memcpy(to, &roll->rows[found[i].first], found[i].count * sizeof(*to));
        memcpy(&roll->rows[first], sorted, waits * sizeof(*sorted));
    }
    free(found);
    free(sorted);
}

void core_roll_sort(core_roll *roll) {
    if (!roll->count)
        return;
    qsort(roll->rows, roll->count, sizeof(*roll->rows), by_operation);
    size_t first = first_wait(roll), last = first_begun(roll);
    if (first < last)
        sort_waits(roll, first, last);
}

static void print_comm(FILE *file, int comm, int process) {
    if (comm == 0)
        fputs("the process communicator", file);
    else if (core_is_local(comm))
        fprintf(file, "a communicator within process %d", process);
    else
        fprintf(file, "communicator %d", comm);
}

static void print_operation(FILE *file, const core_row *row) {
    fputs(row->call, file);
    if (*row->of)
        fprintf(file, " for %s", row->of);
    if (row->sequence)
        fprintf(file, " #%llu", (unsigned long long)row->sequence);
    fputs(" on ", file);
    print_comm(file, row->comm, row->process);
}

static void print_peer(FILE *file, const core_row *row) {
    if (row->peer == CORE_NO_NUMBER)
        return;
    if (row->peer < 0)
        fputs(", peer any", file);
    else
        fprintf(file, ", peer %d", row->peer);
    if (row->tag < 0)
        fputs(", tag any", file);
    else
        fprintf(file, ", tag %d", row->tag);
}

static void print_wait(FILE *file, const core_row *row) {
    fputs("in ", file);
    print_operation(file, row);
    if (row->comm && row->rank != row->home_rank && row->rank != CORE_NO_NUMBER)
        fprintf(file, " as rank %d", row->rank);
    print_peer(file, row);
    if (row->root != CORE_NO_NUMBER)
        fprintf(file, ", root %d", row->root);
    if (row->bytes != CORE_NO_BYTES)
        fprintf(file, ", %llu bytes", (unsigned long long)row->bytes);
    fprintf(file, ", for %.1f s", row->waited_s);
    if (*row->place)
        fprintf(file, ", called at %s", row->place);
}

/* `named`: with the communicator whose rank it is. */
static void print_who(FILE *file, const core_row *row, bool named) {
    if (row->home_rank == CORE_NO_NUMBER) {
        fprintf(file, "process %d", row->process);
        return;
    }
    fprintf(file, "rank %d ", row->home_rank);
    if (named) {
        fputs("of ", file);
        print_comm(file, row->home, row->process);
        fputc(' ', file);
    }
    fprintf(file, "(process %d, thread %d)", row->process, row->thread);
}

static void print_row(FILE *file, const core_row *row, bool named) {
    fputs("  ", file);
    print_who(file, row, named);
    fputs(": ", file);
    switch ((enum core_presence)row->presence) {
    case CORE_ENDED:
        fputs("has ended", file);
        break;
    case CORE_LOST:
        fputs("has hung up; has it ended?", file);
        break;
    case CORE_NO_ANSWER:
        fputs("does not answer; is it stopped?", file);
        break;
    case CORE_NOT_IN_WEFT:
        fputs("before the end of weft_init or after weft_finalize", file);
        break;
    case CORE_NOT_ENTERED:
        fputs("is not in ", file);
        print_comm(file, row->home, row->process);
        fputs(": it has not entered the team, or has left it", file);
        break;
    case CORE_OUTSIDE:
        fputs(row->thread == CORE_NO_NUMBER ? "no thread of it waits in weft" : "outside weft", file);
        break;
    case CORE_WAITING:
    case CORE_BEGUN:
    case CORE_PRESENCES:
        print_wait(file, row);
        break;
    }
    if (row->stops)
        fputs("; meanwhile nothing moves between its process and others (funneled)", file);
    fputc('\n', file);
}

/* Where a rank is in a collective that others wait in. Nothing is known of those whose process does not answer, and who gave the communicator back is
 * through with it. */
enum { UNKNOWN, MISSING, STARTED, WAITS, IS_OVER };

/* Where it is, as a row tells of what it has begun. */
static int place_of(const core_row *begun, const core_row *wait) {
    const bool persistent = wait->collective == CORE_PERSISTENT, itself = begun->collective == wait->collective;
    const uint64_t number = persistent && itself ? wait->round : wait->sequence;
    const uint64_t reached = begun->collective == CORE_PERSISTENT || !itself ? begun->round : begun->sequence;
    if (reached < number)
        return MISSING;
    if (!itself) /* prepared, and started as its own row tells, unless it was freed */
        return UNKNOWN;
    return begun->over >= number ? IS_OVER : STARTED;
}

/* What is known of a rank of a communicator that others wait on. */
typedef struct found {
    int where;
    const core_row *begun; /* or NULL: a row of its thread */
} found;

static void note_begun(const core_roll *roll, const core_row *wait, int collective, found *ranks) {
    core_row sought = *wait;
    sought.collective = collective;
    size_t at = first_of(roll, first_begun(roll), &sought, compare_begun);
    for (; at < roll->count && compare_begun(&roll->rows[at], &sought) == 0; at++) {
        const core_row *begun = &roll->rows[at];
        if (begun->rank >= 0 && begun->rank < wait->ranks)
            ranks[begun->rank] = (found){place_of(begun, wait), begun};
    }
}

/* Its number there, and, where threads are known by their numbers on another communicator, whose it is. */
static void print_rank(FILE *file, const core_row *wait, int rank, const core_row *begun) {
    fprintf(file, " %d", rank);
    if (begun && begun->thread != CORE_NO_NUMBER && wait->home != wait->comm)
        fprintf(file, " (process %d, thread %d)", begun->process, begun->thread);
}

/* Names the ranks of the wait's communicator that are `there`. `shared`: others have its number. */
static void print_ranks(FILE *file, const core_row *wait, bool shared, const found *ranks, int there,
                        const char *what) {
    int count = 0;
    for (int rank = 0; rank < wait->ranks; rank++) {
        if (ranks[rank].where != there)
            continue;
        if (count == 0) {
            fprintf(file, "  %s ", what);
            print_operation(file, wait);
            if (shared)
                fprintf(file, " (that of process %d)", wait->process);
            fputs(": rank", file);
        }
        if (count && count < MANY_RANKS)
            fputc(',', file);
        if (count++ < MANY_RANKS)
            print_rank(file, wait, rank, ranks[rank].begun);
    }
    if (count > MANY_RANKS)
        fprintf(file, " and %d more", count - MANY_RANKS);
    if (count)
        fprintf(file, " of %d\n", wait->ranks);
}

/* Does somebody wait on another communicator of that number? Those within processes are told apart anyhow. */
static bool is_shared(const core_roll *roll, const core_row *wait) {
    const size_t last = first_begun(roll);
    for (size_t at = first_wait(roll); at < last; at++)
        if (roll->rows[at].comm == wait->comm && roll->rows[at].identity != wait->identity)
            return true;
    return false;
}

/* A collective whose waits stand in rows first … end-1: which ranks of the communicator are not in it? */
static void print_missing(FILE *file, const core_roll *roll, size_t first, size_t end) {
    const core_row *wait = &roll->rows[first];
    if (!wait->collective || wait->ranks < 1 || wait->ranks > MAX_RANKS)
        return;
    found *ranks = calloc((size_t)wait->ranks, sizeof(*ranks));
    if (!ranks)
        return;
    note_begun(roll, wait, CORE_COLLECTIVE, ranks);
    if (wait->collective == CORE_PERSISTENT)
        note_begun(roll, wait, CORE_PERSISTENT, ranks);
    for (size_t i = first; i < end; i++)
        if (roll->rows[i].rank >= 0 && roll->rows[i].rank < wait->ranks)
            ranks[roll->rows[i].rank].where = WAITS;
    const bool shared = is_shared(roll, wait);
    print_ranks(file, wait, shared, ranks, MISSING, "missing in");
    print_ranks(file, wait, shared, ranks, STARTED, "started, not waiting in");
    free(ranks);
}

/* Are there ranks of several communicators? */
static bool has_several_homes(const core_roll *roll, size_t last) {
    int32_t home = CORE_NO_NUMBER;
    for (size_t i = 0; i < last; i++) {
        if (roll->rows[i].home == CORE_NO_NUMBER || core_is_local(roll->rows[i].home))
            continue;
        if (home != CORE_NO_NUMBER && roll->rows[i].home != home)
            return true;
        home = roll->rows[i].home;
    }
    return false;
}

void core_roll_print(FILE *file, const core_roll *roll, bool whole) {
    const size_t first = first_wait(roll), last = first_begun(roll);
    const bool named = has_several_homes(roll, last);
    for (size_t i = 0; i < last; i++)
        print_row(file, &roll->rows[i], named);
    for (size_t at = first, end; whole && at < last; at = end) {
        end = end_of_group(roll, at);
        print_missing(file, roll, at, end);
    }
}

void core_roll_print_job(FILE *file, const char *who, int processes, const core_roll *roll, bool by_user) {
    fprintf(file, "%s: ", who);
    if (!by_user)
        fprintf(file, "a wait has lasted %.1f s; ", core_roll_longest(roll));
    fprintf(file, "roll-call of %d process%s:\n", processes, processes > 1 ? "es" : "");
    core_roll_print(file, roll, true);
}

static int by_place(const void *left, const void *right) {
    const core_row *a = left, *b = right;
    int result = order(a->process, b->process);
    if (!result && a->number != b->number)
        result = a->number < b->number ? -1 : 1;
    return result;
}

static bool is_long(const core_row *row, double least_s) {
    return row->presence == CORE_WAITING && row->waited_s >= least_s;
}

bool core_roll_is_news(const core_roll *last, double last_s, const core_roll *now, double now_s) {
    bool reported = false, over = false, fresh = false;
    core_roll sorted = {.rows = malloc((now->count + 1) * sizeof(core_row)), .count = now->count};
    if (!sorted.rows)
        return core_roll_longest(now) >= now_s;
    if (now->count)
        memcpy(sorted.rows, now->rows, now->count * sizeof(core_row));
    qsort(sorted.rows, sorted.count, sizeof(core_row), by_place);
    for (size_t i = 0; i < last->count; i++) {
        const core_row *wait = &last->rows[i];
        if (!is_long(wait, last_s / 2))
            continue;
        core_row *known = bsearch(wait, sorted.rows, sorted.count, sizeof(core_row), by_place);
        reported |= is_long(wait, last_s);
        over |= is_long(wait, last_s) && !known;
        if (known)
            known->presence = CORE_OUTSIDE; /* is not looked at below */
    }
    for (size_t i = 0; i < sorted.count; i++)
        fresh |= is_long(&sorted.rows[i], now_s);
    free(sorted.rows);
    return fresh && (over || !reported);
}

double core_roll_longest(const core_roll *roll) {
    double longest = 0;
    for (size_t i = 0; i < roll->count; i++)
        if (roll->rows[i].presence == CORE_WAITING && roll->rows[i].waited_s > longest)
            longest = roll->rows[i].waited_s;
    return longest;
}
