// SPDX-License-Identifier: BSD-3-Clause
// alltoallv and alltoallw with uneven and zero counts, gaps, blocks in any order and displacements below zero. The whole receive buffer is
// compared, gaps included.
#include "effort.h"
#include "oracle_form.h"
#include "oracle_job.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace {

// So many elements as one.
class joined {
  public:
    joined(size_t count, const weft_datatype *type) {
        EXPECT_EQ(WEFT_SUCCESS, weft_type_contiguous(count, type, &made_)) << weft_last_error();
        EXPECT_EQ(WEFT_SUCCESS, weft_type_commit(&made_)) << weft_last_error();
    }
    joined(const joined &) = delete;
    joined &operator=(const joined &) = delete;
    ~joined() {
        EXPECT_EQ(WEFT_SUCCESS, weft_type_free(&made_)) << weft_last_error();
    }
    [[nodiscard]] const weft_datatype *type() const {
        return made_;
    }

  private:
    weft_datatype *made_ = nullptr;
};

struct setting {
    uint64_t seed;
    size_t most; // units a block
    const weft_datatype *send_type, *recv_type;
    size_t send_ratio, recv_ratio; // elements a unit
    bool in_place;
    bool many; // alltoallw: the blocks' types differ, and they begin at odd bytes

    size_t unit_bytes() const {
        return recv_ratio * weft_datatype_size(recv_type);
    }
    // Units from one rank to another: a third of them none.
    size_t units(int from, int to) const {
        if (in_place && from > to)
            std::swap(from, to);
        uint64_t random = job::hash(seed, (uint64_t)from, (uint64_t)to);
        return random % 3 == 0 ? 0 : 1 + random / 3 % most;
    }
    uint64_t pattern(int from, int to) const {
        return job::hash(seed, (uint64_t)from, (uint64_t)to, 7);
    }
    std::string text() const {
        return std::string(many ? "alltoallw" : "alltoallv") + " of up to " + std::to_string(most) + " x " +
               std::to_string(recv_ratio) + " " + weft_datatype_name(recv_type) + (in_place ? ", in place" : "") +
               ", seed " + std::to_string(seed);
    }
};

// One side's arrays and the place of each block. The pointer passed is somewhere in the middle of the buffer.
struct side {
    std::vector<size_t> counts;
    std::vector<ptrdiff_t> displs;
    std::vector<size_t> offsets; // bytes in the buffer
    std::vector<const weft_datatype *> types;
    size_t bytes = 0, base = 0;

    // `unit_type`: of a whole unit.
    side(const setting &s, const std::vector<size_t> &units, size_t ratio, const weft_datatype *unit_type, int rank,
         bool send)
        : counts(units.size()), displs(units.size()), offsets(units.size()),
          types(units.size(), send ? s.send_type : s.recv_type) {
        size_t size = units.size(), unit = s.unit_bytes();
        for (size_t i = 0; i < size; i++) {
            size_t block = send ? (i + (size_t)rank) % size : size - 1 - i; // where in the buffer which block lies
            bytes += unit * (job::hash(s.seed, i, (uint64_t)rank, send) % 3) + s.many;
            offsets[block] = bytes;
            bytes += unit * units[block];
            if (i == size / 2)
                base = bytes;
        }
        for (size_t block = 0; block < size; block++) {
            counts[block] = units[block] * ratio;
            auto distance = (ptrdiff_t)offsets[block] - (ptrdiff_t)base;
            displs[block] = s.many ? distance : distance / (ptrdiff_t)unit * (ptrdiff_t)ratio;
            if (s.many && (block + (size_t)rank + send) % 2) {
                types[block] = unit_type;
                counts[block] = units[block];
            }
            if (!units[block])
                displs[block] = PTRDIFF_MAX / 64; // of an empty block it means nothing
        }
    }
};

int call(weft_comm *comm, const setting &s, const void *send, const side &out, void *recv, const side &in) {
    if (s.many)
        return s.in_place ? FORM(alltoallw)(WEFT_IN_PLACE, nullptr, nullptr, nullptr, recv, in.counts.data(),
                                            in.displs.data(), in.types.data(), comm)
                          : FORM(alltoallw)(send, out.counts.data(), out.displs.data(), out.types.data(), recv,
                                            in.counts.data(), in.displs.data(), in.types.data(), comm);
    return s.in_place ? FORM(alltoallv)(WEFT_IN_PLACE, nullptr, nullptr, nullptr, recv, in.counts.data(),
                                        in.displs.data(), s.recv_type, comm)
                      : FORM(alltoallv)(send, out.counts.data(), out.displs.data(), s.send_type, recv, in.counts.data(),
                                        in.displs.data(), s.recv_type, comm);
}

