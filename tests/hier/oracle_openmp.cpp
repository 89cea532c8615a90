// SPDX-License-Identifier: BSD-3-Clause
// The ranks are the threads of an OpenMP parallel region, which calls collectives between its own work sharing.
#include "oracle_job.h"

#include <omp.h>
#include <vector>

namespace {

TEST(OpenMP, ParallelRegion) {
    weft_team *team = nullptr;
    int threads = job::threads();
    ASSERT_TRUE(job::ok(weft_team_create(weft_process_comm(), threads, &team), nullptr, "weft_team_create"));
    for (int round = 0; round < 10; round++) {
        std::vector<long> shared((size_t)threads * 100, 0);
#pragma omp parallel num_threads(threads)
        job::in_team(team, omp_get_thread_num(), [&](weft_comm *comm) {
            long mine = weft_rank(comm), size = weft_size(comm), sum = -1;
            std::vector<long> all((size_t)size, -1);
            job::check(omp_get_num_threads() == threads, comm, "the region has the team's threads");
#pragma omp for
            for (long &element : shared)
                element += 1;
            job::ok(weft_allreduce(&mine, &sum, 1, WEFT_LONG, WEFT_SUM, comm), comm, "allreduce");
            job::check(sum == size * (size - 1) / 2, comm, "allreduce in a parallel region");
            job::ok(weft_allgather(&mine, 1, WEFT_LONG, all.data(), 1, WEFT_LONG, comm), comm, "allgather");
            for (long rank = 0; rank < size; rank++)
                job::check(all[(size_t)rank] == rank, comm, "allgather in a parallel region");
#pragma omp barrier
            job::ok(weft_barrier(comm), comm, "barrier");
        });
        for (long element : shared)
            EXPECT_EQ(element, 1);
    }
    job::ok(weft_team_free(&team), nullptr, "weft_team_free");
}

} // namespace
