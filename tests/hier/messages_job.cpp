// SPDX-License-Identifier: BSD-3-Clause
// Random programs of messages in a job (oracle_job.h): between its threads, then between its processes.
#include "effort.h"
#include "messages_series.h"
#include "oracle_job.h"
#include <string>
#include <vector>

TEST(Messages, BetweenThreads) {
    messages::Series series(1, effort::rounds(150));
    job::on_team([&](weft_comm *comm) { series.run(comm); });
}

TEST(Messages, BetweenProcesses) {
    messages::Series series(1000001, effort::rounds(100));
    job::on_processes([&](weft_comm *comm) { series.run(comm); });
}

// Over whatever way, a synchronous send is complete only when its receive is there: the random programs can see that within a process alone.
TEST(Messages, ASynchronousSendWaitsForItsReceive) {
    job::on_both([](weft_comm *comm) {
        const int size = weft_size(comm), rank = weft_rank(comm), tag = 3;
        for (size_t bytes : {0, 1, 100, 5000, 40000}) {
            std::vector<char> out(bytes + 1, char(rank)), in(bytes + 1, 'x');
            weft_request *request = WEFT_REQUEST_NULL;
            int done = 0;
            job::ok(weft_issend(out.data(), bytes, WEFT_CHAR, (rank + 1) % size, tag, comm, &request), comm, "issend");
            for (int meeting = 0; meeting < 3; meeting++) { // everybody has offered, and moves things on
                for (int look = 0; look < 50 && !done; look++)
                    job::ok(weft_test(&request, &done, WEFT_STATUS_IGNORE), comm, "test");
                job::check(!done, comm,
                           "a synchronous send of " + std::to_string(bytes) + " bytes is complete too early");
                job::ok(weft_barrier(comm), comm, "barrier");
            }
            job::ok(weft_recv(in.data(), bytes, WEFT_CHAR, WEFT_ANY_SOURCE, tag, comm, WEFT_STATUS_IGNORE), comm,
                    "recv");
            job::ok(weft_wait(&request, WEFT_STATUS_IGNORE), comm, "wait");
            out.assign(bytes, char((rank + size - 1) % size));
            in.pop_back();
            job::check(in == out, comm, "what was received");
        }
        job::ok(weft_barrier(comm), comm,
                "barrier"); // under FUNNELED the leader stays until the others' sends have ended
    });
}
