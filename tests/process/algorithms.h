// SPDX-License-Identifier: BSD-3-Clause
// Process-level algorithms one after the other, forced upon a communicator as WEFT_ALGORITHM would: all ranks alike. What it keeps
// for calls like those before is made with the algorithm that was.
#ifndef TESTS_PROCESS_ALGORITHMS_H
#define TESTS_PROCESS_ALGORITHMS_H

#include <string>
#include <vector>
extern "C" {
#include <hier/request.h>
}

namespace process {

class Forced {
  public:
    Forced(weft_comm *comm, inter_collective collective, const inter_algorithm &algorithm)
        : comm_(comm), selector_(comm->world->selector), before_(selector_.overrides[collective]),
          collective_(collective) {
        hier_override fixed{};
        fixed.has_process = true;
        fixed.process = algorithm;
        selector_.overrides[collective] = fixed;
        overridden_ = selector_.overridden;
        selector_.overridden = true;
        hier_requests_free(comm_);
    }
    ~Forced() {
        hier_requests_free(comm_);
        selector_.overrides[collective_] = before_;
        selector_.overridden = overridden_;
    }
    Forced(const Forced &) = delete;

  private:
    weft_comm *comm_;
    hier_selector &selector_;
    hier_override before_;
    inter_collective collective_;
    bool overridden_;
};

// The names of the table; the compositions of two parts.
inline std::vector<inter_algorithm> algorithms(inter_collective collective, bool compositions) {
    std::vector<inter_algorithm> made;
    int names = inter_algorithm_names(collective);
    inter_algorithm algorithm;
    for (int index = compositions ? names : 0; (compositions || index < names); index++) {
        if (!inter_algorithm_at(collective, index, &algorithm))
            break;
        made.push_back(algorithm);
    }
    return made;
}

} // namespace process

#endif
