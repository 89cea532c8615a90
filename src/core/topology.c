// SPDX-License-Identifier: BSD-3-Clause
#include <core/cpu_set.h>
#include <core/error.h>
#include <core/topology.h>
#include <hwloc.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* Of the program's OpenMP runtime, if it has one. */
extern int omp_get_num_procs(void) __attribute__((weak));

/* How many cores an OpenMP runtime that binds threads had to choose from: it has bound this one by now, to those of one thread. 0: none does. */
static int cores_of_openmp(void) {
    static const char *const binding[] = {"OMP_PLACES", "GOMP_CPU_AFFINITY", "KMP_AFFINITY"};
    const char *bind = getenv("OMP_PROC_BIND");
    bool bound = bind && strcasecmp(bind, "false") != 0;
    for (size_t i = 0; !bind && !bound && i < sizeof(binding) / sizeof(binding[0]); i++)
        bound = getenv(binding[i]) != NULL;
    return bound && omp_get_num_procs ? omp_get_num_procs() : 0;
}

/* False when the kernel does not tell. */
static bool read_cores(core_topology *topology, pid_t process) {
    if (!core_cpu_set_read(&topology->allowed, process)) {
        topology->allowed = (core_cpu_set){0};
        return false;
    }
    topology->allowed_cores = core_cpu_set_count(&topology->allowed);
    topology->allowed_hash = core_cpu_set_hash(&topology->allowed);
    return true;
}

/* One line of what the kernel says of a cache; false: nothing. */
static bool read_of_cache(int cpu, int index, const char *what, char *line, int bytes) {
    char path[96];
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%d/cache/index%d/%s", cpu, index, what);
    FILE *file = fopen(path, "re");
    bool read = file && fgets(line, bytes, file);
    if (file)
        fclose(file);
    return read;
}

static int count_of_list(const char *list) {
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int count = set && !hwloc_bitmap_list_sscanf(set, list) ? hwloc_bitmap_weight(set) : 0;
    hwloc_bitmap_free(set);
    return count;
}

/* From the kernel: hwloc would discover all of the machine for that, and the C library does not know what a virtual machine has. */
static void read_cache(core_topology *topology) {
    char size[32], list[4096];
    const int cpu = sched_getcpu();
    for (int index = 3; index > 1 && !topology->cache_bytes; index--) {
        if (!read_of_cache(cpu, index, "size", size, sizeof(size)) ||
            !read_of_cache(cpu, index, "shared_cpu_list", list, sizeof(list)))
            continue;
        char *unit;
        unsigned long number = strtoul(size, &unit, 10);
        topology->cache_bytes = (size_t)number << (*unit == 'K' ? 10 : *unit == 'M' ? 20 : 0);
        topology->cache_cores = count_of_list(list);
    }
}

/* What OpenMP chose from is as a rule what the process may use that started this one, whose set is then the better one. */
static void read_own_cores(core_topology *topology) {
    *topology = (core_topology){0};
    read_cores(topology, 0);
    const int more = cores_of_openmp();
    if (more <= topology->allowed_cores)
        return;
    core_topology of_parent = {0};
    if (read_cores(&of_parent, getppid()) && of_parent.allowed_cores == more)
        *topology = of_parent;
    else
        topology->allowed = (core_cpu_set){0}; /* this one's is too small, and which is right is not known */
    topology->allowed_cores = more;
}

void core_topology_read(core_topology *topology) {
    read_own_cores(topology);
    read_cache(topology);
    if (topology->allowed_cores < 1)
        topology->allowed_cores = 1;
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    topology->host_cores = online > topology->allowed_cores ? (int)online : topology->allowed_cores;
}

