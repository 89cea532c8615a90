// SPDX-License-Identifier: BSD-3-Clause
#include "calls.h"
#include "affine.h"
#include "grouped.h"
#include "intra/threads.h"
#include "oracle_form.h"
#include <algorithm>
#include <vector>

namespace {

using Words = std::vector<uint64_t>;

constexpr uint64_t junk = 0x5a5a5a5a5a5a5a5a;
// Contents repeat after this many words: a prime, so that no slice or segment is taken for another.
constexpr size_t period = 127;

uint64_t mix(uint64_t x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

// What `from` sends to `to`.
Words contents(const Call &call, int from, int to, size_t words) {
    Words made(words);
    uint64_t base = mix(call.id) ^ uint64_t(from) << 44 ^ uint64_t(to) << 24;
    for (size_t i = 0; i < words; i++)
        made[i] = i < period ? mix(base + i) : made[i - period];
    return made;
}

// Every third reduction is one that commutes.
const weft_op *op_of(const Call &call) {
    return call.id % 3 ? affine::op() : WEFT_SUM;
}

Words operand(const Call &call, int rank) {
    Words made = contents(call, rank, 0, call.words);
    for (uint64_t &word : made)
        word = affine::operand(word);
    return made;
}

Words reduced(const Call &call, int ranks) {
    Call head = call;
    head.words = std::min(call.words, period);
    Words result = operand(head, 0);
    for (int rank = 1; rank < ranks; rank++) {
        Words next = operand(head, rank);
        for (size_t i = 0; i < result.size(); i++)
            result[i] = op_of(call) == WEFT_SUM ? result[i] + next[i] : affine::after(result[i], next[i]);
    }
    result.resize(call.words);
    for (size_t i = period; i < call.words; i++)
        result[i] = result[i - period];
    return result;
}

void append(Words &to, const Words &from) {
    to.insert(to.end(), from.begin(), from.end());
}

// Blocks of equal size: what `from` sends to all, and what all send to `to`.
Words all_from(const Call &call, int from, int ranks) {
    Words made;
    for (int to = 0; to < ranks; to++)
        append(made, contents(call, from, to, call.words));
    return made;
}

Words all_to(const Call &call, int to, int ranks) {
    Words made;
    for (int from = 0; from < ranks; from++)
        append(made, contents(call, from, to, call.words));
    return made;
}

void compare(const char *what, const Call &call, int rank, int code, const Words &got, const Words &expected) {
    EXPECT_EQ(code, WEFT_SUCCESS) << call << ", rank " << rank << ": " << weft_last_error();
    if (code != WEFT_SUCCESS || got == expected)
        return;
    size_t at = size_t(std::mismatch(got.begin(), got.end(), expected.begin()).first - got.begin());
    ADD_FAILURE() << call << ", rank " << rank << ": " << what << " word " << at << " of " << got.size() << " is "
                  << std::hex << got[at] << ", expected " << expected[at];
}

using Types = std::vector<const weft_datatype *>;

// The same blocks for alltoallw: displacements in bytes, and every other block counted in bytes.
Types in_bytes(std::vector<size_t> *counts, std::vector<ptrdiff_t> *displs, int turn) {
    Types types(counts->size(), WEFT_UINT64_T);
    for (size_t i = 0; i < types.size(); i++) {
        (*displs)[i] *= 8;
        if ((i + size_t(turn)) % 2) {
            types[i] = WEFT_BYTE;
            (*counts)[i] *= 8;
        }
    }
    return types;
}

// Whoever still reads it now reads rubbish, which somebody's comparison or ThreadSanitizer notices.
void overwrite(Words &words) {
    std::fill(words.begin(), words.end(), junk);
}
void overwrite(Types *types) {
    std::fill(types->begin(), types->end(), nullptr);
}

// Blocks are sent word by word, or as one element that has all of them; it is the same to the receiver.
struct Sent {
    const weft_datatype *type;
    size_t count;
    explicit Sent(const Call &call) : Sent(call, call.words) {}
    Sent(const Call &call, size_t words)
        : type(call.id % 2 && words ? grouped(WEFT_UINT64_T, words) : WEFT_UINT64_T),
          count(call.id % 2 && words ? 1 : words) {}
};

// Blocks of different size, some of them empty: one behind the other, or with a word between, or the last one first.
struct Blocks {
    std::vector<size_t> counts;
    std::vector<ptrdiff_t> displs;
    size_t words = 0;
    Blocks(const Call &call, int ranks, uint64_t order) : counts(size_t(ranks)), displs(size_t(ranks)) {
        for (size_t i = 0; i < counts.size(); i++) {
            size_t rank = order % 3 == 2 ? counts.size() - 1 - i : i;
            counts[rank] = words_of_block(call, int(rank));
            displs[rank] = counts[rank] ? ptrdiff_t(words) : PTRDIFF_MAX / 64;
            words += counts[rank] + (order % 3 == 1);
        }
    }
    void set(Words *whole, int rank, const Words &block) const {
        if (!block.empty())
            std::copy(block.begin(), block.end(), whole->begin() + displs[size_t(rank)]);
    }
    void let_go() {
        std::fill(counts.begin(), counts.end(), size_t(1) << 40);
    }
};

} // namespace

size_t words_of_block(const Call &call, int rank) {
    return call.words * ((size_t(rank) * 3 + 1 + call.id / 3) % 4);
}

std::ostream &operator<<(std::ostream &out, const Call &call) {
    return out << inter_collective_name(call.kind) << " of " << call.words << " words, root " << call.root
               << (call.in_place ? ", in place" : "") << ", call " << call.id;
}

Caller::Caller(weft_comm *comm, std::atomic<uint64_t> *arrivals)
    : comm_(comm), rank_(weft_rank(comm)), ranks_(weft_size(comm)), arrivals_(arrivals) {}

bool Caller::perform(const Call &call) {
    switch (call.kind) {
    case INTER_BARRIER:
        barrier();
        break;
    case INTER_BCAST:
        bcast(call);
        break;
    case INTER_REDUCE:
        reduce(call);
        break;
    case INTER_ALLREDUCE:
        allreduce(call);
        break;
    case INTER_GATHER:
        gather(call);
        break;
    case INTER_SCATTER:
        scatter(call);
        break;
    case INTER_ALLGATHER:
        allgather(call);
        break;
    case INTER_ALLTOALL:
        alltoall(call);
        break;
    case INTER_ALLTOALLV:
    case INTER_ALLTOALLW:
        alltoallv(call);
        break;
    case INTER_GATHERV:
        gatherv(call);
        break;
    case INTER_SCATTERV:
        scatterv(call);
        break;
    case INTER_ALLGATHERV:
        allgatherv(call);
        break;
    case INTER_SCAN:
    case INTER_EXSCAN:
        scan(call);
        break;
    case INTER_REDUCE_SCATTER:
    case INTER_REDUCE_SCATTER_BLOCK:
        reduce_scatter(call);
        break;
    default:
        ADD_FAILURE() << call << ": not of thread communicators";
    }
    return !::testing::Test::HasFailure();
}

void Caller::barrier() {
    barriers_++;
    arrivals_->fetch_add(1, std::memory_order_relaxed);
    EXPECT_EQ(FORM(barrier)(comm_), WEFT_SUCCESS) << weft_last_error();
    EXPECT_GE(arrivals_->load(std::memory_order_relaxed), barriers_ * uint64_t(ranks_));
}

void Caller::bcast(const Call &call) {
    Words expected = contents(call, call.root, 0, call.words);
    Words buffer = rank_ == call.root ? expected : Words(call.words, junk);
    int code = FORM(bcast)(buffer.data(), call.words, WEFT_UINT64_T, call.root, comm_);
    compare("buffer", call, rank_, code, buffer, expected);
    overwrite(buffer);
}

void Caller::reduce(const Call &call) {
    bool root = rank_ == call.root, in_place = root && call.in_place;
    Words send = operand(call, rank_), recv = in_place ? send : Words(root ? call.words : 0, junk);
    int code = FORM(reduce)(in_place ? WEFT_IN_PLACE : send.data(), root ? recv.data() : nullptr, call.words,
                            WEFT_UINT64_T, op_of(call), call.root, comm_);
    compare("recv", call, rank_, code, recv, root ? reduced(call, ranks_) : Words());
    compare("send", call, rank_, code, send, operand(call, rank_));
    overwrite(send);
}

void Caller::allreduce(const Call &call) {
    Words send = operand(call, rank_), recv = call.in_place ? send : Words(call.words, junk);
    int code = FORM(allreduce)(call.in_place ? WEFT_IN_PLACE : send.data(), recv.data(), call.words, WEFT_UINT64_T,
                               op_of(call), comm_);
    compare("recv", call, rank_, code, recv, reduced(call, ranks_));
    compare("send", call, rank_, code, send, operand(call, rank_));
    overwrite(send), overwrite(recv);
}

// Rank 0 receives nothing in an exscan.
void Caller::scan(const Call &call) {
    bool exclusive = call.kind == INTER_EXSCAN;
    int operands = rank_ + !exclusive;
    Words send = operand(call, rank_), recv = call.in_place ? send : Words(call.words, junk);
    Words expected = operands ? reduced(call, operands) : recv;
    const void *from = call.in_place ? WEFT_IN_PLACE : send.data();
    int code = exclusive ? FORM(exscan)(from, recv.data(), call.words, WEFT_UINT64_T, op_of(call), comm_)
                         : FORM(scan)(from, recv.data(), call.words, WEFT_UINT64_T, op_of(call), comm_);
    compare("recv", call, rank_, code, recv, expected);
    compare("send", call, rank_, code, send, operand(call, rank_));
    overwrite(send), overwrite(recv);
}

// Equal blocks, or some that are empty and the last with the rest.
void Caller::reduce_scatter(const Call &call) {
    size_t ranks = size_t(ranks_), self = size_t(rank_), left = call.words;
    bool equal = call.kind == INTER_REDUCE_SCATTER_BLOCK;
    Call whole = call;
    if (equal)
        left = whole.words = (call.words + ranks - 1) / ranks * ranks;
    std::vector<size_t> counts(ranks, left / ranks), begins(ranks);
    for (size_t rank = 0; rank < ranks; rank++) {
        begins[rank] = whole.words - left;
        if (!equal)
            counts[rank] =
                rank + 1 == ranks ? left : std::min(left, mix(call.id + rank) % 3 * (call.words / ranks + 1));
        left -= counts[rank];
    }
    Words send = operand(whole, rank_), recv = call.in_place ? send : Words(counts[self], junk);
    Words all = reduced(whole, ranks_), expected = recv;
    auto begin = all.begin() + ptrdiff_t(begins[self]);
    std::copy(begin, begin + ptrdiff_t(counts[self]), expected.begin());
    const void *from = call.in_place ? WEFT_IN_PLACE : send.data();
    int code = equal ? FORM(reduce_scatter_block)(from, recv.data(), counts[0], WEFT_UINT64_T, op_of(call), comm_)
                     : FORM(reduce_scatter)(from, recv.data(), counts.data(), WEFT_UINT64_T, op_of(call), comm_);
    recv.resize(counts[self]), expected.resize(counts[self]); // in place the rest is anything
    compare("recv", call, rank_, code, recv, expected);
    compare("send", call, rank_, code, send, operand(whole, rank_));
    overwrite(send), overwrite(recv);
}

void Caller::gather(const Call &call) {
    bool root = rank_ == call.root, in_place = root && call.in_place;
    Sent sent(call);
    Words send = contents(call, rank_, 0, call.words), recv, expected;
    if (root) {
        expected = all_to(call, 0, ranks_);
        recv.assign(expected.size(), junk);
    }
    if (in_place)
        std::copy(send.begin(), send.end(), recv.begin() + ptrdiff_t(size_t(rank_) * call.words));
    int code = FORM(gather)(in_place ? WEFT_IN_PLACE : send.data(), sent.count, sent.type, root ? recv.data() : nullptr,
                            call.words, WEFT_UINT64_T, call.root, comm_);
    compare("recv", call, rank_, code, recv, expected);
    overwrite(send);
}

void Caller::scatter(const Call &call) {
    bool root = rank_ == call.root, in_place = root && call.in_place;
    Sent sent(call);
    Words send = root ? all_from(call, call.root, ranks_) : Words(), recv(call.words, junk);
    Words sent_words = send;
    int code = FORM(scatter)(root ? send.data() : nullptr, sent.count, sent.type,
                             in_place ? WEFT_IN_PLACE : recv.data(), call.words, WEFT_UINT64_T, call.root, comm_);
    compare("recv", call, rank_, code, recv,
            in_place ? Words(call.words, junk) : contents(call, call.root, rank_, call.words));
    compare("send", call, rank_, code, send, sent_words);
    overwrite(send);
}

void Caller::allgather(const Call &call) {
    Sent sent(call);
    Words send = contents(call, rank_, 0, call.words), recv(size_t(ranks_) * call.words, junk);
    if (call.in_place)
        std::copy(send.begin(), send.end(), recv.begin() + ptrdiff_t(size_t(rank_) * call.words));
    int code = FORM(allgather)(call.in_place ? WEFT_IN_PLACE : send.data(), sent.count, sent.type, recv.data(),
                               call.words, WEFT_UINT64_T, comm_);
    compare("recv", call, rank_, code, recv, all_to(call, 0, ranks_));
    overwrite(send), overwrite(recv);
}

void Caller::alltoall(const Call &call) {
    Sent sent(call);
    Words send = all_from(call, rank_, ranks_), recv = call.in_place ? send : Words(send.size(), junk);
    int code = FORM(alltoall)(call.in_place ? WEFT_IN_PLACE : send.data(), sent.count, sent.type, recv.data(),
                              call.words, WEFT_UINT64_T, comm_);
    compare("recv", call, rank_, code, recv, all_to(call, rank_, ranks_));
    overwrite(send), overwrite(recv);
}

void Caller::gatherv(const Call &call) {
    bool root = rank_ == call.root, in_place = root && call.in_place;
    Words send = contents(call, rank_, 0, words_of_block(call, rank_));
    Sent sent(call, send.size());
    Blocks blocks(call, root ? ranks_ : 0, call.id);
    Words recv(blocks.words, junk), expected = recv;
    for (int rank = 0; root && rank < ranks_; rank++)
        blocks.set(&expected, rank, contents(call, rank, 0, words_of_block(call, rank)));
    if (in_place)
        blocks.set(&recv, rank_, send);
    int code = FORM(gatherv)(in_place ? WEFT_IN_PLACE : send.data(), sent.count, sent.type, recv.data(),
                             blocks.counts.data(), blocks.displs.data(), WEFT_UINT64_T, call.root, comm_);
    compare("recv", call, rank_, code, recv, expected);
    overwrite(send), overwrite(recv);
    blocks.let_go();
}

void Caller::scatterv(const Call &call) {
    bool root = rank_ == call.root, in_place = root && call.in_place;
    Words expected = contents(call, call.root, rank_, words_of_block(call, rank_)), recv(expected.size(), junk);
    Sent received(call, recv.size());
    Blocks blocks(call, root ? ranks_ : 0, call.id);
    Words send(blocks.words, junk);
    for (int rank = 0; root && rank < ranks_; rank++)
        blocks.set(&send, rank, contents(call, call.root, rank, words_of_block(call, rank)));
    Words sent_words = send;
    int code = FORM(scatterv)(send.data(), blocks.counts.data(), blocks.displs.data(), WEFT_UINT64_T,
                              in_place ? WEFT_IN_PLACE : recv.data(), received.count, received.type, call.root, comm_);
    compare("recv", call, rank_, code, recv, in_place ? Words(recv.size(), junk) : expected);
    compare("send", call, rank_, code, send, sent_words);
    overwrite(send);
    blocks.let_go();
}

// Every rank has the blocks elsewhere.
void Caller::allgatherv(const Call &call) {
    Words send = contents(call, rank_, 0, words_of_block(call, rank_));
    Sent sent(call, send.size());
    Blocks blocks(call, ranks_, call.id + uint64_t(rank_));
    Words recv(blocks.words, junk), expected = recv;
    for (int rank = 0; rank < ranks_; rank++)
        blocks.set(&expected, rank, contents(call, rank, 0, words_of_block(call, rank)));
    if (call.in_place)
        blocks.set(&recv, rank_, send);
    int code = FORM(allgatherv)(call.in_place ? WEFT_IN_PLACE : send.data(), sent.count, sent.type, recv.data(),
                                blocks.counts.data(), blocks.displs.data(), WEFT_UINT64_T, comm_);
    compare("recv", call, rank_, code, recv, expected);
    overwrite(send), overwrite(recv);
    blocks.let_go();
}

// Some blocks are empty. Send blocks lie in falling order, receive blocks in rising order with a word between them.
void Caller::alltoallv(const Call &call) {
    size_t ranks = size_t(ranks_), send_words = 0, recv_words = 0;
    auto units = [&](int from, int to) { // in place they are symmetric
        int low = call.in_place ? std::min(from, to) : from, high = call.in_place ? std::max(from, to) : to;
        return size_t(low * 3 + high * 5) % 4;
    };
    std::vector<size_t> send_counts(ranks), recv_counts(ranks);
    std::vector<ptrdiff_t> send_displs(ranks), recv_displs(ranks);
    for (size_t peer = ranks; peer-- > 0; send_words += send_counts[peer]) {
        send_counts[peer] = call.words * units(rank_, int(peer));
        send_displs[peer] = ptrdiff_t(send_words);
    }
    for (size_t peer = 0; peer < ranks; recv_words += recv_counts[peer++] + 1) {
        recv_counts[peer] = call.words * units(int(peer), rank_);
        recv_displs[peer] = ptrdiff_t(recv_words);
    }
    Words send(send_words), recv(recv_words, junk), expected(recv_words, junk);
    for (int peer = 0; peer < ranks_; peer++) {
        Words out = contents(call, rank_, peer, send_counts[size_t(peer)]);
        Words in = contents(call, peer, rank_, recv_counts[size_t(peer)]);
        std::copy(out.begin(), out.end(), send.begin() + send_displs[size_t(peer)]);
        std::copy(in.begin(), in.end(), expected.begin() + recv_displs[size_t(peer)]);
        if (call.in_place)
            std::copy(out.begin(), out.end(), recv.begin() + recv_displs[size_t(peer)]);
    }
    const void *from = call.in_place ? WEFT_IN_PLACE : send.data();
    int code;
    if (call.kind == INTER_ALLTOALLW) {
        Types send_types = in_bytes(&send_counts, &send_displs, rank_);
        Types recv_types = in_bytes(&recv_counts, &recv_displs, rank_ / 2);
        code =
            FORM(alltoallw)(from, call.in_place ? nullptr : send_counts.data(),
                            call.in_place ? nullptr : send_displs.data(), call.in_place ? nullptr : send_types.data(),
                            recv.data(), recv_counts.data(), recv_displs.data(), recv_types.data(), comm_);
        overwrite(&send_types), overwrite(&recv_types);
    } else {
        code = FORM(alltoallv)(from, call.in_place ? nullptr : send_counts.data(),
                               call.in_place ? nullptr : send_displs.data(), WEFT_UINT64_T, recv.data(),
                               recv_counts.data(), recv_displs.data(), WEFT_UINT64_T, comm_);
    }
    compare("recv", call, rank_, code, recv, expected);
    overwrite(send);
    std::fill(send_counts.begin(), send_counts.end(), size_t(1) << 40);
    std::fill(recv_counts.begin(), recv_counts.end(), size_t(1) << 40);
}

namespace {

bool rooted(inter_collective kind) {
    return inter_is(kind, INTER_ROOTED);
}

// What all ranks receive together stays within a few MiB, so that many ranks do not make the test long.
size_t bounded(inter_collective kind, size_t words, int ranks) {
    bool squares = inter_is(kind, INTER_ALLGATHERS | INTER_ALLTOALLS);
    size_t blocks = squares ? size_t(ranks) * size_t(ranks) : size_t(ranks);
    return std::min(words, std::max<size_t>(300000 / blocks, 2));
}

} // namespace

std::vector<Call> every_call(int ranks) {
    std::vector<Call> calls;
    for (inter_collective kind : thread_collectives)
        for (size_t words : {1, 128, 129, 12800})
            for (int root = 0; root < (rooted(kind) ? ranks : 1); root++)
                for (bool in_place : {false, true}) {
                    bool some = root == 0 || root == ranks / 2 || root == ranks - 1;
                    bool can = kind != INTER_BARRIER && kind != INTER_BCAST;
                    if ((words <= 128 || some) && (can || !in_place))
                        calls.push_back({kind, bounded(kind, words, ranks), root, in_place, calls.size() + 1});
                }
    return calls;
}

std::vector<Call> mixture(int ranks, size_t count, uint64_t seed) {
    threads::Random random(seed);
    std::vector<Call> calls;
    while (calls.size() < count) {
        inter_collective kind = thread_collectives[random.below(std::size(thread_collectives))];
        size_t words = random.below(20) == 0 ? 1000 + random.below(12000) : random.below(140);
        int root = rooted(kind) ? int(random.below(uint64_t(ranks))) : 0;
        calls.push_back({kind, bounded(kind, words, ranks), root, random.below(2) == 1, random.below(1u << 30)});
    }
    return calls;
}
