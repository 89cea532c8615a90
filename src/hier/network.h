// SPDX-License-Identifier: BSD-3-Clause
/**
 * A call: one thread's part in a collective of a team, with the part between processes.
 *
 * A thread-rank collective is: thread phase in → process-level schedule → thread phase out. The thread phases are made of
 * the primitives of intra/meeting.h. The part in the middle is declared with hier_network(): what it needs of this process's
 * threads before it may start, and how it is started. Whoever holds the funnel starts and drives it: under FUNNELED the
 * leader, under SERIALIZED any thread that waits. When it is done the slot's release cell is published.
 *
 * A thread's part is written as one function that waits where it must (HIER_AWAIT). A blocking call runs it once. A nonblocking
 * one leaves it where something is not there yet, and enters it again at that place (part.h): so what such a function needs
 * behind a wait stands in the call, or is made anew each time it is entered.
 */
#ifndef HIER_NETWORK_H
#define HIER_NETWORK_H

#include <core/short.h>
#include <hier/blocks.h>
#include <hier/ledger.h>
#include <hier/observe.h>
#include <stdlib.h>

/** Phases: 1 to 5 come before the network part's end, the last when all is done. */
enum { HIER_OFFERED = 1, HIER_PLANNED = 2, HIER_READY = 3, HIER_RELEASED = 6, HIER_LEFT = 7 };
_Static_assert(HIER_LEFT < INTRA_PHASES, "flags can tell all phases apart");

typedef struct hier_call hier_call;

/**
 * Fills in what the process brings and starts its schedule with hier_start(); under the funnel, all that is needed is there.
 * After hier_start() it touches nothing of the call, which may be over: under FUNNELED the leader may do this for others.
 */
typedef int hier_start_function(hier_call *call);

/** How a vector is cut for threads and network to work at different pieces of it (pieces.h). */
typedef struct hier_pieces {
    size_t number;            /* 1: not at all */
    size_t elements, strands; /* of each but the last */
    size_t cuts;              /* of blocks, instead of elements: into so many segments each is cut */
    size_t at;                /* the next one that this thread waits for */
    bool gated;               /* they begin one by one … */
    bool in_turn;             /* … and a thread is ready with one only when all before it have come */
} hier_pieces;

/** A block of another length than its receiver expects: ranks, and bytes. */
typedef struct hier_lengths {
    size_t source, sent, destination, expected;
} hier_lengths;

struct hier_call {
    intra_meeting meeting;
    weft_comm *comm;
    const hier_arguments *arguments;
    uint64_t chain; /* of the calls up to this one: ledger.h */
    hier_choice choice;
    int root_node, root_thread; /* of the root, where there is one */
    hier_slot *slot;
    hier_start_function *start; /* NULL: no network part */
    int need_thread;            /* a thread number, HIER_NEED_ALL or HIER_NEED_NONE … */
    unsigned need_phase;        /* … has posted this */
    bool entrusted;             /* the leader, which takes no part, is to start it: by the errand */
    bool begun;                 /* this thread has seen it start */
    bool watches;               /* it is one of those that sleep on the network, as far as it has seen */
    int entrusted_error;
    hier_errand errand;
    unsigned looks;              /* how often this thread thought of driving */
    int error;                   /* the first one that this thread noticed, with which the call cannot go on */
    bool lengths_differ;         /* it goes on to its end, but a block has … */
    hier_lengths lengths;        /* … these … */
    bool through;                /* … and has come there: nobody needs more of it */
    int at;                      /* where the part goes on */
    int gone;                    /* when it has failed: so many threads use nothing of this one's any more … */
    bool disowned;               /* … and those that have not come yet never will */
    const weft_request *request; /* of a part that is waited for, and where the program does; else NULL */
    const void *caller;
    intra_scratch *scratch; /* INTRA_SCRATCHES: see below */
    hier_ring *ring;        /* of a persistent one, else NULL */
    hier_pieces pieces;     /* of its vector; set where there is a network part */
    hier_blocks blocks;     /* of those collectives that have them */
};

/**
 * One thread's part in a collective. True when it is over, or has failed (call->error); false, where the call does not wait: it
 * is to be run again. Between HIER_RESUME, before which the function only reads, and HIER_OVER it is entered again where it
 * was left: a switch over line numbers, as in protothreads (Dunkels et al. 2006).
 */
typedef bool hier_collective(hier_call *call);

#define HIER_RESUME(call)                                                                                              \
    switch ((call)->at) {                                                                                              \
    default:

#define HIER_OVER                                                                                                      \
    }                                                                                                                  \
    return true

