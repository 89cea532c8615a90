// SPDX-License-Identifier: BSD-3-Clause
// Types as the standard defines them: a type map is a plain list of (predefined type, displacement), to which each
// constructor is applied entry by entry (MPI 4.1 section 5.1). Slow, and independent of how the library represents
// types.
#ifndef TESTS_CORE_TYPE_ORACLE_H
#define TESTS_CORE_TYPE_ORACLE_H

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <random>
#include <utility>
#include <vector>
#include <weft/datatype.h>
#include <weft/error.h>

namespace oracle {

struct entry {
    const weft_datatype *type;
    ptrdiff_t displ;
};

// To which a C compiler aligns it: most to their size.
inline ptrdiff_t alignment_of(const weft_datatype *predefined) {
    static const std::map<const weft_datatype *, size_t> others{
        {WEFT_SHORT_INT, alignof(int)},
        {WEFT_DOUBLE_INT, alignof(double)},
        {WEFT_C_FLOAT_COMPLEX, alignof(float)},
    };
    auto found = others.find(predefined);
    return ptrdiff_t(found == others.end() ? weft_datatype_size(predefined) : found->second);
}

struct map {
    std::vector<entry> entries;
    std::vector<ptrdiff_t> lower_markers, upper_markers;

    static map of(const weft_datatype *predefined) {
        return {{{predefined, 0}}, {}, {}};
    }
    size_t size() const {
        size_t bytes = 0;
        for (const entry &e : entries)
            bytes += weft_datatype_size(e.type);
        return bytes;
    }
    ptrdiff_t true_lower() const {
        ptrdiff_t least = PTRDIFF_MAX;
        for (const entry &e : entries)
            least = std::min(least, e.displ);
        return entries.empty() ? 0 : least;
    }
    ptrdiff_t true_upper() const {
        ptrdiff_t most = PTRDIFF_MIN;
        for (const entry &e : entries)
            most = std::max(most, e.displ + ptrdiff_t(weft_datatype_size(e.type)));
        return entries.empty() ? 0 : most;
    }
    ptrdiff_t lower() const {
        return lower_markers.empty() ? true_lower() : *std::min_element(lower_markers.begin(), lower_markers.end());
    }
    ptrdiff_t upper() const {
        return upper_markers.empty() ? true_upper() + padding()
                                     : *std::max_element(upper_markers.begin(), upper_markers.end());
    }
    // The least that makes a multiple of the strictest alignment of the extent (section 5.1.1).
    ptrdiff_t padding() const {
        ptrdiff_t strictest = 1, length = true_upper() - lower();
        for (const entry &e : entries)
            strictest = std::max(strictest, alignment_of(e.type));
        return (strictest - length % strictest) % strictest;
    }
    ptrdiff_t extent() const {
        return upper() - lower();
    }
    void append(const map &other, ptrdiff_t displ) {
        for (const entry &e : other.entries)
            entries.push_back({e.type, e.displ + displ});
        for (ptrdiff_t at : other.lower_markers)
            lower_markers.push_back(at + displ);
        for (ptrdiff_t at : other.upper_markers)
            upper_markers.push_back(at + displ);
    }
    void append_block(const map &other, size_t length, ptrdiff_t displ) {
        ptrdiff_t apart = other.extent();
        for (size_t i = 0; i < length; i++)
            append(other, displ + ptrdiff_t(i) * apart);
    }
    void mark(ptrdiff_t lower_bound, ptrdiff_t extent) {
        lower_markers = {lower_bound};
        upper_markers = {lower_bound + extent};
    }
    // Calls take(displacement) for each byte of `count` elements, in packed order.
    template <class Take> void each_byte(size_t count, Take take) const {
        ptrdiff_t apart = extent();
        for (size_t i = 0; i < count; i++)
            for (const entry &e : entries)
                for (size_t b = 0, length = weft_datatype_size(e.type); b < length; b++)
                    take(e.displ + ptrdiff_t(i) * apart + ptrdiff_t(b));
    }
    // Those.
    std::vector<ptrdiff_t> bytes(size_t count) const {
        std::vector<ptrdiff_t> all;
        all.reserve(count * size());
        each_byte(count, [&](ptrdiff_t displ) { all.push_back(displ); });
        return all;
    }
};

// Both, side by side. Owns the handle.
struct type {
    map of;
    weft_datatype *handle = nullptr;
    type() = default;
    type(map m, weft_datatype *h) : of(std::move(m)), handle(h) {}
    type(type &&other) noexcept : of(std::move(other.of)), handle(std::exchange(other.handle, nullptr)) {}
    type &operator=(type &&other) noexcept {
        std::swap(of, other.of);
        std::swap(handle, other.handle);
        return *this;
    }
    ~type() {
        if (handle)
            weft_type_free(&handle);
    }
};

// Random types from a seed.
class maker {
  public:
    maker(unsigned seed, std::vector<const weft_datatype *> of) : random(seed), leaves(std::move(of)) {}

