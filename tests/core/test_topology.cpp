// SPDX-License-Identifier: BSD-3-Clause
// What the process may use of the machine, and the tree that weft-info prints.
#include <algorithm>
#include <cerrno>
#include <cpus.h>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <sys/syscall.h>
#include <thread>
#include <unistd.h>
#include <vector>
extern "C" {
#include <core/binding.h>
#include <core/cpu_set.h>
#include <core/topology.h>
#include <core/wait.h>
#include <weft/error.h>
}

static int procs_of_openmp; // what an OpenMP runtime had to choose from when it bound the threads

extern "C" int omp_get_num_procs() {
    return procs_of_openmp;
}

static size_t smallest_set = 0; // in bytes
static int pretended_units = 0; // 0: as it is

// For all of the program: as by a kernel that takes no smaller sets.
extern "C" int sched_getaffinity(pid_t process, size_t bytes, cpu_set_t *set) noexcept {
    if (bytes < smallest_set) {
        errno = EINVAL;
        return -1;
    }
    memset(set, 0, bytes);
    for (int unit = 0; unit < pretended_units; unit++)
        CPU_SET_S(size_t(unit), bytes, set);
    if (pretended_units)
        return 0;
    return syscall(SYS_sched_getaffinity, process, bytes, set) < 0 ? -1 : 0;
}

namespace {
// Runs `body` on a thread bound to `cpus`, so that the test's own thread keeps its binding.
template <class Body> void with_binding(const std::vector<int> &cpus, Body body) {
    std::thread([&] {
        ASSERT_NO_FATAL_FAILURE(bind_to(cpus));
        body();
    }).join();
}

core_topology topology_of(const std::vector<int> &cpus) {
    core_topology topology;
    with_binding(cpus, [&] { core_topology_read(&topology); });
    return topology;
}

std::string printed(int *code) {
    char *text = nullptr;
    size_t bytes = 0;
    FILE *file = open_memstream(&text, &bytes);
    *code = core_topology_print(file);
    fclose(file);
    std::string result(text, bytes);
    free(text);
    return result;
}

size_t count(const std::string &text, const std::string &what) {
    size_t found = 0;
    for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size()))
        found++;
    return found;
}
} // namespace

TEST(Topology, CountsWhatIsAllowed) {
    std::vector<int> cpus = allowed_cpus();
    ASSERT_FALSE(cpus.empty());
    core_topology topology;
    core_topology_read(&topology);
    EXPECT_EQ(topology.allowed_cores, int(cpus.size()));
    EXPECT_GE(topology.host_cores, topology.allowed_cores);
    EXPECT_EQ(topology_of({cpus[0]}).allowed_cores, 1);
}

// OpenMP has bound this thread to one core; how many cores the process may use says the runtime, whatever its parent may use.
TEST(Topology, CountsWhatOpenMPHadBeforeItBoundThreads) {
    std::vector<int> cpus = allowed_cpus();
    setenv("OMP_PROC_BIND", "true", 1);
    for (int procs : {0, 1, 2, int(cpus.size()), 7}) {
        procs_of_openmp = procs;
        const core_topology topology = topology_of({cpus[0]});
        EXPECT_EQ(topology.allowed_cores, std::max(procs, 1));
        const int known = core_cpu_set_count(&topology.allowed); // that set, or none, but never the one core
        EXPECT_TRUE(known == topology.allowed_cores || known == 0) << known << " of " << topology.allowed_cores;
    }
    setenv("OMP_PROC_BIND", "false", 1);
    EXPECT_EQ(topology_of({cpus[0]}).allowed_cores, 1);
    unsetenv("OMP_PROC_BIND");
}

TEST(Topology, TheHashTellsCpusetsApart) {
    std::vector<int> cpus = allowed_cpus();
    EXPECT_EQ(topology_of({cpus[0]}).allowed_hash, topology_of({cpus[0]}).allowed_hash);
    if (cpus.size() < 2)
        GTEST_SKIP() << "one processing unit";
    EXPECT_NE(topology_of({cpus[0]}).allowed_hash, topology_of({cpus[1]}).allowed_hash);
    EXPECT_NE(topology_of({cpus[0]}).allowed_hash, topology_of({cpus[0], cpus[1]}).allowed_hash);
    EXPECT_EQ(topology_of({cpus[1], cpus[0]}).allowed_hash, topology_of({cpus[0], cpus[1]}).allowed_hash);
}

