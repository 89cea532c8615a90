// SPDX-License-Identifier: BSD-3-Clause
// More than 2^31 elements: every length is a size_t, and nothing between here and the wire is an int.
#include "oracle_job.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <vector>

namespace {

constexpr size_t count = (size_t(1) << 31) + 5;
constexpr size_t chunk = size_t(1) << 20;

// In large pages: to touch as many small ones would take longer than all else.
class memory {
  public:
    memory() : at_(static_cast<unsigned char *>(mmap(nullptr, count + chunk, PROT_READ | PROT_WRITE, flags, -1, 0))) {
        if (at_ == MAP_FAILED)
            abort();
        madvise(at_, count + chunk, MADV_HUGEPAGE);
        memset(at_ + count, job::buffer::filler, chunk);
    }
    ~memory() {
        munmap(at_, count + chunk);
    }
    unsigned char *get() {
        return at_;
    }
    bool intact() const {
        return std::all_of(at_ + count, at_ + count + chunk, [](unsigned char c) { return c == job::buffer::filler; });
    }

  private:
    static constexpr int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    unsigned char *at_;
};

// A rank's, the same in all tests: who receives puts something else there first.
memory &memory_of(weft_comm *comm) {
    static std::mutex mutex;
    static std::map<int, memory> memories;
    std::lock_guard<std::mutex> lock(mutex);
    return memories[weft_rank(comm)];
}

// Blocks of one pattern with their place in front: a block in the wrong place shows, and memcmp is fast.
class pattern {
  public:
    explicit pattern(unsigned char mask) : block_(chunk) {
        job::fill(block_.data(), chunk, 1);
        for (unsigned char &byte : block_)
            byte |= mask;
    }
    void put(unsigned char *to) {
        for (size_t at = 0; at < count; at += chunk)
            memcpy(to + at, placed(at), length(at));
    }
    bool stands_in(const unsigned char *from) {
        for (size_t at = 0; at < count; at += chunk)
            if (memcmp(from + at, placed(at), length(at)) != 0)
                return false;
        return true;
    }

  private:
    const unsigned char *placed(size_t at) {
        memcpy(block_.data(), &at, sizeof(at));
        return block_.data();
    }
    static size_t length(size_t at) {
        return count - at < chunk ? count - at : chunk;
    }
    std::vector<unsigned char> block_;
};

TEST(Large, Bcast) {
    job::on_team([](weft_comm *comm) {
        int root = weft_size(comm) - 1;
        memory &buffer = memory_of(comm);
        pattern data(0);
        (weft_rank(comm) == root ? data : pattern(0xf0)).put(buffer.get());
        job::ok(weft_bcast(buffer.get(), count, WEFT_BYTE, root, comm), comm, "bcast of 2^31 + 5 bytes");
        job::check(data.stands_in(buffer.get()), comm, "bcast of 2^31 + 5 bytes");
        job::check(buffer.intact(), comm, "bytes behind the buffer of bcast");
    });
}

// Every rank but the first brings more bits, so that the first one's pattern is the result. To do it again changes nothing.
TEST(Large, Allreduce) {
    job::on_team([](weft_comm *comm) {
        memory &buffer = memory_of(comm);
        pattern(weft_rank(comm) ? 0xf0 : 0).put(buffer.get());
        job::ok(weft_allreduce(WEFT_IN_PLACE, buffer.get(), count, WEFT_BYTE, WEFT_BAND, comm), comm,
                "allreduce of 2^31 + 5 bytes");
        job::check(pattern(0).stands_in(buffer.get()), comm, "allreduce of 2^31 + 5 bytes");
        job::check(buffer.intact(), comm, "bytes behind the buffer of allreduce");
    });
}

// One run, and the same memory as a type that has its first bytes last.
TEST(Large, Messages) {
    const size_t lengths[] = {count - 8, 8};
    const ptrdiff_t displs[] = {8, 0};
    weft_datatype *rotated = nullptr;
    ASSERT_EQ(weft_type_indexed(2, lengths, displs, WEFT_BYTE, &rotated), WEFT_SUCCESS);
    ASSERT_EQ(weft_type_commit(&rotated), WEFT_SUCCESS);
    job::on_team([rotated](weft_comm *comm) {
        for (const weft_datatype *type : {WEFT_BYTE, const_cast<const weft_datatype *>(rotated)}) {
            memory &buffer = memory_of(comm);
            size_t elements = type == WEFT_BYTE ? count : 1, got = 0;
            weft_status status{};
            if (weft_rank(comm) == 0) {
                pattern(0).put(buffer.get());
                job::ok(weft_send(buffer.get(), elements, type, 1, 7, comm), comm, "a send of 2^31 + 5 bytes");
            } else {
                pattern(0xf0).put(buffer.get());
                job::ok(weft_recv(buffer.get(), elements, type, 0, 7, comm, &status), comm, "its receive");
                job::check(pattern(0).stands_in(buffer.get()), comm, "a message of 2^31 + 5 bytes");
                job::check(buffer.intact(), comm, "bytes behind the buffer of the receive");
                job::check(status.bytes == count, comm, "the status");
                job::ok(weft_get_count(&status, type, &got), comm, "weft_get_count");
                job::check(got == elements, comm, "the count");
            }
        }
    });
    weft_type_free(&rotated);
}

} // namespace
