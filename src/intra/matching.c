// SPDX-License-Identifier: BSD-3-Clause
#include <intra/matching.h>

#include <stdlib.h>
#include <string.h>

/** The buckets of a table when it first grows. */
#define LEAST_BUCKETS 16

static unsigned class_of(int32_t source, int32_t tag) {
    return (source == WEFT_ANY_SOURCE ? INTRA_WILD_SOURCE : 0) | (tag == WEFT_ANY_TAG ? INTRA_WILD_TAG : 0);
}

/* The finaliser of SplitMix64 (Steele, Lea, Flood 2014): neighbouring ranks and tags, in any pattern, spread. */
static size_t hash(int32_t source, int32_t tag) {
    uint64_t h = (uint64_t)(uint32_t)source << 32 | (uint32_t)tag;
    h = (h ^ (h >> 30)) * 0xbf58476d1ce4e5b9;
    h = (h ^ (h >> 27)) * 0x94d049bb133111eb;
    return (size_t)(h ^ (h >> 31));
}

static void table_init(intra_match_table *table) {
    table->buckets = &table->first;
    table->first = NULL;
    table->mask = table->heads = 0;
}

static void table_free(intra_match_table *table) {
    if (table->buckets != &table->first)
        free((void *)table->buckets);
    table_init(table);
}

static void put_head(intra_match_link **bucket, intra_match_link *head) {
    head->down = *bucket;
    head->up = bucket;
    if (head->down)
        head->down->up = &head->down;
    *bucket = head;
}

/* Where there is no memory nothing changes. */
static void table_grow(intra_match_table *table) {
    size_t count = table->mask ? 2 * (table->mask + 1) : LEAST_BUCKETS;
    intra_match_link **buckets = (intra_match_link **)calloc(count, sizeof(*buckets));
    if (!buckets)
        return;
    for (size_t i = 0; i <= table->mask; i++) {
        intra_match_link *down = NULL;
        for (intra_match_link *head = table->buckets[i]; head; head = down) {
            down = head->down;
            put_head(&buckets[hash(head->source, head->tag) & (count - 1)], head);
        }
    }
    if (table->buckets != &table->first)
        free((void *)table->buckets);
    table->buckets = buckets;
    table->mask = count - 1;
}

static intra_match_link *table_find(const intra_match_table *table, int32_t source, int32_t tag) {
    intra_match_link *head = table->buckets[hash(source, tag) & table->mask];
    while (head && (head->source != source || head->tag != tag))
        head = head->down;
    return head;
}

/* A ring of items of one key, behind all others of it; but for the first, their `up` is NULL. */
static void table_append(intra_match_table *table, intra_match_link *ring, int32_t source, int32_t tag) {
    intra_match_link *head = table_find(table, source, tag), *last = ring->previous;
    if (head) {
        ring->up = NULL;
        ring->previous = head->previous;
        head->previous->next = ring;
        last->next = head;
        head->previous = last;
        return;
    }
    if (table->heads > table->mask)
        table_grow(table);
    ring->source = source;
    ring->tag = tag;
    put_head(&table->buckets[hash(source, tag) & table->mask], ring);
    table->heads++;
}

static void table_remove(intra_match_table *table, intra_match_link *link) {
    intra_match_link *heir = link->next != link ? link->next : NULL;
    if (heir) {
        link->previous->next = heir;
        heir->previous = link->previous;
    }
    if (!link->up)
        return;
    intra_match_link *below = link->down;
    if (heir) { /* takes the head's place */
        heir->source = link->source;
        heir->tag = link->tag;
        heir->up = link->up;
        heir->down = below;
        if (below)
            below->up = &heir->down;
        *link->up = heir;
    } else {
        if (below)
            below->up = link->up;
        *link->up = below;
        table->heads--;
    }
}

void intra_matching_init(intra_matching *matching) {
    memset(matching, 0, sizeof(*matching));
    matching->indexed[INTRA_EXACT] = true;
    table_init(&matching->posted);
    table_init(&matching->unexpected);
}

void intra_matching_free(intra_matching *matching) {
    table_free(&matching->posted);
    table_free(&matching->unexpected);
}