    // From least to most, both included.
    ptrdiff_t number(ptrdiff_t least, ptrdiff_t most) {
        return std::uniform_int_distribution<ptrdiff_t>(least, most)(random);
    }

    // Nested at most `depth` deep, of at most some thousand entries.
    type make(int depth) {
        type old;
        if (depth > 1 && number(0, 4) > 0)
            old = make(depth - 1);
        else
            old = leaf();
        if (old.of.entries.size() > 300)
            return old;
        switch (number(0, 9)) {
        case 0:
            return contiguous(old);
        case 1:
        case 2:
            return vector(old);
        case 3:
        case 4:
            return indexed(old);
        case 5:
        case 6:
            return structure(old, depth);
        case 7:
            return subarray(old);
        case 8:
            return resized(old);
        default:
            return darray(old);
        }
    }

    std::mt19937 random;
    int failures = 0; // calls that should have succeeded

  private:
    std::vector<const weft_datatype *> leaves;

    type leaf() {
        const weft_datatype *predefined = leaves[size_t(number(0, ptrdiff_t(leaves.size()) - 1))];
        weft_datatype *handle = nullptr;
        failures += weft_type_dup(predefined, &handle) != WEFT_SUCCESS;
        return {map::of(predefined), handle};
    }
    size_t count() {
        return size_t(number(0, 9) == 0 ? 0 : number(1, 4));
    }
    type contiguous(const type &old) {
        size_t n = count();
        type made;
        made.of.append_block(old.of, n, 0);
        failures += weft_type_contiguous(n, old.handle, &made.handle) != WEFT_SUCCESS;
        return made;
    }
    type vector(const type &old) {
        size_t n = count(), length = count();
        bool in_bytes = number(0, 1);
        ptrdiff_t stride = number(-8, 8), unit = in_bytes ? 1 : old.of.extent();
        if (in_bytes)
            stride *= number(1, 9);
        if (number(0, 3) == 0)
            stride = ptrdiff_t(length) * (in_bytes ? old.of.extent() : 1);
        type made;
        for (size_t i = 0; i < n; i++)
            made.of.append_block(old.of, length, ptrdiff_t(i) * stride * unit);
        failures += (in_bytes ? weft_type_hvector(n, length, stride, old.handle, &made.handle)
                              : weft_type_vector(n, length, stride, old.handle, &made.handle)) != WEFT_SUCCESS;
        return made;
    }
    type indexed(const type &old) {
        size_t n = count(), length = count();
        bool in_bytes = number(0, 1), equal = number(0, 1);
        ptrdiff_t unit = in_bytes ? 1 : old.of.extent(), at = number(-6, 6);
        std::vector<size_t> lengths;
        std::vector<ptrdiff_t> displs;
        type made;
        for (size_t i = 0; i < n; i++) {
            lengths.push_back(equal ? length : count());
            displs.push_back(at);
            made.of.append_block(old.of, lengths[i], at * unit);
            // Often the next block is the neighbour.
            at = number(0, 2)
                     ? at + ptrdiff_t(lengths[i]) * (in_bytes ? old.of.extent() : 1) + number(0, 1) * number(0, 9)
                     : number(-30, 30);
        }
        int code;
        if (equal)
            code = (in_bytes ? weft_type_hindexed_block : weft_type_indexed_block)(n, length, displs.data(), old.handle,
                                                                                   &made.handle);
        else
            code = (in_bytes ? weft_type_hindexed : weft_type_indexed)(n, lengths.data(), displs.data(), old.handle,
                                                                       &made.handle);
        failures += code != WEFT_SUCCESS;
        return made;
    }
    type structure(type &old, int depth) {
        std::vector<type> parts;
        parts.push_back(std::move(old));
        for (ptrdiff_t more = number(0, 3); more > 0; more--)
            parts.push_back(depth > 1 && number(0, 2) == 0 ? make(depth - 2) : leaf());
        std::vector<size_t> lengths;
        std::vector<ptrdiff_t> displs;
        std::vector<const weft_datatype *> types;
        ptrdiff_t at = number(-9, 9);
        type made;
        for (const type &part : parts) {
            lengths.push_back(count());
            displs.push_back(at);
            types.push_back(part.handle);
            made.of.append_block(part.of, lengths.back(), at);
            at = number(0, 3) ? at + ptrdiff_t(lengths.back()) * part.of.extent() + number(0, 1) * number(0, 9)
                              : number(-40, 40);
        }
        failures +=
            weft_type_struct(parts.size(), lengths.data(), displs.data(), types.data(), &made.handle) != WEFT_SUCCESS;
        return made;
    }
    type resized(const type &old) {
        ptrdiff_t lower = number(0, 1) * number(-20, 20), extent = number(-3, 50);
        type made;
        made.of = old.of;
        made.of.mark(lower, extent);
        failures += weft_type_resized(old.handle, lower, extent, &made.handle) != WEFT_SUCCESS;
        return made;
    }
    // Array elements in the order of memory; `mine` says which belong to the type.
    template <class Mine>
    static map array(const map &old, const std::vector<size_t> &sizes, enum weft_order order, const Mine &mine) {
        size_t all = 1, dims = sizes.size();
        ptrdiff_t apart = old.extent();
        for (size_t size : sizes)
            all *= size;
        map made;
        for (size_t at = 0; at < all; at++) {
            std::vector<size_t> index(dims);
            size_t rest = at;
            for (size_t i = 0; i < dims; i++) {
                size_t d = order == WEFT_ORDER_C ? dims - 1 - i : i;
                index[d] = rest % sizes[d];
                rest /= sizes[d];
            }
            if (mine(index))
                made.append(old, ptrdiff_t(at) * apart);
        }
        made.mark(0, ptrdiff_t(all) * apart);
        return made;
    }
    type subarray(const type &old) {
        size_t dims = size_t(number(1, 3));
        enum weft_order order = number(0, 1) ? WEFT_ORDER_C : WEFT_ORDER_FORTRAN;
        std::vector<size_t> sizes, subsizes, starts;
        for (size_t i = 0; i < dims; i++) {
            sizes.push_back(size_t(number(1, 4)));
            subsizes.push_back(size_t(number(1, ptrdiff_t(sizes[i]))));
            starts.push_back(size_t(number(0, ptrdiff_t(sizes[i] - subsizes[i]))));
        }
        type made;
        made.of = array(old.of, sizes, order, [&](const std::vector<size_t> &index) {
            for (size_t i = 0; i < dims; i++)
                if (index[i] < starts[i] || index[i] >= starts[i] + subsizes[i])
                    return false;
            return true;
        });
        failures += weft_type_subarray(int(dims), sizes.data(), subsizes.data(), starts.data(), order, old.handle,
                                       &made.handle) != WEFT_SUCCESS;
        return made;
    }

