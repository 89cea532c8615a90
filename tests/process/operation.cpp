// SPDX-License-Identifier: BSD-3-Clause
#include "operation.h"
#include "affine.h"
#include "grouped.h"
#include <algorithm>
#include <cstring>

namespace process {

namespace {

// What one side sends as one type the other receives as another: so many elements of each make a unit.
const struct {
    const weft_datatype *send, *recv;
    size_t send_ratio, recv_ratio;
} moved[] = {{WEFT_BYTE, WEFT_BYTE, 1, 1},
             {WEFT_INT, grouped(WEFT_INT, 2), 2, 1},
             {grouped(WEFT_BYTE, 16), WEFT_BYTE, 1, 16},
             {grouped(WEFT_2INT, 4), WEFT_2INT, 1, 4}};
constexpr unsigned moved_kinds = sizeof(moved) / sizeof(moved[0]);

// Elements of all reductions are words: integers, pairs of int, affine maps, doubles that hold integers.
constexpr unsigned reduced_kinds = 4;

struct Pair {
    int value, index;
};

template <class To, class From> To cast(From from) {
    static_assert(sizeof(To) == sizeof(From), "the same bits");
    To to;
    memcpy(&to, &from, sizeof(to));
    return to;
}

const weft_datatype *reduced_type(unsigned kind) {
    const weft_datatype *types[] = {WEFT_INT64_T, WEFT_2INT, WEFT_UINT64_T, WEFT_DOUBLE};
    return types[kind % reduced_kinds];
}

const weft_op *reduced_op(unsigned kind) {
    const weft_op *ops[] = {WEFT_SUM, WEFT_MAXLOC, affine::op(), WEFT_SUM};
    return ops[kind % reduced_kinds];
}

uint64_t element(unsigned kind, uint64_t random) {
    switch (kind % reduced_kinds) {
    case 1:
        return cast<uint64_t>(Pair{int(random % 5), int(random >> 40)});
    case 2:
        return affine::operand(random);
    case 3:
        return cast<uint64_t>(double(random % 1000));
    default:
        return random;
    }
}

uint64_t combine(unsigned kind, uint64_t left, uint64_t right) {
    Pair a = cast<Pair>(left), b = cast<Pair>(right);
    switch (kind % reduced_kinds) {
    case 1:
        return a.value > b.value || (a.value == b.value && a.index < b.index) ? left : right;
    case 2:
        return affine::after(left, right);
    case 3:
        return cast<uint64_t>(cast<double>(left) + cast<double>(right));
    default:
        return left + right;
    }
}

// Operands repeat after so many elements, a prime, so that no segment or block looks like another.
constexpr size_t period = 1021;

void stretch(std::vector<uint64_t> *words, size_t count) {
    words->reserve(count);
    while (words->size() < count)
        words->push_back((*words)[words->size() - period]);
}

unsigned char *from(const job::buffer &memory, size_t offset) {
    return memory.data() + offset;
}

} // namespace

size_t unit_bytes(inter_collective collective, unsigned kind) {
    if (inter_is(collective, INTER_REDUCTIONS))
        return sizeof(uint64_t);
    if (collective == INTER_ALLTOALLW)
        return 32; // of the largest; the kinds differ from block to block
    return moved[kind % moved_kinds].send_ratio * weft_datatype_size(moved[kind % moved_kinds].send);
}

std::string describe(const Case &what) {
    return std::string(inter_collective_name(what.collective)) + " of " + std::to_string(what.count) + " units, root " +
           std::to_string(what.root) + ", kind " + std::to_string(what.kind % moved_kinds) +
           (what.in_place ? ", in place" : "") + (what.uneven ? ", uneven" : "") + ", seed " +
           std::to_string(what.seed);
}

bool is_empty(const weft_status &status) {
    return status.source == -1 && status.tag == -1 && status.error == WEFT_SUCCESS && status.bytes == 0;
}

Operation::Operation(weft_comm *comm, const Case &what)
    : comm_(comm), case_(what), rank_(weft_rank(comm)), size_(weft_size(comm)), send_(nullptr), recv_(nullptr),
      send_memory_(0), recv_memory_(0) {
    bool rooted = is(INTER_GATHERS | INTER_SCATTERS);
    /* Where there is a root it alone says so. */
    case_.in_place &= !is(without_in_place) && (at_root() || !(rooted || is(INTER_BIT(INTER_REDUCE))));
    if (reduces()) {
        lay_out_vectors();
    } else if (is(INTER_ALLTOALLS)) {
        lay_out_all(&out_, true);
        lay_out_all(&in_, false);
    } else if (is(INTER_SCATTERS)) {
        lay_out_own(&in_, false);
        if (at_root())
            lay_out_all(&out_, true);
    } else if (is(INTER_GATHERS | INTER_ALLGATHERS)) {
        lay_out_own(&out_, true);
        if (at_root() || !rooted)
            lay_out_all(&in_, false);
    } else if (is(INTER_BIT(INTER_BCAST))) {
        lay_out_own(&in_, rank_ % 2); // the same bytes as other elements
    }
    send_memory_ = job::buffer(out_.buffer_bytes, 16);
    recv_memory_ = job::buffer(in_.buffer_bytes, 16);
    send_ = out_.there ? from(send_memory_, out_.base) : nullptr;
    recv_ = in_.there ? from(recv_memory_, in_.base) : nullptr;
    if (case_.in_place && is(INTER_SCATTERS)) {
        recv_ = WEFT_IN_PLACE;
        in_ = Side();
    } else if (case_.in_place) {
        send_ = WEFT_IN_PLACE;
        out_ = Side();
    }
}

// Of what `from` sends to `to`.
size_t Operation::units(int from, int to) const {
    if (!case_.uneven || !is(with_counts) || !case_.count)
        return case_.count;
    if (is(INTER_GATHERS | INTER_ALLGATHERS))
        to = 0;
    if (is(INTER_SCATTERS | INTER_REDUCE_SCATTERS))
        from = 0;
    if (is(INTER_ALLTOALLS) && case_.in_place && from > to)
        std::swap(from, to);
    uint64_t random = job::hash(case_.seed, uint64_t(from), uint64_t(to), 3);
    return random % 4 == 0 ? 0 : 1 + random / 4 % case_.count;
}

uint64_t Operation::pattern(int from, int to) const {
    if (is(INTER_GATHERS | INTER_ALLGATHERS))
        to = 0;
    return job::hash(case_.seed + round_ * 7919, uint64_t(from), uint64_t(to), 5);
}

// In place what a rank has for another is replaced by what it gets from it: of the same type.
unsigned Operation::kind_of(int from, int to) const {
    return (is(INTER_BIT(INTER_ALLTOALLW)) ? case_.kind + unsigned(from + to) : case_.kind) % moved_kinds;
}

void Operation::set_type(Side *side, bool send) const {
    unsigned kind = case_.kind % moved_kinds;
    side->there = true;
    side->type = send ? moved[kind].send : moved[kind].recv;
    side->count = case_.count * (send ? moved[kind].send_ratio : moved[kind].recv_ratio);
}

void Operation::lay_out_own(Side *side, bool send) const {
    unsigned kind = case_.kind % moved_kinds;
    size_t own = send ? units(rank_, 0) : units(case_.root, rank_);
    set_type(side, send);
    side->count = own * (send ? moved[kind].send_ratio : moved[kind].recv_ratio);
    side->buffer_bytes = own * unit_bytes(case_.collective, case_.kind);
    side->at = {0};
    side->bytes = {side->buffer_bytes};
    side->there = side->buffer_bytes > 0;
}

void Operation::lay_out_all(Side *side, bool send) const {
    bool spread = case_.uneven && is(with_counts);
    size_t size = size_t(size_), end = 0;
    set_type(side, send);
    side->counts.resize(size), side->displs.resize(size), side->at.resize(size), side->bytes.resize(size);
    side->types.resize(size);
    for (size_t i = 0; i < size; i++) {
        size_t block = !spread ? i : send ? (i + size_t(rank_) + 1) % size : size - 1 - i; /* which lies there */
        int peer = int(block), sender = send ? rank_ : peer, receiver = send ? peer : rank_;
        unsigned kind = kind_of(sender, receiver);
        size_t unit = moved[kind].send_ratio * weft_datatype_size(moved[kind].send), own = units(sender, receiver);
        /* A gap is of whole units of this block and the one that the pointer points to, whatever their kinds. */
        end += spread ? 32 * (job::hash(case_.seed, block, uint64_t(rank_), send) % 3) : 0;
        end = (end + unit - 1) / unit * unit;
        side->types[block] = send ? moved[kind].send : moved[kind].recv;
        side->counts[block] = own * (send ? moved[kind].send_ratio : moved[kind].recv_ratio);
        side->at[block] = end;
        side->bytes[block] = own * unit;
        end += own * unit;
        if (spread && i == size / 2)
            side->base = end / unit * unit;
    }
    side->buffer_bytes = end;
    side->there = end > 0;
    for (size_t block = 0; block < size; block++) {
        ptrdiff_t distance = ptrdiff_t(side->at[block]) - ptrdiff_t(side->base);
        bool in_bytes = is(INTER_BIT(INTER_ALLTOALLW));
        ptrdiff_t element = in_bytes ? 1 : ptrdiff_t(weft_datatype_size(side->types[block]));
        side->displs[block] = spread && !side->counts[block] ? nowhere : distance / element;
    }
}

// Of reductions: the operand, and the result or the rank's block of it.
void Operation::lay_out_vectors() {
    size_t own = case_.count;
    operand_words_ = case_.count;
    bool result = !is(INTER_BIT(INTER_REDUCE)) || at_root();
    in_.type = reduced_type(case_.kind);
    op_ = reduced_op(case_.kind);
    if (is(INTER_REDUCE_SCATTERS)) {
        operand_words_ = 0;
        for (int to = 0; to < size_; to++)
            in_.counts.push_back(units(0, to)), operand_words_ += in_.counts.back();
        own = in_.counts[size_t(rank_)];
    }
    in_.count = own;
    out_.buffer_bytes = operand_words_ * sizeof(uint64_t);
    in_.buffer_bytes = !result ? 0 : (case_.in_place ? operand_words_ : own) * sizeof(uint64_t);
    result_bytes_ = result ? own * sizeof(uint64_t) : 0;
    out_.there = out_.buffer_bytes > 0;
    in_.there = in_.buffer_bytes > 0;
}

std::vector<uint64_t> Operation::operand(int rank) const {
    std::vector<uint64_t> words(std::min(operand_words_, period));
    for (size_t i = 0; i < words.size(); i++)
        words[i] = element(case_.kind, job::hash(case_.seed + round_ * 7919, uint64_t(rank), i));
    return words;
}

std::vector<uint64_t> Operation::combined(int first, int last) const {
    std::vector<uint64_t> result = operand(first);
    for (int rank = first + 1; rank <= last; rank++) {
        std::vector<uint64_t> next = operand(rank);
        for (size_t i = 0; i < result.size(); i++)
            result[i] = combine(case_.kind, result[i], next[i]);
    }
    return result;
}

void Operation::fill_reduced() {
    size_t first = 0;
    std::vector<uint64_t> own = operand(rank_), result;
    stretch(&own, operand_words_);
    std::copy_n(reinterpret_cast<const unsigned char *>(own.data()), operand_words_ * sizeof(uint64_t),
                (case_.in_place ? recv_memory_ : send_memory_).data());
    expected_.assign(recv_memory_.data(), recv_memory_.data() + recv_memory_.size());
    if (!result_bytes_ || (is(INTER_BIT(INTER_EXSCAN)) && rank_ == 0))
        return;
    bool scans = is(INTER_SCANS);
    result = combined(0, scans ? rank_ - is(INTER_BIT(INTER_EXSCAN)) : size_ - 1);
    stretch(&result, operand_words_);
    for (int rank = 0; is(INTER_REDUCE_SCATTERS) && rank < rank_; rank++)
        first += in_.counts[size_t(rank)];
    memcpy(expected_.data(), result.data() + first, result_bytes_);
}

// Every block that is there: with what the rank sends, or with what it receives.
void Operation::fill_blocks(const Side &side, unsigned char *at, bool outgoing) const {
    for (size_t block = 0; block < side.at.size(); block++) {
        int peer = int(block);
        uint64_t seed = outgoing ? pattern(rank_, peer) : pattern(peer, rank_);
        if (!outgoing && is(INTER_SCATTERS | INTER_BIT(INTER_BCAST)))
            seed = pattern(case_.root, is(INTER_SCATTERS) ? rank_ : 0);
        job::fill(at + side.at[block], side.bytes[block], seed);
    }
}

void Operation::fill_moved() {
    unsigned char *send = send_memory_.data(), *recv = recv_memory_.data();
    fill_blocks(out_, send, true);
    expected_.assign(recv, recv + recv_memory_.size());
    if (is(INTER_BIT(INTER_BCAST)) && at_root())
        fill_blocks(in_, recv, false);
    if (case_.in_place && is(INTER_ALLTOALLS))
        fill_blocks(in_, recv, true);
    if (case_.in_place && is(INTER_GATHERS | INTER_ALLGATHERS))
        job::fill(recv + in_.at[size_t(rank_)], in_.bytes[size_t(rank_)], pattern(rank_, 0));
    fill_blocks(in_, expected_.data(), false);
}

void Operation::fill(uint64_t round) {
    round_ = round;
    std::fill_n(recv_memory_.data(), recv_memory_.size(), job::buffer::filler);
    if (reduces())
        fill_reduced();
    else
        fill_moved();
    sent_.assign(send_memory_.data(), send_memory_.data() + send_memory_.size());
}

bool Operation::verify(int code, const std::string &how) const {
    std::string text = describe(case_) + ", round " + std::to_string(round_) + ", " + how;
    if (!job::ok(code, comm_, text))
        return false;
    /* In place a reduce_scatter leaves its block and, behind it, what it likes. */
    bool block_only = is(INTER_REDUCE_SCATTERS) && case_.in_place;
    size_t compared = block_only ? result_bytes_ : expected_.size();
    const unsigned char *got = recv_memory_.data();
    size_t at = size_t(std::mismatch(expected_.begin(), expected_.begin() + ptrdiff_t(compared), got).first -
                       expected_.begin());
    bool right = job::check(at == compared, comm_,
                            text + ": byte " + std::to_string(at) + " of " + std::to_string(compared) + " is wrong");
    right &= job::check(recv_memory_.intact(), comm_, text + ": bytes around the receive buffer");
    right &= job::check(send_memory_.intact() && std::equal(sent_.begin(), sent_.end(), send_memory_.data()), comm_,
                        text + ": the send buffer changed");
    return right;
}

} // namespace process
