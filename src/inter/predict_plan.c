// SPDX-License-Identifier: BSD-3-Clause
#include <inter/predict_plan.h>
#include <stdlib.h>

/* A receive, in the order in which its rank's receives are searched: by sender and strand, then as issued. */
typedef struct receive {
    uint64_t key; /* sender and strand */
    uint32_t step;
    uint32_t taken; /* of the first one with its key: how many with that key have a message */
} receive;

static uint64_t key_of(int sender, uint32_t strand) {
    return (uint64_t)(uint32_t)sender << 32 | strand;
}

static bool is_power_of_two(int number) {
    return !(number & (number - 1));
}

/* More steps than a schedule has with so many messages: each is sent, received, reduced and copied at most, and each of log
 * `ranks` rounds may pack and unpack every rank's block. */
static size_t most_steps(size_t messages, int ranks) {
    return 4 * messages + 64 * (size_t)ranks;
}

/*
 * A way in which the ranks of node 0 may stand for those of all nodes: rank r's twin on node k is r + k · processes, or
 * r xor k · processes, and so are its peers'.
 */
typedef struct symmetry {
    int size, processes;
    bool flipped; /* xor */
    bool counts;  /* of messages must be equal, too */
} symmetry;

static bool are_twins(const symmetry *how, const inter_schedule *a, const inter_schedule *b, int node) {
    int by = node * how->processes;
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        const inter_step *x = &a->steps[i], *y = &b->steps[i];
        if (x->kind != y->kind || x->strand != y->strand || x->stage != y->stage || x->independent != y->independent ||
            (how->counts && x->count != y->count))
            return false;
        if (x->kind != INTER_STEP_SEND && x->kind != INTER_STEP_RECV)
            continue;
        if (y->peer != (how->flipped ? x->peer ^ by : (int)(((long long)x->peer + by) % how->size)))
            return false;
    }
    return true;
}

/* Builds all schedules once, and compares. */
static bool are_all_twins(const symmetry *how, const inter_algorithm *algorithm, const inter_view *view) {
    inter_schedule mine = {0}, other = {0};
    inter_view there = *view;
    bool same = true;
    for (int rank = 0; rank < how->processes && same; rank++) {
        there.rank = rank;
        inter_build(&mine, algorithm, &there);
        for (int node = 1; node < how->size / how->processes && same; node++) {
            there.rank = rank + node * how->processes;
            inter_build(&other, algorithm, &there);
            same = !mine.out_of_memory && !other.out_of_memory && are_twins(how, &mine, &other, node);
        }
    }
    inter_schedule_free(&mine);
    inter_schedule_free(&other);
    return same;
}

/* Looks at one pair of ranks. How many steps rank 0 has. */
static size_t are_first_twins(symmetry *how, const inter_algorithm *algorithm, const inter_view *view, size_t most,
                              bool *twins) {
    inter_schedule zero = {.most_steps = most}, one = {.most_steps = most};
    inter_view there = *view;
    there.rank = 0;
    inter_build(&zero, algorithm, &there);
    there.rank = how->processes;
    inter_build(&one, algorithm, &there);
    how->flipped = !are_twins(how, &zero, &one, 1);
    *twins = !zero.out_of_memory && !one.out_of_memory;
    if (how->flipped)
        *twins =
            *twins && is_power_of_two(how->size) && is_power_of_two(how->processes) && are_twins(how, &zero, &one, 1);
    size_t steps = zero.count;
    inter_schedule_free(&zero);
    inter_schedule_free(&one);
    return steps;
}

/*
 * Lets the ranks of node 0 stand for all. Of an algorithm that says that it is symmetric one pair of ranks is looked at;
 * of another one all, if that costs less than running it.
 */
