// SPDX-License-Identifier: BSD-3-Clause
#include "runner.h"
#include <algorithm>

namespace sim {

namespace {

constexpr word nothing_yet = 0x7e3a7e3a; // in temporary memory; no symbol

uint64_t next_random(uint64_t &state) { // xorshift64 (Marsaglia 2003)
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

} // namespace

void Runner::prepare(const Plan &plan, Problem &problem) {
    combine_ = problem.shape().commuting ? combine_in_any_order : combine_in_order;
    ranks_.assign(size_t(plan.size()), Rank{});
    size_t steps = 0;
    for (int rank = 0; rank < plan.size(); rank++) {
        Rank &self = ranks_[size_t(rank)];
        self.schedule = &plan.schedule(rank);
        std::vector<word> &memory = problem.memory(rank);
        memory.resize(problem.words(rank) + self.schedule->temp_count, nothing_yet);
        for (inter_buffer buffer : {INTER_SEND, INTER_RECV, INTER_TEMP})
            self.buffers[buffer] = memory.data() + plan.address(problem, rank, inter_at(buffer, 0));
        self.base = steps;
        steps += self.schedule->count;
    }
    messages_.resize(std::max(messages_.size(), steps));
    bool barrier = problem.collective() == INTER_BARRIER;
    heard_.assign(barrier ? ranks_.size() : 0, std::vector<uint64_t>((ranks_.size() + 63) / 64));
    told_.resize(barrier ? steps : 0);
    for (size_t rank = 0; rank < heard_.size(); rank++)
        heard_[rank][rank / 64] |= uint64_t(1) << rank % 64;
    ready_.clear();
    ready_first_ = 0;
    waiting_ = 0;
    channels_used_ = 0;
    run_++;
}

size_t Runner::place_of(uint32_t key) const {
    return uint64_t(key) * 0x9e3779b97f4a7c15 >> 32 & (channels_.size() - 1);
}

void Runner::grow_channels() {
    std::vector<Channel> old(std::max<size_t>(64, 2 * channels_.size()));
    old.swap(channels_);
    for (const Channel &channel : old)
        if (channel.run == run_) {
            size_t at = place_of(channel.key);
            while (channels_[at].run == run_)
                at = (at + 1) & (channels_.size() - 1);
            channels_[at] = channel;
        }
}

Runner::Channel &Runner::channel(int from, int to, uint32_t strand) {
    if (2 * channels_used_ >= channels_.size())
        grow_channels();
    uint32_t key = (uint32_t(from) << 14 | uint32_t(to)) * INTER_STRANDS + strand % INTER_STRANDS;
    size_t at = place_of(key);
    while (channels_[at].run == run_ && channels_[at].key != key)
        at = (at + 1) & (channels_.size() - 1);
    if (channels_[at].run != run_) {
        channels_used_++;
        channels_[at] = Channel{key, run_, none, 0, 0};
    }
    return channels_[at];
}

// Makes a pair with the first partner that waits, or waits itself.
void Runner::post(int rank, size_t index, size_t time) {
    const Rank &self = ranks_[size_t(rank)];
    const inter_step &step = self.schedule->steps[index];
    bool send = step.kind == INTER_STEP_SEND;
    int from = send ? rank : step.peer, to = send ? step.peer : rank;
    Message &own = messages_[self.base + index];
    own = {time, none};
    if (send && !heard_.empty())
        told_[self.base + index] = heard_[size_t(rank)];
    Channel &there = channel(from, to, step.strand);
    if (there.first != none && there.sends != send) {
        uint32_t partner = there.first;
        there.first = messages_[ranks_[size_t(step.peer)].base + partner].next;
        ready_.push_back({from, to, send ? uint32_t(index) : partner, send ? partner : uint32_t(index)});
        waiting_--;
        return;
    }
    if (there.first == none)
        there.first = uint32_t(index);
    else
        messages_[self.base + there.last].next = uint32_t(index);
    there.last = uint32_t(index) & INT32_MAX;
    there.sends = send;
    waiting_++;
}

void Runner::local(const Rank &self, const inter_step &step) {
    const word *left = address(self, step.left), *right = address(self, step.right);
    word *out = address(self, step.out);
    if (step.kind == INTER_STEP_COPY)
        std::copy_n(left, left == out ? 0 : step.count, out);
    else
        for (size_t i = 0; i < step.count; i++)
            out[i] = combine_(left[i], right[i]);
}

// Issues stage after stage until one has a message under way.
void Runner::advance_lane(int rank, Lane &lane) {
    Rank &self = ranks_[size_t(rank)];
    const inter_step *steps = self.schedule->steps;
    while (!lane.pending && lane.next < lane.end) {
        uint32_t stage = steps[lane.next].stage;
        for (; lane.next < lane.end && steps[lane.next].stage == stage; lane.next++) {
            const inter_step &step = steps[lane.next];
            if (step.kind == INTER_STEP_REDUCE || step.kind == INTER_STEP_COPY) {
                local(self, step);
                continue;
            }
            (step.independent ? lane.pending_whole : lane.pending)++;
            post(rank, lane.next, lane.time);
        }
    }
    if (!lane.pending && !lane.pending_whole && lane.next == lane.end) {
        lane.busy = false;
        lane.time = std::max(lane.time, lane.time_whole);
        self.busy_lanes--;
    }
}

// Begins the strands that may begin.
void Runner::advance(int rank) {
    Rank &self = ranks_[size_t(rank)];
    const inter_schedule &schedule = *self.schedule;
    while (self.next < schedule.count) {
        uint32_t strand = schedule.steps[self.next].strand;
        Lane &lane = self.lanes[strand % INTER_STRANDS];
        if (lane.busy)
            return;
        self.time = std::max(self.time, lane.time);
        lane = Lane{true, self.next, self.next, 0, 0, self.time, self.time};
        while (lane.end < schedule.count && schedule.steps[lane.end].strand == strand)
            lane.end++;
        self.next = lane.end;
        self.busy_lanes++;
        advance_lane(rank, lane);
    }
}

void Runner::complete(int rank, size_t index, size_t time) {
    Rank &self = ranks_[size_t(rank)];
    const inter_step &step = self.schedule->steps[index];
    Lane &lane = self.lanes[step.strand % INTER_STRANDS];
    (step.independent ? lane.pending_whole : lane.pending)--;
    size_t &latest = step.independent ? lane.time_whole : lane.time;
    latest = std::max(latest, time);
    advance_lane(rank, lane);
    if (!lane.busy)
        advance(rank);
}

size_t Runner::start(const Pair &pair) const {
    const Rank &from = ranks_[size_t(pair.from)], &to = ranks_[size_t(pair.to)];
    size_t both = std::max(messages_[from.base + pair.send].time, messages_[to.base + pair.recv].time);
    return one_port_ ? std::max({both, from.out_free, to.in_free}) : both;
}

// Of the pairs that are ready the one that can be first; of equal ones the one that has been ready longest.
size_t Runner::earliest() const {
    size_t best = ready_first_;
    for (size_t i = best + 1; i < ready_.size(); i++)
        if (start(ready_[i]) < start(ready_[best]))
            best = i;
    return best;
}

// Barrier: the receiver hears what the sender knew.
void Runner::meet(const Pair &pair) {
    const std::vector<uint64_t> &told = told_[ranks_[size_t(pair.from)].base + pair.send];
    std::vector<uint64_t> &heard = heard_[size_t(pair.to)];
    for (size_t i = 0; i < told.size(); i++)
        heard[i] |= told[i];
}

void Runner::check_barrier(Outcome &outcome) const {
    for (size_t rank = 0; rank < heard_.size() && outcome.fault.empty(); rank++)
        for (size_t other = 0; other < heard_.size(); other++)
            if (!(heard_[rank][other / 64] >> other % 64 & 1))
                outcome.fault =
                    "rank " + std::to_string(rank) + " leaves before rank " + std::to_string(other) + " comes";
}

void Runner::exchange(const Pair &pair, Outcome &outcome) {
    Rank &from = ranks_[size_t(pair.from)], &to = ranks_[size_t(pair.to)];
    const inter_step &send = from.schedule->steps[pair.send], &recv = to.schedule->steps[pair.recv];
    if (send.count != recv.count) {
        outcome.fault = "rank " + std::to_string(pair.from) + " sends " + std::to_string(send.count) + " where rank " +
                        std::to_string(pair.to) + " wants " + std::to_string(recv.count);
        return;
    }
    std::copy_n(address(from, send.left), send.count, address(to, recv.out));
    if (!heard_.empty())
        meet(pair);
    outcome.messages++;
    outcome.elements += send.count;
    size_t time = start(pair) + 1;
    from.out_free = to.in_free = time;
    complete(pair.from, pair.send, time);
    complete(pair.to, pair.recv, time);
}

void Runner::finish(Outcome &outcome) {
    outcome.left_over = waiting_;
    for (size_t rank = 0; rank < ranks_.size(); rank++) {
        const Rank &self = ranks_[rank];
        outcome.steps = std::max(outcome.steps, self.time);
        for (const Lane &lane : self.lanes) {
            outcome.steps = std::max(outcome.steps, lane.time);
            if (lane.busy && outcome.fault.empty())
                outcome.fault = "deadlock: rank " + std::to_string(rank) + " waits in stage " +
                                std::to_string(self.schedule->steps[lane.next - 1].stage) + " of strand " +
                                std::to_string(self.schedule->steps[lane.next - 1].strand);
        }
    }
}

Outcome Runner::run(const Plan &plan, Problem &problem, uint64_t seed, bool one_port) {
    Outcome outcome;
    one_port_ = one_port;
    prepare(plan, problem);
    for (int rank = 0; rank < plan.size(); rank++)
        advance(rank);
    uint64_t random = seed * 0x9e3779b97f4a7c15;
    while (ready_first_ < ready_.size() && outcome.fault.empty()) {
        if (random)
            std::swap(ready_[ready_first_],
                      ready_[ready_first_ + next_random(random) % (ready_.size() - ready_first_)]);
        if (one_port) {
            size_t best = earliest();
            std::rotate(ready_.begin() + ptrdiff_t(ready_first_), ready_.begin() + ptrdiff_t(best),
                        ready_.begin() + ptrdiff_t(best) + 1);
        }
        Pair pair = ready_[ready_first_++];
        if (2 * ready_first_ >= ready_.size()) { // the others come to the front: the memory stays in the cache
            ready_.erase(ready_.begin(), ready_.begin() + ptrdiff_t(ready_first_));
            ready_first_ = 0;
        }
        exchange(pair, outcome);
    }
    finish(outcome);
    check_barrier(outcome);
    return outcome;
}

} // namespace sim
