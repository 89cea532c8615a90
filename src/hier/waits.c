// SPDX-License-Identifier: BSD-3-Clause
#include <core/clock.h>
#include <hier/part.h>
#include <hier/request.h>
#include <hier/waits.h>
#include <string.h>

static bool is_watched(const weft_comm *comm) {
    return comm->world->roster.watched;
}

/* `place`: of the root. */
static void fill_collective(hier_doing *doing, const weft_comm *comm, enum inter_collective collective,
                            uint64_t sequence, int place, size_t bytes) {
    doing->collective = CORE_COLLECTIVE;
    doing->sequence = sequence;
    if (inter_is(collective, INTER_ROOTED))
        doing->root = hier_rank_at(comm, place);
    if (bytes)
        doing->bytes = bytes;
}

void hier_call_waits(hier_call *call) {
    if (!is_watched(call->comm))
        return;
    const hier_arguments *arguments = call->arguments;
    hier_doing doing;
    if (call->request) {
        doing = hier_doing_request(call->request, "weft_wait");
        doing.caller = call->caller;
    } else {
        doing = hier_doing_on(call->comm, arguments->call);
        doing.caller = arguments->caller;
        fill_collective(&doing, call->comm, arguments->collective, call->meeting.sequence, arguments->root,
                        arguments->bytes);
    }
    hier_activity_begin(&call->comm->agent->activity, &doing);
}

void hier_comm_waits_no_more(weft_comm *comm) {
    if (comm->looks >= HIER_LOOKS_OF_A_LONG_WAIT && is_watched(comm))
        hier_activity_end(&comm->agent->activity);
    comm->looks = 0;
}

void hier_tests_in_vain(const hier_wait *wait) {
    hier_agent *agent = wait->agent;
    hier_doing doing = wait->describe(wait->argument);
    doing.tested_ns = core_now_ns();
    if (agent->tests == HIER_LOOKS_OF_A_LONG_WAIT)
        agent->tests_since = doing.tested_ns;
    agent->tests = HIER_LOOKS_OF_A_LONG_WAIT + 1;
    doing.since_ns = agent->tests_since;
    hier_activity_begin(&agent->activity, &doing);
}

void hier_tests_no_more(hier_agent *agent) {
    if (agent->tests >= HIER_LOOKS_OF_A_LONG_WAIT)
        hier_activity_end(&agent->activity);
    agent->tests = 0;
}

static void end_tests(hier_roster *roster, hier_testers *testers) {
    pthread_mutex_lock(&testers->lock);
    if (testers->listed)
        hier_roster_remove(roster, &testers->activity);
    testers->listed = false;
    pthread_mutex_unlock(&testers->lock);
}

static void tell_tests(hier_roster *roster, hier_testers *testers, const hier_wait *wait) {
    hier_doing doing = wait->describe(wait->argument);
    doing.tested_ns = core_now_ns();
    pthread_mutex_lock(&testers->lock);
    if (!testers->listed) {
        testers->since_ns = doing.tested_ns;
        memset(&testers->activity, 0, sizeof(testers->activity));
        hier_roster_add(roster, &testers->activity, NULL);
    }
    testers->listed = true;
    doing.since_ns = testers->since_ns;
    hier_activity_begin(&testers->activity, &doing);
    pthread_mutex_unlock(&testers->lock);
}

void hier_tested_without_agent(const hier_wait *wait, bool found) {
    hier_roster *roster = &wait->world->roster;
    hier_testers *testers = &roster->testers;
    unsigned tests = atomic_load_explicit(&testers->tests, memory_order_relaxed);
    if (tests < HIER_LOOKS_OF_A_LONG_WAIT || found)
        atomic_store_explicit(&testers->tests, found ? 0 : tests + 1, memory_order_relaxed);
    if (tests < HIER_LOOKS_OF_A_LONG_WAIT)
        return;
    if (found)
        end_tests(roster, testers);
    else
        tell_tests(roster, testers, wait);
}

static void fill_message(hier_doing *doing, const hier_message *message) {
    bool sends = message->base.kind == HIER_SEND;
    doing->peer = sends ? message->envelope.peer : message->receive.match.source;
    doing->tag = sends ? message->envelope.tag : message->receive.match.tag;
    doing->bytes = sends ? message->envelope.bytes : message->receive.bytes;
}

/* Of the two: that which was over when it was started is not. */
static const hier_message *waited_for(const hier_sendrecv *both) {
    return both->received->base.over ? both->sent : both->received;
}

/* Everything read here is the request's own from its start to its end. */
static void fill_operation(hier_doing *doing, const hier_operation *operation) {
    const inter_view *view = &operation->plan.view;
    fill_collective(doing, operation->base.comm, view->collective, operation->id.sequence + 1, view->root,
                    view->count * view->element_bytes);
    if (operation->base.persistent) {
        doing->collective = CORE_PERSISTENT;
        doing->round = atomic_load_explicit(&operation->starts, memory_order_relaxed);
    }
}

static void fill_part(hier_doing *doing, const hier_part *part) {
    const hier_arguments *arguments = &part->arguments;
    const uint64_t sequence = part->call.meeting.sequence;
    fill_collective(doing, part->base.comm, arguments->collective, part->ring ? part->ring->number + 1 : sequence,
                    arguments->root, arguments->bytes);
    if (part->ring) {
        doing->collective = CORE_PERSISTENT;
        doing->round = sequence;
    }
}

hier_doing hier_doing_request(const weft_request *request, const char *call) {
    /* A blocking collective waits for its request by weft_wait. */
    bool blocks = request->kind == HIER_COLLECTIVE && ((const hier_operation *)request)->blocks;
    hier_doing doing = hier_doing_on(request->comm, blocks ? request->call : call);
    if (request->call != doing.call)
        doing.of = request->call;
    if (request->kind == HIER_COLLECTIVE)
        fill_operation(&doing, (const hier_operation *)request);
    else if (request->kind == HIER_PART)
        fill_part(&doing, (const hier_part *)request);
    else if (request->kind == HIER_SENDRECV)
        fill_message(&doing, waited_for(&((const hier_message *)request)->both));
    else if (request->kind != HIER_SENT)
        fill_message(&doing, (const hier_message *)request);
    doing.caller = blocks ? ((const hier_operation *)request)->caller : NULL;
    return doing;
}
