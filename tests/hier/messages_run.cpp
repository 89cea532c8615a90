// SPDX-License-Identifier: BSD-3-Clause
#include "messages_run.h"
#include <algorithm>
#include <chrono>

namespace messages {

namespace {

constexpr int patience_seconds = 60;

using SendCall = int (*)(const void *, size_t, const weft_datatype *, int, int, weft_comm *);
using RequestCall = int (*)(const void *, size_t, const weft_datatype *, int, int, weft_comm *, weft_request **);

// By mode.
const SendCall send_calls[] = {weft_send, weft_ssend, weft_bsend, weft_rsend};
const RequestCall isend_calls[] = {weft_isend, weft_issend, weft_ibsend, weft_irsend};
const RequestCall send_init_calls[] = {weft_send_init, weft_ssend_init, weft_bsend_init, weft_rsend_init};

} // namespace

std::string Places::describe() const {
    std::ostringstream out;
    for (size_t i = 0; i < at_.size(); i++) {
        if (!here_[i])
            continue;
        size_t place = at_[i].load(std::memory_order_relaxed);
        const auto &list = program_.operations[i];
        out << "  rank " << i << " at operation " << ptrdiff_t(place) - 1 << " of " << list.size();
        if (place > 0 && place <= list.size())
            out << ", kind " << int(list[place - 1].kind);
        out << "\n";
    }
    return out.str();
}

Watch::Watch(const Program &program, const Places &places) : thread_([&, this] { watch(program, places); }) {}

Watch::~Watch() {
    {
        std::lock_guard<std::mutex> guard(lock_);
        over_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void Watch::watch(const Program &program, const Places &places) {
    std::unique_lock<std::mutex> guard(lock_);
    uint64_t moves = 0;
    auto end = std::chrono::steady_clock::now();
    while (!over_) {
        if (moves != places.moves() + 1) {
            moves = places.moves() + 1;
            end = std::chrono::steady_clock::now() + std::chrono::seconds(patience_seconds);
        } else if (std::chrono::steady_clock::now() > end) {
            fprintf(stderr, "MESSAGES_SEED=%llu hangs, %d ranks:\n%s", static_cast<unsigned long long>(program.seed),
                    program.ranks, places.describe().c_str());
            abort();
        }
        changed_.wait_until(guard, std::chrono::system_clock::now() + std::chrono::milliseconds(200));
    }
}

Runner::Runner(const Program &program, Places &places, weft_comm *comm)
    : program_(program), places_(places), comm_(comm), rank_(weft_rank(comm)), largest_(8),
      random_(program.seed * 1000 + uint64_t(rank_)), handles_(size_t(program.handles[size_t(rank_)])),
      slots_(size_t(program.slots[size_t(rank_)])) {
    for (const Message &message : program.messages)
        largest_ = std::max(largest_, message.bytes);
}

bool Runner::expect(bool holds, const std::string &what) {
    if (!holds && faults_++ < 5)
        said_ << "  rank " << rank_ << ", operation " << place_ << ": " << what << "\n";
    return holds;
}

bool Runner::ok(int code, const char *call) {
    return code == WEFT_SUCCESS ||
           expect(false, std::string(call) + " returned " + weft_strerror(code) + "; " + weft_last_error());
}

std::string Runner::run() {
    std::vector<unsigned char> attached(program_.buffered_bytes[size_t(rank_)]);
    if (!attached.empty())
        ok(weft_comm_attach_buffer(comm_, attached.data(), attached.size()), "weft_comm_attach_buffer");
    const auto &operations = program_.operations[size_t(rank_)];
    for (place_ = 0; place_ < operations.size(); place_++) {
        places_.enter(rank_, place_);
        perform(operations[place_]);
    }
    if (!attached.empty()) {
        void *buffer = nullptr;
        size_t bytes = 0;
        ok(weft_comm_detach_buffer(comm_, &buffer, &bytes), "weft_comm_detach_buffer");
        expect(buffer == attached.data() && bytes == attached.size(), "the buffer comes back");
    }
    for (Pending &slot : slots_)
        if (slot.request) {
            ok(weft_request_free(&slot.request), "weft_request_free");
            expect(!slot.request, "weft_request_free sets the handle to NULL");
        }
    return said_.str();
}

void Runner::perform(const Operation &operation) {
    switch (operation.kind) {
    case Kind::send:
        return operation.handle < 0 ? send(operation) : begin(operation);
    case Kind::receive:
        return operation.handle < 0 ? receive(operation) : begin(operation);
    case Kind::exchange:
        return exchange(operation);
    case Kind::start:
        return start(operation);
    case Kind::complete:
        return complete(operation);
    case Kind::cancel:
        return cancel(operation.handle);
    case Kind::delay:
        return delay();
    case Kind::barrier:
        ok(weft_barrier(comm_), "weft_barrier");
        return;
    case Kind::drain:
        return drain();
    }
}

// The bytes that an operation sends: none to nobody.
static std::unique_ptr<Memory> sending(const Program &program, const Operation &operation, uint32_t key) {
    size_t bytes = operation.message == no_message ? 8 : program.messages[size_t(operation.message)].bytes;
    auto memory = std::make_unique<Memory>(bytes, operation.scattered);
    memory->fill(key);
    return memory;
}

void Runner::send(const Operation &operation) {
    bool nobody = operation.message == no_message;
    std::unique_ptr<Memory> memory = sending(program_, operation, key(operation.message));
    {
        Typed typed(*memory);
        ok(send_calls[int(operation.mode)](typed.buffer, typed.count, typed.type,
                                           nobody ? WEFT_PROC_NULL : message(operation.message).to,
                                           nobody ? 0 : message(operation.message).tag, comm_),
           "a send");
    }
    memory->overwrite();
    sent(operation.message, operation.mode == Mode::synchronous);
}

// The call that makes the request of a send or receive: nonblocking, or persistent and not started.
int Runner::make_request(const Operation &operation, Pending &pending) {
    if (operation.kind == Kind::send) {
        bool nobody = operation.message == no_message;
        pending.memory = sending(program_, operation, key(operation.message));
        Typed typed(*pending.memory);
        return (pending.persistent ? send_init_calls : isend_calls)[int(operation.mode)](
            typed.buffer, typed.count, typed.type, nobody ? WEFT_PROC_NULL : message(operation.message).to,
            nobody ? 0 : message(operation.message).tag, comm_, &pending.request);
    }
    pending.memory = std::make_unique<Memory>(operation.room_scattered ? operation.room / 8 * 8 : operation.room,
                                              operation.room_scattered);
    Typed typed(*pending.memory);
    return (pending.persistent ? weft_recv_init : weft_irecv)(typed.buffer, typed.count, typed.type,
                                                              operation.pattern.source, operation.pattern.tag, comm_,
                                                              &pending.request);
}

// Begins what does not wait; now and then, and when it has a slot, as a persistent request. Parts of a start are only prepared.
void Runner::begin(const Operation &operation) {
    Handle &handle = handles_[size_t(operation.handle)];
    handle.slot = operation.slot;
    handle.message = operation.kind == Kind::send ? operation.message : no_message;
    handle.synchronous = operation.mode == Mode::synchronous;
    if (operation.kind == Kind::receive && operation.pattern.source != WEFT_PROC_NULL)
        handle.receive = post(operation.pattern);
    handle.active = true;
    Pending &made = pending(handle);
    made.busy = true;
    if (made.request) { // started before
        if (operation.kind == Kind::send)
            made.memory->fill(key(operation.message));
        else
            made.memory->clear();
        return;
    }
    made.persistent = operation.slot >= 0 || random_.below(12) == 0;
    ok(make_request(operation, made), "what makes a request");
    expect(made.request, "a request is made");
    if (made.persistent && operation.slot < 0)
        ok(weft_start(&made.request), "weft_start");
}

void Runner::start(const Operation &operation) {
    std::vector<weft_request *> requests;
    for (const Operation &part : operation.parts) {
        begin(part);
        requests.push_back(slots_[size_t(part.slot)].request);
    }
    std::vector<weft_request *> before = requests;
    if (requests.size() == 1)
        ok(weft_start(&requests[0]), "weft_start");
    else
        ok(weft_startall(requests.size(), requests.data()), "weft_startall");
    expect(requests == before, "starting leaves the handles as they are");
}

void Runner::receive(const Operation &operation) {
    Memory memory(operation.room_scattered ? operation.room / 8 * 8 : operation.room, operation.room_scattered);
    if (operation.way == Way::probe || operation.way == Way::iprobe)
        return receive_probed(operation, memory);
    if (operation.way != Way::plain)
        return receive_extracted(operation, memory);
    weft_status status{7, 7, 7, 7, 7};
    int index = operation.pattern.source == WEFT_PROC_NULL ? -1 : post(operation.pattern);
    Typed typed(memory);
    int code = weft_recv(typed.buffer, typed.count, typed.type, operation.pattern.source, operation.pattern.tag, comm_,
                         &status);
    index < 0 ? nothing_received(memory, code, status) : received(index, memory, code, status);
}

// Looks, then receives what was seen.
void Runner::receive_probed(const Operation &operation, Memory &memory) {
    weft_status seen{7, 7, 7, 7, 7}, status = seen;
    const Pattern &pattern = operation.pattern;
    int index = pattern.source == WEFT_PROC_NULL ? -1 : post(pattern), found = 0;
    if (operation.way == Way::probe)
        ok(weft_probe(pattern.source, pattern.tag, comm_, &seen), "weft_probe");
    else
        while (ok(weft_iprobe(pattern.source, pattern.tag, comm_, &found, &seen), "weft_iprobe") && !found)
            std::this_thread::yield();
    if (index >= 0)
        receives_[size_t(index)].completed = ++time_;
    Typed typed(memory);
    int code = weft_recv(typed.buffer, typed.count, typed.type, seen.source, seen.tag, comm_, &status);
    expect(seen.source == status.source && seen.tag == status.tag &&
               std::min(seen.bytes, memory.bytes()) == status.bytes,
           "what was probed is received");
    index < 0 ? nothing_received(memory, code, status) : received(index, memory, code, status);
}

// Takes the message out of the queue, then receives it.
void Runner::receive_extracted(const Operation &operation, Memory &memory) {
    weft_status seen{7, 7, 7, 7, 7}, status = seen;
    const Pattern &pattern = operation.pattern;
    weft_message *found_message = WEFT_MESSAGE_NULL;
    int index = pattern.source == WEFT_PROC_NULL ? -1 : post(pattern), found = 0;
    if (operation.way != Way::improbe)
        ok(weft_mprobe(pattern.source, pattern.tag, comm_, &found_message, &seen), "weft_mprobe");
    else
        while (ok(weft_improbe(pattern.source, pattern.tag, comm_, &found, &found_message, &seen), "weft_improbe") &&
               !found)
            std::this_thread::yield();
    expect(found_message != WEFT_MESSAGE_NULL, "a probe finds a message");
    if (index >= 0)
        receives_[size_t(index)].completed = ++time_;
    if (random_.below(4) == 0)
        delay();
    int code = 0;
    Typed typed(memory);
    if (operation.way == Way::imrecv) {
        weft_request *request = nullptr;
        ok(weft_imrecv(typed.buffer, typed.count, typed.type, &found_message, &request), "weft_imrecv");
        code = weft_wait(&request, &status);
        expect(!request, "weft_wait sets the handle to NULL");
    } else {
        code = weft_mrecv(typed.buffer, typed.count, typed.type, &found_message, &status);
    }
    expect(found_message == WEFT_MESSAGE_NULL, "receiving it sets the message to NULL");
    expect(seen.source == status.source && seen.tag == status.tag &&
               std::min(seen.bytes, memory.bytes()) == status.bytes,
           "what was probed is received");
    index < 0 ? nothing_received(memory, code, status) : received(index, memory, code, status);
}

void Runner::exchange(const Operation &operation) {
    const Message &sends = message(operation.message);
    std::unique_ptr<Memory> memory = sending(program_, operation, key(operation.message));
    weft_status status{7, 7, 7, 7, 7};
    int index = post(operation.pattern);
    const bool begins = operation.message % 2; // with a request
    if (operation.replace) {
        Typed typed(*memory);
        weft_request *request = WEFT_REQUEST_NULL;
        int code = begins ? weft_isendrecv_replace(typed.buffer, typed.count, typed.type, sends.to, sends.tag,
                                                   operation.pattern.source, operation.pattern.tag, comm_, &request)
                          : weft_sendrecv_replace(typed.buffer, typed.count, typed.type, sends.to, sends.tag,
                                                  operation.pattern.source, operation.pattern.tag, comm_, &status);
        if (begins && !code)
            code = weft_wait(&request, &status);
        received(index, *memory, code, status, true);
        return;
    }
    Memory room(operation.room_scattered ? operation.room / 8 * 8 : operation.room, operation.room_scattered);
    Typed from(*memory), to(room);
    if (begins) {
        weft_request *request = WEFT_REQUEST_NULL;
        int code = weft_isendrecv(from.buffer, from.count, from.type, sends.to, sends.tag, to.buffer, to.count, to.type,
                                  operation.pattern.source, operation.pattern.tag, comm_, &request);
        if (!code)
            code = weft_wait(&request, &status);
        memory->overwrite();
        received(index, room, code, status);
        return;
    }
    int code = weft_sendrecv(from.buffer, from.count, from.type, sends.to, sends.tag, to.buffer, to.count, to.type,
                             operation.pattern.source, operation.pattern.tag, comm_, &status);
    memory->overwrite();
    received(index, room, code, status);
}

void Runner::cancel(int number) {
    Handle &handle = handles_[size_t(number)];
    if (!handle.active)
        return;
    receives_[size_t(handle.receive)].taken_back = ++time_;
    handle.cancelled = true;
    ok(weft_cancel(&pending(handle).request), "weft_cancel");
    complete_one(handle, true);
}

void Runner::delay() {
    uint64_t choice = random_.below(20);
    if (choice == 0)
        std::this_thread::sleep_for(std::chrono::microseconds(random_.below(300)));
    else if (choice < 8)
        std::this_thread::yield();
    else
        for (int i = 0; i < 20; i++)
            random_.dawdle();
}

std::vector<int> Runner::active(bool receives) const {
    std::vector<int> found;
    for (size_t i = 0; i < handles_.size(); i++)
        if (handles_[i].active && (handles_[i].receive >= 0) == receives)
            found.push_back(int(i));
    return found;
}

// Receives what was sent to this rank, completes what it sent, takes back the receives that are left.
void Runner::drain() {
    int expected = program_.sent_to(rank_, phase_);
    while (received_ < expected)
        drain_one();
    for (std::vector<int> left = active(false); !left.empty(); left = active(false)) {
        Operation rest(Kind::complete);
        rest.form = Form(random_.below(4));
        rest.waits = random_.below(2);
        rest.handles = left;
        rest.sure.assign(left.size(), true);
        complete(rest);
    }
    end_phase();
}

// A step towards the next message: a look at the receives and sends, and one for messages that none of them takes.
void Runner::drain_one() {
    Operation all(Kind::complete), any(Kind::receive);
    all.form = Form(random_.below(4));
    all.handles = active(true);
    bool posted = !all.handles.empty();
    if (random_.below(2)) {
        std::vector<int> sends = active(false);
        all.handles.insert(all.handles.end(), sends.begin(), sends.end());
    }
    all.sure.assign(all.handles.size(), false);
    if (!all.handles.empty()) {
        std::swap(all.handles[0], all.handles[random_.below(all.handles.size())]);
        complete(all);
    }
    if (received_ >= program_.sent_to(rank_, phase_))
        return;
    any.pattern = {WEFT_ANY_SOURCE, WEFT_ANY_TAG};
    any.room = largest_;
    if (!posted) { // nobody else takes what is left to come: it can be waited for
        any.way = Way(random_.below(6));
        receive(any);
        return;
    }
    int found = 0;
    weft_status seen{};
    ok(weft_iprobe(WEFT_ANY_SOURCE, WEFT_ANY_TAG, comm_, &found, &seen), "weft_iprobe");
    if (found) {
        any.way = Way(1 + random_.below(5));
        receive(any);
    } else {
        std::this_thread::yield();
    }
}

// All messages have come: no receive that is left can match. Others begin the next phase after the barrier only.
void Runner::end_phase() {
    std::vector<int> left = active(true);
    for (int number : left) {
        receives_[size_t(handles_[size_t(number)].receive)].taken_back = ++time_;
        handles_[size_t(number)].cancelled = true;
        ok(weft_cancel(&pending(handles_[size_t(number)]).request), "weft_cancel");
    }
    for (; !left.empty(); left = active(true)) {
        Operation rest(Kind::complete);
        rest.form = Form(random_.below(4));
        rest.waits = true;
        rest.handles = left;
        rest.sure.assign(left.size(), true);
        complete(rest);
    }
    int found = 1;
    ok(weft_iprobe(WEFT_ANY_SOURCE, WEFT_ANY_TAG, comm_, &found, nullptr), "weft_iprobe");
    expect(!found, "no message is left");
    std::string fault = contradiction(program_, rank_, phase_, receives_);
    expect(fault.empty(), "phase " + std::to_string(phase_) + ": " + fault);
    receives_.clear();
    time_ = received_ = 0;
    for (Handle &handle : handles_)
        handle.receive = -1;
    phase_++;
    ok(weft_barrier(comm_), "weft_barrier");
}

} // namespace messages