  public:
    type darray(const type &old) {
        size_t dims = size_t(number(1, 3));
        enum weft_order order = number(0, 1) ? WEFT_ORDER_C : WEFT_ORDER_FORTRAN;
        std::vector<size_t> sizes, args, blocks;
        std::vector<int> psizes;
        std::vector<enum weft_distribute> distribs;
        int processes = 1;
        for (size_t i = 0; i < dims; i++) {
            size_t size = size_t(number(1, 7)), grid = size_t(number(1, 3)), block;
            auto distrib = static_cast<enum weft_distribute>(number(0, 2));
            bool by_default = number(0, 2) == 0;
            if (distrib == WEFT_DISTRIBUTE_NONE) {
                grid = 1;
                block = size;
            } else if (distrib == WEFT_DISTRIBUTE_BLOCK) {
                block = (size + grid - 1) / grid + (by_default ? 0 : size_t(number(0, 2)));
            } else {
                block = by_default ? 1 : size_t(number(1, 4));
            }
            sizes.push_back(size);
            psizes.push_back(int(grid));
            distribs.push_back(distrib);
            blocks.push_back(block);
            args.push_back(by_default ? WEFT_DISTRIBUTE_DFLT_DARG : block);
            processes *= int(grid);
        }
        int rank = int(number(0, processes - 1));
        std::vector<size_t> place(dims);
        for (size_t i = dims, rest = size_t(rank); i-- > 0; rest /= size_t(psizes[i]))
            place[i] = rest % size_t(psizes[i]);
        type made;
        made.of = array(old.of, sizes, order, [&](const std::vector<size_t> &index) {
            for (size_t i = 0; i < dims; i++)
                if (index[i] / blocks[i] % size_t(psizes[i]) != place[i])
                    return false;
            return true;
        });
        failures += weft_type_darray(processes, rank, int(dims), sizes.data(), distribs.data(), args.data(),
                                     psizes.data(), order, old.handle, &made.handle) != WEFT_SUCCESS;
        return made;
    }
};

// Memory for `count` elements, no byte more, so that a sanitizer sees what strays.
class memory {
  public:
    memory(const map &of, size_t count) {
        ptrdiff_t shift = count > 0 ? ptrdiff_t(count - 1) * of.extent() : 0;
        begin = of.true_lower() + std::min<ptrdiff_t>(0, shift);
        ptrdiff_t end = of.true_upper() + std::max<ptrdiff_t>(0, shift);
        bytes.resize(count > 0 ? size_t(end - begin) : 0);
    }
    // What a call gets as buffer. It may point outside.
    char *buffer() {
        return reinterpret_cast<char *>(reinterpret_cast<uintptr_t>(bytes.data()) - uintptr_t(begin));
    }
    unsigned char &at(ptrdiff_t displ) {
        return bytes[size_t(displ - begin)];
    }
    std::vector<unsigned char> bytes;

  private:
    ptrdiff_t begin;
};

} // namespace oracle

#endif
