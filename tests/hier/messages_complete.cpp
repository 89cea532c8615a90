// SPDX-License-Identifier: BSD-3-Clause
// What requests and receives bring, in every form of completion.
#include "messages_run.h"
#include <algorithm>

namespace messages {

namespace {
const weft_status unset{7, 7, 7, 7, 7};
}

// A send is over: who sent synchronously has met a receive.
void Runner::sent(int id, bool synchronous) {
    if (id == no_message || !synchronous)
        return;
    expect(places_.may_be_at(message(id).to, program_.first_taker(id)),
           "the synchronous send of message " + std::to_string(id) + " is complete before any receive");
}

int Runner::identify(Memory &memory, const weft_status &status) {
    int id = status.bytes < identity_bytes ? status.tag - tiny_tags : int(memory.key() & (tiny_tags - 1));
    bool known =
        id >= 0 && id < int(program_.messages.size()) && (status.bytes < identity_bytes || memory.key() == key(id));
    return expect(known, "what was received is no message of the program") ? id : no_message;
}

// Checks a receive's message against its status, and notes it. `rest_used`: the memory held something before.
void Runner::received(int index, Memory &memory, int code, const weft_status &status, bool rest_used) {
    Receive &receive = receives_[size_t(index)];
    if (!receive.completed)
        receive.completed = ++time_;
    received_++;
    places_.move();
    expect(status.error == code, "the status has the error that is returned");
    expect(!status.cancelled, "a receive that got a message was not cancelled");
    if (!expect(code == WEFT_SUCCESS || code == WEFT_ERR_TRUNCATE, std::string("a receive: ") + weft_strerror(code)) ||
        !expect(status.bytes <= memory.bytes(), "no more was received than there is room for"))
        return;
    int id = identify(memory, status);
    if (id == no_message)
        return;
    receive.message = id;
    const Message &got = message(id);
    std::string name = "message " + std::to_string(id);
    expect(got.to == rank_, name + " is to another rank");
    expect(status.source == got.from && status.tag == got.tag, name + ": source and tag of the status");
    expect(status.bytes == std::min(got.bytes, memory.bytes()), name + ": bytes of the status");
    expect((code == WEFT_ERR_TRUNCATE) == (got.bytes > memory.bytes()), name + ": truncation");
    size_t words = 0;
    ok(weft_get_count(&status, WEFT_INT32_T, &words), "weft_get_count");
    expect(words == (status.bytes % 4 ? WEFT_UNDEFINED : status.bytes / 4), name + ": weft_get_count");
    expect(memory.holds(key(id), status.bytes, rest_used), name + ": its bytes, or those around");
}

// From WEFT_PROC_NULL.
void Runner::nothing_received(Memory &memory, int code, const weft_status &status) {
    ok(code, "a receive from WEFT_PROC_NULL");
    expect(status.source == WEFT_PROC_NULL && status.tag == WEFT_ANY_TAG && status.bytes == 0 && !status.cancelled &&
               status.error == WEFT_SUCCESS,
           "the status of a receive from WEFT_PROC_NULL");
    expect(memory.untouched(), "a receive from WEFT_PROC_NULL writes nothing");
}

void Runner::expect_empty(const weft_status &status) {
    expect(status.source == -1 && status.tag == -1 && status.bytes == 0 && !status.cancelled &&
               status.error == WEFT_SUCCESS,
           "the status of a request that is null or not active is empty");
}

// The request of a handle is complete; `left` is what the call left of it.
void Runner::finish(Handle &handle, weft_request *left, int code, const weft_status &status) {
    if (!expect(handle.active, "a request that is not active was completed"))
        return;
    Pending &own = pending(handle);
    handle.active = own.busy = false;
    places_.move();
    expect(left == (own.persistent ? own.request : nullptr), "a handle becomes NULL unless it is persistent");
    own.request = left;
    if (handle.receive < 0) {
        expect(status.bytes == 0 && !status.cancelled && status.error == WEFT_SUCCESS && code == WEFT_SUCCESS,
               "the status of a send");
        own.memory->overwrite();
        sent(handle.message, handle.synchronous);
    } else if (status.cancelled) {
        expect(handle.cancelled, "a receive was taken back that nobody cancelled");
        expect(status.bytes == 0 && status.error == WEFT_SUCCESS && code == WEFT_SUCCESS,
               "the status of a cancelled receive");
        expect(own.memory->untouched(), "a receive that was taken back writes nothing");
    } else {
        receives_[size_t(handle.receive)].taken_back = 0;
        received(handle.receive, *own.memory, code, status);
    }
    if (own.persistent && handle.slot < 0)
        ok(weft_request_free(&own.request), "weft_request_free");
}

// The requests of handles: NULL, or one that is not active, where they are not under way.
std::vector<weft_request *> Runner::requests_of(const std::vector<int> &handles) {
    std::vector<weft_request *> requests;
    for (int number : handles) {
        Handle &handle = handles_[size_t(number)];
        Pending &own = pending(handle);
        bool twice = std::count(requests.begin(), requests.end(), own.request) > 0;
        requests.push_back(handle.active || (!own.busy && !twice) ? own.request : WEFT_REQUEST_NULL);
    }
    return requests;
}

void Runner::complete(const Operation &operation) {
    bool any_sure = false;
    for (size_t i = 0; i < operation.handles.size(); i++)
        any_sure = any_sure || (operation.sure[i] && handles_[size_t(operation.handles[i])].active);
    switch (operation.form) {
    case Form::one:
        return complete_one(handles_[size_t(operation.handles[0])], operation.waits);
    case Form::all:
        return complete_all(operation.handles, operation.waits);
    case Form::any:
        return complete_any(operation.handles, operation.waits && any_sure);
    case Form::some:
        return complete_some(operation.handles, operation.waits && any_sure);
    }
}

void Runner::complete_one(Handle &handle, bool waits) {
    weft_status status = unset;
    bool was_active = handle.active;
    weft_request *request = was_active || !pending(handle).busy ? pending(handle).request : WEFT_REQUEST_NULL;
    weft_status told = unset;
    int done = 1, tells = 0;
    int told_code = received_ % 2 ? weft_request_get_status(request, &tells, &told) : WEFT_SUCCESS;
    int code = waits ? weft_wait(&request, &status) : weft_test(&request, &done, &status);
    if (tells && done) // a test may find that another thread has the network just now
        expect(code == told_code && told.source == status.source && told.tag == status.tag &&
                   told.bytes == status.bytes && told.error == status.error && told.cancelled == status.cancelled,
               "weft_request_get_status told of another end");
    else if (!tells)
        ok(told_code, "weft_request_get_status");
    if (!was_active) {
        ok(code, "completing what is not active");
        expect(done, "what is not active is complete");
        expect_empty(status);
    } else if (done) {
        finish(handle, request, code, status);
    } else {
        ok(code, "weft_test");
    }
}

void Runner::complete_all(const std::vector<int> &handles, bool waits) {
    std::vector<weft_request *> requests = requests_of(handles), before = requests;
    std::vector<weft_status> statuses(handles.size(), unset);
    int done = 1;
    int code = waits ? weft_waitall(requests.size(), requests.data(), statuses.data())
                     : weft_testall(requests.size(), requests.data(), &done, statuses.data());
    if (!done) {
        ok(code, "weft_testall");
        expect(requests == before, "weft_testall completes all or none");
        return;
    }
    int first_error = WEFT_SUCCESS;
    for (size_t i = 0; i < handles.size(); i++) {
        Handle &handle = handles_[size_t(handles[i])];
        if (first_error == WEFT_SUCCESS)
            first_error = statuses[i].error;
        if (handle.active)
            finish(handle, requests[i], statuses[i].error, statuses[i]);
        else
            expect_empty(statuses[i]);
    }
    expect(code == first_error, "all: the first error is returned");
}

void Runner::complete_any(const std::vector<int> &handles, bool waits) {
    std::vector<weft_request *> requests = requests_of(handles);
    bool any_active =
        std::any_of(handles.begin(), handles.end(), [&](int number) { return handles_[size_t(number)].active; });
    weft_status status = unset;
    size_t index = 7777;
    int done = 1;
    int code = waits ? weft_waitany(requests.size(), requests.data(), &index, &status)
                     : weft_testany(requests.size(), requests.data(), &index, &done, &status);
    if (!any_active) {
        ok(code, "any: of none");
        expect(done && index == WEFT_UNDEFINED, "any: of none that is active it says so");
        expect_empty(status);
    } else if (!done) {
        ok(code, "weft_testany");
    } else if (expect(index < handles.size(), "any: the index")) {
        finish(handles_[size_t(handles[index])], requests[index], code, status);
    }
}

void Runner::complete_some(const std::vector<int> &handles, bool waits) {
    std::vector<weft_request *> requests = requests_of(handles);
    bool any_active =
        std::any_of(handles.begin(), handles.end(), [&](int number) { return handles_[size_t(number)].active; });
    std::vector<weft_status> statuses(handles.size(), unset);
    std::vector<size_t> indices(handles.size(), 7777);
    size_t count = 7777;
    int code = (waits ? weft_waitsome : weft_testsome)(requests.size(), requests.data(), &count, indices.data(),
                                                       statuses.data());
    if (!any_active) {
        ok(code, "some: of none");
        expect(count == WEFT_UNDEFINED, "some: of none that is active it says so");
        return;
    }
    if (!expect(count <= handles.size() && (count > 0 || !waits), "some: the count"))
        return;
    int first_error = WEFT_SUCCESS;
    for (size_t i = 0; i < count; i++) {
        if (!expect(indices[i] < handles.size(), "some: an index"))
            return;
        if (first_error == WEFT_SUCCESS)
            first_error = statuses[i].error;
        finish(handles_[size_t(handles[indices[i]])], requests[indices[i]], statuses[i].error, statuses[i]);
    }
    expect(code == first_error, "some: the first error is returned");
}

} // namespace messages
