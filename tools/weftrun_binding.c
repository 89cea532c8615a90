// SPDX-License-Identifier: BSD-3-Clause
/**
 * Which cores each rank may use. Only cores that weftrun itself may use are given out.
 */
#include "weftrun.h"

#include <hwloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The cores, NUMA domains or packages that may be used, each cut to the usable part. */
struct places {
    int count;
    hwloc_bitmap_t *sets;
};

static void free_places(struct places *places) {
    for (int i = 0; i < places->count; i++)
        hwloc_bitmap_free(places->sets[i]);
    free(places->sets);
}

static bool find_places(hwloc_topology_t topology, hwloc_const_bitmap_t usable, hwloc_obj_type_t type,
                        struct places *places) {
    int objects = hwloc_get_nbobjs_by_type(topology, type);
    if (objects <= 0) { /* a virtual machine may not tell its cores or packages */
        type = type == HWLOC_OBJ_CORE ? HWLOC_OBJ_PU : HWLOC_OBJ_MACHINE;
        objects = hwloc_get_nbobjs_by_type(topology, type);
    }
    if (objects <= 0)
        return false;
    *places = (struct places){.sets = calloc((size_t)objects, sizeof(hwloc_bitmap_t))};
    if (!places->sets)
        return false;
    for (int i = 0; i < objects; i++) {
        hwloc_obj_t object = hwloc_get_obj_by_type(topology, type, (unsigned)i);
        if (!object->cpuset || !hwloc_bitmap_intersects(object->cpuset, usable))
            continue;
        hwloc_bitmap_t set = hwloc_bitmap_alloc();
        if (!set)
            return false;
        hwloc_bitmap_and(set, object->cpuset, usable);
        places->sets[places->count++] = set;
    }
    return places->count > 0;
}

static void add(cpu_set_t *to, size_t bytes, hwloc_const_bitmap_t from) {
    int processor;
    hwloc_bitmap_foreach_begin(processor, from) CPU_SET_S((size_t)processor, bytes, to);
    hwloc_bitmap_foreach_end();
}

/* The places [first, first + many) of rank's. */
static void choose(const weftrun_options *options, int places, int rank, int *first, int *many) {
    long long n = options->processes, threads = options->threads > 0 ? options->threads : 1;
    long long blocks = threads < places ? places / threads : 1, block = rank % blocks;
    switch (options->bind) {
    case WEFTRUN_BIND_CORE: /* those of two ranks are the same or apart, so that each finds out with how many it shares them */
        *first = (int)(n <= blocks ? block * threads : block * places / blocks);
        *many = (int)(n <= blocks ? threads : (block + 1) * places / blocks - *first);
        return;
    case WEFTRUN_BIND_AUTO: /* contiguous, nothing left over, sizes differ by one at most */
        *first = (int)(rank * (long long)places / n);
        *many = (int)((rank + 1) * (long long)places / n) - *first;
        return;
    default: /* a domain; neighbours share one when there are fewer domains than ranks */
        *first = (int)(rank * (long long)places / n);
        *many = 1;
    }
}

static hwloc_obj_type_t place_type(enum weftrun_bind bind) {
    return bind == WEFTRUN_BIND_NUMA      ? HWLOC_OBJ_NUMANODE
           : bind == WEFTRUN_BIND_PACKAGE ? HWLOC_OBJ_PACKAGE
                                          : HWLOC_OBJ_CORE;
}

static bool bind_to_places(weftrun_binding *binding, const weftrun_options *options) {
    hwloc_topology_t topology;
    if (hwloc_topology_init(&topology) != 0)
        return false;
    hwloc_bitmap_t usable = hwloc_bitmap_alloc();
    struct places places = {0};
    hwloc_topology_set_cache_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    bool good = usable && hwloc_topology_load(topology) == 0 &&
                hwloc_topology_is_thissystem(topology) && /* not what HWLOC_XMLFILE or HWLOC_SYNTHETIC describes */
                hwloc_get_cpubind(topology, usable, HWLOC_CPUBIND_THREAD) == 0 &&
                find_places(topology, usable, place_type(options->bind), &places);
    long long wanted = (long long)options->processes * (options->threads > 0 ? options->threads : 1);
    binding->bound = good && (options->bind != WEFTRUN_BIND_AUTO || places.count >= wanted);
    for (int rank = 0; binding->bound && rank < options->processes; rank++) {
        int first, many;
        choose(options, places.count, rank, &first, &many);
        CPU_ZERO_S(binding->set_bytes, binding->sets[rank]);
        for (int i = 0; i < many; i++)
            add(binding->sets[rank], binding->set_bytes, places.sets[first + i]);
    }
    free_places(&places);
    hwloc_bitmap_free(usable);
    hwloc_topology_destroy(topology);
    return good;
}

