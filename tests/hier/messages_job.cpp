// SPDX-License-Identifier: BSD-3-Clause
// Random programs of messages in a job (oracle_job.h): between its threads, then between its processes.
#include "messages_series.h"
#include "oracle_job.h"

TEST(Messages, BetweenThreads) {
    messages::Series series(1, 150, false);
    job::on_team([&](weft_comm *comm) { series.run(comm); });
}

TEST(Messages, BetweenProcesses) {
    messages::Series series(1000001, 100, false);
    series.run(weft_process_comm());
}