void exchange(weft_comm *comm, const setting &s) {
    int rank = weft_rank(comm), size = weft_size(comm);
    std::vector<size_t> to_units((size_t)size), from_units((size_t)size);
    for (int other = 0; other < size; other++) {
        to_units[(size_t)other] = s.units(rank, other);
        from_units[(size_t)other] = s.units(other, rank);
    }
    const joined unit(s.recv_ratio, s.recv_type);
    side out(s, to_units, s.send_ratio, unit.type(), rank, true);
    side in(s, from_units, s.recv_ratio, unit.type(), rank, false);
    job::buffer send(out.bytes, 16), recv(in.bytes, 16);
    std::vector<unsigned char> expected(in.bytes, job::buffer::filler);
    for (size_t other = 0; other < (size_t)size; other++) {
        job::fill(send.data() + out.offsets[other], s.unit_bytes() * to_units[other], s.pattern(rank, (int)other));
        if (s.in_place)
            job::fill(recv.data() + in.offsets[other], s.unit_bytes() * from_units[other], s.pattern(rank, (int)other));
        job::fill(expected.data() + in.offsets[other], s.unit_bytes() * from_units[other], s.pattern((int)other, rank));
    }
    std::vector<unsigned char> before(send.data(), send.data() + send.size());
    job::ok(call(comm, s, send.data() + out.base, out, recv.data() + in.base, in), comm, s.text());
    job::check(std::equal(expected.begin(), expected.end(), recv.data()), comm, s.text());
    job::check(recv.intact(), comm, s.text() + ": bytes around the receive buffer");
    job::check(send.intact() && std::equal(before.begin(), before.end(), send.data()), comm,
               s.text() + ": the send buffer changed");
}

void sweep(weft_comm *comm, size_t most, int rounds, bool many) {
    const joined ints(2, WEFT_INT), numbers(2, WEFT_C_DOUBLE_COMPLEX), pairs(2, WEFT_2INT);
    size_t number = most;
    for (int round = 0; round < rounds; round++)
        for (bool in_place : {false, true}) {
            uint64_t seed = job::hash(most, (uint64_t)round);
            for (const setting &s :
                 {setting{seed, most, WEFT_BYTE, WEFT_BYTE, 1, 1, in_place, many},
                  setting{seed + 1, most, WEFT_INT, ints.type(), 2, 1, in_place, many},
                  setting{seed + 2, most, numbers.type(), WEFT_C_DOUBLE_COMPLEX, 1, 2, in_place, many},
                  setting{seed + 3, most, pairs.type(), WEFT_INT, 1, 4, in_place, many}})
                if (job::takes(number++))
                    exchange(comm, s);
        }
}

TEST(Alltoallv, FewElements) {
    job::on_both([](weft_comm *comm) { sweep(comm, 3, 10, false); });
}

TEST(Alltoallv, Hundreds) {
    job::on_both([](weft_comm *comm) { sweep(comm, 300, 4, false); });
}

TEST(Alltoallv, Thousands) {
    job::on_both([](weft_comm *comm) { sweep(comm, effort::long_count, 1, false); });
}

TEST(Alltoallw, FewElements) {
    job::on_both([](weft_comm *comm) { sweep(comm, 3, 10, true); });
}

TEST(Alltoallw, Hundreds) {
    job::on_both([](weft_comm *comm) { sweep(comm, 300, 4, true); });
}

TEST(Alltoallw, Thousands) {
    job::on_both([](weft_comm *comm) { sweep(comm, effort::long_count, 1, true); });
}

TEST(Alltoallv, NothingAtAll) {
    job::on_both([](weft_comm *comm) {
        std::vector<size_t> counts((size_t)weft_size(comm), 0);
        std::vector<ptrdiff_t> displs((size_t)weft_size(comm), -1);
        job::ok(FORM(alltoallv)(nullptr, counts.data(), displs.data(), WEFT_INT, nullptr, counts.data(), displs.data(),
                                WEFT_INT, comm),
                comm, "alltoallv of nothing");
    });
}

// Only one rank has anything to say, and only to one other.
TEST(Alltoallv, OneBlockInAll) {
    job::on_both([](weft_comm *comm) {
        int size = weft_size(comm), rank = weft_rank(comm);
        for (int from = 0; from < size; from++) {
            int to = (from * 7 + 3) % size;
            std::vector<size_t> send_counts((size_t)size, 0), recv_counts((size_t)size, 0);
            std::vector<ptrdiff_t> displs((size_t)size, 0);
            if (rank == from)
                send_counts[(size_t)to] = 1000;
            if (rank == to)
                recv_counts[(size_t)from] = 1000;
            job::buffer send(rank == from ? 4000 : 0, 4), recv(rank == to ? 4000 : 0, 4);
            job::fill(send.data(), send.size(), 5);
            job::ok(FORM(alltoallv)(rank == from ? send.data() : nullptr, send_counts.data(), displs.data(), WEFT_INT,
                                    rank == to ? recv.data() : nullptr, recv_counts.data(), displs.data(), WEFT_INT,
                                    comm),
                    comm, "alltoallv of one block");
            job::check(job::matches(recv.data(), recv.size(), 5) && recv.intact(), comm, "alltoallv of one block");
        }
    });
}

} // namespace
