// SPDX-License-Identifier: BSD-3-Clause
#include "plan.h"
#include <algorithm>

namespace sim {

namespace {

bool is_message(const inter_step &step) {
    return step.kind == INTER_STEP_SEND || step.kind == INTER_STEP_RECV;
}
bool reads_left(const inter_step &step) {
    return step.kind != INTER_STEP_RECV;
}
bool reads_right(const inter_step &step) {
    return step.kind == INTER_STEP_REDUCE;
}
bool writes_out(const inter_step &step) {
    return step.kind != INTER_STEP_SEND;
}

// Calls visit(place, is_written) for each place that a step uses.
template <class Visit> void places(const inter_step &step, Visit visit) {
    if (reads_left(step))
        visit(step.left, false);
    if (reads_right(step))
        visit(step.right, false);
    if (writes_out(step))
        visit(step.out, true);
}

std::string where(int rank, const inter_step &step) {
    static const char *const kinds[] = {"send", "recv", "reduce", "copy"};
    return "rank " + std::to_string(rank) + ", strand " + std::to_string(step.strand) + ", stage " +
           std::to_string(step.stage) + ", " + kinds[step.kind] + " of " + std::to_string(step.count) +
           (is_message(step) ? ", peer " + std::to_string(step.peer) : "") + ": ";
}

} // namespace

Plan::~Plan() {
    for (inter_schedule &schedule : schedules_)
        inter_schedule_free(&schedule);
}

void Plan::build(const inter_algorithm &algorithm, const Problem &problem) {
    size_ = problem.shape().size;
    if (schedules_.size() < size_t(size_))
        schedules_.resize(size_t(size_));
    for (int rank = 0; rank < size_; rank++) {
        inter_view view = problem.view(rank);
        inter_build(&schedules_[size_t(rank)], &algorithm, &view);
    }
}

size_t Plan::address(const Problem &problem, int rank, inter_place place) const {
    if (place.buffer == INTER_TEMP)
        return problem.words(rank) + place.offset;
    return problem.area(rank, inter_buffer(place.buffer)).begin + place.offset;
}

const char *Plan::check_place(const Problem &problem, int rank, inter_place place, size_t count) const {
    size_t words = schedule(rank).temp_count;
    if (place.buffer != INTER_TEMP) {
        Problem::Area area = problem.area(rank, inter_buffer(place.buffer));
        if (!area.exists)
            return "a buffer that the rank has not got";
        words = area.words;
    }
    return place.offset > words || count > words - place.offset ? "outside its buffer" : nullptr;
}

const char *Plan::check_step(const Problem &problem, int rank, const inter_step &step) const {
    bool message = is_message(step);
    if (message && (step.peer < 0 || step.peer >= size_ || step.peer == rank))
        return "a peer that there is not";
    const char *fault = nullptr;
    if (step.count)
        places(step, [&](inter_place place, bool written) {
            const char *found = check_place(problem, rank, place, step.count);
            if (written && place.buffer == INTER_SEND)
                found = "writes to the send buffer";
            if (!fault)
                fault = found;
        });
    if (message || fault)
        return fault;
    size_t out = address(problem, rank, step.out);
    for (inter_place place : {step.left, step.right}) {
        size_t in = address(problem, rank, place);
        if (in != out && in < out + step.count && out < in + step.count)
            return "overlaps its operand";
    }
    return nullptr;
}

// One strand, in which the stages follow each other.
std::string Plan::check_strand(const Problem &problem, int rank, size_t begin, size_t end) {
    const inter_step *steps = schedule(rank).steps;
    uint64_t first_stage = stage_ + 1, last_stage = first_stage + steps[end - 1].stage, receives_in = 0;
    for (size_t i = begin; i < end; i++) {
        const inter_step &step = steps[i];
        uint64_t now = first_stage + step.stage, until = step.independent ? last_stage : now;
        if (now < stage_)
            return where(rank, step) + "stages go down";
        stage_ = now;
        if (step.kind == INTER_STEP_RECV)
            receives_in = now;
        if (step.kind == INTER_STEP_SEND && receives_in == now)
            return where(rank, step) + "stands behind a receive";
        if (const char *fault = check_step(problem, rank, step))
            return where(rank, step) + fault;
        if (step.kind == INTER_STEP_COPY && address(problem, rank, step.left) == address(problem, rank, step.out))
            continue;
        bool clash = false;
        places(step, [&](inter_place place, bool written) {
            Use *use = uses_.data() + address(problem, rank, place);
            for (size_t n = 0; n < step.count; n++, use++) {
                clash |= use->received_until >= now || (written && use->sent_until >= now);
                if (step.kind == INTER_STEP_SEND)
                    use->sent_until = std::max(use->sent_until, until);
                if (step.kind == INTER_STEP_RECV)
                    use->received_until = std::max(use->received_until, until);
            }
        });
        if (clash)
            return where(rank, step) + "uses what is being received, or writes what is being sent";
    }
    stage_ = last_stage;
    return "";
}

// Does a strand write nothing that another one uses which may be under way with it, and use nothing that one writes?
bool Plan::apart(const Problem &problem, int rank, size_t begin, size_t end) {
    const inter_step *steps = schedule(rank).steps;
    uint64_t strand = strand_ + 1 + steps[begin].strand, together = strand - INTER_STRANDS + 1;
    bool fine = true;
    for (bool note : {false, true})
        for (size_t i = begin; i < end; i++)
            places(steps[i], [&](inter_place place, bool written) {
                Use *use = uses_.data() + address(problem, rank, place);
                for (size_t n = 0; n < steps[i].count; n++, use++) {
                    if (note)
                        (written ? use->written_by : use->read_by) = strand;
                    else
                        fine = fine && use->written_by < together && (!written || use->read_by < together);
                }
            });
    return fine;
}

std::string Plan::broken_rule(const Problem &problem) {
    for (int rank = 0; rank < size_; rank++) {
        const inter_schedule &own = schedule(rank);
        if (own.out_of_memory)
            return "out of memory";
        uses_.resize(std::max(uses_.size(), problem.words(rank) + own.temp_count));
        for (size_t begin = 0, end; begin < own.count; begin = end) {
            for (end = begin; end < own.count && own.steps[end].strand == own.steps[begin].strand;)
                end++;
            if (end < own.count && own.steps[end].strand < own.steps[begin].strand)
                return where(rank, own.steps[end]) + "strands go down";
            std::string fault = check_strand(problem, rank, begin, end);
            if (!fault.empty())
                return fault;
            if (own.strand && !apart(problem, rank, begin, end))
                return where(rank, own.steps[begin]) + "the strand is not apart from those under way with it";
        }
        stage_ += 1;
        strand_ += own.strand + INTER_STRANDS;
    }
    return "";
}

} // namespace sim
