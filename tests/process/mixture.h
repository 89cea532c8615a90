// SPDX-License-Identifier: BSD-3-Clause
// All at once: several teams, communicators that are made of them and freed again, and on each of them, and on the processes, collectives in
// all forms among messages.
#ifndef TESTS_PROCESS_MIXTURE_H
#define TESTS_PROCESS_MIXTURE_H

#include <cstdint>
#include <weft/weft.h>

namespace process {

// Runs a random program on teams of at most so many threads a process. Called in every process, under FUNNELED by its leader. What is
// started, on what, and in which order follows from the seed; when and how it is completed is each thread's own affair.
void run_mixture(weft_comm *processes, int most_threads, uint64_t seed);

} // namespace process

#endif
