// SPDX-License-Identifier: BSD-3-Clause
// What the compiler calls for ThreadSanitizer, and what the objects call of the system, by the linker's --wrap.
#include "model.h"
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <linux/membarrier.h>
#include <malloc.h>
#include <map>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace weak;

#define PLACE __builtin_return_address(0)

// libstdc++'s, too.
void *operator new(size_t bytes) {
    void *at = malloc(bytes);
    if (!at)
        abort();
    return at;
}
void operator delete(void *at) noexcept {
    free(at);
}
void operator delete(void *at, size_t) noexcept {
    free(at);
}

namespace {

struct Mapping {
    char *at;
    size_t bytes;
    unsigned users;
};

std::map<std::pair<dev_t, ino_t>, Mapping> mappings; // of files that are shared

void forget_allocated(void *at) {
    if (watched() && at)
        forget(at, malloc_usable_size(at));
}

} // namespace

extern "C" {

void __tsan_init(void) {}
void __tsan_func_entry(void *) {}
void __tsan_func_exit(void) {}
void __tsan_vptr_update(void **at, void *) {
    on_write(at, sizeof(*at), PLACE);
}
void __tsan_vptr_read(void **at) {
    on_read(at, sizeof(*at), PLACE);
}

#define PLAIN(bytes)                                                                                                   \
    void __tsan_read##bytes(void *at) {                                                                                \
        on_read(at, bytes, PLACE);                                                                                     \
    }                                                                                                                  \
    void __tsan_write##bytes(void *at) {                                                                               \
        on_write(at, bytes, PLACE);                                                                                    \
    }                                                                                                                  \
    void __tsan_unaligned_read##bytes(void *at) {                                                                      \
        on_read(at, bytes, PLACE);                                                                                     \
    }                                                                                                                  \
    void __tsan_unaligned_write##bytes(void *at) {                                                                     \
        on_write(at, bytes, PLACE);                                                                                    \
    }
PLAIN(1)
PLAIN(2)
PLAIN(4)
PLAIN(8)
PLAIN(16)

#define UPDATE_BY(bits, name, builtin, expression)                                                                     \
    uint##bits##_t __tsan_atomic##bits##_##name(volatile uint##bits##_t *at, uint##bits##_t value, int order) {        \
        if (!watched())                                                                                                \
            return builtin(at, value, __ATOMIC_SEQ_CST);                                                               \
        Inside guard;                                                                                                  \
        return uint##bits##_t(update(at, bits / 8, order, PLACE, [=](uint64_t old) {                                   \
            (void)old;                                                                                                 \
            return uint64_t(uint##bits##_t(expression));                                                               \
        }));                                                                                                           \
    }

#define ATOMIC(bits)                                                                                                   \
    uint##bits##_t __tsan_atomic##bits##_load(const volatile uint##bits##_t *at, int order) {                          \
        if (!watched())                                                                                                \
            return __atomic_load_n(at, __ATOMIC_SEQ_CST);                                                              \
        Inside guard;                                                                                                  \
        return uint##bits##_t(load(at, bits / 8, order, PLACE));                                                       \
    }                                                                                                                  \
    void __tsan_atomic##bits##_store(volatile uint##bits##_t *at, uint##bits##_t value, int order) {                   \
        if (!watched())                                                                                                \
            return __atomic_store_n(at, value, __ATOMIC_SEQ_CST);                                                      \
        Inside guard;                                                                                                  \
        store(at, bits / 8, value, order, PLACE);                                                                      \
    }                                                                                                                  \
    uint##bits##_t __tsan_atomic##bits##_compare_exchange_val(volatile uint##bits##_t *at, uint##bits##_t expected,    \
                                                              uint##bits##_t value, int order, int failure) {          \
        if (watched()) {                                                                                               \
            Inside guard;                                                                                              \
            return uint##bits##_t(compare_exchange(at, bits / 8, expected, value, order, failure, PLACE));             \
        }                                                                                                              \
        __atomic_compare_exchange_n(at, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);                  \
        return expected;                                                                                               \
    }                                                                                                                  \
    UPDATE_BY(bits, exchange, __atomic_exchange_n, value)                                                              \
    UPDATE_BY(bits, fetch_add, __atomic_fetch_add, old + value)                                                        \
    UPDATE_BY(bits, fetch_sub, __atomic_fetch_sub, old - value)                                                        \
    UPDATE_BY(bits, fetch_and, __atomic_fetch_and, old &value)                                                         \
    UPDATE_BY(bits, fetch_or, __atomic_fetch_or, old | value)                                                          \
    UPDATE_BY(bits, fetch_xor, __atomic_fetch_xor, old ^ value)
ATOMIC(8)
ATOMIC(16)
ATOMIC(32)
ATOMIC(64)

void __tsan_atomic_thread_fence(int order) {
    if (!watched())
        return __atomic_thread_fence(__ATOMIC_SEQ_CST);
    Inside guard;
    fence(order, PLACE);
}
void __tsan_atomic_signal_fence(int) {}

