// SPDX-License-Identifier: BSD-3-Clause
// The collectives that move data, with derived types: another one on each rank and side, for the same data a block.
#include "effort.h"
#include "staged.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
extern "C" {
#include <hier/sides.h>
}

namespace {

using namespace staged;

enum Kind { bcast, scatter, scatterv, gather, gatherv, allgather, allgatherv, alltoall, alltoallv, alltoallw };
const char *const names[] = {"bcast",     "scatter",    "scatterv", "gather",    "gatherv",
                             "allgather", "allgatherv", "alltoall", "alltoallv", "alltoallw"};
constexpr int all_to_all = -1; // no receiver in particular

// Of one of these is all that the ranks of a case move.
const weft_datatype *const kinds[] = {WEFT_BYTE, WEFT_INT16_T, WEFT_INT32_T, WEFT_DOUBLE};

struct Case {
    Kind kind;
    size_t bytes; // of a block; where blocks differ, of a unit
    int root;
    bool in_place;
    uint64_t seed;
};

// One side of a rank: blocks from or for the ranks `peers`, with their types and how they are passed.
struct Side {
    std::vector<oracle::type> types; // one, or one a block
    std::vector<const weft_datatype *> handles;
    std::vector<size_t> counts;
    std::vector<ptrdiff_t> displs;
    std::vector<std::pair<int, int>> ways; // of each block: from and to
    std::unique_ptr<Image> image;
    void *buffer() const {
        return image ? image->buffer() : nullptr;
    }
    const weft_datatype *type() const {
        return handles.empty() ? nullptr : handles[0];
    }
    size_t count() const {
        return counts.empty() ? 0 : counts[0];
    }
};

class Movement {
  public:
    Movement(weft_comm *comm, const Case &what)
        : comm_(comm), case_(what), rank_(weft_rank(comm)), size_(weft_size(comm)),
          maker_(unsigned(job::hash(what.seed, uint64_t(rank_), 5)), {kinds[what.seed / 100 % std::size(kinds)]}) {
        set_ways();
        lay_out(&send_);
        lay_out(&recv_);
    }

    void perform(Form form) {
        Run run;
        run.call = [this, form](weft_request **request) { return call(form, request); };
        run.begin = [this](uint64_t round) { begin(round); };
        run.end = [this] {
            return (!send_.image || send_.image->is_as_expected()) && (!recv_.image || recv_.image->is_as_expected());
        };
        run.let_go = [this, form] {
            if (form != Form::blocking)
                let_go();
        };
        std::string what = std::string(names[case_.kind]) + ", form " + std::to_string(int(form)) + ", blocks of " +
                           std::to_string(case_.bytes) + ", root " + std::to_string(case_.root) +
                           (case_.in_place ? ", in place" : "") + ", seed " + std::to_string(case_.seed);
        staged::perform(comm_, form, run, what);
        job::check(maker_.failures == 0, comm_, "a type was refused");
    }

