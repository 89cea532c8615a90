// SPDX-License-Identifier: BSD-3-Clause
#include "problem.h"
#include <algorithm>

namespace sim {

namespace {

constexpr size_t guards = 2;
constexpr word guard = 0xdeadbeef, junk = 0x5a5a5a5a; // no symbols

} // namespace

// Of alltoallv: how many units `from` sends to `to`, some of them none. In place both ways must be equal.
size_t Problem::units(int from, int to) const {
    return size_t(shape_.in_place ? (from + to) * 3 + 1 : from * 3 + to * 5) % 4;
}

Shape varied(int size, unsigned n, size_t count) {
    Shape shape;
    shape.size = size;
    shape.count = count;
    shape.uneven = n & 1;
    shape.in_place = n & 2;
    shape.spread = n & 4;
    shape.alone = n & 8;
    return shape;
}

Problem::Problem(inter_collective collective, const Shape &shape)
    : collective_(collective), shape_(shape), ranks_(size_t(shape.size)) {
    shape_.root = is(INTER_ROOTED) ? shape.root : 0;
    shape_.uneven = shape.uneven && is(with_counts);
    shape_.in_place = shape.in_place && is(with_in_place);
    shape_.spread = shape.spread && is(with_displs);
    shape_.alone = shape.alone && is(INTER_BIT(INTER_GATHERV) | INTER_BIT(INTER_SCATTERV));
    shape_.count = is(INTER_BIT(INTER_BARRIER)) ? 0 : shape.count;
    if (is(with_blocks))
        make_blocks();
    if (shape_.commuting) {
        totals_.assign(is(INTER_REDUCE_SCATTERS) ? whole_words_ : shape_.count, 0);
        for (size_t i = 0; i < totals_.size(); i++)
            for (int rank = 0; rank < shape_.size; rank++)
                totals_[i] += commuting(rank, i);
    }
    for (int rank = 0; rank < shape_.size; rank++) {
        Rank &self = ranks_[size_t(rank)];
        self.view.collective = collective;
        self.view.rank = rank;
        self.view.size = shape_.size;
        self.view.root = shape_.root;
        self.view.count = is(with_blocks) ? block_count(rank) : shape_.count;
        self.view.element_bytes = sizeof(word);
        bool both = has_operand(rank) && has_result(rank);
        self.view.in_place = shape_.in_place && both && is(INTER_ALLTOALLS | INTER_REDUCTIONS);
        bool knows_all = !shape_.alone || rank == shape_.root;
        self.view.offsets = shape_.uneven && is(with_blocks) && knows_all ? offsets_.data() : nullptr;
        bool lies_spread = shape_.spread && (rank == shape_.root || !is(INTER_ROOTED));
        self.view.displs = lies_spread ? displs_.data() : nullptr;
        if (is(INTER_ALLTOALLS))
            self.view.typical = shape_.count;
        else if (shape_.uneven && is(INTER_CUT_BLOCKS) && !self.view.in_place)
            self.view.typical = whole_words_ / size_t(shape_.size);
        if (is(INTER_BIT(INTER_ALLTOALLV) | INTER_BIT(INTER_ALLTOALLW)))
            make_alltoallv(self);
        lay_out(self);
        fill(self, self.memory, false);
    }
}

void Problem::make_blocks() {
    offsets_.assign(1, 0);
    for (int rank = 0; rank < shape_.size; rank++)
        offsets_.push_back(offsets_.back() + shape_.count * (shape_.uneven ? size_t(rank * 5 + 3) % 4 : 1));
    whole_words_ = offsets_.back();
    if (!shape_.spread)
        return;
    displs_.resize(size_t(shape_.size));
    whole_words_ = 1;
    for (int rank = shape_.size - 1; rank >= 0; rank--) { // in falling order, a word that nobody touches between them
        displs_[size_t(rank)] = whole_words_;
        whole_words_ += block_count(rank) + 1;
    }
}

// Send blocks lie in falling, receive blocks in rising order of the peers, a word that nobody touches between them.
void Problem::make_alltoallv(Rank &self) {
    size_t ranks = size_t(shape_.size), send_words = 0, recv_words = 0;
    self.send_counts.resize(ranks), self.recv_counts.resize(ranks);
    self.send_offsets.resize(ranks), self.recv_offsets.resize(ranks);
    for (int peer = 0; peer < shape_.size; peer++) {
        self.send_counts[size_t(peer)] = shape_.count * (shape_.uneven ? units(self.view.rank, peer) : 1);
        self.recv_counts[size_t(peer)] = shape_.count * (shape_.uneven ? units(peer, self.view.rank) : 1);
        self.recv_offsets[size_t(peer)] = recv_words;
        recv_words += self.recv_counts[size_t(peer)] + 1;
    }
    for (size_t peer = ranks; peer-- > 0; send_words += self.send_counts[peer] + 1)
        self.send_offsets[peer] = send_words;
    self.view.recv_counts = self.recv_counts.data();
    self.view.recv_offsets = self.recv_offsets.data();
    if (!shape_.in_place) {
        self.view.send_counts = self.send_counts.data();
        self.view.send_offsets = self.send_offsets.data();
    }
}

bool Problem::has_operand(int rank) const {
    return !is(INTER_BIT(INTER_BARRIER) | INTER_BIT(INTER_BCAST)) && (!is(INTER_SCATTERS) || rank == shape_.root);
}

bool Problem::has_result(int rank) const {
    if (is(INTER_BIT(INTER_BARRIER)) || (is(INTER_BIT(INTER_EXSCAN)) && rank == 0))
        return false;
    return !is(INTER_GATHERS | INTER_BIT(INTER_REDUCE)) || rank == shape_.root;
}

size_t Problem::operand_words(int rank) const {
    if (is(INTER_ALLTOALLS)) {
        const Rank &self = ranks_[size_t(rank)];
        return self.view.recv_counts ? self.send_offsets[0] + self.send_counts[0] : shape_.count * size_t(shape_.size);
    }
    if (is(INTER_SCATTERS | INTER_REDUCE_SCATTERS))
        return whole_words_;
    return is(INTER_GATHERS | INTER_ALLGATHERS) ? block_count(rank) : shape_.count;
}

size_t Problem::result_words(int rank) const {
    if (is(INTER_ALLTOALLS)) {
        const Rank &self = ranks_[size_t(rank)];
        return self.view.recv_counts ? self.recv_offsets.back() + self.recv_counts.back()
                                     : shape_.count * size_t(shape_.size);
    }
    if (is(INTER_GATHERS | INTER_ALLGATHERS))
        return whole_words_;
    return is(INTER_SCATTERS | INTER_REDUCE_SCATTERS) ? block_count(rank) : shape_.count;
}

// In place one buffer lies in the other: of scatter the result in the operand, else the operand in the result.
void Problem::lay_out(Rank &self) {
    int rank = self.view.rank;
    Area operand{has_operand(rank), guards, has_operand(rank) ? operand_words(rank) : 0};
    size_t behind = operand.exists ? operand.begin + operand.words + guards : guards;
    Area result{has_result(rank), behind, has_result(rank) ? result_words(rank) : 0};
    if (operand.exists && result.exists && shape_.in_place) {
        result.begin = guards;
        if (is(INTER_SCATTERS))
            result.begin += block_place(rank);
        if (is(INTER_GATHERS | INTER_ALLGATHERS))
            operand.begin += block_place(rank);
        if (is(INTER_ALLTOALLS))
            operand.exists = false;
    }
    self.send = operand;
    self.recv = result;
    size_t end = std::max(operand.exists ? operand.begin + operand.words : 0, result.begin + result.words);
    self.words = end + guards;
}

inter_binding Problem::binding(int rank) {
    Rank &self = ranks_[size_t(rank)];
    inter_binding binding{};
    binding.send = self.send.exists ? self.memory.data() + self.send.begin : nullptr;
    binding.recv = self.recv.exists ? self.memory.data() + self.recv.begin : nullptr;
    if (is(INTER_REDUCTIONS)) {
        binding.type = WEFT_UINT64_T;
        binding.op = shape_.commuting ? op_in_any_order() : op_in_order();
    }
    return binding;
}

word Problem::contribution(int rank, size_t index) const {
    return shape_.commuting ? commuting(rank, index) : reduced(rank, rank, index);
}

word Problem::total(int first, int last, size_t index) const {
    if (!shape_.commuting)
        return reduced(first, last, index);
    word sum = 0;
    if (last == shape_.size - 1)
        return totals_[index];
    for (int rank = first; rank <= last; rank++)
        sum += commuting(rank, index);
    return sum;
}

void Problem::put_operand(const Rank &self, word *at, bool into_result) const {
    int rank = self.view.rank;
    auto block = [&](size_t place, size_t words, int to) {
        for (size_t i = 0; i < words; i++)
            at[place + i] = moved(rank, to, i);
    };
    if (is(INTER_REDUCTIONS))
        for (size_t i = 0; i < operand_words(rank); i++)
            at[i] = contribution(rank, i);
    else if (is(INTER_GATHERS | INTER_ALLGATHERS))
        block(0, block_count(rank), 0);
    else if (is(INTER_SCATTERS))
        for (int to = 0; to < shape_.size; to++)
            block(block_place(to), block_count(to), to);
    else if (self.view.recv_counts)
        for (int to = 0; to < shape_.size; to++)
            block((into_result ? self.recv_offsets : self.send_offsets)[size_t(to)], self.send_counts[size_t(to)], to);
    else
        for (int to = 0; to < shape_.size; to++)
            block(size_t(to) * shape_.count, shape_.count, to);
}

void Problem::put_result(const Rank &self, word *at) const {
    int rank = self.view.rank;
    auto block = [&](size_t place, size_t words, int from, int to) {
        for (size_t i = 0; i < words; i++)
            at[place + i] = moved(from, to, i);
    };
    bool exclusive = is(INTER_BIT(INTER_EXSCAN));
    if (is(INTER_REDUCTIONS)) {
        size_t first = is(INTER_REDUCE_SCATTERS) ? offsets_[size_t(rank)] : 0;
        for (size_t i = 0; i < self.recv.words; i++)
            at[i] = total(0, is(INTER_SCANS) ? rank - exclusive : shape_.size - 1, first + i);
    } else if (is(INTER_GATHERS | INTER_ALLGATHERS)) {
        for (int from = 0; from < shape_.size; from++)
            block(block_place(from), block_count(from), from, 0);
    } else if (is(INTER_SCATTERS | INTER_BIT(INTER_BCAST))) {
        block(0, self.recv.words, shape_.root, is(INTER_SCATTERS) ? rank : 0);
    } else if (self.view.recv_counts) {
        for (int from = 0; from < shape_.size; from++)
            block(self.recv_offsets[size_t(from)], self.recv_counts[size_t(from)], from, rank);
    } else {
        for (int from = 0; from < shape_.size; from++)
            block(size_t(from) * shape_.count, shape_.count, from, rank);
    }
}

// What is written last stands: a result over junk, over an operand that it replaces.
void Problem::fill(const Rank &self, std::vector<word> &memory, bool after) const {
    memory.assign(self.words, guard);
    if (self.recv.exists)
        std::fill_n(memory.begin() + ptrdiff_t(self.recv.begin), self.recv.words, junk);
    bool in_result = shape_.in_place && is(INTER_ALLTOALLS); // which then is all there is
    if (self.send.exists || in_result)
        put_operand(self, memory.data() + (in_result ? self.recv : self.send).begin, in_result);
    if (self.recv.exists && (after || (is(INTER_BIT(INTER_BCAST)) && self.view.rank == shape_.root)))
        put_result(self, memory.data() + self.recv.begin);
}

void Problem::reset() {
    for (Rank &self : ranks_)
        fill(self, self.memory, false);
}

std::string Problem::difference() const {
    std::vector<word> expected;
    for (const Rank &self : ranks_) {
        fill(self, expected, true);
        auto first = std::mismatch(expected.begin(), expected.end(), self.memory.begin()).first;
        if (first == expected.end())
            continue;
        size_t i = size_t(first - expected.begin());
        bool in_recv = self.recv.exists && i >= self.recv.begin && i < self.recv.begin + self.recv.words;
        const Area &area = in_recv ? self.recv : self.send;
        return "rank " + std::to_string(self.view.rank) + ", " + (in_recv ? "recv" : "send or guard") + " element " +
               std::to_string(ptrdiff_t(i) - ptrdiff_t(area.begin)) + " of " + std::to_string(area.words) + " is " +
               describe(self.memory[i]) + ", expected " + describe(expected[i]);
    }
    return "";
}

} // namespace sim