/** Goes on when `there`, one of the await functions below, says so; leaves when it does not, or failed. */
#define HIER_AWAIT(call, there)                                                                                        \
    do {                                                                                                               \
        (call)->at = __LINE__;                                                                                         \
        __attribute__((fallthrough));                                                                                  \
    case __LINE__:                                                                                                     \
        if (!(there))                                                                                                  \
            return (call)->error;                                                                                      \
    } while (0)

/** As HIER_AWAIT, but goes on when it failed, too. */
#define HIER_AWAIT_END(call, there)                                                                                    \
    do {                                                                                                               \
        (call)->at = __LINE__;                                                                                         \
        __attribute__((fallthrough));                                                                                  \
    case __LINE__:                                                                                                     \
        if (!(there) && !(call)->error)                                                                                \
            return false;                                                                                              \
    } while (0)

/** Here come in, too, those who have given what they give, and have posted, in a brief call (brief.h). Of one process; once in a function. */
#define HIER_GIVEN (-1)

#define HIER_ENTRANCE                                                                                                  \
    __attribute__((fallthrough));                                                                                      \
    case HIER_GIVEN:

/**
 * Memory of the call's own, until it is over; as intra_scratch_take. It stays for the calls that follow: only what needs more than any
 * before it allocates.
 */
static inline void *hier_scratch(const hier_call *call, size_t bytes) {
    return intra_scratch_take(call->scratch, bytes);
}

/**
 * More of it: copies of what others read, as in place, where other processes of the host read it too (window.h); what the leader has planned;
 * for start functions, arrays by node; and the user's arrays, of a call that returns before it is over.
 */
enum { HIER_COPIES = 1, HIER_PLAN, HIER_ARRAYS, HIER_COUNTS };
_Static_assert(HIER_COUNTS < INTRA_SCRATCHES, "a scratch for each");

/** Of a thread's scratches, which are empty. */
static inline void hier_scratch_opens(const hier_world *world, intra_scratch *scratches) {
    scratches[HIER_COPIES].source = world->window.take ? &world->window : NULL;
}

static inline void *hier_more_scratch(const hier_call *call, int which, size_t bytes) {
    return intra_scratch_take(&call->scratch[which], bytes);
}

/** Waits, moving on what else the thread has under way, until the call may use its slot. */
void hier_await_slot(hier_call *call);

#define HIER_NEED_ALL  (-1)
#define HIER_NEED_NONE (-2)

/** Declares the network part; nothing on a single node. Every thread of the process declares the same. */
void hier_network(hier_call *call, int need_thread, unsigned need_phase, hier_start_function *start);

/** Of the leader, where the network part needs nobody: starts it. Is it over, and well, after a few looks? False says nothing. */
bool hier_network_is_brief(hier_call *call);

/** Puts this thread's operand, or block, into its cell, and says so. True. */
static inline bool hier_give_inline(hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    core_copy_short(intra_fill(&call->meeting, arguments->bytes), arguments->send, arguments->bytes);
    intra_post(&call->meeting, HIER_READY);
    return true;
}

/** Does so; when all have, whoever drives has the network part started by `start`. */
static inline void hier_offer_inline(hier_call *call, hier_start_function *start) {
    hier_network(call, HIER_NEED_ALL, HIER_READY, start);
    hier_give_inline(call);
}

/** Starts the chosen process-level algorithm with this process's buffers, a binding that is completed; for start functions. */
int hier_start(hier_call *call, const inter_view *view, inter_binding *binding);

/** The same of a slot whose execution is as it was. */
void hier_start_again(hier_call *call, inter_binding *binding);

/** The same, where messages have more in them than user data: those are counted by themselves, so many bytes to a node. */
int hier_start_uncounted(hier_call *call, const inter_view *view, inter_binding *binding);
void hier_count_sent(const hier_call *call, int node, size_t bytes);

/** A call that did not wait does from now on. */
void hier_let_wait(hier_call *call);

/**
 * Drives or waits until the network part is done. False when it failed, and the call's error is set, or when it is not done and
 * the call does not wait. True on a single node.
 */
bool hier_await_network(hier_call *call);

/**
 * Drives or waits until the pieces 0 … index of the vector have come. False as hier_await_network; of the last one it is the same, and
 * has to be called whatever else was.
 */
bool hier_await_piece(hier_call *call, size_t index);

/**
 * Starts the network part when all that it needs is there, and moves the network on; nothing where the thread may not, now. `leaves`: it
 * does not wait for that part.
 */
void hier_drive_once(hier_call *call, bool leaves);

/** The slow part of hier_may_go(): there is a network part. */
bool hier_may_leave_network(hier_call *call);

/**
 * Of a thread that needs nothing of the network part, which needs something of all: may it go on before that is over? Where it has to see
 * it to its end it waits. On the root's node the root does that; elsewhere the leader, or, where cores are short, lest all wait until the
 * leader has one, who comes last. That one starts it, too, on any node.
 */
