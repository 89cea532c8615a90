// SPDX-License-Identifier: BSD-3-Clause
// The buffers of random programs: guarded, contiguous or in blocks of eight bytes with gaps of eight, filled with bytes that tell
// which message of which program they are.
#ifndef TESTS_HIER_MESSAGES_MEMORY_H
#define TESTS_HIER_MESSAGES_MEMORY_H

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <vector>
#include <weft/datatype.h>
#include <weft/error.h>

namespace messages {

class Memory {
  public:
    static constexpr unsigned char filler = 0xa7;

    // Of `bytes` bytes; blocks are whole ones.
    Memory(size_t bytes, bool scattered)
        : bytes_(bytes), scattered_(scattered && bytes >= 8 && bytes % 8 == 0),
          all_(2 * guard + (scattered_ ? 2 * bytes : bytes), filler) {}

    size_t bytes() const {
        return bytes_;
    }
    void *data() {
        return all_.data() + guard;
    }
    void fill(uint32_t key) {
        clear();
        for (size_t i = 0; i < bytes_; i++)
            byte(i) = content(key, i);
    }
    void clear() {
        std::fill(all_.begin(), all_.end(), filler);
    }
    void overwrite() {
        std::fill(all_.begin(), all_.end(), filler ^ 0xff);
    }
    uint32_t key() {
        uint32_t key = 0;
        for (size_t i = 4; i-- > 0;)
            key = key << 8 | byte(i);
        return key;
    }
    // Are the first `got` bytes the message's, and (unless the rest was used before) nothing else written?
    bool holds(uint32_t key, size_t got, bool rest_used) {
        for (size_t i = 0; i < got; i++)
            if (byte(i) != content(key, i))
                return false;
        for (size_t i = 0; i < got; i++)
            byte(i) = filler;
        for (size_t i = got; i < bytes_ && rest_used; i++)
            byte(i) = filler;
        return untouched();
    }
    bool untouched() const {
        return all_[0] == filler && memcmp(&all_[0], &all_[1], all_.size() - 1) == 0;
    }

  private:
    friend class Typed;
    static constexpr size_t guard = 32;
    static unsigned char content(uint32_t key, size_t i) {
        return static_cast<unsigned char>(i < 4 ? key >> (8 * i) : key * 131 + i * 7 + (i >> 8) * 13);
    }
    unsigned char &byte(size_t i) {
        return all_[guard + (scattered_ ? i / 8 * 16 + i % 8 : i)];
    }

    size_t bytes_;
    bool scattered_;
    std::vector<unsigned char> all_;
};

// What is passed for a buffer: of one that is scattered an element of a type that is freed while it may be in use.
class Typed {
  public:
    explicit Typed(Memory &memory) : buffer(memory.data()), count(memory.bytes()), type(WEFT_BYTE) {
        if (memory.scattered_) {
            EXPECT_EQ(weft_type_vector(memory.bytes() / 8, 8, 16, WEFT_BYTE, &made_), WEFT_SUCCESS);
            EXPECT_EQ(weft_type_commit(&made_), WEFT_SUCCESS);
            count = 1;
            type = made_;
        } else if (memory.bytes() == 0) {
            buffer = nullptr;
        }
    }
    ~Typed() {
        if (made_) {
            EXPECT_EQ(weft_type_free(&made_), WEFT_SUCCESS);
        }
    }
    Typed(const Typed &) = delete;

    void *buffer;
    size_t count;
    const weft_datatype *type;

  private:
    weft_datatype *made_ = nullptr;
};

} // namespace messages

#endif