void *__real_memcpy(void *, const void *, size_t);
void *__real_memmove(void *, const void *, size_t);
void *__real_memset(void *, int, size_t);
void *__real_malloc(size_t);
void *__real_calloc(size_t, size_t);
void *__real_realloc(void *, size_t);
void *__real_aligned_alloc(size_t, size_t);
void __real_free(void *);
long __real_syscall(long, ...);
int __real_sched_yield(void);
int __real_nanosleep(const timespec *, timespec *);
int __real_clock_gettime(clockid_t, timespec *);
int __real_pthread_mutex_lock(pthread_mutex_t *);
int __real_pthread_mutex_trylock(pthread_mutex_t *);
int __real_pthread_mutex_unlock(pthread_mutex_t *);
void *__real_mmap(void *, size_t, int, int, int, off_t);
int __real_munmap(void *, size_t);
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
int __real_pthread_join(pthread_t, void **);
int __real___cxa_guard_acquire(char *);
void __real___cxa_guard_release(char *);
#define JOINED(a, b)         a##b
#define WRAP(name)           JOINED(__wrap_, name)
#define REAL(name)           JOINED(__real_, name)
#define STD_THREAD_START     _ZNSt6thread15_M_start_threadESt10unique_ptrINS_6_StateESt14default_deleteIS1_EEPFvvE
#define STD_THREAD_JOIN      _ZNSt6thread4joinEv
#define CONDITION_WAIT       _ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE
#define CONDITION_NOTIFY_ALL _ZNSt18condition_variable10notify_allEv
void REAL(CONDITION_WAIT)(void *, void **);
void REAL(CONDITION_NOTIFY_ALL)(void *);
int __real_pthread_cond_timedwait(pthread_cond_t *, pthread_mutex_t *, const timespec *);
void REAL(STD_THREAD_START)(pthread_t *, std::unique_ptr<std::thread::_State>, void (*)());
void REAL(STD_THREAD_JOIN)(pthread_t *);

void *__wrap_memcpy(void *to, const void *from, size_t bytes) {
    on_read(from, bytes, PLACE);
    on_write(to, bytes, PLACE);
    return __real_memcpy(to, from, bytes);
}
void *__wrap_memmove(void *to, const void *from, size_t bytes) {
    on_read(from, bytes, PLACE);
    on_write(to, bytes, PLACE);
    return __real_memmove(to, from, bytes);
}
void *__wrap_memset(void *to, int byte, size_t bytes) {
    on_write(to, bytes, PLACE);
    return __real_memset(to, byte, bytes);
}
void *__wrap_malloc(size_t bytes) {
    void *at = __real_malloc(bytes);
    forget_allocated(at);
    return at;
}
void *__wrap_calloc(size_t count, size_t bytes) {
    void *at = __real_calloc(count, bytes);
    forget_allocated(at);
    return at;
}
void *__wrap_realloc(void *from, size_t bytes) {
    if (from)
        on_write(from, malloc_usable_size(from), PLACE);
    void *at = __real_realloc(from, bytes);
    forget_allocated(at);
    return at;
}
void *__wrap_aligned_alloc(size_t alignment, size_t bytes) {
    void *at = __real_aligned_alloc(alignment, bytes);
    forget_allocated(at);
    return at;
}
void __wrap_free(void *at) {
    if (at) {
        on_write(at, malloc_usable_size(at), PLACE); // whoever uses it still races with that
        forget_allocated(at);
    }
    __real_free(at);
}
long __wrap_syscall(long number, ...) {
    va_list list;
    va_start(list, number);
    long words[6];
    for (long &word : words)
        word = va_arg(list, long);
    va_end(list);
    if (!watched() || (number != SYS_futex && number != SYS_membarrier))
        return __real_syscall(number, words[0], words[1], words[2], words[3], words[4], words[5]);
    Inside guard;
    if (number == SYS_futex)
        return futex((uint32_t *)words[0], int(words[1]), uint32_t(words[2]), (const timespec *)words[3],
                     uint32_t(words[5]), PLACE);
    step(PLACE);
    if (words[0] == MEMBARRIER_CMD_PRIVATE_EXPEDITED)
        fence_all();
    return 0;
}
int __wrap_sched_yield(void) {
    if (!watched())
        return __real_sched_yield();
    Inside guard;
    step(PLACE);
    pass_on();
    return 0;
}
int __wrap_nanosleep(const timespec *time, timespec *left) {
    return watched() ? __wrap_sched_yield() : __real_nanosleep(time, left);
}
// A step is a microsecond, so that a seed is a run; the processor's counter would not be.
void __wrap_core_clock_start(void) {}
int __wrap_clock_gettime(clockid_t clock, timespec *now) {
    if (!watched())
        return __real_clock_gettime(clock, now);
    Inside guard;
    now->tv_sec = time_t(steps / 1000000);
    now->tv_nsec = long(steps % 1000000 * 1000);
    return 0;
}
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
    if (!watched())
        return __real_pthread_mutex_lock(mutex);
    Inside guard;
    lock(mutex, PLACE);
    return 0;
}
int __wrap_pthread_mutex_trylock(pthread_mutex_t *mutex) {
    if (!watched())
        return __real_pthread_mutex_trylock(mutex);
    Inside guard;
    step(PLACE);
    return try_lock(mutex) ? 0 : EBUSY;
}
int __wrap_pthread_mutex_unlock(pthread_mutex_t *mutex) {
    if (!watched())
        return __real_pthread_mutex_unlock(mutex);
    Inside guard;
    unlock(mutex, PLACE);
    return 0;
}

