// SPDX-License-Identifier: BSD-3-Clause
#include "staged.h"
#include "effort.h"
#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace staged {

// Elements i and j overlap as 0 and j - i do, and when these are apart so are all that are farther.
static bool overlaps(const oracle::map &map, size_t elements) {
    ptrdiff_t apart = std::abs(map.extent()), span = map.true_upper() - map.true_lower();
    if (apart == 0 && elements > 1)
        return true;
    size_t enough = apart ? size_t(span / apart) + 2 : 1;
    std::vector<ptrdiff_t> all = map.bytes(std::min(elements, enough));
    std::sort(all.begin(), all.end());
    return std::adjacent_find(all.begin(), all.end()) != all.end();
}

// Bytes of extent for one of data. Sanitizers get long pieces of memory from the system each time.
const ptrdiff_t thinnest = effort::sanitized ? 6 : 20;

oracle::type type_of_block(oracle::maker *maker, size_t bytes, size_t blocks) {
    for (;;) {
        oracle::type made = maker->make(3);
        size_t size = made.of.size();
        /* Nor so thin that the memory is large. */
        if (!size || bytes % size || std::abs(made.of.extent()) > thinnest * ptrdiff_t(size) ||
            overlaps(made.of, bytes / size * blocks))
            continue;
        weft_type_commit(&made.handle);
        return made;
    }
}

Image::Image(const std::vector<const oracle::map *> &types, const std::vector<size_t> &counts,
             const std::vector<ptrdiff_t> &at) {
    ptrdiff_t begin = PTRDIFF_MAX, end = PTRDIFF_MIN;
    for (size_t i = 0; i < counts.size(); i++) {
        blocks_.push_back({*types[i], counts[i], at[i]});
        types[i]->each_byte(counts[i], [&](ptrdiff_t displ) {
            begin = std::min(begin, displ + at[i]);
            end = std::max(end, displ + at[i] + 1);
        });
    }
    begin_ = begin > end ? 0 : begin;
    memory_.resize(begin > end ? 0 : size_t(end - begin));
}

void *Image::buffer() {
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): the address may be of no byte of the memory */
    return reinterpret_cast<void *>(reinterpret_cast<uintptr_t>(memory_.data()) - uintptr_t(begin_));
}

void Image::fill(uint64_t seed) {
    job::fill(memory_.data(), memory_.size(), seed);
    expected_ = memory_;
}

void Image::set(size_t block, const Bytes &bytes) {
    each(block, 0, SIZE_MAX, [&](size_t place, size_t i) { memory_[place] = bytes[i]; });
    expect(block, bytes);
}

void Image::expect(size_t block, const Bytes &bytes) {
    each(block, 0, bytes.size(), [&](size_t place, size_t i) { expected_[place] = bytes[i]; });
}

void Image::ignore(size_t block, size_t from) {
    each(block, from, SIZE_MAX, [&](size_t place, size_t) { expected_[place] = memory_[place]; });
}

Bytes content(size_t bytes, uint64_t seed, int from, int to, uint64_t round) {
    Bytes made(bytes);
    job::fill(made.data(), bytes, job::hash(seed, uint64_t(from), uint64_t(to), round));
    return made;
}

void perform(weft_comm *comm, Form form, const Run &run, const std::string &what) {
    weft_request *request = WEFT_REQUEST_NULL;
    run.begin(0);
    int code = run.call(&request);
    run.let_go();
    if (!job::ok(code, comm, what))
        return;
    if (form != Form::persistent) {
        if (form == Form::nonblocking)
            job::ok(weft_wait(&request, WEFT_STATUS_IGNORE), comm, what);
        job::check(run.end(), comm, what + ": the buffers");
        return;
    }
    for (uint64_t round = 0; round < rounds; round++) {
        run.begin(round);
        job::ok(weft_start(&request), comm, what);
        job::ok(weft_wait(&request, WEFT_STATUS_IGNORE), comm, what);
        job::check(run.end(), comm, what + ": the buffers, round " + std::to_string(round));
    }
    job::ok(weft_request_free(&request), comm, what);
}

} // namespace staged