static void print_object(FILE *file, hwloc_obj_t object, int depth, hwloc_const_cpuset_t ours) {
    char type[64], attributes[256];
    hwloc_obj_type_snprintf(type, sizeof(type), object, 0);
    hwloc_obj_attr_snprintf(attributes, sizeof(attributes), object, ", ", 0);
    fprintf(file, "%*s%s", 2 * depth, "", type);
    if (object->logical_index != HWLOC_UNKNOWN_INDEX && object->type != HWLOC_OBJ_MACHINE)
        fprintf(file, " %u", object->logical_index);
    if (object->type == HWLOC_OBJ_PU)
        fprintf(file, " (cpu %u)%s", object->os_index, hwloc_bitmap_isset(ours, object->os_index) ? " *" : "");
    else if (attributes[0])
        fprintf(file, " (%s)", attributes);
    fputc('\n', file);
    for (hwloc_obj_t child = object->memory_first_child; child; child = child->next_sibling)
        print_object(file, child, depth + 1, ours);
    for (hwloc_obj_t child = object->first_child; child; child = child->next_sibling)
        print_object(file, child, depth + 1, ours);
}

/* The tree as asked for: no L1 and L2, which share nothing between cores that a team cares about. */
static int load_tree(hwloc_topology_t *tree) {
    static const hwloc_obj_type_t left_out[] = {HWLOC_OBJ_L1CACHE, HWLOC_OBJ_L1ICACHE, HWLOC_OBJ_L2CACHE};
    if (hwloc_topology_init(tree))
        return core_error(WEFT_ERR_NOMEM, "hwloc_topology_init failed");
    for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++)
        hwloc_topology_set_type_filter(*tree, left_out[i], HWLOC_TYPE_FILTER_KEEP_NONE);
    if (hwloc_topology_load(*tree)) {
        hwloc_topology_destroy(*tree);
        return core_error(WEFT_ERR_CONFIG, "hwloc cannot read the topology of this machine "
                                           "(or what HWLOC_XMLFILE or HWLOC_SYNTHETIC names)");
    }
    return WEFT_SUCCESS;
}

/* The tree, and what of it is ours. Of a machine that was read from a file or a string all that it allows: we are not bound there. */
typedef struct machine {
    hwloc_topology_t tree;
    hwloc_bitmap_t ours;
    bool bound;
} machine;

static int open_machine(machine *of) {
    int code = load_tree(&of->tree);
    if (code)
        return code;
    of->ours = hwloc_bitmap_alloc();
    if (!of->ours) {
        hwloc_topology_destroy(of->tree);
        return core_error(WEFT_ERR_NOMEM, "no memory for a set of processing units");
    }
    of->bound =
        hwloc_topology_is_thissystem(of->tree) && hwloc_get_cpubind(of->tree, of->ours, HWLOC_CPUBIND_THREAD) == 0;
    if (!of->bound)
        hwloc_bitmap_copy(of->ours, hwloc_topology_get_allowed_cpuset(of->tree));
    return WEFT_SUCCESS;
}

static void close_machine(machine *of) {
    hwloc_bitmap_free(of->ours);
    hwloc_topology_destroy(of->tree);
}

static int largest(hwloc_topology_t tree, int depth, hwloc_const_bitmap_t ours, hwloc_bitmap_t both) {
    int most = 0;
    for (hwloc_obj_t object = NULL; (object = hwloc_get_next_obj_by_depth(tree, depth, object));) {
        hwloc_bitmap_and(both, object->cpuset, ours);
        most = hwloc_bitmap_weight(both) > most ? hwloc_bitmap_weight(both) : most;
    }
    return most;
}

/* Keeps them rising. */
static int insert(int *sizes, int count, int most, int size) {
    int at = count;
    while (at && sizes[at - 1] > size)
        at--;
    if (size < 2 || count == most || (at && sizes[at - 1] == size))
        return count;
    memmove(&sizes[at + 1], &sizes[at], (size_t)(count - at) * sizeof(*sizes));
    sizes[at] = size;
    return count + 1;
}

