// SPDX-License-Identifier: BSD-3-Clause
// "One blocked thread never stops the others": what the ranks of a job of two processes with the same number of threads, three
// or more, do while one of them is blocked. As the progression test of MPJ Express (Baker, Carpenter and Shafi, 2006).
#ifndef TESTS_HIER_MESSAGES_PROGRESSION_H
#define TESTS_HIER_MESSAGES_PROGRESSION_H

#include <condition_variable>
#include <mutex>
#include <weft/weft.h>

namespace progression {

// What the threads of one process tell each other outside of weft.
class Gate {
  public:
    void open();
    // Sits until it is opened as often as `times`.
    void pass(int times);

  private:
    std::mutex lock_;
    std::condition_variable opened_;
    int openings_ = 0;
};

// Where the blocked threads sit: in a receive that is answered at the end, in a probe, or outside of weft.
enum Blocked { IN_RECEIVE, IN_PROBE, OUTSIDE };

// A rank's part; every process has a gate. In each process `blocked` is the thread that is. The others exchange `messages`
// messages each way with the same thread of the other process, eager, long and synchronous ones.
void exchange_beside(weft_comm *comm, Gate &gate, int blocked, Blocked where, int messages);

// The receiver has posted a receive and sits in a barrier, the last rank sends long and synchronous ones to it and is late to the barrier.
// Any communicator.
void receive_behind_barrier(weft_comm *comm, int receiver);

// Two threads in each of two processes. Thread 0 of the first has its part in an allreduce of all and a receive under way, which others
// wait for before they let it go on, while it sits in a barrier of the processes.
void team_behind_barrier(weft_comm *comm, weft_comm *processes);

// Two threads in each process. Thread 0 of the first has a barrier of the processes under way while it waits within its own process, in
// a barrier or for a message, for its other thread, which comes when all other processes are through: they opened the gate.
enum class Within { barrier, receive, probe, test };
void processes_behind_barrier(weft_comm *comm, weft_comm *processes, Gate &gate, Within how);

// Ranks 0 and 1, threads of a process, send each other short messages, to which both have their eyes, until a long one of rank `from`
// to rank 0 is through, on the communicator or on another of the same ranks.
void receive_beside_short_ones(weft_comm *comm, int from, weft_comm *on);

} // namespace progression

#endif