  private:
    bool by_counts() const {
        return case_.kind == scatterv || case_.kind == gatherv || case_.kind == allgatherv || case_.kind == alltoallv ||
               case_.kind == alltoallw;
    }
    bool in_place_here() const {
        bool rooted = case_.kind == scatter || case_.kind == scatterv || case_.kind == gather || case_.kind == gatherv;
        return case_.in_place && (!rooted || rank_ == case_.root);
    }
    // Units of a block; as many in both directions, since in place they must be.
    size_t units(std::pair<int, int> way) const {
        auto low = uint64_t(std::min(way.first, way.second) + 1), high = uint64_t(std::max(way.first, way.second) + 1);
        return by_counts() ? job::hash(case_.seed, low, high, 23) % 4 : 1;
    }
    void set_ways() {
        bool root = rank_ == case_.root;
        auto each = [this](bool from) {
            std::vector<std::pair<int, int>> made;
            bool all = case_.kind == allgather || case_.kind == allgatherv;
            for (int peer = 0; peer < size_; peer++)
                made.emplace_back(from ? peer : rank_, all ? all_to_all : from ? rank_ : peer);
            return made;
        };
        switch (case_.kind) {
        case bcast:
            recv_.ways = {{case_.root, all_to_all}};
            return;
        case scatter:
        case scatterv:
            if (root)
                send_.ways = each(false);
            if (!in_place_here())
                recv_.ways = {{case_.root, rank_}};
            return;
        case gather:
        case gatherv:
            if (root)
                recv_.ways = each(true);
            if (!in_place_here())
                send_.ways = {{rank_, case_.root}};
            return;
        case allgather:
        case allgatherv:
            recv_.ways = each(true);
            if (!in_place_here())
                send_.ways = {{rank_, all_to_all}};
            return;
        default:
            recv_.ways = each(true);
            if (!in_place_here())
                send_.ways = each(false);
        }
    }
    void lay_out(Side *side) {
        size_t blocks = side->ways.size();
        if (!blocks)
            return;
        for (size_t i = 0; i < (case_.kind == alltoallw ? blocks : 1); i++)
            side->types.push_back(type_of_block(&maker_, case_.bytes, by_counts() ? 3 : blocks));
        std::vector<const oracle::map *> maps;
        std::vector<ptrdiff_t> at;
        ptrdiff_t next = -5000;
        for (size_t i = 0; i < blocks; i++) {
            const oracle::type &type = side->types[i % side->types.size()];
            ptrdiff_t extent = type.of.extent(), span = type.of.true_upper() - type.of.true_lower();
            size_t count = case_.bytes / type.of.size() * units(side->ways[i]), most = case_.bytes / type.of.size() * 3;
            maps.push_back(&type.of);
            side->handles.push_back(type.handle);
            side->counts.push_back(count);
            if (case_.kind == alltoallw) { /* anywhere, apart from the others */
                ptrdiff_t width = span + std::abs(extent) * ptrdiff_t(most), lowest = std::min<ptrdiff_t>(extent, 0);
                at.push_back(next - type.of.true_lower() - lowest * ptrdiff_t(most));
                next += width + 3;
                side->displs.push_back(at.back());
            } else if (by_counts()) { /* the last first */
                ptrdiff_t apart = ptrdiff_t(most) + (extent ? span / std::abs(extent) : 0) + 1;
                side->displs.push_back(apart * (ptrdiff_t(blocks / 2) - ptrdiff_t(i)));
                at.push_back(side->displs.back() * extent);
            } else {
                at.push_back(ptrdiff_t(i * count) * extent);
            }
            if (!count && by_counts())
                side->displs.back() = PTRDIFF_MAX / 64; /* of an empty block: means nothing */
        }
        if ((case_.kind == gatherv || case_.kind == allgatherv) && side == &send_)
            at[0] = 0;
        if (case_.kind == scatterv && side == &recv_)
            at[0] = 0;
        side->image = std::make_unique<Image>(maps, side->counts, at);
    }
    Bytes content_of(const Side &side, size_t i, uint64_t round) const {
        return content(side.image->bytes_of(i), case_.seed, side.ways[i].first, side.ways[i].second, round);
    }
    void begin(uint64_t round) {
        for (Side *side : {&send_, &recv_})
            if (side->image)
                side->image->fill(job::hash(case_.seed, uint64_t(rank_), side == &send_, round + 7));
        for (size_t i = 0; i < send_.ways.size(); i++)
            send_.image->set(i, content_of(send_, i, round));
        for (size_t i = 0; i < recv_.ways.size(); i++) {
            std::pair<int, int> way = recv_.ways[i];
            bool own = way.first == rank_ && (case_.kind == bcast || in_place_here());
            if (own)
                recv_.image->set(i, content_of(recv_, i, round));
            else if (in_place_here() && case_.kind >= alltoall)
                recv_.image->set(i, content(recv_.image->bytes_of(i), case_.seed, rank_, way.first, round));
            recv_.image->expect(i, content_of(recv_, i, round));
        }
    }
    // What nonblocking and persistent calls have taken over: types and arrays.
    void let_go() {
        for (Side *side : {&send_, &recv_}) {
            for (oracle::type &type : side->types)
                job::ok(weft_type_free(&type.handle), comm_, "weft_type_free");
            std::fill(side->handles.begin(), side->handles.end(), nullptr);
            std::fill(side->counts.begin(), side->counts.end(), size_t(-1));
            std::fill(side->displs.begin(), side->displs.end(), ptrdiff_t(1) << 60);
        }
    }
    int call(Form form, weft_request **request) {
        weft_comm *comm = comm_;
        int root = case_.root;
        const Side &s = send_, &r = recv_;
        const void *send = in_place_here() && s.ways.empty() ? WEFT_IN_PLACE : s.buffer();
        void *recv = r.buffer();
        switch (case_.kind) {
        case bcast:
            return STAGED_CALL(bcast, recv, r.count(), r.type(), root);
        case scatter:
        case scatterv:
            if (in_place_here())
                recv = WEFT_IN_PLACE;
            if (case_.kind == scatter)
                return STAGED_CALL(scatter, send, s.count(), s.type(), recv, r.count(), r.type(), root);
            return STAGED_CALL(scatterv, send, s.counts.data(), s.displs.data(), s.type(), recv, r.count(), r.type(),
                               root);
        case gather:
            return STAGED_CALL(gather, send, s.count(), s.type(), recv, r.count(), r.type(), root);
        case gatherv:
            return STAGED_CALL(gatherv, send, s.count(), s.type(), recv, r.counts.data(), r.displs.data(), r.type(),
                               root);
        case allgather:
            return STAGED_CALL(allgather, send, s.count(), s.type(), recv, r.count(), r.type());
        case allgatherv:
            return STAGED_CALL(allgatherv, send, s.count(), s.type(), recv, r.counts.data(), r.displs.data(), r.type());
        case alltoall:
            return STAGED_CALL(alltoall, send, s.count(), s.type(), recv, r.count(), r.type());
        case alltoallv:
            return STAGED_CALL(alltoallv, send, s.counts.data(), s.displs.data(), s.type(), recv, r.counts.data(),
                               r.displs.data(), r.type());
        default:
            return STAGED_CALL(alltoallw, send, s.counts.data(), s.displs.data(), s.handles.data(), recv,
                               r.counts.data(), r.displs.data(), r.handles.data());
        }
    }