static inline bool hier_may_go(hier_call *call) {
    return !call->start || hier_may_leave_network(call);
}

static inline bool hier_single_node(const hier_call *call) {
    return call->comm->layout->nodes == 1;
}

static inline bool hier_is_root(const hier_call *call) {
    return call->comm->rank == call->arguments->root;
}

static inline bool hier_on_root_node(const hier_call *call) {
    return call->comm->node == call->root_node;
}

static inline int hier_threads(const hier_call *call) {
    return call->meeting.team->threads;
}

/** The first rank of this node. */
static inline size_t hier_first_rank(const hier_call *call) {
    return call->comm->layout->offsets[call->comm->node];
}

/** Is the rank, of a communicator whose ranks are their places, a thread of this node? */
static inline bool hier_is_of_node(const hier_call *call, size_t rank) {
    return rank - hier_first_rank(call) < (size_t)hier_threads(call);
}

/**
 * The idle function of collectives within a process; the argument is the call. Says what it waits in when that takes long, and moves on
 * what the thread has under way.
 */
enum core_idle hier_idle(void *argument, bool tired);

/*
 * What a call that went wrong (settle.c) needs of its network part (network.c, network_start.c).
 */

/** The thread that the network part still waits for, or -1. */
int hier_missing_thread(const hier_call *call);

/** Starts it, with what the threads show, or with what keeps it from starting. Under the funnel; no thread is missing, or none comes. */
void hier_check_and_start(hier_call *call);

/**
 * Under FUNNELED the leader may take no part in a communicator that was split. Then thread 0 stands in: when all that is needed is there it
 * has the leader start the network part, and stays, as the call is on its stack, until the release.
 */
void hier_entrust(hier_call *call);

/** The network part, which is over, was another call's: sets the call's error, writes the sentence. */
void hier_trip_over_driver(hier_call *call) __attribute__((cold));

/** Notes that `thread` is in another call: sets the call's error, writes the sentence. Returns false. */
bool hier_mismatch(hier_call *call, int thread) __attribute__((cold));

/** After an await function of the meeting has said false: notes the mismatch, if that is why. Returns false. */
bool hier_not_there(hier_call *call) __attribute__((cold));

/** A call went wrong: this thread shows the others that it left. */
void hier_fail(hier_call *call) __attribute__((cold));

/**
 * One look at a call that went wrong; true when nobody uses anything of this thread's any more. Then it may end.
 */
bool hier_settle(hier_call *call) __attribute__((cold));

/** The blocks of a call that came to its end have other lengths than expected: that is its error. */
void hier_trip_over_block(hier_call *call) __attribute__((cold));

/** A call that has come to its end: did it go wrong? */
static inline bool hier_went_wrong(hier_call *call) {
    if (__builtin_expect(call->lengths_differ, false))
        hier_trip_over_block(call);
    return call->error;
}

/** hier_fail, and waits until it is settled. */
void hier_await_settled(hier_call *call) __attribute__((cold));

/** hier_end() of a call that went wrong, or on a communicator that is broken: then that is its error, the sentence is written, and true returned. */
bool hier_end_badly(hier_call *call) __attribute__((cold));

/*
 * What follows is on the way of every short collective, and inline for that.
 */

/** Has the thread something under way beside a call: messages, or collectives that it did not wait for? */
static inline bool hier_is_busy(const weft_comm *comm) {
    return comm->talks || comm->agent->parts;
}

/*
 * The note tells calls apart that do not belong together, and those after such: it is published with the flag, and compared by
 * who meets it. Persistent collectives are started in any order: what goes before their starts says nothing;
 * they are in the chain where they were prepared (part_make.c).
 */
static inline uint64_t hier_next_chain(intra_member *member, const hier_ring *ring, const hier_arguments *arguments) {
    if (ring)
        return hier_chain(ring->chain, arguments->signature);
    return member->chain = hier_chain(member->chain, arguments->signature);
}

/**
 * hier_select() for a call. Many are like the last one of their kind: of all that hier_key_of() takes from the arguments only this differs, and
 * the layout and the rules stay as they are. By the handle's own thread.
 */
static inline hier_choice hier_choose(weft_comm *comm, const hier_arguments *arguments) {
    hier_chosen *last = &comm->chosen[arguments->collective];
    const bool commutative = !arguments->op || arguments->op->commutative;
    const unsigned how = 1u + commutative + 2u * arguments->bracketed;
    if (last->how != how || last->bytes != arguments->bytes)
        *last = (hier_chosen){hier_select(&comm->world->selector, hier_key_of(arguments, comm->layout)),
                              arguments->bytes, how};
    return last->choice;
}

