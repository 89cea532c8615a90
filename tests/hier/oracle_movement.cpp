// SPDX-License-Identifier: BSD-3-Clause
// The collectives that move data, against what each rank must end with. Blocks are patterns that name their source and
// destination, so every byte tells where it came from.
#include "effort.h"
#include "grouped.h"
#include "oracle_form.h"
#include "oracle_job.h"

#include <cstring>
#include <vector>

namespace {

// The same data as another type on the receiving side: `ratio` elements of `send` are one of `recv`.
struct type_pair {
    const weft_datatype *send, *recv;
    size_t ratio;
};
const type_pair pairs[] = {{WEFT_BYTE, WEFT_BYTE, 1},
                           {WEFT_DOUBLE, WEFT_DOUBLE, 1},
                           {WEFT_SHORT, grouped(WEFT_SHORT, 4), 4},
                           {WEFT_FLOAT_INT, grouped(WEFT_FLOAT_INT, 4), 4},
                           {WEFT_LONG_DOUBLE_INT, WEFT_LONG_DOUBLE_INT, 1}};

// Elements of the receiving type: around nothing, around the 1024 bytes that travel inside a cell, and long.
std::vector<size_t> counts_of(const weft_datatype *type) {
    size_t inlined = 1024 / weft_datatype_size(type);
    return {0, 1, 3, 17, inlined - 1, inlined, inlined + 1, effort::long_count};
}

struct setting {
    weft_comm *comm;
    type_pair types;
    size_t count; // of types.recv, a block
    int root;
    bool in_place;
    int rank, size;
    size_t bytes; // a block

    std::string text(const char *what) const {
        return std::string(what) + " of " + std::to_string(count) + " " + weft_datatype_name(types.recv) + " from " +
               weft_datatype_name(types.send) + ", root " + std::to_string(root) + (in_place ? ", in place" : "");
    }
    uint64_t seed(int from, int to) const {
        return job::hash((uint64_t)from, (uint64_t)to, bytes, (uint64_t)root);
    }
    bool at_root() const {
        return rank == root;
    }
    size_t all() const {
        return bytes * (size_t)size;
    }
    unsigned char *block(const job::buffer &buffer, int index) const {
        return buffer.data() + bytes * (size_t)index;
    }
    size_t send_count() const {
        return count * types.ratio;
    }
    size_t alignment() const {
        return weft_datatype_size(types.recv) < 16 ? weft_datatype_size(types.recv) : 16;
    }
};

// What a rank sends: an exact piece of memory, in which nothing changes.
class sent {
  public:
    sent(size_t bytes, size_t alignment) : buffer_(bytes, alignment) {}
    unsigned char *data() const {
        return buffer_.data();
    }
    const job::buffer &buffer() const {
        return buffer_;
    }
    void keep() {
        copy_.assign(data(), data() + buffer_.size());
    }
    bool unchanged() const {
        return buffer_.intact() && (copy_.empty() || memcmp(copy_.data(), data(), copy_.size()) == 0);
    }

