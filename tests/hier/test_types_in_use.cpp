// SPDX-License-Identifier: BSD-3-Clause
// A derived type is freed by another thread while a call that blocks is under way with it: it stays until the call is over.
#include "sim_worlds.h"
#include <weft/weft.h>

namespace {

constexpr size_t words = 20000; // one in two is data; offered, not copied at once, and not inline

// Two threads of a process, and one of another. Rank 1 blocks in a call with `type`; rank 0 sees it wait, frees the type and
// only then lets rank 2 come, without which the call cannot end.
struct Meeting {
    std::atomic<bool> freed{false};
    weft_datatype *type = nullptr;

    void wait_until_freed() const {
        while (!freed)
            std::this_thread::yield();
    }
};

bool waits_in(const hier_world *world, const char *call) {
    core_roll roll = {};
    EXPECT_TRUE(hier_roster_call(const_cast<hier_roster *>(&world->roster), 0, &roll));
    bool found = false;
    for (size_t i = 0; i < roll.count; i++)
        found |= roll.rows[i].home_rank == 1 && roll.rows[i].presence == CORE_WAITING &&
                 strcmp(roll.rows[i].call, call) == 0;
    core_roll_free(&roll);
    return found;
}

// Other types come to lie where it was, if it is gone.
void free_under_way(weft_datatype *type) {
    const weft_datatype *freed = type;
    size_t bytes = 0;
    EXPECT_EQ(weft_type_free(&type), WEFT_SUCCESS) << weft_last_error();
    weft_datatype *others[50];
    for (weft_datatype *&other : others)
        EXPECT_EQ(weft_type_vector(words / 2, 1, 3, WEFT_INT, &other), WEFT_SUCCESS);
    EXPECT_EQ(weft_type_size(freed, &bytes), WEFT_SUCCESS) << weft_last_error();
    EXPECT_EQ(bytes, words / 2 * sizeof(int));
    for (weft_datatype *&other : others)
        EXPECT_EQ(weft_type_free(&other), WEFT_SUCCESS);
}

using Data = std::vector<int>;

struct Case {
    const char *call; // that rank 1 waits in
    bool collective;  // rank 0 takes part, too
    int (*block)(Data &data, const weft_datatype *type, weft_comm *comm);
    int (*others)(Data &data, weft_comm *comm);
    bool receives; // rank 1 gets what rank 2 has, or the other way round
};

// What rank 2, and in collectives rank 0, has or gets is packed: words / 2 ints.
const Case cases[] = {
    {"weft_ssend", false,
     [](Data &data, const weft_datatype *type, weft_comm *comm) {
         return weft_ssend(data.data(), 1, type, 2, 0, comm);
     },
     [](Data &data, weft_comm *comm) {
         return weft_recv(data.data(), words / 2, WEFT_INT, 1, 0, comm, WEFT_STATUS_IGNORE);
     },
     false},
    {"weft_recv", false,
     [](Data &data, const weft_datatype *type, weft_comm *comm) {
         return weft_recv(data.data(), 1, type, 2, 0, comm, WEFT_STATUS_IGNORE);
     },
     [](Data &data, weft_comm *comm) { return weft_send(data.data(), words / 2, WEFT_INT, 1, 0, comm); }, true},
    {"weft_sendrecv", false,
     [](Data &data, const weft_datatype *type, weft_comm *comm) {
         Data other(words);
         return weft_sendrecv(other.data(), 1, type, 2, 0, data.data(), 1, type, 2, 0, comm, WEFT_STATUS_IGNORE);
     },
     [](Data &data, weft_comm *comm) {
         Data other(words);
         return weft_sendrecv(data.data(), words / 2, WEFT_INT, 1, 0, other.data(), words / 2, WEFT_INT, 1, 0, comm,
                              WEFT_STATUS_IGNORE);
     },
     true},
    {"weft_bcast", true,
     [](Data &data, const weft_datatype *type, weft_comm *comm) { return weft_bcast(data.data(), 1, type, 2, comm); },
     [](Data &data, weft_comm *comm) { return weft_bcast(data.data(), words / 2, WEFT_INT, 2, comm); }, true},
    {"weft_gather", true,
     [](Data &data, const weft_datatype *type, weft_comm *comm) {
         return weft_gather(data.data(), 1, type, nullptr, 0, nullptr, 2, comm);
     },
     [](Data &data, weft_comm *comm) {
         Data own(words / 2), all(words / 2 * 3);
         int code = weft_gather(own.data(), own.size(), WEFT_INT, all.data(), own.size(), WEFT_INT, 2, comm);
         std::copy_n(all.data() + words / 2, words / 2, data.data());
         return code;
     },
     false},
    {"weft_alltoallw", true,
     [](Data &data, const weft_datatype *type, weft_comm *comm) {
         const size_t none[] = {0, 0, 0}, counts[] = {0, 0, 1};
         const ptrdiff_t displs[] = {0, 0, 0};
         const weft_datatype *types[] = {WEFT_INT, WEFT_INT, type};
         return weft_alltoallw(nullptr, none, displs, types, data.data(), counts, displs, types, comm);
     },
     [](Data &data, weft_comm *comm) {
         const size_t none[] = {0, 0, 0}, counts[] = {0, words / 2, 0};
         const ptrdiff_t displs[] = {0, 0, 0};
         const weft_datatype *types[] = {WEFT_INT, WEFT_INT, WEFT_INT};
         return weft_alltoallw(data.data(), weft_rank(comm) == 2 ? counts : none, displs, types, nullptr, none, displs,
                               types, comm);
     },
     true},
};

// Rank 1's are every other word.
Data data_of(int rank, bool full) {
    Data made(words, -1);
    for (size_t i = 0; full && i < words / 2; i++)
        made[rank == 1 ? 2 * i : i] = int(i);
    return made;
}

void meet(const Case &tested, Meeting &meeting, weft_comm *comm) {
    const int rank = weft_rank(comm);
    Data data = data_of(rank, (rank == 1) != tested.receives);
    if (rank == 1) {
        const weft_datatype *used = meeting.type;
        size_t bytes;
        EXPECT_EQ(tested.block(data, used, comm), WEFT_SUCCESS) << weft_last_error();
        EXPECT_EQ(weft_type_size(used, &bytes), WEFT_ERR_ARG) << "nobody uses it any more";
    } else {
        if (rank == 0) {
            while (!waits_in(comm->world, tested.call))
                std::this_thread::yield();
            free_under_way(meeting.type);
            meeting.freed = true;
        }
        meeting.wait_until_freed();
        if (rank == 2 || tested.collective) {
            EXPECT_EQ(tested.others(data, comm), WEFT_SUCCESS) << weft_last_error();
        }
    }
    if (rank == (tested.receives ? 1 : 2)) {
        EXPECT_EQ(data, data_of(rank, true)) << tested.call;
    }
}

} // namespace

TEST(TypesInUse, OutliveTheirOwnerInCallsThatBlock) {
    threads::Watchdog watchdog(100);
    for (const Case &tested : cases) {
        SimWorlds worlds({{2, 1}, WEFT_THREAD_SERIALIZED, WEFT_WAIT_BLOCK});
        Meeting meeting;
        ASSERT_EQ(weft_type_vector(words / 2, 1, 2, WEFT_INT, &meeting.type), WEFT_SUCCESS);
        ASSERT_EQ(weft_type_commit(&meeting.type), WEFT_SUCCESS);
        worlds.run([&](weft_comm *comm) { meet(tested, meeting, comm); });
    }
}
