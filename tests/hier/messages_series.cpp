// SPDX-License-Identifier: BSD-3-Clause
#include "messages_series.h"
#include <cstdlib>
#include <unistd.h>

namespace messages {

Series::Series(uint64_t first_seed, int programs) : first_seed_(first_seed), programs_(programs) {
    if (const char *count = getenv("MESSAGES_PROGRAMS"))
        programs_ = atoi(count);
    if (const char *seed = getenv("MESSAGES_SEED")) {
        first_seed_ = strtoull(seed, nullptr, 10);
        programs_ = 1;
    }
}

// Which ranks are in this process, whatever weft takes for one.
static std::vector<bool> ranks_here(weft_comm *comm) {
    int own = int(getpid());
    std::vector<int> processes(size_t(weft_size(comm)));
    int code = weft_allgather(&own, 1, WEFT_INT, processes.data(), 1, WEFT_INT, comm);
    EXPECT_EQ(code, WEFT_SUCCESS) << weft_last_error();
    std::vector<bool> here;
    for (int process : processes)
        here.push_back(process == own);
    return here;
}

std::shared_ptr<Series::Shared> Series::program(uint64_t seed, const std::vector<bool> &here) {
    std::lock_guard<std::mutex> guard(lock_);
    if (!newest_ || newest_seed_ != seed) {
        newest_ = std::make_shared<Shared>(seed, here);
        newest_seed_ = seed;
    }
    return newest_;
}

void Series::run(weft_comm *comm) {
    const std::vector<bool> here = ranks_here(comm);
    for (int i = 0; i < programs_; i++) {
        uint64_t seed = first_seed_ + uint64_t(i);
        std::shared_ptr<Shared> shared = program(seed, here);
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