  private:
    job::buffer buffer_;
    std::vector<unsigned char> copy_;
};

void bcast(const setting &s) {
    job::buffer buffer(s.bytes, s.alignment());
    if (s.at_root())
        job::fill(buffer.data(), s.bytes, s.seed(s.root, 0));
    void *pointer = s.count ? buffer.data() : nullptr;
    // The root may name the elements by another type of as many bytes.
    int code = s.at_root() ? FORM(bcast)(pointer, s.send_count(), s.types.send, s.root, s.comm)
                           : FORM(bcast)(pointer, s.count, s.types.recv, s.root, s.comm);
    job::ok(code, s.comm, s.text("bcast"));
    job::check(job::matches(buffer.data(), s.bytes, s.seed(s.root, 0)), s.comm, s.text("bcast"));
    job::check(buffer.intact(), s.comm, s.text("bytes around the buffer of bcast"));
}

void gather(const setting &s) {
    sent send(s.bytes, s.alignment());
    job::buffer recv(s.at_root() ? s.all() : 0, s.alignment());
    bool in_place = s.in_place && s.at_root();
    job::fill(send.data(), s.bytes, s.seed(s.rank, s.root));
    send.keep();
    if (in_place)
        job::fill(s.block(recv, s.rank), s.bytes, s.seed(s.rank, s.root));
    const void *from = in_place ? WEFT_IN_PLACE : send.data();
    // What counts at the root only is rubbish elsewhere.
    int code =
        s.at_root()
            ? FORM(gather)(from, s.send_count(), s.types.send, recv.data(), s.count, s.types.recv, s.root, s.comm)
            : FORM(gather)(from, s.send_count(), s.types.send, nullptr, SIZE_MAX, nullptr, s.root, s.comm);
    job::ok(code, s.comm, s.text("gather"));
    for (int rank = 0; s.at_root() && rank < s.size; rank++)
        job::check(job::matches(s.block(recv, rank), s.bytes, s.seed(rank, s.root)), s.comm,
                   s.text("gather") + ", block " + std::to_string(rank));
    job::check(recv.intact() && send.unchanged(), s.comm, s.text("bytes around the buffers of gather"));
}

void scatter(const setting &s) {
    sent send(s.at_root() ? s.all() : 0, s.alignment());
    job::buffer recv(s.bytes, s.alignment());
    for (int rank = 0; s.at_root() && rank < s.size; rank++)
        job::fill(s.block(send.buffer(), rank), s.bytes, s.seed(s.root, rank));
    send.keep();
    bool in_place = s.in_place && s.at_root();
    void *to = in_place ? WEFT_IN_PLACE : recv.data();
    int code = s.at_root()
                   ? FORM(scatter)(send.data(), s.send_count(), s.types.send, to, s.count, s.types.recv, s.root, s.comm)
                   : FORM(scatter)(nullptr, SIZE_MAX, nullptr, to, s.count, s.types.recv, s.root, s.comm);
    job::ok(code, s.comm, s.text("scatter"));
    if (in_place)
        job::check(recv.untouched(), s.comm, s.text("scatter"));
    else
        job::check(job::matches(recv.data(), s.bytes, s.seed(s.root, s.rank)), s.comm, s.text("scatter"));
    job::check(recv.intact() && send.unchanged(), s.comm, s.text("bytes around the buffers of scatter"));
}

void allgather(const setting &s) {
    sent send(s.bytes, s.alignment());
    job::buffer recv(s.all(), s.alignment());
    job::fill(send.data(), s.bytes, s.seed(s.rank, 0));
    send.keep();
    if (s.in_place)
        job::fill(s.block(recv, s.rank), s.bytes, s.seed(s.rank, 0));
    int code = FORM(allgather)(s.in_place ? WEFT_IN_PLACE : send.data(), s.send_count(), s.types.send, recv.data(),
                               s.count, s.types.recv, s.comm);
    job::ok(code, s.comm, s.text("allgather"));
    for (int rank = 0; rank < s.size; rank++)
        job::check(job::matches(s.block(recv, rank), s.bytes, s.seed(rank, 0)), s.comm,
                   s.text("allgather") + ", block " + std::to_string(rank));
    job::check(recv.intact() && send.unchanged(), s.comm, s.text("bytes around the buffers of allgather"));
}

void alltoall(const setting &s) {
    sent send(s.all(), s.alignment());
    job::buffer recv(s.all(), s.alignment());
    for (int rank = 0; rank < s.size; rank++) {
        job::fill(s.block(send.buffer(), rank), s.bytes, s.seed(s.rank, rank));
        if (s.in_place)
            job::fill(s.block(recv, rank), s.bytes, s.seed(s.rank, rank));
    }
    send.keep();
    int code = FORM(alltoall)(s.in_place ? WEFT_IN_PLACE : send.data(), s.send_count(), s.types.send, recv.data(),
                              s.count, s.types.recv, s.comm);
    job::ok(code, s.comm, s.text("alltoall"));
    for (int rank = 0; rank < s.size; rank++)
        job::check(job::matches(s.block(recv, rank), s.bytes, s.seed(rank, s.rank)), s.comm,
                   s.text("alltoall") + ", block " + std::to_string(rank));
    job::check(recv.intact() && send.unchanged(), s.comm, s.text("bytes around the buffers of alltoall"));
}

using movement = void (*)(const setting &);

void run(weft_comm *comm, movement move, const type_pair &types, size_t count, int root, bool in_place) {
    setting s = {comm, types, count, root, in_place, weft_rank(comm), weft_size(comm), 0};
    s.bytes = count * weft_datatype_size(types.recv);
    move(s);
}

// Every size; short ones with every root, longer ones with roots in turn, so that each is a root often enough.
void sweep(weft_comm *comm, movement move, bool rooted) {
    int size = weft_size(comm), turn = 0;
    size_t number = 0;
    for (const type_pair &types : pairs)
        for (size_t count : counts_of(types.recv)) {
            int roots = !rooted ? 1 : count <= 17 ? size : 2;
            for (int i = 0; i < roots; i++, turn++) {
                int root = !rooted ? 0 : roots == size ? i : turn % size;
                for (bool in_place : {turn % 2 != 0, turn % 2 == 0})
                    if ((!rooted || in_place == (turn % 2 != 0)) && job::takes(number++))
                        run(comm, move, types, count, root, in_place);
            }
        }
    run(comm, move, pairs[0], effort::rounds(100000), rooted ? size - 1 : 0, false);
}

TEST(Movement, Bcast) {
    job::on_both([](weft_comm *comm) { sweep(comm, bcast, true); });
}

TEST(Movement, BcastLong) {
    job::on_both([](weft_comm *comm) {
        for (int root = 0; root < weft_size(comm); root++)
            run(comm, bcast, pairs[1], effort::rounds(100000), root, false);
    });
}

TEST(Movement, Gather) {
    job::on_both([](weft_comm *comm) { sweep(comm, gather, true); });
}

TEST(Movement, Scatter) {
    job::on_both([](weft_comm *comm) { sweep(comm, scatter, true); });
}

TEST(Movement, Allgather) {
    job::on_both([](weft_comm *comm) { sweep(comm, allgather, false); });
}

// Two threads give such blocks to each other.
TEST(Movement, AllgatherOfTwo) {
    job::on_both([](weft_comm *comm) {
        for (const type_pair &types : pairs)
            for (bool in_place : {false, true})
                if (weft_size(comm) == 2)
                    run(comm, allgather, types, 300001 / weft_datatype_size(types.recv), 0, in_place);
    });
}

TEST(Movement, Alltoall) {
    job::on_both([](weft_comm *comm) { sweep(comm, alltoall, false); });
}

// One after the other without a barrier between: what a rank does ahead of the others must not disturb them.
TEST(Movement, AllOfThemInTurn) {
    job::on_both([](weft_comm *comm) {
        const movement all[] = {bcast, gather, scatter, allgather, alltoall};
        for (int turn = 0; turn < 120; turn++) {
            uint64_t random = job::hash((uint64_t)turn);
            const size_t counts[] = {1, 17, 128, 129, 700};
            run(comm, all[random % 5], pairs[random / 5 % 5], counts[random / 25 % 5],
                (int)(random / 125 % (uint64_t)weft_size(comm)), random >> 40 & 1);
        }
    });
}

} // namespace
