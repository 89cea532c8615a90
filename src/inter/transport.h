// SPDX-License-Identifier: BSD-3-Clause
/**
 * Transport: messages between processes. Two implementations: ucx, and sim (in memory, many ranks in one process).
 *
 * All calls on one transport come from one thread at a time (hier's funnel sees to that). A message is matched by
 * source and tag, exactly; messages with the same source and tag arrive in the order in which they were sent.
 */
#ifndef INTER_TRANSPORT_H
#define INTER_TRANSPORT_H

#include <core/layout.h>
#include <inter/bootstrap.h>
#include <inter/directory.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

/** What several requests report to: how many are still under way, and the first error among them. */
typedef struct inter_completion {
    size_t pending;
    int error;                          /* WEFT_SUCCESS or an error code … */
    const struct inter_request *failed; /* … of this request, where a request has one */
    bool queued;                        /* stands in the list below */
    struct inter_completion **list;     /* joined when the last request is complete; NULL: nobody wants to know */
    struct inter_completion *next;      /* in the list */
    void *owner;                        /* whoever takes it from the list knows what this is */
} inter_completion;

/** One send or receive under way. The caller's memory, which stays where it is until the request is complete. */
typedef struct inter_request {
    inter_completion *completion; /* set by the caller, as is the next */
    const core_data *data;        /* NULL: the buffer is one run; else see takes_layouts, and it stays there too … */
    size_t data_from;             /* … the message begins with this byte of it, packed … */
    size_t data_whole;            /* … and is a part of so much (stream.h) */
    int peer;                     /* set by the transport, as are the rest */
    size_t bytes;                 /* what a receive must bring */
    void *native;                 /* the transport's own; NULL when complete */
    void *buffer;                 /* the transport's own, as are the rest */
    uint64_t tag;
    struct inter_request *next;
} inter_request;

/** Where to sleep until something happens; one of the two, or neither: nothing to sleep on. */
typedef struct inter_bed {
    int descriptor; /* until it is readable; −1: none … */
    void *sleepers; /* … an _Atomic unsigned: the caller counts there from now on, and takes himself out later */
    void *word;     /* an _Atomic uint32_t: until it is no longer `value` (core_word_sleep); NULL: none */
    uint32_t value;
} inter_bed;

typedef struct inter_transport inter_transport;

/** Bytes in the memory of a process: an address there, and how many. */
typedef struct iovec inter_run;

/** What goes before an active message: the sender's and the listener's business, carried as it is. */
typedef struct inter_am_header {
    uint64_t words[2];
} inter_am_header;

/** An active message that has come: no receive was posted for it here, the listener knows what to do. */
typedef struct inter_arrival {
    int peer;
    inter_am_header header;
    size_t bytes;
    const void *
        data; /* the payload, while the listener runs; NULL with bytes: it is fetched (am_fetch) or dropped (am_drop) */
    void *native; /* the transport's own, of one to be fetched */
} inter_arrival;

/**
 * Called inside progress for each active message; those of one peer mostly in the order of their sending, but one that went another
 * way may overtake. Must not progress; may fetch. One without data is copied by the listener and fetched or dropped later.
 */
typedef void inter_listener(void *argument, const inter_arrival *arrival);

/** What is longer is never packed as a whole: memory of that size is new each time, and to get it costs as much as to go piece by piece. */
#define INTER_PACKED_BYTES ((size_t)32 << 20)

struct inter_transport {
    const char *name;
    int rank, size;
    int failed_peer; /* the rank of a process that is known to be out of reach, the last one found; -1 when there is none */
    bool *failed;         /* by rank: out of reach; NULL: the transport cannot tell */
    size_t unheard_bytes; /* that active messages take here which came, and nobody listens; of the last look */

