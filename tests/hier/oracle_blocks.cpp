// SPDX-License-Identifier: BSD-3-Clause
// gatherv, scatterv and allgatherv with uneven and zero counts, blocks in any order, gaps and displacements below zero. The
// whole buffer is compared, gaps included.
#include "grouped.h"
#include "oracle_form.h"
#include "oracle_job.h"

#include <algorithm>
#include <vector>

namespace {

struct setting {
    uint64_t seed;
    size_t most; // units a block
    int root;
    const weft_datatype *own_type, *whole_type; // of the rank's own block, and of all blocks together
    size_t own_ratio, whole_ratio;              // elements a unit
    bool in_place;

    size_t unit_bytes() const {
        return whole_ratio * weft_datatype_size(whole_type);
    }
    // Units of a rank's block: a third of them none.
    size_t units(int rank) const {
        uint64_t random = job::hash(seed, (uint64_t)rank, 3);
        return random % 3 == 0 ? 0 : 1 + random / 3 % most;
    }
    size_t bytes(int rank) const {
        return units(rank) * unit_bytes();
    }
    uint64_t pattern(int rank) const {
        return job::hash(seed, (uint64_t)rank, 7);
    }
    std::string text(const char *what) const {
        return std::string(what) + " of up to " + std::to_string(most) + " x " + std::to_string(whole_ratio) + " " +
               weft_datatype_name(whole_type) + ", root " + std::to_string(root) + (in_place ? ", in place" : "") +
               ", seed " + std::to_string(seed);
    }
};

// All blocks: in rank order or rotated, one behind the other or with gaps, or the last one first. The pointer passed is
// somewhere in the middle of the buffer.
struct whole {
    std::vector<size_t> counts;
    std::vector<ptrdiff_t> displs;
    std::vector<size_t> offsets; // bytes in the buffer
    size_t bytes = 0, base = 0;

