// SPDX-License-Identifier: BSD-3-Clause
// Random programs of collectives: what is started, and in which order, is the same on all ranks; in which order and by which
// call it is completed is each rank's own affair.
#ifndef TESTS_PROCESS_PROGRAM_H
#define TESTS_PROCESS_PROGRAM_H

#include "intra/threads.h"
#include "operation.h"
#include <functional>
#include <memory>

namespace process {

// Operations under way, and the requests of them.
class Outstanding {
  public:
    Outstanding(weft_comm *comm, uint64_t seed) : comm_(comm), random_(seed) {}
    // Begins one, nonblocking, whose buffers are filled.
    void start(std::unique_ptr<Operation> operation);
    size_t size() const {
        return requests_.size();
    }
    // One call of any of the eight that complete requests, on some of them, null ones among them.
    void complete_some();
    void complete_all();

  private:
    void call(const std::vector<size_t> &which, std::vector<weft_request *> *handles);
    void completed(size_t which, int code, const weft_status &status, const char *by);
    void expect(bool holds, const char *what) const;

    weft_comm *comm_;
    threads::Random random_;
    std::vector<std::unique_ptr<Operation>> operations_; // NULL: completed
    std::vector<weft_request *> requests_;
};

// The i-th operation of a program.
Case random_case(weft_comm *comm, uint64_t seed, uint64_t i);

// `count` operations, up to `window` under way at once, a blocking one now and then.
void run_program(weft_comm *comm, uint64_t seed, uint64_t count, size_t window);

// The same on several communicators at once, each operation on one of them.
void run_program_on(const std::vector<weft_comm *> &comms, uint64_t seed, uint64_t count, size_t window);

// The same by `thread_count` threads of each process, which take turns to start and complete, each what it has started.
void run_program_by_threads(weft_comm *comm, uint64_t seed, uint64_t count, int thread_count);

// `count` persistent operations, started `rounds` times, in another order on each rank, while nonblocking ones are under way.
void run_persistent(weft_comm *comm, uint64_t seed, uint64_t count, uint64_t rounds);

// Two operations of each collective, each with the arguments that it had before, `rounds` times in forms and an order that are the same on
// all ranks; up to two are under way.
void run_repeated(weft_comm *comm, uint64_t seed, uint64_t rounds);

// What weft_request_get_status tells complete is in the buffer, and stays the caller's: completing it writes nothing.
void expect_delivered_once(weft_comm *comm);

// A persistent operation takes memory from the engine in its first `may` starts only. `apart` keeps others out of the engine.
void expect_no_allocations(weft_comm *comm, const Case &what, const std::string &how, uint64_t may,
                           const std::function<void()> &apart);

} // namespace process

#endif