// Of C++, whose unique_lock has its mutex first; without a time, which is another here.
void WRAP(CONDITION_WAIT)(void *condition, void **lock_of) {
    if (!watched())
        return REAL(CONDITION_WAIT)(condition, lock_of);
    Inside guard;
    await_condition(condition, *lock_of, PLACE);
}
void WRAP(CONDITION_NOTIFY_ALL)(void *condition) {
    if (!watched())
        return REAL(CONDITION_NOTIFY_ALL)(condition);
    Inside guard;
    notify_all(condition, PLACE);
}
int __wrap_pthread_cond_timedwait(pthread_cond_t *condition, pthread_mutex_t *mutex, const timespec *until) {
    if (!watched())
        return __real_pthread_cond_timedwait(condition, mutex, until);
    Inside guard;
    await_condition(condition, mutex, PLACE);
    return 0;
}

// An object in a function that is made when somebody first comes by: one byte says that it is there.
int __wrap___cxa_guard_acquire(char *guard_of) {
    if (!watched())
        return __real___cxa_guard_acquire(guard_of);
    Inside guard;
    lock(guard_of, PLACE);
    if (load(guard_of, 1, __ATOMIC_ACQUIRE, PLACE) == 0)
        return 1;
    unlock(guard_of, PLACE);
    return 0;
}
void __wrap___cxa_guard_release(char *guard_of) {
    if (!watched())
        return __real___cxa_guard_release(guard_of);
    Inside guard;
    store(guard_of, 1, 1, __ATOMIC_RELEASE, PLACE);
    unlock(guard_of, PLACE);
}

// Threads are told by their Thread.
int __wrap_pthread_create(pthread_t *made, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    if (!watched())
        return __real_pthread_create(made, attributes, body, argument);
    Inside guard;
    *made = (pthread_t)start_thread([=] { body(argument); });
    return 0;
}
int __wrap_pthread_join(pthread_t other, void **result) {
    if (!watched())
        return __real_pthread_join(other, result);
    Inside guard;
    join_thread((Thread *)other, PLACE);
    return 0;
}
// std::thread's own: of libstdc++, whose thread has its handle first.
void WRAP(STD_THREAD_START)(pthread_t *thread, std::unique_ptr<std::thread::_State> state, void (*depends)()) {
    if (!watched())
        return REAL(STD_THREAD_START)(thread, std::move(state), depends);
    Inside guard;
    std::shared_ptr<std::thread::_State> kept(std::move(state));
    *thread = (pthread_t)start_thread([kept] { kept->_M_run(); });
}
void WRAP(STD_THREAD_JOIN)(pthread_t *thread) {
    if (!watched())
        return REAL(STD_THREAD_JOIN)(thread);
    Inside guard;
    join_thread((Thread *)*thread, PLACE);
    *thread = 0;
}

// Processes that are threads here map the same file, each for itself: an atomic object in it has one address all the same.
void *__wrap_mmap(void *at, size_t bytes, int protection, int flags, int descriptor, off_t offset) {
    struct stat file;
    if (!watched() || !(flags & MAP_SHARED) || descriptor < 0 || fstat(descriptor, &file))
        return __real_mmap(at, bytes, protection, flags, descriptor, offset);
    Inside guard;
    Mapping &mapping = mappings[{file.st_dev, file.st_ino}];
    if (!mapping.users) {
        void *made = __real_mmap(nullptr, size_t(file.st_size), PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
        if (made == MAP_FAILED)
            return made;
        mapping = {static_cast<char *>(made), size_t(file.st_size), 0};
    }
    mapping.users++;
    return mapping.at + offset;
}
int __wrap_munmap(void *at, size_t bytes) {
    if (!watched())
        return __real_munmap(at, bytes);
    Inside guard;
    for (auto known = mappings.begin(); known != mappings.end(); ++known) {
        const Mapping mapping = known->second;
        if (at < mapping.at || at >= mapping.at + mapping.bytes)
            continue;
        if (--known->second.users)
            return 0;
        mappings.erase(known);
        forget(mapping.at, mapping.bytes);
        return __real_munmap(mapping.at, mapping.bytes);
    }
    return __real_munmap(at, bytes);
}
}