    weft_comm *comm_;
    Case case_;
    int rank_, size_;
    oracle::maker maker_;
    Side send_, recv_;
};

void run_all(weft_comm *comm, Form form, uint64_t seeds, size_t bytes) {
    for (int k = bcast; k <= alltoallw; k++) {
        auto kind = Kind(k);
        for (uint64_t seed = 0; seed < effort::rounds(seeds); seed++)
            for (bool in_place : {false, true}) {
                bool rooted = kind <= gatherv;
                int root = rooted ? int((seed + unsigned(k)) % uint64_t(weft_size(comm))) : 0;
                if (in_place && kind == bcast)
                    continue;
                Movement(comm, {kind, bytes, root, in_place, seed * 100 + bytes}).perform(form);
            }
    }
}

} // namespace

TEST(StagedMovement, Processes) {
    for (Form form : forms) {
        run_all(weft_process_comm(), form, 12, 720);
        run_all(weft_process_comm(), form, 2, 36000);
    }
}

TEST(StagedMovement, Threads) {
    job::on_team([](weft_comm *comm) {
        run_all(comm, Form::blocking, 20, 720);
        for (Form form : forms) {
            run_all(comm, form, 2, 720);
            run_all(comm, form, 1, 36000);
        }
    });
}

// So long that between two processes that have a core each they go from layout to layout, part by part; and that two threads give them.
TEST(StagedMovement, LongBlocksBetweenTwo) {
    job::on_both([](weft_comm *comm) {
        if (weft_size(comm) != 2)
            return;
        run_all(comm, Form::blocking, 4, 108000);
        for (uint64_t seed = 0; seed < 12; seed++) /* of equal counts, and others */
            Movement(comm, {allgatherv, 108000, 0, seed % 2 != 0, seed}).perform(Form::blocking);
    });
}

// Whose data are packed: that of a node's host, in whose buffers the network works, and what is so short that it goes by cells.
TEST(StagedMovement, ThreadsCopyFromLayoutToLayout) {
    job::on_team([](weft_comm *comm) {
        const int root = weft_size(comm) - 1;
        const bool one_node = weft_nodes(comm) == 1, leader = weft_thread(comm) == 0;
        const bool last = weft_node(comm) == weft_nodes(comm) - 1;
        const bool host = last ? weft_rank(comm) == root : leader; // of the root's node the root
        weft_datatype *pairs = nullptr;
        job::ok(weft_type_vector(4096, 2, 3, WEFT_INT, &pairs), comm, "weft_type_vector");
        auto lays_out = [&](inter_collective collective, size_t bytes, const weft_datatype *type) {
            char buffer = 0;
            hier_arguments arguments;
            hier_arguments_begin(&arguments, collective, "");
            arguments.root = collective == INTER_BCAST ? root : 0;
            arguments.send = arguments.recv = &buffer;
            arguments.send_type = arguments.recv_type = type;
            arguments.send_count = arguments.recv_count = 1;
            arguments.bytes = bytes;
            return hier_lay_out(comm, &arguments);
        };
        if (!getenv("WEFT_ALGORITHM")) {
            job::check(lays_out(INTER_BCAST, 32768, pairs) == (one_node || !host), comm, "who packs in a bcast");
            job::check(lays_out(INTER_ALLGATHER, 32768, pairs) == (one_node || !leader), comm, "in an allgather");
            const bool alone = !one_node && weft_nodes(comm) == weft_size(comm); // then the network works everywhere
            for (inter_collective collective : {INTER_ALLTOALL, INTER_GATHER, INTER_SCATTER})
                job::check(lays_out(collective, 32768, pairs) == !alone, comm,
                           "in an alltoall, gather, scatter nobody does");
            job::check(!lays_out(INTER_BCAST, 8, pairs), comm, "what is short");
        } else if (std::string(getenv("WEFT_ALGORITHM")).find("scatter=/direct") != std::string::npos) {
            for (inter_collective collective : {INTER_GATHER, INTER_SCATTER})
                job::check(lays_out(collective, 32768, pairs), comm, "in a direct gather or scatter nobody does");
        }
        job::check(!lays_out(INTER_ALLREDUCE, 32768, pairs), comm, "operands");
        job::ok(weft_type_free(&pairs), comm, "weft_type_free");
    });
}