TEST(Topology, TheTreeMarksTheCallersCores) {
    unsetenv("HWLOC_SYNTHETIC");
    unsetenv("HWLOC_XMLFILE");
    std::vector<int> cpus = allowed_cpus();
    with_binding({cpus.back()}, [&] {
        int code;
        std::string tree = printed(&code);
        EXPECT_EQ(code, WEFT_SUCCESS);
        EXPECT_EQ(count(tree, ") *\n"), 1u) << tree;
        EXPECT_NE(tree.find("(cpu " + std::to_string(cpus.back()) + ") *\n"), std::string::npos) << tree;
        EXPECT_NE(tree.find("may be used by this process\n"), std::string::npos) << tree;
    });
}

TEST(Topology, AMachineFromAString) {
    setenv("HWLOC_SYNTHETIC", "pack:2 numa:2 l3:1 core:3 pu:2", 1);
    int code;
    std::string tree = printed(&code);
    unsetenv("HWLOC_SYNTHETIC");
    EXPECT_EQ(code, WEFT_SUCCESS);
    EXPECT_EQ(count(tree, "Package "), 2u) << tree;
    EXPECT_EQ(count(tree, "NUMANode "), 4u) << tree;
    EXPECT_EQ(count(tree, "L3 "), 4u) << tree;
    EXPECT_EQ(count(tree, "Core "), 12u) << tree;
    EXPECT_EQ(count(tree, ") *\n"), 24u) << tree;
    EXPECT_NE(tree.find("* 24 of 24 processing units"), std::string::npos) << tree;
}

TEST(Topology, GroupsRise) {
    int sizes[8];
    core_topology topology;
    core_topology_read(&topology);
    setenv("HWLOC_SYNTHETIC", "pack:2 l3:2 core:3 pu:2", 1);
    int count = core_topology_groups(&topology.allowed, sizes, 8);
    int few = core_topology_groups(&topology.allowed, sizes + 4, 2);
    unsetenv("HWLOC_SYNTHETIC");
    ASSERT_EQ(count, 4);
    EXPECT_EQ(std::vector<int>(sizes, sizes + 4), (std::vector<int>{2, 6, 12, 24}));
    EXPECT_EQ(few, 2) << "as many as there is room for";
    count = core_topology_groups(&topology.allowed, sizes, 8);
    for (int i = 1; i < count; i++)
        EXPECT_LT(sizes[i - 1], sizes[i]);
}

// A thread that is bound asks for those of its process.
TEST(Topology, GroupsAreOfTheCoresAskedFor) {
    const int few[] = {0, 1, 2};
    const core_cpu_set all{}, three = core_cpu_set_of(few, 3);
    int sizes[8];
    setenv("HWLOC_SYNTHETIC", "core:4 pu:2", 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
    with_binding({allowed_cpus()[0]}, [&] {
        EXPECT_EQ(core_topology_groups(&all, sizes, 8), 2);
        EXPECT_EQ(std::vector<int>(sizes, sizes + 2), (std::vector<int>{2, 8}));
        EXPECT_EQ(core_topology_groups(&three, sizes, 8), 2);
        EXPECT_EQ(std::vector<int>(sizes, sizes + 2), (std::vector<int>{2, 3}));
    });
    unsetenv("HWLOC_THISSYSTEM");
    unsetenv("HWLOC_SYNTHETIC");
}

TEST(Topology, AFileThatIsNoMachineIsAnError) {
    setenv("HWLOC_XMLFILE", "/dev/null", 1);
    setenv("HWLOC_COMPONENTS", "xml,stop", 1); // otherwise hwloc falls back on the machine itself
    int code;
    std::string tree = printed(&code);
    unsetenv("HWLOC_XMLFILE");
    unsetenv("HWLOC_COMPONENTS");
    EXPECT_EQ(code, WEFT_ERR_CONFIG);
    EXPECT_EQ(tree, "");
    EXPECT_NE(std::string(weft_last_error()).find("hwloc"), std::string::npos);
}

TEST(Topology, EveryUnitThatWeMayUseOnce) {
    const std::vector<int> expected = allowed_cpus();
    int *cpus = nullptr, count = core_topology_cpus(0, 1, &cpus);
    std::vector<int> found(cpus, cpus + count);
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, expected);
    free(cpus);
    with_binding({expected.back()}, [&] {
        ASSERT_EQ(core_topology_cpus(0, 1, &cpus), 1);
        EXPECT_EQ(cpus[0], expected.back());
        free(cpus);
    });
    // That of another machine is of no use.
    setenv("HWLOC_SYNTHETIC", "package:2 core:2 pu:2", 1);
    EXPECT_EQ(core_topology_cpus(0, 1, &cpus), 0);
    EXPECT_EQ(cpus, nullptr);
    // Unless it is told to be this one: one unit of each core first.
    setenv("HWLOC_THISSYSTEM", "1", 1);
    count = core_topology_cpus(0, 1, &cpus);
    unsetenv("HWLOC_THISSYSTEM");
    unsetenv("HWLOC_SYNTHETIC");
    if (expected == std::vector<int>{0, 1}) {
        EXPECT_EQ(std::vector<int>(cpus, cpus + count), expected) << "of the first core both";
    }
    free(cpus);
}

