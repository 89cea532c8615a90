// SPDX-License-Identifier: BSD-3-Clause
// Runs a rank's part of a random program, and checks all that the calls say and bring.
#ifndef TESTS_HIER_MESSAGES_RUN_H
#define TESTS_HIER_MESSAGES_RUN_H

#include "intra/threads.h"
#include "messages_memory.h"
#include "messages_model.h"
#include <atomic>
#include <memory>
#include <sstream>
#include <string>
#include <weft/weft.h>

namespace messages {

// What the ranks of one process tell each other aside of weft: where they are. Relaxed, so that it hides no race from
// ThreadSanitizer; that a synchronous send is complete only when its receive was begun is weft's to publish.
class Places {
  public:
    // `here`, by rank: it is in this process.
    Places(const Program &program, const std::vector<bool> &here)
        : program_(program), here_(here), at_(here.size()), moves_(0) {
        for (auto &place : at_)
            place.store(0, std::memory_order_relaxed);
    }
    void enter(int rank, size_t place) {
        at_[size_t(rank)].store(place + 1, std::memory_order_relaxed);
        moves_.fetch_add(1, std::memory_order_relaxed);
    }
    void move() {
        moves_.fetch_add(1, std::memory_order_relaxed);
    }
    // Has the rank come to this place? Who cannot be seen may have.
    bool may_be_at(int rank, size_t place) const {
        return !here_[size_t(rank)] || at_[size_t(rank)].load(std::memory_order_relaxed) > place;
    }
    uint64_t moves() const {
        return moves_.load(std::memory_order_relaxed);
    }
    std::string describe() const;

  private:
    const Program &program_;
    std::vector<bool> here_;
    std::vector<std::atomic<size_t>> at_; // 1 + the place in the rank's operations
    std::atomic<uint64_t> moves_;
};

// Ends the process, with the seed and where each rank is, when nothing has moved for a while.
class Watch {
  public:
    Watch(const Program &program, const Places &places);
    ~Watch();
    Watch(const Watch &) = delete;

  private:
    void watch(const Program &program, const Places &places);
    std::mutex lock_;
    std::condition_variable changed_;
    bool over_ = false;
    std::thread thread_; // last: it uses the others
};

class Runner {
  public:
    Runner(const Program &program, Places &places, weft_comm *comm);

    // Runs to the end whatever goes wrong; what did, or nothing.
    std::string run();

  private:
    // A request, and what is known of it.
    struct Pending {
        weft_request *request = nullptr;
        std::unique_ptr<Memory> memory;
        bool persistent = false, busy = false;
    };
    // What does not wait.
    struct Handle {
        Pending own;
        int slot = -1;
        bool active = false, synchronous = false, cancelled = false;
        int message = no_message; // that it sends
        int receive = -1;         // among receives_; -1: it is none, or from WEFT_PROC_NULL
    };

    // messages_run.cpp: one operation after the other
    void perform(const Operation &operation);
    void send(const Operation &operation);
    void begin(const Operation &operation);
    int make_request(const Operation &operation, Pending &pending);
    void receive(const Operation &operation);
    void receive_probed(const Operation &operation, Memory &memory);
    void receive_extracted(const Operation &operation, Memory &memory);
    void exchange(const Operation &operation);
    void start(const Operation &operation);
    void cancel(int handle);
    void delay();
    void drain();
    void drain_one();
    void end_phase();

    // messages_complete.cpp: what requests and receives bring
    void complete(const Operation &operation);
    void complete_one(Handle &handle, bool waits);
    void complete_all(const std::vector<int> &handles, bool waits);
    void complete_any(const std::vector<int> &handles, bool waits);
    void complete_some(const std::vector<int> &handles, bool waits);
    std::vector<weft_request *> requests_of(const std::vector<int> &handles);
    void finish(Handle &handle, weft_request *left, int code, const weft_status &status);
    void expect_empty(const weft_status &status);
    void received(int index, Memory &memory, int code, const weft_status &status, bool rest_used = false);
    void nothing_received(Memory &memory, int code, const weft_status &status);
    int identify(Memory &memory, const weft_status &status);
    void sent(int message, bool synchronous);

    int post(const Pattern &pattern) {
        receives_.push_back({pattern, ++time_});
        return int(receives_.size()) - 1;
    }
    Pending &pending(Handle &handle) {
        return handle.slot >= 0 ? slots_[size_t(handle.slot)] : handle.own;
    }
    // The handles under way, receives or all the rest.
    std::vector<int> active(bool receives) const;
    const Message &message(int id) const {
        return program_.messages[size_t(id)];
    }
    uint32_t key(int id) const {
        return uint32_t(id) | uint32_t(program_.seed) << 20;
    }
    bool expect(bool holds, const std::string &what);
    bool ok(int code, const char *call);

    const Program &program_;
    Places &places_;
    weft_comm *comm_;
    int rank_, phase_ = 0, time_ = 0, received_ = 0, faults_ = 0;
    size_t place_ = 0, largest_;
    threads::Random random_;
    std::vector<Handle> handles_;
    std::vector<Pending> slots_;
    std::vector<Receive> receives_; // of this phase
    std::ostringstream said_;
};

} // namespace messages

#endif
