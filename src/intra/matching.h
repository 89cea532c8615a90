// SPDX-License-Identifier: BSD-3-Clause
/**
 * Matching: the receives of a rank that wait for messages (*posted*) and the messages that wait for receives (*unexpected*), in
 * MPI's order (MPI 4.1 section 3.5). The mailbox's owner alone uses it; nothing here is atomic.
 *
 * A key is (source, tag), in which either may be a wildcard. Items of one key stand in a ring, oldest first; the oldest, its
 * *head*, stands in a hash table:
 *
 *     buckets[i] → head ⇄ head ⇄ …      (down, up)
 *                   ⇅      ⇅
 *                  item   item           (next, previous: a ring, so that head->previous is the youngest)
 *
 * A key is of one of four *classes*: exact, any source, any tag, both. A posted receive stands under its one key; an arrival looks
 * only at the classes that have receives, and the receive that was posted first wins. An unexpected message stands under its
 * exact key, and under those of each other class from the first look-up of that class on: programs without wildcards do
 * not pay for them. The key of both wildcards needs no table: it is the list of all.
 *
 * The youngest receives of one key, the *run*, stand outside of the tables until one of another key is posted, and then move there
 * as they are; the youngest message stands outside until another comes. So who has one message at a time hashes nothing, nor who
 * posts any number of receives of one key. Every call takes constant time, but for the first look-up of a class, which indexes
 * what is there.
 *
 * Items are the caller's memory and stay where they are while they are queued. Memory of its own: two pointers a key, at the
 * highest number of different keys so far. Where there is no memory to grow a table, chains get longer.
 */
#ifndef INTRA_MATCHING_H
#define INTRA_MATCHING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <weft/message.h>

/** Classes of keys: bits, so that the class of (any source, any tag) is both. */
enum { INTRA_EXACT = 0, INTRA_WILD_SOURCE = 1, INTRA_WILD_TAG = 2, INTRA_WILD_BOTH = 3, INTRA_CLASSES = 4 };

/** An item's place under one key. */
typedef struct intra_match_link {
    struct intra_match_link *next, *previous; /* the ring of the key */
    struct intra_match_link *down;            /* of a head: the next head of the bucket */
    struct intra_match_link **up;             /* of a head: what points to it; NULL: it is no head */
    int32_t source, tag;                      /* of a head */
} intra_match_link;

/** A receive that waits. The caller sets source and tag; the rest belongs to the queue. */
typedef struct intra_posted {
    int32_t source, tag; /* or wildcards */
    uint64_t order;      /* of posting */
    intra_match_link link;
} intra_posted;

/** A message that waits. The caller sets source and tag; the rest belongs to the queue. */
typedef struct intra_unexpected {
    int32_t source, tag;
    struct intra_unexpected *next, *previous;  /* of all, in the order of arrival */
    intra_match_link links[INTRA_CLASSES - 1]; /* by class; valid for those that are indexed */
} intra_unexpected;

/** Heads by key. */
typedef struct intra_match_table {
    intra_match_link **buckets; /* `mask` + 1, a power of two */
    size_t mask, heads;
    intra_match_link *first; /* the one bucket of a table that has not grown */
} intra_match_table;

/** Must not be moved or copied once initialised. */
typedef struct intra_matching {
    size_t posted_count, unexpected_count; /* those outside of the tables included */
    size_t posted_in_table;
    intra_posted *run;                     /* the oldest of the run, a ring as in the table; NULL: it is empty */
    intra_unexpected *unexpected_youngest; /* outside of the table; NULL when it was taken out */
    uint64_t order;                        /* of the receive that was posted last */
    size_t posted_of[INTRA_CLASSES];       /* how many in the table, by class */
    bool indexed[INTRA_CLASSES];           /* the classes that unexpected messages stand under; INTRA_EXACT always */
    intra_unexpected *oldest, *latest;     /* of the unexpected ones in the tables */
    intra_match_table posted, unexpected;
} intra_matching;

/** Makes empty queues. Takes no memory. */
void intra_matching_init(intra_matching *matching);

/** Gives the tables back, not the items. */
void intra_matching_free(intra_matching *matching);

/** The slow parts of the calls below. */
void intra_matching_post_run(intra_matching *matching);
intra_posted *intra_matching_arrive_slow(intra_matching *matching, int32_t source, int32_t tag);
void intra_matching_unpost_slow(intra_matching *matching, intra_posted *posted);
void intra_matching_keep_youngest(intra_matching *matching);
intra_unexpected *intra_matching_find_slow(intra_matching *matching, int32_t source, int32_t tag);
void intra_matching_remove_slow(intra_matching *matching, intra_unexpected *unexpected);

