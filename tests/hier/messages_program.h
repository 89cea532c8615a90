// SPDX-License-Identifier: BSD-3-Clause
// Random programs of messages: for each rank a list of operations, made from a seed alike in every process.
//
// A program ends whatever the wildcards match. It consists of phases. In a phase the operations stand in one order over all
// ranks, which is that of their making, and each that waits can be completed by what stands before it:
//
//   * A receive waits only when more messages before it match it than receives before it on its rank could take of them.
//   * A send that waits has a tag of its own (a few may share it, with as many receives), and its receive stands before it and
//     is never taken back; or both wait for each other at the same place, where no receive before could take the message.
//   * All else does not wait. At the end of a phase a rank tests and probes until it has every message that was sent to it; then
//     it takes back the receives that are left, and a barrier ends the phase.
//
// The first operation in that order that is not complete can always be completed, hence all.
#ifndef TESTS_HIER_MESSAGES_PROGRAM_H
#define TESTS_HIER_MESSAGES_PROGRAM_H

#include <cstddef>
#include <cstdint>
#include <vector>
#include <weft/message.h>

namespace messages {

// Messages of one sender are numbered in the order in which they are sent.
struct Message {
    int from, to, tag, phase;
    size_t bytes;
};

// Which messages a receive or probe takes.
struct Pattern {
    int source, tag;
    bool takes(const Message &message) const {
        return (source == WEFT_ANY_SOURCE || source == message.from) && (tag == WEFT_ANY_TAG || tag == message.tag);
    }
};

enum class Kind { send, receive, exchange, start, complete, cancel, delay, barrier, drain };
enum class Mode { standard, synchronous, buffered, ready };
enum class Way { plain, probe, iprobe, mprobe, improbe, imrecv }; // of a receive that waits
enum class Form { one, all, any, some };
// Messages of fewer bytes than tell which one they are have a tag that does: this, and their number.
constexpr size_t identity_bytes = 4;
constexpr int tiny_tags = 1 << 20;
constexpr int no_message = -1; // to or from WEFT_PROC_NULL

struct Operation {
    explicit Operation(Kind its_kind) : kind(its_kind) {}

    Kind kind;
    // send, exchange:
    int message = no_message;
    Mode mode = Mode::standard;
    bool scattered = false; // from, or into, blocks with gaps
    // receive, exchange:
    Pattern pattern{WEFT_PROC_NULL, WEFT_ANY_TAG};
    size_t room = 0;
    bool room_scattered = false;
    Way way = Way::plain;
    bool replace = false;
    // what does not wait, and cancel: the rank's number for it
    int handle = -1;
    int slot = -1; // it is persistent; the rank's number for its request
    // start: sends and receives with slots
    std::vector<Operation> parts;
    // complete:
    Form form = Form::one;
    bool waits = false;
    std::vector<int> handles;
    std::vector<bool> sure; // by place in handles: it can be waited for
};

struct Program {
    Program(uint64_t program_seed, int rank_count);

    uint64_t seed;
    int ranks, phases;
    std::vector<Message> messages;
    std::vector<std::vector<Operation>> operations; // by rank
    std::vector<int> handles, slots;                // by rank: how many
    std::vector<size_t> buffered_bytes;             // by rank: what its buffered sends need

    int sent_to(int rank, int phase) const;
    // The place in its receiver's operations where the message can first be received.
    size_t first_taker(int message) const;
};

} // namespace messages

#endif
