// SPDX-License-Identifier: BSD-3-Clause
// Reductions of elements of a derived type by operations of the user's, which commute or not: the function must find elements
// as the type lays them out, and the words that are no data stay as they are.
#include "affine.h"
#include "effort.h"
#include "staged.h"
#include <cstring>
#include <map>
#include <mutex>

namespace {

using namespace staged;

enum Kind { reduce, allreduce, scan, exscan, reduce_scatter, reduce_scatter_block };
const char *const names[] = {"reduce", "allreduce", "scan", "exscan", "reduce_scatter", "reduce_scatter_block"};

// What the types that are in use look like: the function knows them by their handles.
std::mutex maps_lock;
std::map<const weft_datatype *, const oracle::map *> maps;

const oracle::map *map_of(const weft_datatype *type) {
    std::lock_guard<std::mutex> guard(maps_lock);
    auto found = maps.find(type);
    return found == maps.end() ? nullptr : found->second;
}

uint64_t sum(uint64_t a, uint64_t b) {
    return a + b;
}

template <uint64_t combine(uint64_t, uint64_t)>
void function(const void *in, void *inout, size_t count, const weft_datatype *type) {
    const oracle::map *map = map_of(type);
    if (!map) /* the result then shows it */
        return;
    ptrdiff_t extent = map->extent();
    for (size_t i = 0; i < count; i++)
        for (const oracle::entry &entry : map->entries) {
            ptrdiff_t at = ptrdiff_t(i) * extent + entry.displ;
            /* NOLINTNEXTLINE(performance-no-int-to-ptr): elements need not begin in the memory that they are in */
            auto *left = reinterpret_cast<const char *>(uintptr_t(in) + uintptr_t(at));
            auto *right = reinterpret_cast<char *>(uintptr_t(inout) + uintptr_t(at)); /* NOLINT */
            uint64_t a, b;
            memcpy(&a, left, sizeof(a));
            memcpy(&b, right, sizeof(b));
            b = combine(a, b);
            memcpy(right, &b, sizeof(b));
        }
}

const weft_op *op(bool commutes) {
    static weft_op *const made[2] = {[] {
                                         weft_op *affine = nullptr;
                                         weft_op_create(function<affine::after>, 0, &affine);
                                         return affine;
                                     }(),
                                     [] {
                                         weft_op *sums = nullptr;
                                         weft_op_create(function<sum>, 1, &sums);
                                         return sums;
                                     }()};
    return made[commutes];
}

struct Case {
    Kind kind;
    size_t count; // elements of a vector; where they are scattered the most of a block
    int root;
    bool in_place, commutes;
    uint64_t seed;
};

using Words = std::vector<uint64_t>;

class Reduction {
  public:
    Reduction(weft_comm *comm, const Case &what, oracle::type type)
        : comm_(comm), case_(what), rank_(weft_rank(comm)), size_(weft_size(comm)), type_(std::move(type)) {
        std::lock_guard<std::mutex> guard(maps_lock);
        handle_ = type_.handle;
        maps[handle_] = &type_.of;
        lay_out();
    }
    ~Reduction() {
        std::lock_guard<std::mutex> guard(maps_lock);
        maps.erase(handle_);
    }

    void perform(Form form) {
        Run run;
        run.call = [this, form](weft_request **request) { return call(form, request); };
        run.begin = [this](uint64_t round) { begin(round); };
        run.end = [this] { return end(); };
        run.let_go = [this, form] {
            if (form == Form::blocking)
                return;
            job::ok(weft_type_free(&type_.handle), comm_, "weft_type_free");
            std::fill(counts_.begin(), counts_.end(), size_t(-1));
        };
        std::string what = std::string(names[case_.kind]) + " of " + std::to_string(case_.count) + " elements of " +
                           std::to_string(type_.of.size()) + " bytes, form " + std::to_string(int(form)) + ", root " +
                           std::to_string(case_.root) + (case_.in_place ? ", in place" : "") +
                           (case_.commutes ? ", sum" : ", affine") + ", seed " + std::to_string(case_.seed);
        staged::perform(comm_, form, run, what);
    }