/** Does a receive for `source` and `tag`, either of which may be a wildcard, take the message (from, with)? */
static inline bool intra_matches(int32_t source, int32_t tag, int32_t from, int32_t with) {
    return (source == from || source == WEFT_ANY_SOURCE) && (tag == with || tag == WEFT_ANY_TAG);
}

static inline intra_posted *intra_posted_at(intra_match_link *link) {
    return (intra_posted *)((char *)link - offsetof(intra_posted, link));
}

/** Does a receive with this key belong to the run, or is there none? */
static inline bool intra_matching_continues(const intra_matching *matching, int32_t source, int32_t tag) {
    const intra_posted *run = matching->run;
    return !run || (run->source == source && run->tag == tag);
}

/** intra_matching_post, where intra_matching_continues. */
static inline void intra_matching_post_next(intra_matching *matching, intra_posted *posted) {
    intra_match_link *link = &posted->link;
    intra_match_link *oldest = matching->run ? &matching->run->link : link;
    intra_match_link *youngest = matching->run ? oldest->previous : link;
    link->up = NULL;
    link->next = oldest;
    link->previous = youngest;
    youngest->next = link;
    oldest->previous = link;
    if (oldest == link)
        matching->run = posted;
    posted->order = ++matching->order;
    matching->posted_count++;
}

/** Puts a receive behind all that are posted. That no unexpected message matches it is the caller's to know. */
static inline void intra_matching_post(intra_matching *matching, intra_posted *posted) {
    /* One by one: compilers read both at once where they are compared at once, and wait for the two stores they come from. */
    int32_t source = posted->source, tag = posted->tag;
    if (!intra_matching_continues(matching, source, tag))
        intra_matching_post_run(matching);
    intra_matching_post_next(matching, posted);
}

/** Takes the `count` oldest of the run out, at least one: those before `heir`, or all, where that is the oldest. */
static inline void intra_matching_cut_run(intra_matching *matching, intra_match_link *heir, size_t count) {
    intra_match_link *oldest = &matching->run->link, *youngest = oldest->previous;
    matching->run = heir != oldest ? intra_posted_at(heir) : NULL;
    youngest->next = heir;
    heir->previous = youngest;
    matching->posted_count -= count;
}

/** Takes the oldest of the run out. */
static inline intra_posted *intra_matching_next_of_run(intra_matching *matching) {
    intra_posted *posted = matching->run;
    intra_matching_cut_run(matching, posted->link.next, 1);
    return posted;
}

/** Takes out the oldest receive that a message of this source and tag (no wildcards) matches. NULL: there is none. */
static inline intra_posted *intra_matching_arrive(intra_matching *matching, int32_t source, int32_t tag) {
    const intra_posted *run = matching->run;
    if (matching->posted_in_table)
        return intra_matching_arrive_slow(matching, source, tag);
    return run && intra_matches(run->source, run->tag, source, tag) ? intra_matching_next_of_run(matching) : NULL;
}

/** Takes back a receive that is posted. */
static inline void intra_matching_unpost(intra_matching *matching, intra_posted *posted) {
    if (matching->run == posted)
        (void)intra_matching_next_of_run(matching);
    else
        intra_matching_unpost_slow(matching, posted);
}

/** Puts a message behind all that wait. That no posted receive matches it is the caller's to know. */
static inline void intra_matching_keep(intra_matching *matching, intra_unexpected *unexpected) {
    if (matching->unexpected_youngest)
        intra_matching_keep_youngest(matching);
    matching->unexpected_youngest = unexpected;
    matching->unexpected_count++;
}

/** The oldest message that a receive for `source` and `tag`, or wildcards, would take; it stays. NULL: there is none. */
static inline intra_unexpected *intra_matching_find(intra_matching *matching, int32_t source, int32_t tag) {
    intra_unexpected *youngest = matching->unexpected_youngest;
    if (matching->unexpected_count > (youngest != NULL))
        return intra_matching_find_slow(matching, source, tag);
    return youngest && intra_matches(source, tag, youngest->source, youngest->tag) ? youngest : NULL;
}

/** Takes a message that waits out of the queue. */
static inline void intra_matching_remove(intra_matching *matching, intra_unexpected *unexpected) {
    matching->unexpected_count--;
    if (matching->unexpected_youngest == unexpected)
        matching->unexpected_youngest = NULL;
    else
        intra_matching_remove_slow(matching, unexpected);
}

#endif