/* Ours are these, whatever the calling thread is bound to. */
static void set_ours(machine *of, const core_cpu_set *allowed) {
    hwloc_bitmap_zero(of->ours);
    for (int cpu = 0; cpu < CORE_MOST_CPUS; cpu++)
        if (core_cpu_set_has(allowed, cpu))
            hwloc_bitmap_set(of->ours, (unsigned)cpu);
    if (hwloc_bitmap_iszero(of->ours))
        hwloc_bitmap_copy(of->ours, hwloc_topology_get_allowed_cpuset(of->tree));
}

int core_topology_groups(const core_cpu_set *allowed, int *sizes, int most) {
    machine here;
    int count = 0;
    if (open_machine(&here))
        return 0;
    if (here.bound)
        set_ours(&here, allowed);
    hwloc_bitmap_t both = hwloc_bitmap_alloc();
    if (both) {
        for (int depth = hwloc_topology_get_depth(here.tree) - 1; depth >= 0; depth--)
            count = insert(sizes, count, most, largest(here.tree, depth, here.ours, both));
        count = insert(sizes, count, most, largest(here.tree, HWLOC_TYPE_DEPTH_NUMANODE, here.ours, both));
    }
    hwloc_bitmap_free(both);
    close_machine(&here);
    return count;
}

/* The one with that number among those of a core that are ours, or -1. */
static int cpu_of_core(hwloc_obj_t core, int number, hwloc_const_bitmap_t ours) {
    int cpu = -1;
    do
        cpu = hwloc_bitmap_next(core->cpuset, cpu);
    while (cpu >= 0 && (!hwloc_bitmap_isset(ours, (unsigned)cpu) || number-- > 0));
    return cpu;
}

static int list_cpus(const machine *of, int *cpus, int most) {
    /* hwloc may not be told the cores, as in some virtual machines: each unit is then one */
    hwloc_obj_type_t type = hwloc_get_nbobjs_by_type(of->tree, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
    int count = 0;
    for (int number = 0, before = -1; count < most && count != before; number++) {
        before = count;
        for (hwloc_obj_t core = NULL; count < most && (core = hwloc_get_next_obj_by_type(of->tree, type, core));) {
            int cpu = cpu_of_core(core, number, of->ours);
            if (cpu >= 0)
                cpus[count++] = cpu;
        }
    }
    return count;
}

/* Leaves of ours those of one part. */
static void cut_ours(machine *of, int64_t part, int64_t parts) {
    const int64_t count = hwloc_bitmap_weight(of->ours), first = part * count / parts, end = (part + 1) * count / parts;
    int64_t number = 0;
    for (hwloc_obj_t unit = NULL; (unit = hwloc_get_next_obj_by_type(of->tree, HWLOC_OBJ_PU, unit));) {
        if (!hwloc_bitmap_isset(of->ours, unit->os_index))
            continue;
        if (number < first || number >= end)
            hwloc_bitmap_clr(of->ours, unit->os_index);
        number++;
    }
}

int core_topology_cpus(int64_t part, int64_t parts, int **cpus) {
    machine here;
    int count = 0;
    *cpus = NULL;
    if (open_machine(&here))
        return 0;
    cut_ours(&here, part, parts);
    int most = here.bound ? hwloc_bitmap_weight(here.ours) : 0;
    if (most > 0)
        *cpus = malloc((size_t)most * sizeof(**cpus));
    if (*cpus)
        count = list_cpus(&here, *cpus, most);
    close_machine(&here);
    return count;
}

int core_topology_print(FILE *file) {
    machine here;
    int code = open_machine(&here);
    if (code)
        return code;
    print_object(file, hwloc_get_root_obj(here.tree), 0, here.ours);
    fprintf(file, "* %d of %d processing units may be used by %s\n", hwloc_bitmap_weight(here.ours),
            hwloc_get_nbobjs_by_type(here.tree, HWLOC_OBJ_PU),
            here.bound ? "this process" : "anyone (not this machine)");
    close_machine(&here);
    return WEFT_SUCCESS;
}
