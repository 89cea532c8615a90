// SPDX-License-Identifier: BSD-3-Clause
/**
 * weft-info: what this build of weft is, what it sees of the machine and the network, and the configuration in force.
 * Needs no launcher and starts nothing.
 */
#include "rules_show.h"
#include "schedule_show.h"

#include <core/config.h>
#include <core/error.h>
#include <core/op.h>
#include <core/topology.h>
#include <errno.h>
#include <getopt.h>
#include <hier/select.h>
#include <hwloc.h>
#include <pmix.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <ucp/api/ucp.h>
#include <uct/api/uct.h>
#include <weft/weft.h>

#if defined(__clang__)
#define COMPILER "clang " __clang_version__
#else
#define COMPILER "gcc " __VERSION__
#endif

static int show_version(void) {
    unsigned hwloc = hwloc_get_api_version();
    printf("weft        %s\n", weft_version());
    printf("compiler    %s\n", COMPILER);
    printf("build       %s, flags \"%s\", sanitizers %s\n", WEFT_BUILD_TYPE, WEFT_BUILD_FLAGS,
           WEFT_BUILD_SANITIZE[0] ? WEFT_BUILD_SANITIZE : "none");
    printf("kernels     %s\n", core_reduce_isa());
    printf("UCX         %s (headers %u.%u)\n", ucp_get_version_string(), UCP_API_MAJOR, UCP_API_MINOR);
    printf("hwloc       API %u.%u.%u\n", hwloc >> 16, hwloc >> 8 & 0xff, hwloc & 0xff);
    printf("PMIx        %s\n", PMIx_Get_version());
    return WEFT_SUCCESS;
}

static int show_topology(void) {
    core_topology topology;
    core_topology_read(&topology);
    printf("%d of the host's %d online processing units are allowed to this process\n", topology.allowed_cores,
           topology.host_cores);
    return core_topology_print(stdout);
}

/* One line a transport and device of a memory domain. A domain that does not open here (no such hardware) has none. */
static void show_memory_domain(uct_component_h component, const char *component_name, const char *name) {
    uct_md_config_t *config;
    uct_md_h domain;
    if (uct_md_config_read(component, NULL, NULL, &config) != UCS_OK)
        return;
    ucs_status_t status = uct_md_open(component, name, config, &domain);
    uct_config_release(config);
    if (status != UCS_OK)
        return;
    uct_tl_resource_desc_t *transports;
    unsigned count;
    static const char *const kinds[] = {[UCT_DEVICE_TYPE_NET] = "network",
                                        [UCT_DEVICE_TYPE_SHM] = "shared memory",
                                        [UCT_DEVICE_TYPE_ACC] = "accelerator",
                                        [UCT_DEVICE_TYPE_SELF] = "same process"};
    if (uct_md_query_tl_resources(domain, &transports, &count) == UCS_OK) {
        for (unsigned i = 0; i < count; i++)
            printf("%-12s %-16s %-14s %s\n", transports[i].tl_name, transports[i].dev_name,
                   transports[i].dev_type < UCT_DEVICE_TYPE_LAST ? kinds[transports[i].dev_type] : "other",
                   component_name);
        uct_release_tl_resource_list(transports);
    }
    uct_md_close(domain);
}

static void show_component(uct_component_h component) {
    uct_component_attr_t attributes = {.field_mask =
                                           UCT_COMPONENT_ATTR_FIELD_NAME | UCT_COMPONENT_ATTR_FIELD_MD_RESOURCE_COUNT};
    if (uct_component_query(component, &attributes) != UCS_OK || attributes.md_resource_count == 0)
        return;
    attributes.md_resources = calloc(attributes.md_resource_count, sizeof(*attributes.md_resources));
    if (!attributes.md_resources)
        return;
    attributes.field_mask = UCT_COMPONENT_ATTR_FIELD_MD_RESOURCES;
    if (uct_component_query(component, &attributes) == UCS_OK)
        for (unsigned i = 0; i < attributes.md_resource_count; i++)
            show_memory_domain(component, attributes.name, attributes.md_resources[i].md_name);
    free(attributes.md_resources);
}

static int show_transports(void) {
    uct_component_h *components;
    unsigned count;
    ucs_status_t status = uct_query_components(&components, &count);
    if (status != UCS_OK)
        return core_error(WEFT_ERR_TRANSPORT, "uct_query_components: %s", ucs_status_string(status));
    printf("%-12s %-16s %-14s %s\n", "transport", "device", "kind", "component");
    for (unsigned i = 0; i < count; i++)
        show_component(components[i]);
    uct_release_component_list(components);
    const char *chosen = getenv("UCX_TLS"), *devices = getenv("UCX_NET_DEVICES");
    printf("UCX may use: transports %s (UCX_TLS), devices %s (UCX_NET_DEVICES)\n", chosen ? chosen : "all",
           devices ? devices : "all");
    return WEFT_SUCCESS;
}

static int show_config(void) {
    core_config config;
    hier_selector names;
    int code = core_config_load(&config, NULL);
    if (code)
        return code;
    core_config_print(stdout, &config);
    return hier_selector_init(&names, config.algorithm);
}