static void find_symmetry(inter_plan *plan, const inter_machine *machine, const inter_algorithm *algorithm,
                          const inter_view *view, size_t most_messages) {
    symmetry found = {view->size, machine->processes, false, !algorithm->symmetric};
    bool twins;
    if (found.processes >= found.size || found.size % found.processes)
        return;
    size_t steps = are_first_twins(&found, algorithm, view, most_steps(most_messages, found.size), &twins);
    if (twins && !algorithm->symmetric)
        twins = steps / 4 <= most_messages / (size_t)found.size && are_all_twins(&found, algorithm, view);
    if (!twins)
        return;
    plan->ranks = found.processes;
    plan->flipped = found.flipped;
}

static bool reserve(inter_plan *plan, size_t count) {
    if (count <= plan->capacity)
        return true;
    size_t capacity = count + count / 2;
    inter_plan_step *steps = realloc(plan->steps, capacity * sizeof(*steps));
    if (!steps)
        return false;
    plan->steps = steps;
    plan->capacity = capacity;
    return true;
}

static inter_plan_step plan_step(const inter_schedule *schedule, size_t index, const inter_machine *machine,
                                 const inter_view *view) {
    const inter_step *step = &schedule->steps[index], *next = step + 1;
    inter_plan_step made = {.bytes = step->count * view->element_bytes,
                            .peer = step->peer,
                            .strand = step->strand,
                            .kind = step->kind,
                            .independent = step->independent,
                            .other = (uint32_t)view->rank};
    made.ends_stage = index + 1 == schedule->count || next->stage != step->stage || next->strand != step->strand;
    if (step->kind == INTER_STEP_SEND || step->kind == INTER_STEP_RECV)
        made.between = step->peer / machine->processes != view->rank / machine->processes;
    else if (step->kind == INTER_STEP_COPY && step->left.buffer == step->out.buffer &&
             step->left.offset == step->out.offset)
        made.bytes = 0;
    return made;
}

/* Appends the schedule of a rank. */
static enum inter_predicted add_rank(inter_plan *plan, const inter_schedule *schedule, const inter_machine *machine,
                                     const inter_view *view, size_t most_messages) {
    size_t at = plan->first[view->rank];
    if (schedule->out_of_memory && schedule->count >= schedule->most_steps)
        return INTER_PREDICT_TOO_LARGE;
    if (schedule->out_of_memory || at + schedule->count > UINT32_MAX || !reserve(plan, at + schedule->count))
        return INTER_PREDICT_NO_MEMORY;
    for (size_t i = 0; i < schedule->count; i++) {
        plan->steps[at + i] = plan_step(schedule, i, machine, view);
        plan->messages += schedule->steps[i].kind == INTER_STEP_SEND;
    }
    plan->first[view->rank + 1] = at + schedule->count;
    if (schedule->count && schedule->steps[schedule->count - 1].strand >= plan->strands)
        plan->strands = schedule->steps[schedule->count - 1].strand + 1;
    return plan->messages > most_messages ? INTER_PREDICT_TOO_LARGE : INTER_PREDICTED;
}

static enum inter_predicted add_all(inter_plan *plan, const inter_machine *machine, const inter_algorithm *algorithm,
                                    const inter_view *view, size_t most_messages) {
    inter_schedule schedule = {.most_steps = most_steps(most_messages, plan->size)};
    inter_view mine = *view;
    enum inter_predicted code = INTER_PREDICTED;
    for (int rank = 0; rank < plan->ranks && code == INTER_PREDICTED; rank++) {
        mine.rank = rank;
        inter_build(&schedule, algorithm, &mine);
        code = add_rank(plan, &schedule, machine, &mine, most_messages);
    }
    inter_schedule_free(&schedule);
    return code;
}

static int compare(const void *left, const void *right) {
    const receive *a = left, *b = right;
    if (a->key != b->key)
        return a->key < b->key ? -1 : 1;
    return a->step < b->step ? -1 : 1;
}

