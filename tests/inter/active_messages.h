// SPDX-License-Identifier: BSD-3-Clause
// Active messages, as the tests send and hear them.
#ifndef TESTS_INTER_ACTIVE_MESSAGES_H
#define TESTS_INTER_ACTIVE_MESSAGES_H

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>
extern "C" {
#include <inter/transport.h>
#include <weft/error.h>
}

inline std::string some_text(size_t bytes, size_t seed) {
    std::mt19937_64 random{seed};
    std::string text(bytes, 0);
    for (size_t i = 0; i < bytes; i += 8) {
        uint64_t word = random();
        memcpy(&text[i], &word, std::min<size_t>(8, bytes - i));
    }
    return text;
}

// Of every way in which one of the transports carries a message, and one more or less.
const std::vector<size_t> active_lengths = {1,   8,    31,   32,   33,   40,    41,    56,     57,     64,
                                            100, 1000, 8191, 8192, 8193, 20000, 65536, 100000, 262145, (1 << 20) + 3};

// A send or a fetch under way.
struct Pending {
    Pending() {
        request.completion = &completion;
    }
    bool done() const {
        return completion.pending == 0;
    }
    inter_completion completion{};
    inter_request request{};
};

struct ActiveSend : Pending {
    ActiveSend(inter_transport *at, int to, uint64_t first, uint64_t second, const std::string &payload,
               bool rendezvous)
        : text(payload) {
        inter_am_header header{{first, second}};
        code = at->am_send(at, to, &header, text.data(), text.size(), rendezvous, &request);
    }
    std::string text;
    int code;
};

// What the listener was told, and what became of it.
struct Heard : Pending {
    inter_arrival arrival;
    bool to_fetch;
    std::string text;
};

// Listens at one rank. Unless `at_once` does something with an arrival that is to be fetched, it stays until fetch() or drop().
class Ear {
  public:
    explicit Ear(inter_transport *transport) : at(transport) {}
    void listen() {
        at->listen(at, hear, this);
    }
    int fetch(Heard &what, size_t room) {
        what.text.assign(room, '.');
        return at->am_fetch(at, &what.arrival, &what.text[0], room, &what.request);
    }
    int fetch(Heard &what) {
        return fetch(what, what.arrival.bytes);
    }
    void drop(Heard &what) {
        at->am_drop(at, &what.arrival);
    }
    bool all_done() const {
        return std::all_of(heard.begin(), heard.end(), [](const Heard &one) { return one.done(); });
    }
    inter_transport *at;
    std::deque<Heard> heard; // in which nothing moves
    std::function<void(Heard &)> at_once;

  private:
    static void hear(void *argument, const inter_arrival *arrival) {
        Ear *self = static_cast<Ear *>(argument);
        self->heard.emplace_back();
        Heard &now = self->heard.back();
        now.request.completion = &now.completion;
        now.arrival = *arrival;
        now.to_fetch = arrival->bytes && !arrival->data;
        if (arrival->data)
            now.text.assign(static_cast<const char *>(arrival->data), arrival->bytes);
        if (now.to_fetch && self->at_once)
            self->at_once(now);
    }
};

#endif
