// SPDX-License-Identifier: BSD-3-Clause
#include "model.h"
#include <cerrno>
#include <linux/futex.h>
#include <pthread.h>
#include <random>
#include <sched.h>

namespace weak {

thread_local Thread *self;
std::vector<std::unique_ptr<Thread>> all;
uint64_t steps;

namespace {

constexpr uint64_t steps_at_most = 40000000; // of a run
constexpr uint64_t late = 4096;              // steps in which who has changed what others sleep on wakes them
constexpr uint64_t nap = 16384;              // steps that a sleep of bounded time lasts

struct Mutex {
    int owner = -1;
    Shared view;
};

std::mt19937_64 choice;
unsigned changes; // once in so many steps another thread goes on
cpu_set_t core;   // one is enough for one thread at a time, and to go on there takes less
std::unordered_map<const void *, Mutex> mutexes;

bool ready(const std::unique_ptr<Thread> &thread) {
    return thread->waiting == RUNS;
}

// Ends sleeps of bounded time that began before the step; false: there are none.
bool time_passes(uint64_t before) {
    bool any = false;
    for (const auto &thread : all) {
        if (thread->waiting != ON_FUTEX || !thread->bounded || thread->since >= before)
            continue;
        if (*static_cast<const uint32_t *>(thread->on) != thread->slept_at && steps - stored_at(thread->on) > late)
            fail("a wake-up is lost: the word was changed long ago", thread->on, thread->place, thread.get());
        thread->waiting = RUNS;
        thread->timed_out = true;
        any = true;
    }
    return any;
}

// One that can go on, and not this one, if there is another.
Thread *next_thread() {
    for (;;) {
        std::vector<Thread *> others;
        for (const auto &thread : all)
            if (ready(thread) && thread.get() != self)
                others.push_back(thread.get());
        if (!others.empty())
            return others[below(others.size())];
        if (self->waiting == RUNS)
            return self;
        if (!time_passes(UINT64_MAX))
            fail("deadlock", self->on, self->place);
    }
}

void await_turn() {
    while (sem_wait(&self->turn) != 0)
        ;
}

} // namespace

uint64_t below(uint64_t limit) {
    return choice() % limit;
}

void pass_on() {
    Thread *next = next_thread();
    if (next == self)
        return;
    sem_post(&next->turn);
    await_turn();
}

void step(const void *place) {
    self->place = place;
    if (++steps > steps_at_most)
        fail("the run does not end", nullptr, place);
    if (steps % (nap / 16) == 0 && steps > nap)
        time_passes(steps - nap);
    if (below(changes) == 0)
        pass_on();
}

namespace {

void block(waits why, void *on, uint32_t mark, bool bounded, const void *place) {
    self->waiting = why;
    self->on = on;
    self->mark = mark;
    self->bounded = bounded;
    self->since = steps;
    self->timed_out = false;
    self->place = place;
    pass_on();
}

void wake(waits why, const void *on) {
    for (const auto &thread : all)
        if (thread->waiting == why && thread->on == on)
            thread->waiting = RUNS;
}

// A number that nobody has, or that one had who is gone, and whom this thread knows to be.
int free_number() {
    for (size_t number = 0; number < all.size(); number++)
        if (all[number]->joined && self->now.clock[number] >= all[number]->now.clock[number])
            return int(number);
    if (all.size() == most_threads)
        fail("too many threads", nullptr, self->place);
    return int(all.size());
}

// It may have been another thread's.
void forget_stack() {
    pthread_attr_t attributes;
    void *from = nullptr;
    size_t bytes = 0;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &from, &bytes);
    pthread_attr_destroy(&attributes);
    forget(from, bytes);
}

} // namespace

Thread *start_thread(const std::function<void()> &body) {
    const int number = free_number();
    Thread *started = new Thread(number);
    started->now = self->now;
    started->now.clock[number]++;
    self->now.clock[self->number]++;
    if (size_t(number) == all.size())
        all.emplace_back();
    all[size_t(number)].reset(started);
    started->runs = std::thread([started, body] {
        cpu_set_t here = core;
        pthread_setaffinity_np(pthread_self(), sizeof(here), &here);
        self = started;
        await_turn();
        forget_stack();
        body();
        Inside guard;
        started->waiting = ENDED;
        wake(ON_END, started);
        Thread *next = next_thread();
        self = nullptr;
        sem_post(&next->turn);
    });
    return started;
}

void join_thread(Thread *other, const void *place) {
    step(place);
    while (other->waiting != ENDED)
        block(ON_END, other, 0, false, place);
    other->runs.join();
    self->now.join(other->now);
    other->joined = true;
}

long futex(uint32_t *word, int operation, uint32_t value, const timespec *limit, uint32_t mark, const void *place) {
    step(place);
    const int command = operation & FUTEX_CMD_MASK;
    if (command == FUTEX_WAIT || command == FUTEX_WAIT_BITSET) {
        if (*word != value) {
            errno = EAGAIN;
            return -1;
        }
        self->slept_at = value;
        block(ON_FUTEX, word, command == FUTEX_WAIT ? UINT32_MAX : mark, limit != nullptr, place);
        errno = ETIMEDOUT;
        return self->timed_out ? -1 : 0;
    }
    if (command != FUTEX_WAKE && command != FUTEX_WAKE_BITSET)
        fail("a futex operation that is not known", word, place);
    long woken = 0;
    for (const auto &thread : all)
        if (thread->waiting == ON_FUTEX && thread->on == word && (command == FUTEX_WAKE || (thread->mark & mark)) &&
            woken < long(value)) {
            thread->waiting = RUNS;
            woken++;
        }
    return woken;
}

// False: another has it.
bool try_lock(void *at) {
    Mutex &mutex = mutexes[at];
    if (mutex.owner >= 0)
        return false;
    mutex.owner = self->number;
    if (mutex.view)
        self->now.join(*mutex.view);
    return true;
}

void lock(void *at, const void *place) {
    step(place);
    while (!try_lock(at))
        block(ON_MUTEX, at, 0, false, place);
}

namespace {

// Nobody runs in between.
void let_go(void *at, const void *place) {
    Mutex &mutex = mutexes[at];
    if (mutex.owner != self->number)
        fail("a mutex that is another's is unlocked", at, place);
    mutex.owner = -1;
    mutex.view = show();
    wake(ON_MUTEX, at);
}

} // namespace

void unlock(void *at, const void *place) {
    let_go(at, place);
    step(place);
}

void await_condition(void *condition, void *mutex, const void *place) {
    let_go(mutex, place);
    block(ON_CONDITION, condition, 0, false, place);
    lock(mutex, place);
}

void notify_all(void *condition, const void *place) {
    step(place);
    wake(ON_CONDITION, condition);
}

void begin(uint64_t seed) {
    Inside guard;
    begin_memory();
    choice.seed(seed);
    const unsigned paces[] = {2, 4, 16, 64};
    changes = paces[below(4)];
    steps = 0;
    mutexes.clear();
    all.clear();
    CPU_ZERO(&core);
    CPU_SET(sched_getcpu(), &core);
    all.emplace_back(new Thread(0));
    all[0]->now.clock[0] = 1;
    self = all[0].get();
}

void end() {
    Inside guard;
    for (const auto &thread : all)
        if (thread.get() != self && !thread->joined)
            fail("a thread is left", nullptr, thread->place);
    self = nullptr;
}

} // namespace weak