bool weftrun_binding_make(weftrun_binding *binding, const weftrun_options *options) {
    /* The kernel refuses a set that is smaller than its own: grow until it fits. */
    int processors = 1024, count = options->processes;
    *binding = (weftrun_binding){.count = count, .sets = calloc((size_t)count, sizeof(*binding->sets))};
    cpu_set_t *own = NULL;
    for (; processors <= 1 << 20; processors *= 2) {
        binding->set_bytes = CPU_ALLOC_SIZE((size_t)processors);
        own = CPU_ALLOC((size_t)processors);
        if (!own || sched_getaffinity(0, binding->set_bytes, own) == 0)
            break;
        CPU_FREE(own);
        own = NULL;
    }
    bool good = own && binding->sets;
    for (int rank = 0; good && rank < count; rank++) {
        good = (binding->sets[rank] = CPU_ALLOC((size_t)processors)) != NULL;
        if (good)
            memcpy(binding->sets[rank], own, binding->set_bytes);
    }
    long long wanted = (long long)count * (options->threads > 0 ? options->threads : 1);
    bool enough = good && CPU_COUNT_S(binding->set_bytes, own) >= wanted; /* spares hwloc's look at the machine */
    if (good && options->bind != WEFTRUN_BIND_NONE && (options->bind != WEFTRUN_BIND_AUTO || enough))
        good = bind_to_places(binding, options) || options->bind == WEFTRUN_BIND_AUTO;
    if (own)
        CPU_FREE(own);
    if (!good)
        weftrun_say("cannot find out about the cores of this host; --bind none does without");
    return good;
}

/* As in "0-3,8", however long that is. */
static void describe(FILE *out, const cpu_set_t *set, size_t set_bytes) {
    const char *comma = "";
    for (size_t i = 0; i < set_bytes * 8; i++) {
        if (!CPU_ISSET_S(i, set_bytes, set))
            continue;
        fprintf(out, "%s%zu", comma, i);
        size_t last = i;
        while (last + 1 < set_bytes * 8 && CPU_ISSET_S(last + 1, set_bytes, set))
            last++;
        if (last > i)
            fprintf(out, "-%zu", last);
        comma = ",";
        i = last;
    }
}

/* Without -t a process is taken to start what the variables say, or one thread a core. */
static int threads_of(const weftrun_options *options, int cores) {
    const char *text = getenv("WEFT_THREADS");
    if (options->threads > 0)
        return options->threads;
    if (!text || atoi(text) <= 0)
        text = getenv("OMP_NUM_THREADS");
    return text && atoi(text) > 0 ? atoi(text) : cores;
}

void weftrun_binding_report(const weftrun_binding *binding, const weftrun_options *options, const pid_t *pids) {
    size_t processors = binding->set_bytes * 8;
    double *load = calloc(processors, sizeof(*load)), highest = 0; /* threads a processor */
    char *table = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&table, &bytes);
    if (!out) {
        free(load);
        return;
    }
    fprintf(out, "%7s %10s %8s  %s\n", "process", "pid", "threads", binding->bound ? "cores" : "cores (not bound)");
    for (int rank = 0; rank < options->processes; rank++) {
        const cpu_set_t *set = binding->sets[rank];
        int cores = CPU_COUNT_S(binding->set_bytes, set), threads = threads_of(options, cores);
        fprintf(out, "%7d %10ld %8d  ", rank, (long)pids[rank], threads);
        describe(out, set, binding->set_bytes);
        fputc('\n', out);
        for (size_t i = 0; load && i < processors; i++) {
            if (CPU_ISSET_S(i, binding->set_bytes, set)) {
                load[i] += (double)threads / cores;
                highest = load[i] > highest ? load[i] : highest;
            }
        }
    }
    if (fclose(out) == 0)
        weftrun_output_say(table, bytes);
    free(table);
    if (highest > 1 + 1e-9)
        weftrun_say("warning: threads share cores (up to %.3g threads a core), so they wait for each other", highest);
    free(load);
}

void weftrun_binding_refused(const weftrun_binding *binding, int rank, int code) {
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = open_memstream(&text, &bytes);
    if (!out)
        return;
    fprintf(out, "weftrun: process %d cannot be bound to cores ", rank);
    describe(out, binding->sets[rank], binding->set_bytes);
    fprintf(out, ": %s\n", strerror(code));
    if (fclose(out) == 0)
        weftrun_output_say(text, bytes);
    free(text);
}

void weftrun_binding_free(weftrun_binding *binding) {
    for (int rank = 0; binding->sets && rank < binding->count; rank++)
        if (binding->sets[rank])
            CPU_FREE(binding->sets[rank]);
    free(binding->sets);
}