/* Lists the receives of a rank, sorted. How many there are. */
static size_t list_receives(const inter_plan *plan, int rank, receive *list) {
    size_t count = 0;
    bool sorted = true;
    for (size_t i = plan->first[rank]; i < plan->first[rank + 1]; i++) {
        const inter_plan_step *step = &plan->steps[i];
        if (step->kind != INTER_STEP_RECV)
            continue;
        list[count] = (receive){.key = key_of(step->peer, step->strand), .step = (uint32_t)i};
        sorted = sorted && (!count || list[count - 1].key <= list[count].key);
        count++;
    }
    if (!sorted)
        qsort(list, count, sizeof(*list), compare);
    return count;
}

/* The rank that stands for the peer of `rank`, and as whom that one knows `rank`. */
static int twin_of(const inter_plan *plan, int rank, int peer, int *sender) {
    int node = peer / plan->ranks, nodes = plan->size / plan->ranks;
    int back = plan->flipped || !node ? node : nodes - node;
    *sender = back * plan->ranks + rank;
    return peer % plan->ranks;
}

/* The next receive without a message among those with the key; NULL when there is none. */
static const receive *take(receive *list, size_t count, uint64_t key) {
    size_t low = 0, high = count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (list[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == count || list[low].key != key)
        return NULL;
    size_t mine = low + list[low].taken++;
    return mine < count && list[mine].key == key ? &list[mine] : NULL;
}

/* Between two ranks a strand's k-th send is its k-th receive. */
static bool match_sends(inter_plan *plan, int rank, receive *receives, const size_t *first_receive) {
    for (size_t i = plan->first[rank]; i < plan->first[rank + 1]; i++) {
        inter_plan_step *step = &plan->steps[i];
        if (step->kind != INTER_STEP_SEND)
            continue;
        int sender, peer = twin_of(plan, rank, step->peer, &sender);
        const receive *found = take(receives + first_receive[peer], first_receive[peer + 1] - first_receive[peer],
                                    key_of(sender, step->strand));
        if (!found)
            return false;
        step->other = found->step;
    }
    return true;
}

static enum inter_predicted match(inter_plan *plan) {
    size_t total = plan->first[plan->ranks], count = 0;
    for (size_t i = 0; i < total; i++)
        count += plan->steps[i].kind == INTER_STEP_RECV;
    if (count != plan->messages)
        return INTER_PREDICT_UNMATCHED;
    receive *receives = malloc((count + 1) * sizeof(*receives));
    size_t *first_receive = calloc((size_t)plan->ranks + 1, sizeof(*first_receive));
    enum inter_predicted code = receives && first_receive ? INTER_PREDICTED : INTER_PREDICT_NO_MEMORY;
    for (int rank = 0; rank < plan->ranks && code == INTER_PREDICTED; rank++)
        first_receive[rank + 1] = first_receive[rank] + list_receives(plan, rank, receives + first_receive[rank]);
    for (int rank = 0; rank < plan->ranks && code == INTER_PREDICTED; rank++)
        if (!match_sends(plan, rank, receives, first_receive))
            code = INTER_PREDICT_UNMATCHED;
    free(receives);
    free(first_receive);
    return code;
}

enum inter_predicted inter_plan_make(inter_plan *plan, const inter_machine *machine, const inter_algorithm *algorithm,
                                     const inter_view *view, size_t most_messages) {
    *plan = (inter_plan){.size = view->size, .ranks = view->size, .strands = 1};
    find_symmetry(plan, machine, algorithm, view, most_messages);
    plan->first = calloc((size_t)plan->ranks + 1, sizeof(*plan->first));
    if (!plan->first)
        return INTER_PREDICT_NO_MEMORY;
    enum inter_predicted code = add_all(plan, machine, algorithm, view, most_messages);
    return code == INTER_PREDICTED ? match(plan) : code;
}

void inter_plan_free(inter_plan *plan) {
    free(plan->steps);
    free(plan->first);
    *plan = (inter_plan){0};
}