TEST(Topology, UnitsWhereCoresAreNotTold) {
    const std::vector<int> expected = allowed_cpus();
    int *cpus = nullptr, code;
    setenv("HWLOC_COMPONENTS", "-linux,-x86", 1);
    const std::string tree = printed(&code);
    int count = core_topology_cpus(0, 1, &cpus);
    unsetenv("HWLOC_COMPONENTS");
    EXPECT_EQ(tree.find("Core "), std::string::npos) << tree;
    EXPECT_EQ(std::vector<int>(cpus, cpus + count), expected);
    free(cpus);
}

// On a machine of eight units, all of which we seem to be allowed.
TEST(Topology, PartsOfTheUnits) {
    const std::vector<std::vector<std::vector<int>>> expected = {
        {{0, 2, 4, 6, 1, 3, 5, 7}},
        {{0, 2, 1, 3}, {4, 6, 5, 7}},
        {{0, 1}, {2, 4, 3}, {5, 6, 7}},
        {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}},
    };
    setenv("HWLOC_SYNTHETIC", "core:4 pu:2", 1);
    setenv("HWLOC_THISSYSTEM", "1", 1);
    pretended_units = 8;
    for (const auto &parts : expected)
        for (size_t part = 0; part < parts.size(); part++) {
            int *cpus = nullptr, count = core_topology_cpus(int64_t(part), int64_t(parts.size()), &cpus);
            EXPECT_EQ(std::vector<int>(cpus, cpus + count), parts[part]) << part << " of " << parts.size();
            free(cpus);
        }
    pretended_units = 0;
    unsetenv("HWLOC_THISSYSTEM");
    unsetenv("HWLOC_SYNTHETIC");
}

TEST(Bind, OnePlaceAndBack) {
    const std::vector<int> all = allowed_cpus();
    core_places places;
    core_places_read(&places, 0, 1);
    ASSERT_EQ(size_t(places.count), all.size());
    for (int wanted = 0; wanted <= places.count; wanted++) {
        int place = core_bind(&places, wanted);
        ASSERT_EQ(place, wanted % places.count);
        EXPECT_EQ(allowed_cpus(), std::vector<int>{places.cpus[place]});
        EXPECT_EQ(core_bind(&places, place + 1), -1) << "it is bound";
        core_unbind(&places, place);
        EXPECT_EQ(allowed_cpus(), all);
    }
    core_unbind(&places, -1);
    core_places_free(&places);
    EXPECT_EQ(core_bind(&places, 0), -1) << "nobody asked for it";
    core_places_free(&places);
}