/** What stays as it is however often a call is begun: in a persistent collective's ring or (NULL) the team's, and by which algorithms. */
static inline void hier_aim(hier_call *call, weft_comm *comm, hier_ring *ring, const hier_arguments *arguments,
                            intra_scratch *scratch) {
    const hier_layout *layout = comm->layout;
    call->comm = comm;
    call->arguments = arguments;
    call->ring = ring;
    call->scratch = scratch;
    call->choice = hier_choose(comm, arguments);
    call->root_node = layout->nodes > 1 ? hier_layout_node(layout, arguments->root) : 0;
    call->root_thread = arguments->root - (int)layout->offsets[call->root_node];
}

/*
 * Takes the thread's next meeting. Field by field: setting the whole struct to 0 would take longer. Of what is aimed only the communicator, the
 * arguments and the ring are needed.
 */
static inline void hier_take_meeting(hier_call *call, bool waits) {
    const weft_comm *comm = call->comm;
    intra_member *member = call->ring ? &call->ring->intra->members[comm->thread] : comm->member;
    call->chain = hier_next_chain(member, call->ring, call->arguments);
    intra_take(&call->meeting, member, (uint32_t)(call->chain >> 32), waits);
    call->error = WEFT_SUCCESS;
    call->lengths_differ = call->through = false;
}

/** What else a call begins with that has its meeting. */
static inline void hier_begin(hier_call *call, bool waits) {
    const weft_comm *comm = call->comm;
    hier_ring *ring = call->ring;
    call->start = NULL;
    call->looks = 0;
    call->at = 0;
    call->request = NULL;
    if (comm->layout->nodes > 1) {
        hier_slot *slots = ring ? ring->slots : comm->team->slots;
        call->slot = &slots[call->meeting.sequence & (call->meeting.team->slots - 1)];
    }
    if (waits) {
        call->meeting.idle = hier_idle;
        call->meeting.idle_argument = call;
    }
}

static inline void hier_take(hier_call *call, bool waits) {
    hier_take_meeting(call, waits);
    hier_begin(call, waits);
}

/** Of a brief call, which is not aimed. */
static inline void hier_take_briefly(hier_call *call, weft_comm *comm, const hier_arguments *arguments) {
    call->comm = comm;
    call->arguments = arguments;
    call->ring = NULL;
    call->root_thread = arguments->root; /* of one process */
    hier_take_meeting(call, true);
}

/** Its slot is free: shows the others what it takes the meeting for. */
static inline void hier_occupy(const hier_call *call) {
    const hier_arguments *arguments = call->arguments;
    intra_calling *shown = &call->meeting.own->calling;
    intra_occupy(&call->meeting);
    /* Often it stands there from the slot's last call. */
    if (shown->signature != arguments->signature || shown->call != arguments->call ||
        shown->element != arguments->element)
        *shown = hier_calling_of(arguments);
}

/** Is all well when a call has ended? Else, if it is true, it has another error now, whose sentence is written. */
static inline bool hier_has_ended(hier_call *call) {
    const bool well = !call->error && !call->comm->member->retired && !hier_ledger_is_broken(call->comm->ledger);
    return !well && hier_end_badly(call);
}

/** Ends a call that is over, or failed and settled. True: it has another error now, whose sentence is written. */
static inline bool hier_end(hier_call *call) {
    intra_end(&call->meeting);
    return hier_has_ended(call);
}

/**
 * As intra_await/intra_await_all/intra_await_sync. False when a thread is in another collective, and the call's error is set, or
 * when it is not there and the call does not wait.
 */
static inline bool hier_await(hier_call *call, int thread, unsigned phase) {
    if (thread == call->meeting.member->thread) /* it has posted before; and its line has moved to who read that */
        return true;
    if (intra_has_just_begun(&call->meeting))
        return false;
    return intra_await(&call->meeting, thread, phase) || hier_not_there(call);
}

static inline bool hier_await_all(hier_call *call, unsigned phase) {
    if (intra_has_just_begun(&call->meeting))
        return false;
    return intra_await_all(&call->meeting, phase) || hier_not_there(call);
}

static inline bool hier_sync_now(hier_call *call, unsigned phase) {
    return intra_await_sync(&call->meeting, phase) || hier_not_there(call);
}

__attribute__((always_inline)) static inline bool hier_await_sync(hier_call *call, unsigned phase) {
    return !intra_has_just_begun(&call->meeting) && hier_sync_now(call, phase);
}

/** Posts a phase, and goes on when all have. */
#define HIER_SYNC(call, phase)                                                                                         \
    do {                                                                                                               \
        intra_post(&(call)->meeting, phase);                                                                           \
        HIER_AWAIT(call, hier_await_sync(call, phase));                                                                \
    } while (0)

#endif
