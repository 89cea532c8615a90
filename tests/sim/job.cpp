// SPDX-License-Identifier: BSD-3-Clause
#include "job.h"
#include <algorithm>
#include <numeric>

namespace sim {

Job::Job(int size, uint64_t seed) : ranks_(size_t(size)), order_(size_t(size)), random_(seed), seed_(seed) {
    EXPECT_EQ(inter_sim_create(size, seed, &sim_), WEFT_SUCCESS);
    std::iota(order_.begin(), order_.end(), size_t(0));
    for (int rank = 0; rank < size; rank++)
        engine(rank).transport = inter_sim_transport(sim_, rank);
}

Job::~Job() {
    for (Rank &rank : ranks_)
        for (inter_execution &execution : rank.executions)
            inter_execution_free(&execution);
    inter_sim_destroy(sim_);
}

void Job::on_finished(void *argument, int error) {
    Rank *rank = static_cast<Rank *>(argument);
    rank->finished_calls++;
    rank->finished_error = error;
}

int Job::start(int rank, const inter_algorithm &algorithm, const inter_view &view, const inter_binding &binding,
               inter_id id) {
    Rank &self = ranks_[size_t(rank)];
    self.executions.emplace_back();
    inter_execution &execution = self.executions.back();
    execution = inter_execution{};
    execution.finished = on_finished;
    execution.argument = &self;
    return inter_execution_start(&execution, &self.engine, id, &algorithm, &view, &binding);
}

bool Job::round() {
    bool moved = false;
    if (seed_)
        std::shuffle(order_.begin(), order_.end(), random_);
    for (size_t rank : order_)
        moved |= inter_engine_progress(&ranks_[rank].engine);
    return moved;
}

bool Job::all_done() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const Rank &rank) { return !rank.engine.active; });
}

bool Job::finish() {
    // With delays a message is held with probability 1/4 a round: 64 rounds without one are no chance.
    const int patience = seed_ ? 64 : 1;
    for (int quiet = 0; quiet < patience && !all_done(); quiet++)
        if (round())
            quiet = -1;
    return all_done();
}

inter_view view_of(int rank, int size, size_t count, size_t element_bytes) {
    inter_view view{};
    view.collective = INTER_ALLGATHER;
    view.element_bytes = element_bytes;
    view.rank = rank;
    view.size = size;
    view.count = count;
    return view;
}

inter_binding between(const void *send, void *recv) {
    inter_binding binding{};
    binding.send = send;
    binding.recv = recv;
    return binding;
}

} // namespace sim
