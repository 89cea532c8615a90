// SPDX-License-Identifier: BSD-3-Clause
// Memory that a random derived type describes, byte by byte, for the tests of collectives with such types: what a call must
// leave there, holes included, follows from the type map of core/type_oracle.h alone.
#ifndef TESTS_HIER_STAGED_H
#define TESTS_HIER_STAGED_H

#include "core/type_oracle.h"
#include "oracle_job.h"
#include <string>
#include <vector>

namespace staged {

enum class Form { blocking, nonblocking, persistent };
constexpr Form forms[] = {Form::blocking, Form::nonblocking, Form::persistent};
constexpr uint64_t rounds = 3; // of a persistent request
using Bytes = std::vector<unsigned char>;

// A committed type with data whose size divides `bytes`, and whose elements do not overlap each other, nor themselves.
oracle::type type_of_block(oracle::maker *maker, size_t bytes, size_t blocks);

// Blocks of `count` elements; they lie in one buffer, with not a byte more around.
class Image {
  public:
    // Block i begins `at[i]` bytes behind the buffer's address and has counts[i] elements of types[i].
    Image(const std::vector<const oracle::map *> &types, const std::vector<size_t> &counts,
          const std::vector<ptrdiff_t> &at);

    // What calls get; it may point outside.
    void *buffer();
    // Other bytes everywhere, which are then what is expected.
    void fill(uint64_t seed);
    // The same for one block, and what shall be in it.
    void set(size_t block, const Bytes &bytes);
    void expect(size_t block, const Bytes &bytes);
    // For blocks that the call may leave as it likes.
    void ignore(size_t block, size_t from);
    bool is_as_expected() const {
        return memory_ == expected_;
    }
    size_t bytes_of(size_t block) const {
        return blocks_[block].count * blocks_[block].of.size();
    }

  private:
    struct Block {
        oracle::map of;
        size_t count;
        ptrdiff_t at;
    };
    // Calls take(place in memory_, place among the packed bytes) for those of a block from `from` to before `end`.
    template <class Take> void each(size_t block, size_t from, size_t end, Take take) const {
        const Block &is = blocks_[block];
        size_t i = 0;
        is.of.each_byte(is.count, [&](ptrdiff_t displ) {
            if (i >= from && i < end)
                take(size_t(displ + is.at - begin_), i);
            i++;
        });
    }

    std::vector<Block> blocks_;
    ptrdiff_t begin_ = 0;
    Bytes memory_, expected_;
};

// What goes from one rank to another.
Bytes content(size_t bytes, uint64_t seed, int from, int to, uint64_t round);

// Starts, completes and checks a call in one of its forms: `call` makes it, `begin` fills the buffers for a round, `end` looks
// at them. `let_go`: what the caller need not keep until the end.
struct Run {
    std::function<int(weft_request **)> call;
    std::function<void(uint64_t)> begin;
    std::function<bool()> end;
    std::function<void()> let_go;
};
void perform(weft_comm *comm, Form form, const Run &run, const std::string &what);

} // namespace staged

// A collective in one of its forms, in which `form`, `comm` and `request` are known.
#define STAGED_CALL(name, ...)                                                                                         \
    (form == staged::Form::blocking      ? weft_##name(__VA_ARGS__, comm)                                              \
     : form == staged::Form::nonblocking ? weft_i##name(__VA_ARGS__, comm, request)                                    \
                                         : weft_##name##_init(__VA_ARGS__, comm, request))

#endif