  private:
    bool scatters() const {
        return case_.kind >= reduce_scatter;
    }
    bool at_root() const {
        return case_.kind != reduce || rank_ == case_.root;
    }
    size_t block(int rank) const {
        return case_.kind == reduce_scatter ? job::hash(case_.seed, uint64_t(rank), 3) % (case_.count + 1)
                                            : case_.count;
    }
    void lay_out() {
        for (int rank = 0; rank < size_; rank++) {
            counts_.push_back(block(rank));
            if (rank == rank_)
                first_ = all_;
            all_ += scatters() ? block(rank) : 0;
        }
        own_ = block(rank_);
        if (!scatters())
            all_ = case_.count;
        in_place_ = case_.in_place && at_root();
        if (!in_place_)
            send_ = std::make_unique<Image>(std::vector<const oracle::map *>{&type_.of}, std::vector<size_t>{all_},
                                            std::vector<ptrdiff_t>{0});
        if (at_root())
            recv_ = std::make_unique<Image>(std::vector<const oracle::map *>{&type_.of},
                                            std::vector<size_t>{in_place_ ? all_ : own_}, std::vector<ptrdiff_t>{0});
    }
    Words operand(int rank, uint64_t round) const {
        Words made(all_ * type_.of.entries.size());
        for (size_t i = 0; i < made.size(); i++)
            made[i] = affine::operand(job::hash(case_.seed, uint64_t(rank), i, round));
        return made;
    }
    Words combined(int last, uint64_t round) const {
        Words made = operand(0, round);
        for (int rank = 1; rank <= last; rank++) {
            Words next = operand(rank, round);
            for (size_t i = 0; i < made.size(); i++)
                made[i] = case_.commutes ? made[i] + next[i] : affine::after(made[i], next[i]);
        }
        return made;
    }
    static Bytes bytes(const Words &words, size_t first, size_t count) {
        Bytes made(count * sizeof(uint64_t));
        if (count)
            memcpy(made.data(), words.data() + first, made.size());
        return made;
    }
    void begin(uint64_t round) {
        Bytes own = bytes(operand(rank_, round), 0, all_ * type_.of.entries.size());
        for (Image *image : {send_.get(), recv_.get()})
            if (image)
                image->fill(job::hash(case_.seed, uint64_t(rank_), image == send_.get(), round));
        (in_place_ ? recv_ : send_)->set(0, own);
        if (!recv_ || (case_.kind == exscan && rank_ == 0))
            return;
        int last = case_.kind == scan ? rank_ : case_.kind == exscan ? rank_ - 1 : size_ - 1;
        size_t words = type_.of.entries.size();
        recv_->expect(0, bytes(combined(last, round), scatters() ? first_ * words : 0, own_ * words));
    }
    bool end() {
        if (in_place_ && scatters())
            recv_->ignore(0, own_ * type_.of.size());
        return (!send_ || send_->is_as_expected()) && (!recv_ || recv_->is_as_expected());
    }
    int call(Form form, weft_request **request) {
        weft_comm *comm = comm_;
        const weft_datatype *type = handle_;
        const weft_op *by = op(case_.commutes);
        const void *send = in_place_ ? WEFT_IN_PLACE : send_->buffer();
        void *recv = recv_ ? recv_->buffer() : nullptr;
        switch (case_.kind) {
        case reduce:
            return STAGED_CALL(reduce, send, recv, case_.count, type, by, case_.root);
        case allreduce:
            return STAGED_CALL(allreduce, send, recv, case_.count, type, by);
        case scan:
            return STAGED_CALL(scan, send, recv, case_.count, type, by);
        case exscan:
            return STAGED_CALL(exscan, send, recv, case_.count, type, by);
        case reduce_scatter:
            return STAGED_CALL(reduce_scatter, send, recv, counts_.data(), type, by);
        default:
            return STAGED_CALL(reduce_scatter_block, send, recv, case_.count, type, by);
        }
    }

    weft_comm *comm_;
    Case case_;
    int rank_, size_;
    oracle::type type_;
    const weft_datatype *handle_;
    size_t all_ = 0, own_ = 0, first_ = 0;
    bool in_place_ = false;
    std::vector<size_t> counts_;
    std::unique_ptr<Image> send_, recv_;
};

// The same on all ranks.
oracle::type random_type(uint64_t seed) {
    oracle::maker maker(unsigned(job::hash(seed, 77)), {WEFT_UINT64_T});
    for (;;) {
        // Of how many words, from one to twelve, is as random as the rest.
        oracle::type made = type_of_block(&maker, sizeof(uint64_t) * size_t(maker.number(1, 12)), 50);
        if (made.of.entries.size() > 1 || maker.number(0, 3) == 0)
            return made;
    }
}

void run_all(weft_comm *comm, Form form, Kind last, uint64_t seeds) {
    for (int k = reduce; k <= last; k++)
        for (uint64_t seed = 0; seed < effort::rounds(seeds); seed++)
            for (size_t count : {size_t(1), size_t(3), size_t(50)}) {
                uint64_t number = seed * 1000 + count;
                int root = k == reduce ? int(seed % uint64_t(weft_size(comm))) : 0;
                Case what{Kind(k), count, root, seed % 2 == 1, (seed / 2) % 2 == 1, number};
                Reduction(comm, what, random_type(seed)).perform(form);
            }
}

// One with so many words, one in two of which is data; and without holes.
oracle::type large_type(size_t words, bool holes) {
    oracle::type made;
    oracle::map word = oracle::map::of(WEFT_UINT64_T);
    ptrdiff_t stride = holes ? 2 : 1;
    for (size_t i = 0; i < words; i++)
        made.of.append(word, ptrdiff_t(i) * stride * 8);
    EXPECT_EQ(weft_type_vector(words, 1, stride, WEFT_UINT64_T, &made.handle), WEFT_SUCCESS);
    EXPECT_EQ(weft_type_commit(&made.handle), WEFT_SUCCESS);
    return made;
}

void run_large(weft_comm *comm, Form form, Kind last) {
    size_t number = 0;
    for (int k = reduce; k <= last; k++)
        for (bool holes : {false, true})
            for (size_t words : {100, 600, 1500}) /* around the pieces of 4 and 8 KiB that are combined at once */
                for (bool in_place : {false, true}) {
                    if ((number++ + size_t(k)) % effort::parts)
                        continue;
                    Case what{Kind(k), 7, 0, in_place, false, words};
                    Reduction(comm, what, large_type(words, holes)).perform(form);
                }
}

} // namespace