TEST(Bind, WhatIsTakenIsNotTakenAgain) {
    const std::vector<int> all = allowed_cpus();
    core_places places;
    core_places_read(&places, 0, 1);
    for (int i = 0; i < places.count; i++)
        with_binding(all, [&] { EXPECT_EQ(core_bind(&places, 0), i); });
    EXPECT_EQ(core_bind(&places, 0), -1);
    core_unbind(&places, 0);
    EXPECT_EQ(core_bind(&places, places.count - 1), 0) << "the one that is free";
    core_unbind(&places, 0);
    EXPECT_EQ(allowed_cpus(), all);
    core_places_free(&places);
}

TEST(Bind, EachProcessHasItsShare) {
    std::vector<int> found;
    core_places places;
    for (int part = 0; part < 2; part++) {
        core_places_read(&places, part, 2);
        found.insert(found.end(), places.cpus, places.cpus + places.count);
        core_places_free(&places);
    }
    std::sort(found.begin(), found.end());
    EXPECT_EQ(found, allowed_cpus());
}

// The system may have room for more than 1024 units and have two.
TEST(Bind, WhereTheKernelsSetsAreLarge) {
    const std::vector<int> all = allowed_cpus();
    core_places places;
    core_places_read(&places, 0, 1); // hwloc knows how large they are by now, and would not find out again
    smallest_set = 256;
    int place = core_bind(&places, 0);
    smallest_set = 0;
    ASSERT_EQ(place, 0);
    EXPECT_EQ(allowed_cpus(), std::vector<int>{places.cpus[0]});
    smallest_set = 256;
    core_unbind(&places, place);
    smallest_set = 0;
    EXPECT_EQ(allowed_cpus(), all);
    core_places_free(&places);
}

// Four threads of a crowd, in turn, so that one that stays where it is would be on the wrong core every other time.
TEST(Settle, PutsAThreadOntoItsShareAndLetsGo) {
    std::vector<int> cpus = allowed_cpus();
    if (cpus.size() < 2)
        GTEST_SKIP() << "one core";
    cpus.resize(2);
    with_binding(cpus, [&] {
        int right = 0;
        for (int i = 0; i < 100; i++) {
            int thread = i % 2, before = i / 2 % 2 * 2; // 0 and 1 on the first core, 2 and 3 on the second
            core_settle({before, 4}, thread);
            right += sched_getcpu() == cpus[size_t(before) / 2];
            EXPECT_EQ(allowed_cpus(), cpus);
        }
        EXPECT_GE(right, 90) << "the system may have moved it since, now and then";
    });
}

// The system leaves one that only yields where it is, unless the other core is busy.
TEST(Settle, PutsBackWhoWasMovedWhenItWaits) {
    std::vector<int> cpus = allowed_cpus();
    if (cpus.size() < 2)
        GTEST_SKIP() << "one core";
    cpus.resize(2);
    const core_waiting waiting = core_waiting_resolve(WEFT_WAIT_YIELD, true);
    auto back = [&](int yields) {
        unsigned looks = 0;
        while (sched_getcpu() != cpus[0] && yields--)
            core_backoff(&waiting, &looks);
        return sched_getcpu() == cpus[0];
    };
    with_binding(cpus, [&] {
        for (int i = 0; i < 3; i++) {
            core_settle({0, 4}, 0);
            bind_to({cpus[1]});
            bind_to(cpus);
            EXPECT_TRUE(back(1 << 20)) << "time " << i;
            EXPECT_EQ(allowed_cpus(), cpus);
        }
    });
}

TEST(Settle, LeavesAloneWhoIsBoundOrHasACore) {
    const std::vector<int> cpus = allowed_cpus();
    with_binding({cpus.back()}, [&] {
        core_settle({0, 64}, 0);
        EXPECT_EQ(allowed_cpus(), std::vector<int>{cpus.back()});
    });
    core_settle({0, 0}, 0);
    core_settle({7, 8}, 0); // the last share
    EXPECT_EQ(allowed_cpus(), cpus);
}

// What the kernel says of it, or nothing.
TEST(Topology, TheLastCacheHasCores) {
    core_topology topology;
    core_topology_read(&topology);
    EXPECT_EQ(topology.cache_bytes > 0, topology.cache_cores > 0);
    EXPECT_TRUE(!topology.cache_bytes || topology.cache_bytes >= 64 * 1024) << topology.cache_bytes;
}
