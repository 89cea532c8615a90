// SPDX-License-Identifier: BSD-3-Clause
#include "problem.h"
#include <algorithm>
#include <weft/error.h>

namespace sim {

namespace {

constexpr size_t guards = 2;
constexpr uint64_t guard = 0xdeadbeefdeadbeef, junk = 0x5a5a5a5a5a5a5a5a;

// Word `index` of what `from` sends to `to`: different for all (splitmix64's finaliser).
uint64_t word(int from, int to, size_t index) {
    uint64_t x = uint64_t(from) << 40 ^ uint64_t(to) << 20 ^ index;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

void affine(const void *in, void *inout, size_t count, const weft_datatype *) {
    const uint64_t *left = static_cast<const uint64_t *>(in);
    uint64_t *right = static_cast<uint64_t *>(inout);
    for (size_t i = 0; i < count; i++)
        right[i] = after(left[i], right[i]);
}

} // namespace

size_t units_from_to(int from, int to) {
    return size_t(from * 3 + to * 5) % 4;
}

uint64_t after(uint64_t first, uint64_t then) {
    uint32_t a = uint32_t(first >> 32), b = uint32_t(first), c = uint32_t(then >> 32), d = uint32_t(then);
    return uint64_t(a * c) << 32 | uint32_t(b * c + d);
}

const weft_op *affine_op() {
    static weft_op *op = [] {
        weft_op *made = nullptr;
        EXPECT_EQ(weft_op_create(affine, 0, &made), WEFT_SUCCESS);
        return made;
    }();
    return op;
}

std::ostream &operator<<(std::ostream &out, const Shape &shape) {
    return out << "p = " << shape.size << ", root " << shape.root << ", " << shape.count << " words"
               << (shape.uneven ? ", uneven" : "") << (shape.in_place ? ", in place" : "");
}

bool has_root(inter_collective collective) {
    return collective == INTER_BCAST || collective == INTER_REDUCE || collective == INTER_GATHER ||
           collective == INTER_SCATTER;
}

bool has_blocks(inter_collective collective) {
    return collective == INTER_GATHER || collective == INTER_SCATTER || collective == INTER_ALLGATHER;
}

bool has_in_place(inter_collective collective) {
    return has_blocks(collective) || collective == INTER_REDUCE || collective == INTER_ALLREDUCE;
}

uint64_t *Problem::data(std::vector<uint64_t> &words) {
    return words.empty() ? nullptr : words.data() + guards;
}

void Problem::make(Buffer &buffer, size_t words, uint64_t filling) {
    buffer.now.assign(words + 2 * guards, guard);
    std::fill_n(data(buffer.now), words, filling);
    buffer.expected = buffer.now;
}

Problem::Problem(inter_collective collective, const Shape &shape) : shape_(shape), ranks_(size_t(shape.size)) {
    for (int rank = 0; rank < shape_.size; rank++) {
        Rank &self = ranks_[size_t(rank)];
        self.view.rank = rank;
        self.view.size = shape_.size;
        self.view.root = has_root(collective) ? shape_.root : 0;
        self.view.count = shape_.count;
        self.binding.element_bytes = sizeof(uint64_t);
    }
    if (has_blocks(collective))
        make_offsets();
    switch (collective) {
    case INTER_BCAST:
        make_bcast();
        break;
    case INTER_REDUCE:
    case INTER_ALLREDUCE:
        make_reduction(collective == INTER_ALLREDUCE);
        break;
    case INTER_GATHER:
    case INTER_ALLGATHER:
        make_gather(collective == INTER_ALLGATHER);
        break;
    case INTER_SCATTER:
        make_scatter();
        break;
    case INTER_ALLTOALL:
        make_alltoall();
        break;
    case INTER_ALLTOALLV:
        make_alltoallv();
        break;
    case INTER_BARRIER:
    case INTER_COLLECTIVES:
        break;
    }
}

void Problem::bind(Rank &rank) {
    rank.binding.send = data(rank.send.now);
    rank.binding.recv = data(rank.recv.now);
}

void Problem::make_bcast() {
    for (Rank &self : ranks_) {
        make(self.recv, shape_.count, junk);
        for (size_t i = 0; i < shape_.count; i++)
            data(self.recv.expected)[i] = word(shape_.root, 0, i);
        if (self.view.rank == shape_.root)
            self.recv.now = self.recv.expected;
        bind(self);
    }
}

void Problem::make_reduction(bool everywhere) {
    std::vector<uint64_t> result(shape_.count);
    for (Rank &self : ranks_) {
        make(self.send, shape_.count, 0);
        for (size_t i = 0; i < shape_.count; i++) {
            uint64_t operand = word(self.view.rank, 0, i) | 1ull << 32; // an odd factor loses nothing
            data(self.send.now)[i] = data(self.send.expected)[i] = operand;
            result[i] = self.view.rank ? after(result[i], operand) : operand;
        }
    }
    for (Rank &self : ranks_) {
        self.binding.type = WEFT_UINT64_T;
        self.binding.op = affine_op();
        bool here = everywhere || self.view.rank == shape_.root;
        if (here) {
            make(self.recv, shape_.count, junk);
            std::copy(result.begin(), result.end(), data(self.recv.expected));
        }
        if (here && shape_.in_place) {
            self.recv.now = self.send.now;
            self.send = Buffer();
        }
        bind(self);
        if (here && shape_.in_place)
            self.binding.send = self.binding.recv;
    }
}

void Problem::make_offsets() {
    offsets_.assign(1, 0);
    for (int rank = 0; rank < shape_.size; rank++)
        offsets_.push_back(offsets_.back() + shape_.count * (shape_.uneven ? size_t(rank * 5 + 3) % 4 : 1));
    for (Rank &self : ranks_)
        self.view.offsets = shape_.uneven ? offsets_.data() : nullptr;
}

void Problem::make_gather(bool everywhere) {
    for (Rank &self : ranks_) {
        size_t rank = size_t(self.view.rank), begin = offsets_[rank], words = offsets_[rank + 1] - begin;
        bool here = everywhere || self.view.rank == shape_.root, in_place = here && shape_.in_place;
        if (!in_place) {
            make(self.send, words, 0);
            for (size_t i = 0; i < words; i++)
                data(self.send.now)[i] = data(self.send.expected)[i] = word(self.view.rank, 0, i);
        }
        if (here) {
            make(self.recv, offsets_.back(), junk);
            for (int from = 0; from < shape_.size; from++)
                for (size_t i = offsets_[size_t(from)]; i < offsets_[size_t(from) + 1]; i++)
                    data(self.recv.expected)[i] = word(from, 0, i - offsets_[size_t(from)]);
        }
        if (in_place)
            std::copy_n(data(self.recv.expected) + begin, words, data(self.recv.now) + begin);
        bind(self);
        if (in_place)
            self.binding.send = data(self.recv.now) + begin;
    }
}

void Problem::make_scatter() {
    for (Rank &self : ranks_) {
        size_t rank = size_t(self.view.rank), begin = offsets_[rank], words = offsets_[rank + 1] - begin;
        bool root = self.view.rank == shape_.root, in_place = root && shape_.in_place;
        if (root) {
            make(self.send, offsets_.back(), 0);
            for (size_t i = 0; i < offsets_.back(); i++)
                data(self.send.now)[i] = data(self.send.expected)[i] = word(shape_.root, 0, i);
        }
        if (!in_place) {
            make(self.recv, words, junk);
            for (size_t i = 0; i < words; i++)
                data(self.recv.expected)[i] = word(shape_.root, 0, begin + i);
        }
        bind(self);
        if (in_place)
            self.binding.recv = data(self.send.now) + begin;
    }
}

void Problem::make_alltoall() {
    size_t ranks = size_t(shape_.size);
    for (Rank &self : ranks_) {
        make(self.send, ranks * shape_.count, 0);
        make(self.recv, ranks * shape_.count, junk);
        for (int peer = 0; peer < shape_.size; peer++)
            for (size_t i = 0; i < shape_.count; i++) {
                size_t at = size_t(peer) * shape_.count + i;
                data(self.send.now)[at] = data(self.send.expected)[at] = word(self.view.rank, peer, i);
                data(self.recv.expected)[at] = word(peer, self.view.rank, i);
            }
        bind(self);
    }
}

// Send blocks lie in falling, receive blocks in rising order of the peers, with a word between them that nobody touches.
void Problem::make_alltoallv() {
    size_t ranks = size_t(shape_.size);
    for (Rank &self : ranks_) {
        int rank = self.view.rank;
        self.send_counts.resize(ranks), self.recv_counts.resize(ranks);
        self.send_offsets.resize(ranks), self.recv_offsets.resize(ranks);
        size_t send_words = 0, recv_words = 0;
        for (int peer = 0; peer < shape_.size; peer++) {
            self.send_counts[size_t(peer)] = shape_.count * units_from_to(rank, peer);
            self.recv_counts[size_t(peer)] = shape_.count * units_from_to(peer, rank);
            self.recv_offsets[size_t(peer)] = recv_words;
            recv_words += self.recv_counts[size_t(peer)] + 1;
        }
        for (size_t peer = ranks; peer-- > 0; send_words += self.send_counts[peer] + 1)
            self.send_offsets[peer] = send_words;
        make(self.send, send_words, guard);
        make(self.recv, recv_words, junk);
        for (int peer = 0; peer < shape_.size; peer++) {
            for (size_t i = 0; i < self.send_counts[size_t(peer)]; i++)
                data(self.send.now)[self.send_offsets[size_t(peer)] + i] = word(rank, peer, i);
            for (size_t i = 0; i < self.recv_counts[size_t(peer)]; i++)
                data(self.recv.expected)[self.recv_offsets[size_t(peer)] + i] = word(peer, rank, i);
        }
        self.send.expected = self.send.now;
        self.view.send_counts = self.send_counts.data();
        self.view.recv_counts = self.recv_counts.data();
        self.view.send_offsets = self.send_offsets.data();
        self.view.recv_offsets = self.recv_offsets.data();
        bind(self);
    }
}

::testing::AssertionResult Problem::solved() const {
    for (const Rank &rank : ranks_)
        for (const Buffer *buffer : {&rank.send, &rank.recv})
            for (size_t i = 0; i < buffer->now.size(); i++)
                if (buffer->now[i] != buffer->expected[i])
                    return ::testing::AssertionFailure()
                           << "rank " << rank.view.rank << ", " << (buffer == &rank.send ? "send" : "recv") << " word "
                           << ptrdiff_t(i - guards) << " of " << buffer->now.size() - 2 * guards << " is " << std::hex
                           << buffer->now[i] << ", expected " << buffer->expected[i];
    return ::testing::AssertionSuccess();
}

} // namespace sim