TEST(StagedReductions, Processes) {
    for (Form form : forms)
        run_all(weft_process_comm(), form, reduce_scatter_block, 24);
}

TEST(StagedReductions, Threads) {
    job::on_team([](weft_comm *comm) { run_all(comm, Form::blocking, reduce_scatter_block, 30); });
}

TEST(StagedReductions, ElementsLongerThanAPiece) {
    for (Form form : forms)
        run_large(weft_process_comm(), form, reduce_scatter_block);
    job::on_team([](weft_comm *comm) { run_large(comm, Form::blocking, reduce_scatter_block); });
}

// Nothing in an element: nothing is done, and nobody waits.
TEST(StagedReductions, EmptyTypes) {
    job::on_both([](weft_comm *comm) {
        weft_datatype *empty = nullptr, *wide = nullptr;
        job::ok(weft_type_contiguous(0, WEFT_INT, &empty), comm, "weft_type_contiguous");
        job::ok(weft_type_resized(empty, 0, 24, &wide), comm, "weft_type_resized");
        job::ok(weft_type_commit(&wide), comm, "weft_type_commit");
        job::ok(weft_type_commit(&empty), comm, "weft_type_commit");
        uint64_t in[9] = {1, 2, 3}, out[9] = {4, 5, 6};
        for (const weft_datatype *type : {wide, empty}) {
            job::ok(weft_allreduce(in, out, 3, type, op(true), comm), comm, "allreduce of nothing");
            job::ok(weft_allreduce(WEFT_IN_PLACE, out, 3, type, op(false), comm), comm,
                    "allreduce of nothing, in place");
            job::ok(weft_bcast(out, 3, type, 0, comm), comm, "bcast of nothing");
        }
        job::check(out[0] == 4 && out[2] == 6, comm, "nothing was written");
        job::ok(weft_type_free(&wide), comm, "weft_type_free");
        job::ok(weft_type_free(&empty), comm, "weft_type_free");
    });
}

// The elements are columns of a matrix of two rows, so that nearly all of it lies between the words of each.
TEST(StagedReductions, ColumnsTakeNoMoreMemoryThanTheirData) {
    static constexpr size_t columns = 300000;
    weft_op *op = nullptr;
    ASSERT_EQ(weft_op_create(
                  [](const void *in, void *inout, size_t count, const weft_datatype *) {
                      for (size_t i = 0; i < count; i++)
                          for (size_t at : {i, i + columns})
                              static_cast<uint64_t *>(inout)[at] += static_cast<const uint64_t *>(in)[at];
                  },
                  1, &op),
              WEFT_SUCCESS);
    job::on_both([op](weft_comm *comm) {
        weft_datatype *both = nullptr, *column = nullptr;
        job::ok(weft_type_vector(2, 1, columns, WEFT_UINT64_T, &both), comm, "weft_type_vector");
        job::ok(weft_type_resized(both, 0, sizeof(uint64_t), &column), comm, "weft_type_resized");
        job::ok(weft_type_commit(&column), comm, "weft_type_commit");
        const uint64_t size = uint64_t(weft_size(comm));
        Words in(2 * columns), out(2 * columns, 1), expected(2 * columns);
        for (size_t i = 0; i < in.size(); i++) {
            in[i] = i + uint64_t(weft_rank(comm));
            expected[i] = i * size + size * (size - 1) / 2;
        }
        job::ok(weft_allreduce(in.data(), out.data(), columns, column, op, comm), comm, "allreduce of columns");
        job::check(out == expected, comm, "the sums of columns");
        job::ok(weft_type_free(&both), comm, "weft_type_free");
        job::ok(weft_type_free(&column), comm, "weft_type_free");
    });
    EXPECT_EQ(weft_op_free(&op), WEFT_SUCCESS);
}

// Two operations that only copy are defined for all types.
TEST(StagedReductions, Replace) {
    job::on_both([](weft_comm *comm) {
        weft_datatype *type = nullptr;
        job::ok(weft_type_vector(2, 1, 2, WEFT_INT, &type), comm, "weft_type_vector");
        job::ok(weft_type_commit(&type), comm, "weft_type_commit");
        int rank = weft_rank(comm), last = weft_size(comm) - 1;
        int in[3] = {rank + 1, -1, rank + 2}, out[3] = {-5, -6, -7};
        job::ok(weft_allreduce(in, out, 1, type, WEFT_REPLACE, comm), comm, "allreduce by replacing");
        job::check(out[0] == last + 1 && out[1] == -6 && out[2] == last + 2, comm, "what replaced");
        job::check(weft_allreduce(in, out, 1, type, WEFT_SUM, comm) == WEFT_ERR_ARG, comm, "no sum of derived types");
        job::ok(weft_type_free(&type), comm, "weft_type_free");
    });
}
