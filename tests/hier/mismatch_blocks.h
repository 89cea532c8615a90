// SPDX-License-Identifier: BSD-3-Clause
// Calls that belong together, but for one block: a rank sends another one so many ints, and that expects a different number. Every rank
// sees WEFT_ERR_MISMATCH, in that call or, who had its part of it, in the next one that needs all.
#ifndef TESTS_HIER_MISMATCH_BLOCKS_H
#define TESTS_HIER_MISMATCH_BLOCKS_H

#include "misuse.h"
#include "oracle_form.h"
#include <algorithm>
#include <regex>

namespace mismatch {

struct wrong_block {
    int sender, receiver;
    size_t sent, expected;
};

enum class with_blocks { gatherv, scatterv, alltoallv, alltoallw };
constexpr with_blocks all_with_blocks[] = {with_blocks::gatherv, with_blocks::scatterv, with_blocks::alltoallv,
                                           with_blocks::alltoallw};

inline std::string name_of(with_blocks which) {
    static const char *const names[] = {"gatherv", "scatterv", "alltoallv", "alltoallw"};
    return names[size_t(which)];
}

// All other blocks have as many ints as the wrong one has where it comes from.
inline int call_with(with_blocks which, const wrong_block &wrong, weft_comm *comm) {
    const int rank = weft_rank(comm);
    const size_t ranks = size_t(weft_size(comm)), room = std::max(wrong.sent, wrong.expected);
    const bool receives = rank == wrong.receiver;
    std::vector<int> send(ranks * room + 1, 1), recv(ranks * room + 1);
    std::vector<size_t> sent(ranks, wrong.sent), expected(ranks, wrong.sent);
    std::vector<ptrdiff_t> displs(ranks), bytes(ranks);
    std::vector<const weft_datatype *> types(ranks, WEFT_INT);
    for (size_t i = 0; i < ranks; i++) {
        displs[i] = ptrdiff_t(i * room);
        bytes[i] = ptrdiff_t(i * room * sizeof(int));
    }
    if (receives)
        expected[size_t(wrong.sender)] = wrong.expected;
    switch (which) {
    case with_blocks::gatherv:
        return FORM(gatherv)(send.data(), wrong.sent, WEFT_INT, recv.data(), expected.data(), displs.data(), WEFT_INT,
                             wrong.receiver, comm);
    case with_blocks::scatterv:
        return FORM(scatterv)(send.data(), sent.data(), displs.data(), WEFT_INT, recv.data(),
                              receives ? wrong.expected : wrong.sent, WEFT_INT, wrong.sender, comm);
    case with_blocks::alltoallv:
        return FORM(alltoallv)(send.data(), sent.data(), displs.data(), WEFT_INT, recv.data(), expected.data(),
                               displs.data(), WEFT_INT, comm);
    default:
        return FORM(alltoallw)(send.data(), sent.data(), bytes.data(), types.data(), recv.data(), expected.data(),
                               bytes.data(), types.data(), comm);
    }
}

// `exact`: nothing goes together with what goes between other ranks of their processes, so both are named.
inline void expect_wrong_block(with_blocks which, const wrong_block &wrong, weft_comm *comm, bool exact) {
    const std::string what = name_of(which) + ": " + std::to_string(wrong.sent) + " ints from " +
                             std::to_string(wrong.sender) + " to " + std::to_string(wrong.receiver) + ", expected " +
                             std::to_string(wrong.expected);
    int code = call_with(which, wrong, comm);
    EXPECT_TRUE(code || weft_rank(comm) != wrong.receiver) << what;
    if (code == WEFT_SUCCESS)
        code = weft_barrier(comm);
    EXPECT_STREQ(weft_strerror(WEFT_ERR_MISMATCH), weft_strerror(code)) << what << ": " << weft_last_error();
    static const std::regex lengths(
        "rank (\\d+) called (weft_\\w+) and sends rank (\\d+) (\\d+) bytes, but rank (\\d+) "
        "called (weft_\\w+) and expects (\\d+)");
    static const std::regex between("rank (\\d+) called (weft_\\w+) and its process sends that of rank (\\d+) (\\w+) "
                                    "bytes, but rank (\\d+) called (weft_\\w+) and its process expects (\\d+)");
    const std::string sentence = what + ": " + weft_last_error();
    std::smatch found;
    const bool together = std::regex_search(sentence, found, between);
    ASSERT_TRUE(together || std::regex_search(sentence, found, lengths)) << sentence;
    EXPECT_NE(found.str(2).find(name_of(which)), std::string::npos) << sentence;
    EXPECT_EQ(found[2], found[6]) << sentence;
    EXPECT_EQ(found[3], found[5]) << sentence;
    EXPECT_NE(found[1], found[3]) << sentence;
    if (exact || !together) {
        EXPECT_EQ(std::stoi(found[1]), wrong.sender) << sentence;
        EXPECT_EQ(std::stoi(found[3]), wrong.receiver) << sentence;
        EXPECT_EQ(std::stoul(found[7]), 4 * wrong.expected) << sentence;
    }
    EXPECT_EQ(found[4], together ? wrong.sent > wrong.expected ? "more" : "fewer" : std::to_string(4 * wrong.sent))
        << sentence;
    int one = 1, sum = 0;
    EXPECT_EQ(WEFT_ERR_MISMATCH, weft_allreduce(&one, &sum, 1, WEFT_INT, WEFT_SUM, comm)) << what;
}

// None, short ones (in a cell; packed), long ones, and such as go from memory to memory.
constexpr struct {
    size_t sent, expected;
} wrong_lengths[] = {{0, 3}, {2, 0}, {2, 3}, {300, 299}, {5000, 20}, {3, 5000}, {40000, 40004}};

} // namespace mismatch

#endif
