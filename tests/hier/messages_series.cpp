// SPDX-License-Identifier: BSD-3-Clause
#include "messages_series.h"
#include <cstdlib>

namespace messages {

Series::Series(uint64_t first_seed, int programs, bool all_here)
    : first_seed_(first_seed), programs_(programs), all_here_(all_here) {
    if (const char *count = getenv("MESSAGES_PROGRAMS"))
        programs_ = atoi(count);
    if (const char *seed = getenv("MESSAGES_SEED")) {
        first_seed_ = strtoull(seed, nullptr, 10);
        programs_ = 1;
    }
}

std::shared_ptr<Series::Shared> Series::program(uint64_t seed, weft_comm *comm) {
    std::lock_guard<std::mutex> guard(lock_);
    if (!newest_ || newest_seed_ != seed) {
        int ranks = weft_size(comm), first = all_here_ ? 0 : weft_rank(comm) - weft_thread(comm);
        newest_ =
            std::make_shared<Shared>(seed, ranks, first, all_here_ ? ranks : weft_node_threads(comm, weft_node(comm)));
        newest_seed_ = seed;
    }
    return newest_;
}

void Series::run(weft_comm *comm) {
    for (int i = 0; i < programs_; i++) {
        uint64_t seed = first_seed_ + uint64_t(i);
        std::shared_ptr<Shared> shared = program(seed, comm);
        std::string fault = Runner(shared->program, shared->places, comm).run();
        if (!fault.empty())
            ADD_FAILURE() << "MESSAGES_SEED=" << seed << " with " << weft_size(comm) << " ranks:\n" << fault;
        int wrong = !fault.empty(), anywhere = 0;
        int code = weft_allreduce(&wrong, &anywhere, 1, WEFT_INT, WEFT_MAX, comm);
        EXPECT_EQ(code, WEFT_SUCCESS) << weft_last_error();
        if (anywhere || code)
            return;
    }
}

} // namespace messages
