// SPDX-License-Identifier: BSD-3-Clause
/*
 * A picture of who sends to whom: DOT for Graphviz. Nodes are boxes, the edges between them stand out, and the label of
 * an edge says in which time step its message goes, and of how many elements.
 *
 * In a time step a rank sends one message at most, of those that its schedule has issued the first one; messages of all
 * lengths take one step, and a rank receives any number. A message sent in step t is there for what begins in step t + 1.
 */
#include "schedule_show.h"

#include <inter/predict_plan.h>
#include <stdlib.h>

/* When each send goes and each receive is complete; 0: not yet. */
typedef struct timeline {
    const inter_plan *plan;
    unsigned *times;
    size_t sent;
} timeline;

static bool is_message(const inter_plan_step *step) {
    return step->kind == INTER_STEP_SEND || step->kind == INTER_STEP_RECV;
}

/* Time step `now` of a rank: walks its strands, each up to the first stage that may not begin yet. */
static void let_send(timeline *line, int rank, unsigned now) {
    const inter_plan *plan = line->plan;
    bool finished[INTER_STRANDS] = {false}; /* of the last strands, by their number modulo INTER_STRANDS */
    bool open = true, stage_done = true, strand_done = true, has_sent = false;
    for (size_t i = plan->first[rank]; i < plan->first[rank + 1]; i++) {
        const inter_plan_step *step = &plan->steps[i];
        uint32_t strand = step->strand;
        if (i == plan->first[rank] || strand != step[-1].strand) {
            open = strand < INTER_STRANDS || finished[strand % INTER_STRANDS];
            stage_done = strand_done = true;
        }
        if (open && !has_sent && step->kind == INTER_STEP_SEND && !line->times[i]) {
            line->times[i] = line->times[step->other] = now;
            line->sent++;
            has_sent = true;
        }
        if (is_message(step) && (!line->times[i] || line->times[i] == now)) {
            strand_done = false;
            stage_done = stage_done && step->independent;
        }
        if (step->ends_stage)
            open = open && stage_done;
        finished[strand % INTER_STRANDS] = strand_done;
    }
}

/* Returns the number of steps; 0 when there is a message that nothing lets go. */
static unsigned run(timeline *line) {
    unsigned now = 0;
    for (size_t before = 0; line->sent < line->plan->messages; before = line->sent) {
        now++;
        for (int rank = 0; rank < line->plan->ranks; rank++)
            let_send(line, rank, now);
        if (line->sent == before)
            return 0;
    }
    return now;
}

static int node_of(const show_request *request, int rank) {
    return (int)((long long)rank * request->nodes / request->view.size);
}

static void write_nodes(const show_request *request, FILE *file) {
    bool rooted = inter_is(request->view.collective, INTER_ROOTED);
    for (int rank = 0, node = -1; rank < request->view.size; rank++) {
        if (node_of(request, rank) != node) {
            fprintf(file, "%s  subgraph cluster_%d { label=\"node %d\";", node < 0 ? "" : " }\n",
                    node_of(request, rank), node_of(request, rank));
            node = node_of(request, rank);
        }
        fprintf(file, " %d%s;", rank, rooted && rank == request->view.root ? " [shape=doublecircle]" : "");
    }
    fprintf(file, " }\n");
}

static size_t write_edges(const show_request *request, const timeline *line, FILE *file) {
    const inter_plan *plan = line->plan;
    size_t crossing = 0;
    for (int rank = 0; rank < plan->ranks; rank++)
        for (size_t i = plan->first[rank]; i < plan->first[rank + 1]; i++) {
            const inter_plan_step *step = &plan->steps[i];
            if (step->kind != INTER_STEP_SEND)
                continue;
            bool crosses = node_of(request, rank) != node_of(request, step->peer);
            fprintf(file, "  %d -> %d [label=\"%u: %zu\"%s];\n", rank, step->peer, line->times[i], step->bytes,
                    crosses ? ", color=\"#c0392b\", fontcolor=\"#c0392b\", penwidth=2.5" : "");
            crossing += crosses;
        }
    return crossing;
}

static void write_dot(const show_request *request, const timeline *line, unsigned steps, FILE *file) {
    const char *name = inter_collective_name(request->view.collective);
    fprintf(file,
            "digraph \"%s %s\" {\n"
            "  graph [fontname=\"sans-serif\", color=\"#95a5a6\", style=rounded, labelloc=b];\n"
            "  node [fontname=\"sans-serif\", shape=circle, fixedsize=true, width=0.45];\n"
            "  edge [fontname=\"sans-serif\", fontsize=10, color=\"#2c3e50\"];\n",
            name, request->algorithm.name);
    write_nodes(request, file);
    size_t crossing = write_edges(request, line, file);
    fprintf(
        file,
        "  label=\"%s %s, %d ranks on %d node%s: %zu messages, %zu between nodes, %u steps (step: elements)\";\n}\n",
        name, request->algorithm.name, request->view.size, request->nodes, request->nodes > 1 ? "s" : "",
        line->plan->messages, crossing, steps);
}

bool schedule_draw(const show_request *request, FILE *file) {
    inter_plan plan = {0};
    inter_machine machine = {.processes = request->view.size}; /* one node: all ranks are planned */
    enum inter_predicted code =
        inter_plan_make(&plan, &machine, &request->algorithm, &request->view, SHOW_MOST_MESSAGES);
    timeline line = {.plan = &plan};
    unsigned steps = 0;
    if (code == INTER_PREDICTED) {
        line.times = calloc(plan.first[plan.ranks] + 1, sizeof(*line.times));
        code = line.times ? INTER_PREDICTED : INTER_PREDICT_NO_MEMORY;
    }
    if (code == INTER_PREDICTED && !(steps = run(&line)) && plan.messages)
        code = INTER_PREDICT_UNMATCHED;
    if (code == INTER_PREDICTED)
        write_dot(request, &line, steps, file);
    else if (code == INTER_PREDICT_TOO_LARGE)
        fprintf(stderr, "weft-info: more than %d messages are no picture; take fewer ranks\n", SHOW_MOST_MESSAGES);
    else
        fprintf(stderr, "weft-info: %s\n",
                code == INTER_PREDICT_NO_MEMORY ? "no memory" : "the messages do not match: a bug");
    free(line.times);
    inter_plan_free(&plan);
    return code == INTER_PREDICTED;
}