    whole(const setting &s, int size, uint64_t order)
        : counts((size_t)size), displs((size_t)size), offsets((size_t)size) {
        size_t unit = s.unit_bytes(), ranks = (size_t)size, turn = order % 4 % 2 ? order / 4 % ranks : 0;
        for (size_t i = 0; i < ranks; i++) {
            size_t block = order % 4 == 2 ? ranks - 1 - i : (i + turn) % ranks;
            if (order % 4 >= 2)
                bytes += unit * (job::hash(s.seed, i, order) % 3);
            offsets[block] = bytes;
            bytes += s.bytes((int)block);
            if (i == ranks / 2)
                base = bytes;
        }
        for (size_t block = 0; block < ranks; block++) {
            counts[block] = s.units((int)block) * s.whole_ratio;
            auto distance = (ptrdiff_t)offsets[block] - (ptrdiff_t)base;
            displs[block] = distance / (ptrdiff_t)unit * (ptrdiff_t)s.whole_ratio;
            if (!counts[block])
                displs[block] = PTRDIFF_MAX / 64; // of an empty block it means nothing
        }
    }
    void fill(unsigned char *at, const setting &s, int block) const {
        job::fill(at + offsets[(size_t)block], s.bytes(block), s.pattern(block));
    }
    // As the buffer was before the call, with all blocks in their places.
    std::vector<unsigned char> filled(const setting &s) const {
        std::vector<unsigned char> made(bytes, job::buffer::filler);
        for (size_t block = 0; block < counts.size(); block++)
            fill(made.data(), s, (int)block);
        return made;
    }
};

bool holds(const job::buffer &buffer, const std::vector<unsigned char> &expected) {
    return buffer.intact() && std::equal(expected.begin(), expected.end(), buffer.data());
}

// gatherv, or allgatherv, where every rank has its own order of blocks.
void gather(weft_comm *comm, const setting &s, bool all) {
    const char *what = all ? "allgatherv" : "gatherv";
    int rank = weft_rank(comm), size = weft_size(comm);
    bool here = all || rank == s.root, in_place = here && s.in_place;
    whole blocks(s, size, s.seed + (all ? (uint64_t)rank : 0));
    job::buffer send(s.bytes(rank), 16), recv(here ? blocks.bytes : 0, 16);
    job::fill(send.data(), send.size(), s.pattern(rank));
    if (in_place)
        blocks.fill(recv.data(), s, rank);
    const void *from = in_place ? WEFT_IN_PLACE : send.data();
    size_t count = s.units(rank) * s.own_ratio;
    int code = all    ? FORM(allgatherv)(from, count, s.own_type, recv.data() + blocks.base, blocks.counts.data(),
                                      blocks.displs.data(), s.whole_type, comm)
               : here ? FORM(gatherv)(from, count, s.own_type, recv.data() + blocks.base, blocks.counts.data(),
                                      blocks.displs.data(), s.whole_type, s.root, comm)
                      : FORM(gatherv)(from, count, s.own_type, nullptr, nullptr, nullptr, nullptr, s.root, comm);
    job::ok(code, comm, s.text(what));
    job::check(here ? holds(recv, blocks.filled(s)) : recv.untouched(), comm, s.text(what));
    job::check(send.intact() && job::matches(send.data(), send.size(), s.pattern(rank)), comm,
               s.text(what) + ": the send buffer changed");
}

void gatherv(weft_comm *comm, const setting &s) {
    gather(comm, s, false);
}

void allgatherv(weft_comm *comm, const setting &s) {
    gather(comm, s, true);
}

void scatterv(weft_comm *comm, const setting &s) {
    int rank = weft_rank(comm), size = weft_size(comm);
    bool here = rank == s.root, in_place = here && s.in_place;
    whole blocks(s, size, s.seed);
    job::buffer send(here ? blocks.bytes : 0, 16), recv(s.bytes(rank), 16);
    for (int block = 0; here && block < size; block++)
        blocks.fill(send.data(), s, block);
    void *to = in_place ? WEFT_IN_PLACE : recv.data();
    size_t count = s.units(rank) * s.own_ratio;
    int code = here ? FORM(scatterv)(send.data() + blocks.base, blocks.counts.data(), blocks.displs.data(),
                                     s.whole_type, to, count, s.own_type, s.root, comm)
                    : FORM(scatterv)(nullptr, nullptr, nullptr, nullptr, to, count, s.own_type, s.root, comm);
    job::ok(code, comm, s.text("scatterv"));
    job::check(in_place ? recv.untouched() : recv.intact() && job::matches(recv.data(), recv.size(), s.pattern(rank)),
               comm, s.text("scatterv"));
    job::check(here ? holds(send, blocks.filled(s)) : send.untouched(), comm,
               s.text("scatterv") + ": the send buffer changed");
}

using movement = void (*)(weft_comm *, const setting &);

// Of every kind of layout, and with every root.
void sweep(weft_comm *comm, movement move, size_t most, uint64_t rounds) {
    size_t number = most;
    for (uint64_t round = 0; round < rounds; round++)
        for (int root = 0; root < (move == allgatherv ? 1 : weft_size(comm)); root++)
            for (bool in_place : {false, true}) {
                uint64_t seed = job::hash(most, round, (uint64_t)root) / 16 * 16 + round;
                for (const setting &s :
                     {setting{seed, most, root, WEFT_BYTE, WEFT_BYTE, 1, 1, in_place},
                      setting{seed + 4, most, root, WEFT_INT, grouped(WEFT_INT, 2), 2, 1, in_place},
                      setting{seed + 8, most, root, grouped(WEFT_2INT, 4), WEFT_2INT, 1, 4, in_place}})
                    if (job::takes(number++))
                        move(comm, s);
            }
}

void sizes(weft_comm *comm, movement move) {
    sweep(comm, move, 3, 8);
    sweep(comm, move, 300, 4);
    sweep(comm, move, 9000, 1);
}

TEST(Blocks, Gatherv) {
    job::on_both([](weft_comm *comm) { sizes(comm, gatherv); });
}

TEST(Blocks, Scatterv) {
    job::on_both([](weft_comm *comm) { sizes(comm, scatterv); });
}

TEST(Blocks, Allgatherv) {
    job::on_both([](weft_comm *comm) { sizes(comm, allgatherv); });
}

// Two threads give long blocks to each other if they are about as long.
TEST(Blocks, AllgathervOfTwo) {
    job::on_both([](weft_comm *comm) {
        if (weft_size(comm) == 2)
            sweep(comm, allgatherv, 60000, 6);
    });
}

TEST(Blocks, AllOfThemInTurn) {
    job::on_both([](weft_comm *comm) {
        const movement all[] = {gatherv, scatterv, allgatherv};
        for (uint64_t turn = 0; turn < 120; turn++) {
            uint64_t random = job::hash(turn, 11);
            const size_t most[] = {1, 17, 200, 3000};
            all[random % 3](comm, {random, most[random / 3 % 4], (int)(random / 12 % (uint64_t)weft_size(comm)),
                                   WEFT_SHORT, grouped(WEFT_SHORT, 2), 2, 1, (random >> 40 & 1) != 0});
        }
    });
}

// One rank has a block about as long as the longest that goes by its cell (HIER_BUNDLE_BYTES_BETWEEN), all others have long ones.
void gatherv_beside_long(weft_comm *comm, int root, int odd, size_t own) {
    const size_t longer = 5000, ranks = (size_t)weft_size(comm);
    const int rank = weft_rank(comm);
    const auto has = [&](int of) { return of == odd ? own : longer; };
    const std::string what =
        "gatherv, rank " + std::to_string(odd) + " has " + std::to_string(own) + " bytes, root " + std::to_string(root);
    job::buffer send(has(rank), 16), recv(rank == root ? ranks * longer : 0, 16);
    std::vector<size_t> counts(ranks);
    std::vector<ptrdiff_t> displs(ranks);
    for (size_t i = 0; i < ranks; i++) {
        counts[i] = has((int)i);
        displs[i] = (ptrdiff_t)(i * longer);
    }
    job::fill(send.data(), send.size(), (uint64_t)rank + own);
    job::ok(FORM(gatherv)(send.data(), send.size(), WEFT_BYTE, recv.data(), counts.data(), displs.data(), WEFT_BYTE,
                          root, comm),
            comm, what);
    for (size_t i = 0; rank == root && i < ranks; i++)
        job::check(job::matches(recv.data() + i * longer, counts[i], i + own), comm, what);
    job::check(recv.intact(), comm, what);
}

TEST(Blocks, GathervOfOneThatJustFitsIntoItsCell) {
    job::on_both([](weft_comm *comm) {
        const int last = weft_size(comm) - 1;
        for (int root : {0, last})
            for (int odd = 0; odd <= last; odd++)
                for (size_t own : {767, 768, 769})
                    gatherv_beside_long(comm, root, odd, own);
    });
}

TEST(Blocks, NothingAtAll) {
    job::on_both([](weft_comm *comm) {
        std::vector<size_t> counts((size_t)weft_size(comm), 0);
        std::vector<ptrdiff_t> displs((size_t)weft_size(comm), -1);
        int root = weft_size(comm) - 1;
        job::ok(FORM(gatherv)(nullptr, 0, WEFT_INT, nullptr, counts.data(), displs.data(), WEFT_INT, root, comm), comm,
                "gatherv of nothing");
        job::ok(FORM(scatterv)(nullptr, counts.data(), displs.data(), WEFT_INT, nullptr, 0, WEFT_INT, root, comm), comm,
                "scatterv of nothing");
        job::ok(FORM(allgatherv)(nullptr, 0, WEFT_INT, nullptr, counts.data(), displs.data(), WEFT_INT, comm), comm,
                "allgatherv of nothing");
        job::ok(FORM(allgatherv)(WEFT_IN_PLACE, 0, WEFT_INT, nullptr, counts.data(), displs.data(), WEFT_INT, comm),
                comm, "allgatherv of nothing, in place");
    });
}

// Fewer bytes than ranks: one rank has one, the others none.
TEST(Blocks, OneByteInAll) {
    job::on_both([](weft_comm *comm) {
        int size = weft_size(comm), rank = weft_rank(comm);
        for (int from = 0; from < size; from++) {
            std::vector<size_t> counts((size_t)size, 0);
            std::vector<ptrdiff_t> displs((size_t)size, 1);
            counts[(size_t)from] = 1;
            unsigned char mine = 77, got[3] = {1, 2, 3}, back = 0;
            size_t own = rank == from;
            job::ok(FORM(allgatherv)(&mine, own, WEFT_BYTE, got, counts.data(), displs.data(), WEFT_BYTE, comm), comm,
                    "allgatherv of one byte");
            job::check(got[0] == 1 && got[1] == 77 && got[2] == 3, comm, "allgatherv of one byte");
            int root = (from + 1) % size;
            job::ok(FORM(scatterv)(got, counts.data(), displs.data(), WEFT_BYTE, &back, own, WEFT_BYTE, root, comm),
                    comm, "scatterv of one byte");
            job::check(back == (own ? 77 : 0), comm, "scatterv of one byte");
        }
    });
}

} // namespace
