// SPDX-License-Identifier: BSD-3-Clause
// What the parts of memory.h share: memory.cpp has the memory, turns.cpp the threads, hooks.cpp what the objects call.
#ifndef TESTS_WEAK_MODEL_H
#define TESTS_WEAK_MODEL_H

#include "memory.h"
#include <algorithm>
#include <ctime>
#include <functional>
#include <memory>
#include <semaphore.h>
#include <thread>
#include <unordered_map>
#include <vector>

namespace weak {

// What a thread has seen, or must have seen who acquires it: of each atomic object the message, of each thread the time.
struct View {
    std::vector<uint32_t> seen;
    uint32_t clock[most_threads] = {};

    uint32_t at(size_t object) const {
        return object < seen.size() ? seen[object] : 0;
    }
    void see(size_t object, uint32_t number) {
        if (object >= seen.size())
            seen.resize(object + 1);
        seen[object] = std::max(seen[object], number);
    }
    void join_seen(const View &other) {
        if (other.seen.size() > seen.size())
            seen.resize(other.seen.size());
        for (size_t i = 0; i < other.seen.size(); i++)
            seen[i] = std::max(seen[i], other.seen[i]);
    }
    void join(const View &other) {
        join_seen(other);
        for (int i = 0; i < most_threads; i++)
            clock[i] = std::max(clock[i], other.clock[i]);
    }
};

using Shared = std::shared_ptr<const View>;

// Why a thread does not run.
enum waits { RUNS, ON_FUTEX, ON_MUTEX, ON_CONDITION, ON_END, ENDED };

struct Thread {
    int number;
    View now;
    View pending;  // an acquire fence takes it over
    View released; // what a store behind a release fence has with it
    waits waiting = RUNS;
    void *on = nullptr;
    uint32_t mark = 0;
    uint64_t since = 0;
    uint32_t slept_at = 0; // the word's value
    bool bounded = false, timed_out = false;
    std::unordered_map<size_t, unsigned> stale;
    const void *place = nullptr;
    bool joined = false;
    std::thread runs; // but for the one that began the run
    sem_t turn;

    explicit Thread(int own) : number(own) {
        sem_init(&turn, 0, 0);
    }
    ~Thread() {
        sem_destroy(&turn);
    }
};

extern thread_local Thread *self; // NULL: in no run
extern std::vector<std::unique_ptr<Thread>> all;
extern uint64_t steps; // of this run

extern thread_local bool inside; // what this consists of calls memcpy, too

// A thread of a run, in what is compiled with -fsanitize=thread.
inline bool watched() {
    return self && !inside;
}

class Inside {
  public:
    Inside() {
        inside = true;
    }
    ~Inside() {
        inside = before_;
    }

  private:
    const bool before_ = inside;
};

// ---- memory.cpp; `place`: where in the program

void on_read(const void *from, size_t bytes, const void *place);
void on_write(const void *to, size_t bytes, const void *place);
// The memory is another's from now on.
void forget(const void *from, size_t bytes);
uint64_t load(const volatile void *at, size_t bytes, int order, const void *place);
void store(volatile void *at, size_t bytes, uint64_t value, int order, const void *place);
// What was there.
uint64_t update(volatile void *at, size_t bytes, int order, const void *place,
                const std::function<uint64_t(uint64_t)> &change);
// What it found.
uint64_t compare_exchange(volatile void *at, size_t bytes, uint64_t expected, uint64_t value, int success, int failure,
                          const void *place);
void fence(int order, const void *place);
// The step at which something was stored there last.
uint64_t stored_at(const void *at);
// A fence of each thread's that runs, and of this one's before and after.
void fence_all();
void begin_memory();
[[noreturn]] void fail(const char *what, const void *at, const void *place, const Thread *other = nullptr);

// Time goes on for who has shown what it did up to now.
inline Shared show() {
    Shared shown = std::make_shared<View>(self->now);
    self->now.clock[self->number]++;
    return shown;
}

// ---- turns.cpp

uint64_t below(uint64_t limit);
// Maybe another thread goes on here.
void step(const void *place);
// Another thread goes on, if one can.
void pass_on();
Thread *start_thread(const std::function<void()> &body);
void join_thread(Thread *other, const void *place);
long futex(uint32_t *word, int operation, uint32_t value, const timespec *limit, uint32_t mark, const void *place);
bool try_lock(void *mutex);
void lock(void *mutex, const void *place);
void unlock(void *mutex, const void *place);
// For as long as nobody says so, whatever the time.
void await_condition(void *condition, void *mutex, const void *place);
void notify_all(void *condition, const void *place);

} // namespace weak

#endif