/* Posted receives. Those of the run are younger than all in the table. */

void intra_matching_post_run(intra_matching *matching) {
    intra_posted *run = matching->run;
    matching->run = NULL;
    matching->posted_of[class_of(run->source, run->tag)] += matching->posted_count - matching->posted_in_table;
    matching->posted_in_table = matching->posted_count;
    table_append(&matching->posted, &run->link, run->source, run->tag);
}

void intra_matching_unpost_slow(intra_matching *matching, intra_posted *posted) {
    matching->posted_count--;
    if (matching->run && posted->order > matching->run->order) {
        posted->link.previous->next = posted->link.next;
        posted->link.next->previous = posted->link.previous;
        return;
    }
    matching->posted_in_table--;
    matching->posted_of[class_of(posted->source, posted->tag)]--;
    table_remove(&matching->posted, &posted->link);
}

intra_posted *intra_matching_arrive_slow(intra_matching *matching, int32_t source, int32_t tag) {
    intra_posted *oldest = NULL;
    for (unsigned class = 0; class < INTRA_CLASSES; class ++) {
        if (!matching->posted_of[class])
            continue;
        intra_match_link *head = table_find(&matching->posted, class & INTRA_WILD_SOURCE ? WEFT_ANY_SOURCE : source,
                                            class & INTRA_WILD_TAG ? WEFT_ANY_TAG : tag);
        if (head && (!oldest || intra_posted_at(head)->order < oldest->order))
            oldest = intra_posted_at(head);
    }
    intra_posted *run = matching->run;
    if (!oldest && run && intra_matches(run->source, run->tag, source, tag))
        oldest = run;
    if (oldest)
        intra_matching_unpost(matching, oldest);
    return oldest;
}

/* Unexpected messages. Those in the list stand under every class that is indexed; the youngest is in neither. */

static void index_under(intra_matching *matching, intra_unexpected *unexpected, unsigned class) {
    intra_match_link *link = &unexpected->links[class];
    link->next = link->previous = link;
    table_append(&matching->unexpected, link, class & INTRA_WILD_SOURCE ? WEFT_ANY_SOURCE : unexpected->source,
                 class & INTRA_WILD_TAG ? WEFT_ANY_TAG : unexpected->tag);
}

void intra_matching_keep_youngest(intra_matching *matching) {
    intra_unexpected *unexpected = matching->unexpected_youngest;
    unexpected->next = NULL;
    unexpected->previous = matching->latest;
    *(matching->latest ? &matching->latest->next : &matching->oldest) = unexpected;
    matching->latest = unexpected;
    for (unsigned class = 0; class < INTRA_WILD_BOTH; class ++)
        if (matching->indexed[class])
            index_under(matching, unexpected, class);
}

void intra_matching_remove_slow(intra_matching *matching, intra_unexpected *unexpected) {
    *(unexpected->previous ? &unexpected->previous->next : &matching->oldest) = unexpected->next;
    *(unexpected->next ? &unexpected->next->previous : &matching->latest) = unexpected->previous;
    for (unsigned class = 0; class < INTRA_WILD_BOTH; class ++)
        if (matching->indexed[class])
            table_remove(&matching->unexpected, &unexpected->links[class]);
}

static intra_unexpected *find_in_tables(intra_matching *matching, int32_t source, int32_t tag) {
    unsigned class = class_of(source, tag);
    if (class == INTRA_WILD_BOTH)
        return matching->oldest;
    if (!matching->indexed[class]) {
        matching->indexed[class] = true;
        for (intra_unexpected *unexpected = matching->oldest; unexpected; unexpected = unexpected->next)
            index_under(matching, unexpected, class);
    }
    intra_match_link *head = table_find(&matching->unexpected, source, tag);
    return head ? (intra_unexpected *)((char *)(head - class) - offsetof(intra_unexpected, links)) : NULL;
}

intra_unexpected *intra_matching_find_slow(intra_matching *matching, int32_t source, int32_t tag) {
    intra_unexpected *found = find_in_tables(matching, source, tag), *youngest = matching->unexpected_youngest;
    if (!found && youngest && intra_matches(source, tag, youngest->source, youngest->tag))
        found = youngest;
    return found;
}
