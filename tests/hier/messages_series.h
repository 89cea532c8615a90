// SPDX-License-Identifier: BSD-3-Clause
// Random programs, one after the other, by all threads of a process. MESSAGES_SEED runs one of them alone, MESSAGES_PROGRAMS says
// how many there are.
#ifndef TESTS_HIER_MESSAGES_SERIES_H
#define TESTS_HIER_MESSAGES_SERIES_H

#include "messages_run.h"

namespace messages {

class Series {
  public:
    // `programs` of them, from a seed on.
    Series(uint64_t first_seed, int programs);

    // By every rank. Ends after the first program that goes wrong at any of them.
    void run(weft_comm *comm);

  private:
    struct Shared {
        Shared(uint64_t seed, const std::vector<bool> &here)
            : program(seed, int(here.size())), places(program, here), watch(program, places) {}
        Program program;
        Places places;
        Watch watch;
    };
    std::shared_ptr<Shared> program(uint64_t seed, const std::vector<bool> &here);

    uint64_t first_seed_;
    int programs_;
    std::mutex lock_;
    uint64_t newest_seed_ = 0;
    std::shared_ptr<Shared> newest_; // the ranks are never two programs apart
};

} // namespace messages

#endif