// A buffer of NULL, and a type that holds the address.
TEST(StagedMovement, Addresses) {
    job::on_both([](weft_comm *comm) {
        int values[3] = {-1, -1, -1};
        if (weft_rank(comm) == 0)
            values[0] = 7, values[2] = 9;
        ptrdiff_t displs[2] = {ptrdiff_t(&values[0]), ptrdiff_t(&values[2])};
        weft_datatype *type = nullptr;
        job::ok(weft_type_hindexed_block(2, 1, displs, WEFT_INT, &type), comm, "weft_type_hindexed_block");
        job::ok(weft_type_commit(&type), comm, "weft_type_commit");
        job::ok(weft_bcast(nullptr, 1, type, 0, comm), comm, "bcast of addresses");
        job::check(values[0] == 7 && values[1] == -1 && values[2] == 9, comm, "bcast of addresses: what came");
        int packed[2] = {0, 0};
        size_t position = 0;
        job::ok(weft_pack(nullptr, 1, type, packed, sizeof(packed), &position), comm, "weft_pack of addresses");
        job::check(packed[0] == 7 && packed[1] == 9, comm, "weft_pack of addresses: what was packed");
        job::ok(weft_type_free(&type), comm, "weft_type_free");
    });
}

TEST(StagedMovement, UncommittedTypesAreRefused) {
    job::on_both([](weft_comm *comm) {
        std::vector<int> memory(size_t(weft_size(comm)) * 16 + 16);
        int *send = memory.data(), *recv = send + 8;
        weft_datatype *type = nullptr;
        job::ok(weft_type_vector(2, 1, 2, WEFT_INT, &type), comm, "weft_type_vector");
        auto refused = [&](int code, const char *call, const char *name) {
            std::string expected = "rank " + std::to_string(weft_rank(comm)) + ": " + call + ": " + name +
                                   " is not committed (weft_type_commit)";
            job::check(code == WEFT_ERR_ARG && weft_last_error() == expected, comm,
                       expected + ": got " + weft_last_error());
        };
        refused(weft_bcast(recv, 1, type, 0, comm), "weft_bcast", "type");
        refused(weft_allgather(send, 1, type, recv, 2, WEFT_INT, comm), "weft_allgather", "send_type");
        refused(weft_allgather(send, 2, WEFT_INT, recv, 1, type, comm), "weft_allgather", "recv_type");
        refused(weft_allreduce(send, recv, 1, type, WEFT_SUM, comm), "weft_allreduce", "type");
        job::ok(weft_type_free(&type), comm, "weft_type_free");
        job::check(weft_bcast(recv, 1, nullptr, 0, comm) == WEFT_ERR_ARG, comm, "no type");
    });
}

// Extents and displacements that no memory has room for.
TEST(StagedMovement, OverflowingExtentsAreRefused) {
    weft_comm *comm = weft_process_comm();
    auto ranks = size_t(weft_size(comm));
    std::vector<size_t> counts(ranks, 1);
    std::vector<ptrdiff_t> displs(ranks, PTRDIFF_MAX / 4);
    std::vector<int> memory(ranks + 1);
    weft_datatype *type = nullptr;
    ASSERT_EQ(weft_type_resized(WEFT_INT, 0, 16, &type), WEFT_SUCCESS);
    ASSERT_EQ(weft_type_commit(&type), WEFT_SUCCESS);
    EXPECT_EQ(weft_bcast(memory.data(), PTRDIFF_MAX / 8, type, 0, comm), WEFT_ERR_ARG);
    EXPECT_NE(strstr(weft_last_error(), "more than memory can hold"), nullptr) << weft_last_error();
    EXPECT_EQ(weft_allgatherv(memory.data(), 1, WEFT_INT, memory.data() + 1, counts.data(), displs.data(), type, comm),
              WEFT_ERR_ARG);
    EXPECT_NE(strstr(weft_last_error(), "recv_displs[0]"), nullptr) << weft_last_error();
    EXPECT_EQ(weft_type_free(&type), WEFT_SUCCESS);
}
