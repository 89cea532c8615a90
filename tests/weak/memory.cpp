// SPDX-License-Identifier: BSD-3-Clause
#include "model.h"
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <dlfcn.h>
#include <string>
#include <unistd.h>

namespace weak {

thread_local bool inside;

namespace {

constexpr unsigned most_messages = 6;  // of an atomic object; older ones nobody loads any more
constexpr size_t pages_at_most = 4000; // that are kept for the next run
constexpr unsigned stale_at_most = 8;  // loads of an object one after the other that find an old value

enum { RELAXED = __ATOMIC_RELAXED, ACQUIRE = __ATOMIC_ACQUIRE, RELEASE = __ATOMIC_RELEASE, SC = __ATOMIC_SEQ_CST };

bool acquires(int order) {
    return order != RELAXED && order != RELEASE;
}

bool releases(int order) {
    return order == RELEASE || order == __ATOMIC_ACQ_REL || order == SC;
}

struct Message {
    uint64_t value;
    int thread; // -1: it was there before
    uint32_t time;
    Shared view; // NULL: of nothing
};

struct Object {
    char *at;
    size_t bytes;
    uint32_t first; // the number of the first message that is kept
    uint64_t stored_at;
    std::deque<Message> messages;

    uint32_t last() const {
        return first + uint32_t(messages.size()) - 1;
    }
    const Message &message(uint32_t number) const {
        return messages[number - first];
    }
};

// What is known of a byte that is not atomic, in this run. Of reads since it was written one stands for those before it in time.
struct Byte {
    uint32_t run;
    int16_t writer, reader; // -1: nobody
    uint32_t written, read;
    uint32_t readers; // several, none before the other: in `readings`, + 1
    uint32_t object;  // that it is of, + 1
};

constexpr size_t page_bytes = 4096;
struct Page {
    Byte bytes[page_bytes];
};

uint32_t run_number;
weaker weakened;
unsigned weakened_place = UINT32_MAX; // by number
std::vector<Object> objects;
std::vector<size_t> dropped; // numbers of objects that are none any more
std::unordered_map<uintptr_t, std::unique_ptr<Page>> pages;
uintptr_t last_page = UINTPTR_MAX; // that was looked at
Page *page_there;
std::vector<std::array<uint32_t, most_threads>> readings; // by thread
View consistent; // what sequentially consistent accesses and fences have seen of each other, without times
std::vector<std::string> places;
std::unordered_map<const void *, unsigned> place_numbers;

std::string where(const void *place) {
    Dl_info info;
    char text[256];
    if (place && dladdr(place, &info))
        snprintf(text, sizeof(text), "%s+%#zx", strrchr(info.dli_fname, '/') ? strrchr(info.dli_fname, '/') + 1 : "",
                 size_t((const char *)place - (const char *)info.dli_fbase) - 1);
    else
        snprintf(text, sizeof(text), "%p", place);
    return text;
}

} // namespace

void fail(const char *what, const void *at, const void *place, const Thread *other) {
    static const char *const does[] = {
        "runs",   "sleeps on a futex", "waits for a mutex", "waits for a condition", "waits for another to end",
        "is done"}; // by `waits`
    fprintf(stderr, "weak memory: thread %d: %s, memory at %p, code at %s\n", self ? self->number : -1, what, at,
            where(place).c_str());
    if (other)
        fprintf(stderr, "  with thread %d, lately at %s\n", other->number, where(other->place).c_str());
    for (const auto &thread : all)
        fprintf(stderr, "  thread %d %s, lately at %s\n", thread->number, does[thread->waiting],
                where(thread->place).c_str());
    fflush(stderr);
    _exit(1);
}

namespace {

Byte &byte_of(const void *at) {
    const uintptr_t address = (uintptr_t)at;
    if (address / page_bytes != last_page) {
        last_page = address / page_bytes;
        std::unique_ptr<Page> &known = pages[last_page];
        if (!known)
            known.reset(static_cast<Page *>(calloc(1, sizeof(Page))));
        page_there = known.get();
    }
    Byte &byte = page_there->bytes[address % page_bytes];
    if (byte.run != run_number)
        byte = {run_number, -1, -1, 0, 0, 0, 0};
    return byte;
}

bool knows(int thread, uint32_t time) {
    return thread < 0 || thread == self->number || self->now.clock[thread] >= time;
}

void check_written(const Byte &byte, const void *at, const void *place, const char *what) {
    if (!knows(byte.writer, byte.written))
        fail(what, at, place, all[size_t(byte.writer)].get());
}

void check_read(const Byte &byte, const void *at, const void *place, const char *what) {
    if (!byte.readers && !knows(byte.reader, byte.read))
        fail(what, at, place, all[size_t(byte.reader)].get());
    for (int thread = 0; byte.readers && thread < int(all.size()); thread++)
        if (!knows(thread, readings[byte.readers - 1][size_t(thread)]))
            fail(what, at, place, all[size_t(thread)].get());
}

void note_read(Byte &byte) {
    const uint32_t now = self->now.clock[self->number];
    if (!byte.readers && knows(byte.reader, byte.read)) {
        byte.reader = int16_t(self->number);
        byte.read = now;
        return;
    }
    if (!byte.readers) {
        readings.emplace_back();
        byte.readers = uint32_t(readings.size());
        readings.back()[size_t(byte.reader)] = byte.read;
    }
    readings[byte.readers - 1][size_t(self->number)] = now;
}

// It is an atomic object no more. Who has its number next goes on counting its messages, so that views which have seen this one's say nothing.
void drop(size_t number) {
    Object &object = objects[number];
    for (size_t i = 0; i < object.bytes; i++)
        byte_of(object.at + i).object = 0;
    object.first = object.last() + 1;
    object.messages.clear();
    dropped.push_back(number);
}

// A plain access to what is an atomic object: all that was stored there must have been before.
void check_object(Byte &byte, const void *at, const void *place, bool writes) {
    if (!byte.object)
        return;
    const Message &last = objects[byte.object - 1].messages.back();
    if (!knows(last.thread, last.time))
        fail("a race: an atomic store, and one access that is not atomic", at, place, all[size_t(last.thread)].get());
    if (writes)
        drop(byte.object - 1);
}

} // namespace

void on_read(const void *from, size_t bytes, const void *place) {
    if (!watched())
        return;
    Inside guard;
    self->place = place;
    for (size_t i = 0; i < bytes; i++) {
        const char *at = static_cast<const char *>(from) + i;
        Byte &byte = byte_of(at);
        check_written(byte, at, place, "a race: a write, and this read");
        check_object(byte, at, place, false);
        note_read(byte);
    }
}

void on_write(const void *to, size_t bytes, const void *place) {
    if (!watched())
        return;
    Inside guard;
    self->place = place;
    for (size_t i = 0; i < bytes; i++) {
        const char *at = static_cast<const char *>(to) + i;
        Byte &byte = byte_of(at);
        check_written(byte, at, place, "a race: a write, and this write");
        check_read(byte, at, place, "a race: a read, and this write");
        check_object(byte, at, place, true);
        byte.writer = int16_t(self->number);
        byte.reader = -1;
        byte.readers = 0;
        byte.written = self->now.clock[self->number];
    }
}

void forget(const void *from, size_t bytes) {
    Inside guard;
    const uintptr_t end = (uintptr_t)from + bytes;
    for (uintptr_t at = (uintptr_t)from; at < end;) {
        const uintptr_t page = at / page_bytes, behind = std::min(end, (page + 1) * page_bytes);
        auto known = pages.find(page);
        for (uintptr_t i = at; known != pages.end() && i < behind; i++) {
            Byte &byte = known->second->bytes[i % page_bytes];
            if (byte.run == run_number && byte.object)
                drop(byte.object - 1);
            byte.run = 0;
        }
        at = behind;
    }
}

namespace {

uint64_t memory_at(const void *at, size_t bytes) {
    uint64_t value = 0;
    memcpy(&value, at, bytes);
    return value;
}

size_t object_at(const volatile void *where, size_t bytes, const void *place, bool stores) {
    char *at = (char *)const_cast<void *>(where);
    uint32_t known = 0;
    for (size_t i = 0; i < bytes; i++) {
        Byte &byte = byte_of(at + i);
        check_written(byte, at, place, "a race: a write, and an atomic access");
        if (stores)
            check_read(byte, at, place, "a race: a read, and an atomic store");
        known = std::max(known, byte.object);
    }
    if (known) {
        Object &object = objects[known - 1];
        if (object.at != at || object.bytes != bytes)
            fail("atomic accesses of different sizes", at, place);
        return known - 1;
    }
    size_t number = objects.size();
    if (dropped.empty())
        objects.push_back({at, bytes, 1, 0, {}});
    else {
        number = dropped.back();
        dropped.pop_back();
        objects[number].at = at;
        objects[number].bytes = bytes;
        objects[number].stored_at = 0;
    }
    objects[number].messages.push_back({memory_at(at, bytes), -1, 0, nullptr});
    for (size_t i = 0; i < bytes; i++)
        byte_of(at + i).object = uint32_t(number) + 1;
    return number;
}

const char *const order_names[] = {"relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"};

enum kind { LOAD, STORE, UPDATE, FENCE };
const char *const kind_names[] = {"load", "store", "update", "fence"};

// Places in the program have numbers in the order in which runs come by them.
unsigned number_of(const void *place, int order, kind what) {
    auto known = place_numbers.find(place);
    if (known != place_numbers.end())
        return known->second;
    const unsigned number = unsigned(places.size());
    place_numbers[place] = number;
    places.push_back(where(place) + " " + kind_names[what] + " " + order_names[order]);
    return number;
}

int order_here(int order, kind what, const void *place) {
    if (order == RELAXED || number_of(place, order, what) == weakened_place)
        return RELAXED;
    switch (weakened) {
    case LOADS_RELAXED:
        return what == LOAD ? RELAXED : order;
    case STORES_RELAXED:
        return what == STORE ? RELAXED : order;
    case UPDATES_RELAXED:
        return what == UPDATE ? RELAXED : order;
    case NOT_CONSISTENT:
        return order != SC ? order : what == LOAD ? ACQUIRE : what == STORE ? RELEASE : __ATOMIC_ACQ_REL;
    case FENCES_NOTHING:
        return what == FENCE ? RELAXED : order;
    default:
        return order;
    }
}

void take_over(const Message &message, int order) {
    if (!message.view)
        return;
    self->pending.join(*message.view);
    if (acquires(order))
        self->now.join(*message.view);
}

uint64_t load_message(size_t number, uint32_t chosen, int order) {
    const Message &message = objects[number].message(chosen);
    self->now.see(number, chosen);
    take_over(message, order);
    return message.value;
}

uint32_t choose(size_t number, int order) {
    const Object &object = objects[number];
    uint32_t oldest = std::max(object.first, self->now.at(number)), last = object.last();
    if (order == SC)
        oldest = std::max(oldest, consistent.at(number));
    unsigned &stale = self->stale[number];
    if (oldest == last || stale >= stale_at_most || below(2) == 0) {
        stale = 0;
        return last;
    }
    uint32_t chosen = oldest + uint32_t(below(last - oldest + 1));
    stale = chosen == last ? 0 : stale + 1;
    return chosen;
}

void append(size_t number, uint64_t value, int order, const Shared &before) {
    Object &object = objects[number];
    uint32_t stored = object.last() + 1;
    self->now.see(number, stored);
    if (order == SC)
        consistent.see(number, stored);
    View view;
    if (releases(order))
        view = self->now;
    else {
        view = self->released;
        view.see(number, stored);
    }
    if (before) // an update goes on with what it has updated
        view.join(*before);
    object.messages.push_back({value, self->number, self->now.clock[self->number], std::make_shared<View>(view)});
    self->now.clock[self->number]++;
    if (object.messages.size() > most_messages) {
        object.messages.pop_front();
        object.first++;
    }
    memcpy(object.at, &value, object.bytes);
    object.stored_at = steps;
}

void fence_of(Thread &thread, int order) {
    if (acquires(order))
        thread.now.join(thread.pending);
    if (order == SC) { // of what was read or written by no atomic access fences alone say nothing
        consistent.join_seen(thread.now);
        thread.now.join_seen(consistent);
    }
    if (releases(order)) {
        thread.released = thread.now;
        thread.now.clock[thread.number]++;
    }
}

} // namespace

uint64_t load(const volatile void *at, size_t bytes, int order, const void *place) {
    order = order_here(order, LOAD, place);
    step(place);
    size_t number = object_at(at, bytes, place, false);
    return load_message(number, choose(number, order), order);
}

void store(volatile void *at, size_t bytes, uint64_t value, int order, const void *place) {
    order = order_here(order, STORE, place);
    step(place);
    append(object_at(at, bytes, place, true), value, order, nullptr);
}

uint64_t update(volatile void *at, size_t bytes, int order, const void *place,
                const std::function<uint64_t(uint64_t)> &change) {
    order = order_here(order, UPDATE, place);
    step(place);
    size_t number = object_at(at, bytes, place, true);
    const Shared before = objects[number].messages.back().view;
    uint64_t value = load_message(number, objects[number].last(), order);
    append(number, change(value), order, before);
    return value;
}

// What it found. A failed one is a load, and may find an old value.
uint64_t compare_exchange(volatile void *at, size_t bytes, uint64_t expected, uint64_t value, int success, int failure,
                          const void *place) {
    success = order_here(success, UPDATE, place);
    failure = failure == RELAXED || success == RELAXED ? int(RELAXED) : failure;
    step(place);
    size_t number = object_at(at, bytes, place, true);
    uint32_t last = objects[number].last(), chosen = choose(number, failure);
    if (objects[number].message(chosen).value != expected)
        return load_message(number, chosen, failure);
    if (objects[number].message(last).value != expected)
        return load_message(number, last, failure);
    const Shared before = objects[number].message(last).view;
    load_message(number, last, success);
    append(number, value, success, before);
    return expected;
}

void fence(int order, const void *place) {
    order = order_here(order, FENCE, place);
    if (order == RELAXED)
        return;
    step(place);
    fence_of(*self, order);
}

uint64_t stored_at(const void *at) {
    const uint32_t object = byte_of(at).object;
    return object ? objects[object - 1].stored_at : 0;
}

void fence_all() {
    if (weakened == BARRIERS_NOTHING)
        return;
    fence_of(*self, SC);
    for (const auto &thread : all)
        fence_of(*thread, SC);
    fence_of(*self, SC);
}

void begin_memory() {
    run_number++;
    objects.clear();
    dropped.clear();
    readings.clear();
    if (pages.size() > pages_at_most) {
        pages.clear();
        last_page = UINTPTR_MAX;
    }
    consistent = View();
}

void weaken(weaker how) {
    weakened = how;
}

void weaken_place(unsigned number) {
    weakened_place = number;
}

const char *place(unsigned number) {
    return number < places.size() ? places[number].c_str() : nullptr;
}

} // namespace weak