/* What is behind the names: compositions of two parts, and how many there are. */
static void show_compositions(enum inter_collective collective) {
    inter_algorithm first, algorithm;
    int names = inter_algorithm_names(collective), count = 0;
    while (inter_algorithm_at(collective, names + count, &algorithm))
        count++;
    if (count && inter_algorithm_at(collective, names, &first))
        printf("%-20s   and %d compositions as in %s\n", "", count, first.name);
}

/* What WEFT_ALGORITHM takes, written PROCESS/thread: first the process level's, then the thread level's. */
static int show_algorithms(void) {
    for (int c = 0; c < INTER_COLLECTIVES; c++) {
        enum inter_collective collective = (enum inter_collective)c;
        inter_algorithm algorithm;
        printf("%-20s ", inter_collective_name(collective));
        for (int i = 0; i < inter_algorithm_names(collective); i++)
            if (inter_algorithm_at(collective, i, &algorithm))
                printf("%s%s", i ? ", " : "", algorithm.name);
        const char *separator = " / ";
        for (int t = 0; t < HIER_THREAD_ALGORITHMS; t++)
            if (hier_thread_algorithm_exists(collective, (enum hier_thread_algorithm)t)) {
                printf("%s%s", separator, hier_thread_algorithm_name((enum hier_thread_algorithm)t));
                separator = ", ";
            }
        putchar('\n');
        show_compositions(collective);
    }
    printf("Parts of a composition are algorithms of the collectives named in it. Those of bcast, reduce, allreduce, "
           "scan,\n"
           "exscan, scatter, allgather, alltoall, reduce_scatter and reduce_scatter_block may end with the bytes of a\n"
           "segment, as in MST:64K; :0 is none.\n");
    return WEFT_SUCCESS;
}

static const struct section {
    const char *option, *title, *meaning;
    int (*show)(void);
    bool only_asked; /* too long to come with the others */
} sections[] = {
    {"version", "Version", "weft, its build, and the libraries in use", show_version, false},
    {"topology", "Topology", "packages, NUMA nodes, caches, cores; * marks what this process may use", show_topology,
     false},
    {"transports", "Transports", "what UCX finds on this machine", show_transports, false},
    {"config", "Configuration", "the WEFT_ variables with the values in force", show_config, false},
    {"algorithms", "Algorithms", "what WEFT_ALGORITHM may name for each collective: process level / thread level",
     show_algorithms, false},
    {"rules", "Rules", "the selector's table: the first row that fits serves a collective", rules_show, true},
};
enum { SECTIONS = sizeof(sections) / sizeof(sections[0]) };

static void print_help(FILE *file) {
    fprintf(file, "Usage: weft-info [OPTION]...\nTells about weft and this machine: the sections asked for, or all but "
                  "--rules.\n\n");
    for (int s = 0; s < SECTIONS; s++)
        fprintf(file, "  --%-12s %s\n", sections[s].option, sections[s].meaning);
    fprintf(file, "  --%-12s this text\n", "help");
    rules_why_help(file);
    schedule_show_help(file);
    fprintf(file,
            "\nExit status: 0; 1 when a section fails (as when a WEFT_ variable is wrong); 2 for a wrong option.\n");
}

/* Marks the sections asked for. Returns the exit status, or -1 to go on. */
static int parse_options(int argc, char **argv, int wanted[SECTIONS]) {
    enum { HELP = SECTIONS };
    struct option options[SECTIONS + 2] = {[HELP] = {"help", no_argument, NULL, HELP}};
    for (int s = 0; s < SECTIONS; s++)
        options[s] = (struct option){sections[s].option, no_argument, NULL, s};
    for (int o; (o = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (o == HELP) {
            print_help(stdout);
            return 0;
        }
        if (o == '?') {
            print_help(stderr);
            return 2;
        }
        wanted[o] = 1;
    }
    if (optind < argc) {
        fprintf(stderr, "weft-info: unexpected argument '%s'\n", argv[optind]);
        print_help(stderr);
        return 2;
    }
    return -1;
}

static int show(int argc, char **argv) {
    if (rules_why_asked(argc, argv))
        return rules_why(argc, argv);
    if (schedule_show_asked(argc, argv))
        return schedule_show(argc, argv);
    int wanted[SECTIONS] = {0}, count = 0, status = parse_options(argc, argv, wanted);
    if (status >= 0)
        return status;
    status = EXIT_SUCCESS;
    for (int s = 0; s < SECTIONS; s++)
        count += wanted[s];
    for (int s = 0; s < SECTIONS; s++) {
        if (count ? !wanted[s] : sections[s].only_asked)
            continue;
        if (count != 1)
            printf("%s%s\n", s ? "\n== " : "== ", sections[s].title);
        int code = sections[s].show();
        fflush(stdout);
        if (code != WEFT_SUCCESS) {
            fprintf(stderr, "weft-info: %s\n", weft_last_error());
            status = EXIT_FAILURE;
        }
    }
    return status;
}

int main(int argc, char **argv) {
    int status = show(argc, argv);
    if (fflush(stdout) == 0 && !ferror(stdout))
        return status;
    fprintf(stderr, "weft-info: the output cannot be written: %s\n", strerror(errno));
    return EXIT_FAILURE;
}