    /**
     * Start a message to or from `peer`. The buffer belongs to the transport until the request completes: pending goes
     * up by one now unless the request is complete at once, and down when it is, perhaps before this returns. A receive
     * that brings another number of bytes than asked for completes with WEFT_ERR_TRUNCATE (more) or WEFT_ERR_MISMATCH
     * (less). The return value is an error that kept the message from starting.
     */
    int (*send)(inter_transport *self, int peer, uint64_t tag, const void *buffer, size_t bytes,
                inter_request *request);
    int (*recv)(inter_transport *self, int peer, uint64_t tag, void *buffer, size_t bytes, inter_request *request);
    /** May the data of such a message to or from a peer lie as request->data says? `buffer` is NULL then. Not where to pack all of them
     * beforehand is faster. NULL: never. */
    bool (*carries_layouts)(const inter_transport *self, int peer, size_t bytes);
    /**
     * Sends an active message; for the request as send does. `rendezvous`: the payload (not empty) stays here until the other
     * side fetches it, and the request completes then; else it may be copied at once.
     */
    int (*am_send)(inter_transport *self, int peer, const inter_am_header *header, const void *buffer, size_t bytes,
                   bool rendezvous, inter_request *request);
    /** Sends one that is over at once, as by am_send without a request. False: nothing was done, am_send finds a way. NULL: never. */
    bool (*am_put)(inter_transport *self, int peer, const inter_am_header *header, const void *buffer, size_t bytes);
    /** The same of an active message that is to be fetched, and of what fetches it. Any thread. */
    bool (*takes_layouts)(const inter_transport *self, int peer, size_t bytes);
    /** Gets the payload of an arrival; into less room than it has bytes: the first ones, and WEFT_ERR_TRUNCATE. Once an arrival. */
    int (*am_fetch)(inter_transport *self, const inter_arrival *arrival, void *buffer, size_t bytes,
                    inter_request *request);
    /** Instead: nobody wants it. The sender's request completes. */
    void (*am_drop)(inter_transport *self, const inter_arrival *arrival);
    /** From now on (NULL: no longer) active messages are taken and handed to the listener; before, they wait where they are. */
    void (*listen)(inter_transport *self, inter_listener *listener, void *argument);
    /** Ends the sleep of a thread on a bed that was given before, as if something had come. From any thread, without the funnel. */
    void (*rouse)(inter_transport *self);
    /** Moves things on; the number of events, 0 when nothing happened. Completions run inside. */
    unsigned (*progress)(inter_transport *self);
    /** Takes a request back; it completes (with an error) before this returns or in a later progress. */
    void (*cancel)(inter_transport *self, inter_request *request);
    /** Throws messages away that have come without a receive, and whose tag is `tag` where `mask` has bits; their senders are done with
     * them. NULL: the transport needs none, since a sender can take back what nobody receives. */
    void (*discard)(inter_transport *self, uint64_t tag, uint64_t mask);
    /** A peer is out of reach, as others say: what is under way to it ends, WEFT_ERR_PROC_FAILED, and so does what is started later.
     * Nothing, where this one can tell itself or the peer is on this host. NULL: as nothing. */
    void (*lose)(inter_transport *self, int peer);
    /**
     * Reads runs of bytes, whose addresses are those of a peer, a process of this host, straight from its memory to as many runs that are as
     * long. From any thread, without the funnel. The arrays may be changed. Returns a weft error code. NULL: not every process of the
     * job may.
     */
    int (*read)(const inter_transport *self, int peer, inter_run *from, inter_run *to, size_t runs);
    /**
     * Memory of this process that the others read() without a system call, on the boundary of a page; NULL: there is none left. Taken back
     * with as many bytes: false when it is not such. From any thread, without the funnel. NULL: there is none at all.
     */
    void *(*window_take)(inter_transport *self, size_t bytes);
    bool (*window_give)(inter_transport *self, void *memory, size_t bytes);
    /** Is there a connection to a peer, so that to send costs nothing more? NULL: to all. */
    bool (*connected)(const inter_transport *self, int peer);
    /** Gets ready to sleep: true and where, or false when there is something to progress now. The caller sleeps without the
     * funnel. */
    bool (*arm)(inter_transport *self, inter_bed *bed);
    /** Lets what was sent go out and gives up the connections. No request is under way, and no peer waits for this one. */
    void (*disconnect)(inter_transport *self, bool forced);
    /**
     * Makes this process's address known, behind `card_bytes` bytes of `card`, which others find with inter_card_find(). Collective; once,
     * before the first message. NULL: they know each other.
     */
    int (*publish)(inter_transport *self, const void *card, size_t card_bytes);
    /**
     * Opens channel `number` of this process: a transport for active messages, whose rank and peers are channels (process ×
     * INTER_CHANNELS + number), found in the directory, where its own address is put. Others may use it while this one is
     * used. It is closed before this one, and the directory after it.
     */
    int (*open_channel)(inter_transport *self, int number, inter_directory *directory, inter_transport **channel);
    /** Frees everything, self included. No request is under way. */
    void (*close)(inter_transport *self);
};

/** Starts UCX. The bootstrap must outlive the transport. `channels`: it will be asked for channels. Local. */
int inter_transport_ucx(inter_bootstrap *bootstrap, bool channels, inter_transport **transport);

/** Of one that is complete at once, or is about to be. */
static inline void inter_note_error(const inter_request *request, int error) {
    inter_completion *completion = request->completion;
    if (!error || completion->error)
        return;
    completion->error = error;
    completion->failed = request;
}

static inline void inter_completed(const inter_request *request, int error) {
    inter_completion *completion = request->completion;
    inter_note_error(request, error);
    if (--completion->pending || completion->queued || !completion->list)
        return;
    completion->queued = true;
    completion->next = *completion->list;
    *completion->list = completion;
}

#endif
