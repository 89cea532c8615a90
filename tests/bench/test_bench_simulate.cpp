// SPDX-License-Identifier: BSD-3-Clause
// weft-bench --simulate: what a machine's description may be, what is added for threads, and what comes out.
#include <array>
#include <cmath>
#include <cstring>
#include <getopt.h>
#include <gtest/gtest.h>
#include <simulate.h>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <vector>

namespace {

struct Output {
    int status;
    std::string out, err;
};

Output simulate(std::vector<std::string> words) {
    std::vector<char *> argv;
    words.insert(words.begin(), "weft-bench");
    for (std::string &word : words)
        argv.push_back(&word[0]);
    argv.push_back(nullptr);
    optind = 0; // getopt starts anew
    testing::internal::CaptureStdout();
    testing::internal::CaptureStderr();
    int status = bench_simulate(static_cast<int>(words.size()), argv.data());
    fflush(stdout);
    std::string out = testing::internal::GetCapturedStdout();
    return {status, out, testing::internal::GetCapturedStderr()};
}

std::string error_of(const std::string &text) {
    bench_machine machine;
    char message[256] = "";
    return bench_parse_machine(text.c_str(), &machine, message, sizeof message) ? message : "";
}

bench_machine machine_of(const std::string &text) {
    bench_machine machine;
    char message[256] = "";
    EXPECT_EQ(bench_parse_machine(text.c_str(), &machine, message, sizeof message), 0) << text << ": " << message;
    return machine;
}

// The last word of each line of the table: the best algorithm for each size.
std::vector<std::string> best_of(const std::string &table) {
    std::vector<std::string> best;
    std::istringstream lines(table);
    for (std::string line; std::getline(lines, line);)
        if (line[0] != '#')
            best.push_back(line.substr(line.rfind(' ') + 1));
    return best;
}

} // namespace

TEST(Machine, ReadsUnits) {
    bench_machine machine = machine_of("nodes=1024,threads=16,processes=2,latency=1.5us,overhead=20ns,gap=0s,"
                                       "bandwidth=100Gbit/s,intra_latency=0.001ms,intra_bandwidth=800MB/s,"
                                       "intra_overhead=0ns,intra_gap=7ns,reduce=1TB/s,copy=500KB/s");
    EXPECT_EQ(machine.nodes, 1024);
    EXPECT_EQ(machine.threads, 16);
    EXPECT_EQ(machine.costs.processes, 2);
    EXPECT_DOUBLE_EQ(machine.costs.between.latency, 1.5e-6);
    EXPECT_DOUBLE_EQ(machine.costs.between.overhead, 20e-9);
    EXPECT_EQ(machine.costs.between.gap, 0);
    EXPECT_DOUBLE_EQ(machine.costs.between.byte, 1 / 12.5e9);
    EXPECT_DOUBLE_EQ(machine.costs.within.latency, 1e-6);
    EXPECT_EQ(machine.costs.within.overhead, 0);
    EXPECT_DOUBLE_EQ(machine.costs.within.gap, 7e-9);
    EXPECT_DOUBLE_EQ(machine.costs.within.byte, 1 / 800e6);
    EXPECT_DOUBLE_EQ(machine.costs.reduce_byte, 1e-12);
    EXPECT_DOUBLE_EQ(machine.costs.copy_byte, 2e-6);
    for (const char *same : {"8bit/s", "1B/s", "0.001KB/s", "0.008Kbit/s", "0.000001MB/s"})
        EXPECT_DOUBLE_EQ(machine_of(std::string("bandwidth=") + same).costs.between.byte, 1) << same;
}

TEST(Machine, WhatIsNotSaidHasAValue) {
    bench_machine machine = machine_of("nodes=3");
    EXPECT_EQ(machine.threads, 1);
    EXPECT_EQ(machine.costs.processes, 1);
    for (double value : {machine.costs.between.latency, machine.costs.between.overhead, machine.costs.between.byte,
                         machine.costs.within.latency, machine.costs.within.byte, machine.costs.reduce_byte})
        EXPECT_GT(value, 0);
}

TEST(Machine, WhatIsWrongIsSaid) {
    EXPECT_EQ(error_of("hosts=3"), "a machine has no \"hosts\"");
    EXPECT_EQ(error_of(""), "a machine has no \"\"");
    EXPECT_EQ(error_of("nodes=2,"), "a machine has no \"\"");
    EXPECT_EQ(error_of("nodes"), "nodes has no value; expected nodes=2");
    EXPECT_EQ(error_of("nodes=2,nodes=3"), "nodes is there twice");
    EXPECT_EQ(error_of("nodes=0"), "nodes is \"0\"; expected a number from 1 to 65536");
    EXPECT_EQ(error_of("nodes=4096,processes=17"), "4096 nodes of 17 processes are more than 65536 processes");
    for (const char *count : {"-1", "65537", "2x", "", " 2", "1e3", "99999999999999999999"})
        EXPECT_NE(error_of(std::string("threads=") + count), "") << count;
    for (const char *time : {"1", "us", "-1us", "1 us", "1sec", "1GB/s", ".5us", "1.2.3us", "0x1us", "nan", "inf"})
        EXPECT_NE(error_of(std::string("latency=") + time).find("expected a time such as 1.5us"), std::string::npos)
            << time;
    for (const char *rate : {"12.5", "12.5GB", "0GB/s", "-1GB/s", "1gb/s", "1us", "GB/s", ""})
        EXPECT_NE(error_of(std::string("bandwidth=") + rate).find("such as 12.5GB/s"), std::string::npos) << rate;
}

TEST(Threads, ViewsHoldWhatAllThreadsContribute) {
    bench_machine machine = machine_of("nodes=3,processes=2,threads=4"); // 6 processes, 24 ranks
    const struct {
        inter_collective collective;
        size_t bytes, really, count, element;
    } rows[] = {
        {INTER_BARRIER, 8, 0, 0, 1},          {INTER_BCAST, 100, 100, 100, 1},     {INTER_REDUCE, 100, 104, 13, 8},
        {INTER_EXSCAN, 8, 8, 1, 8},           {INTER_GATHER, 100, 100, 400, 1},    {INTER_ALLGATHERV, 7, 7, 28, 1},
        {INTER_SCATTER, 1, 1, 4, 1},          {INTER_ALLTOALL, 25, 48, 2 * 16, 1}, {INTER_ALLTOALLW, 24, 24, 16, 1},
        {INTER_REDUCE_SCATTER, 8, 192, 4, 8},
    };
    for (const auto &row : rows) {
        size_t bytes = row.bytes;
        inter_view view = bench_process_view(&machine, row.collective, &bytes);
        const char *name = inter_collective_name(row.collective);
        EXPECT_EQ(view.size, 6);
        EXPECT_EQ(view.count, row.count) << name;
        EXPECT_EQ(view.element_bytes, row.element) << name;
        EXPECT_EQ(bytes, row.really) << name;
    }
}

TEST(Threads, PhasesAreWhatTheHeaderSays) {
    bench_machine machine = machine_of("nodes=2,threads=4,intra_latency=1s,copy=1B/s,reduce=0.5B/s"); // 8 ranks
    const struct {
        inter_collective collective;
        double seconds; // of 16 bytes
    } rows[] = {{INTER_BARRIER, 2},
                {INTER_BCAST, 2 + 16},
                {INTER_SCATTERV, 2 + 16},
                {INTER_GATHER, 2 + 16},
                {INTER_ALLGATHER, 2 + 16 + 8 * 16},
                {INTER_ALLTOALLV, 2 + 2 * 16},
                {INTER_REDUCE, 3 + 24},
                {INTER_ALLREDUCE, 3 + 24 + 16},
                {INTER_REDUCE_SCATTER, 3 + 24 + 2},
                {INTER_SCAN, 3 + 24 + 32}};
    for (const auto &row : rows)
        EXPECT_DOUBLE_EQ(bench_thread_phases(&machine, row.collective, row.collective ? 16 : 0), row.seconds)
            << inter_collective_name(row.collective);
    machine.threads = 1;
    EXPECT_EQ(bench_thread_phases(&machine, INTER_ALLREDUCE, 16), 0);
}

TEST(Simulate, ShortVectorsNeedFewStepsLongOnesFewBytes) {
    Output output = simulate(
        {"--simulate", "nodes=1024,threads=16,latency=1us,bandwidth=12.5GB/s", "allreduce", "--bytes", "8,16M"});
    ASSERT_EQ(output.status, 0) << output.err;
    EXPECT_EQ(output.err, "");
    EXPECT_EQ(output.out.find("# allreduce predicted: 1024 nodes x 1 processes x 16 threads, times in us\n"), 0u);
    std::vector<std::string> best = best_of(output.out);
    ASSERT_EQ(best.size(), 2u) << output.out;
    EXPECT_EQ(best[0], "nbBDE");
    EXPECT_EQ(best[1].substr(0, 3), "RAB");
    best = best_of(simulate({"allgather", "--bytes=8,1M", "--simulate=nodes=100"}).out);
    EXPECT_EQ(best, (std::vector<std::string>{"BRUCK", "nbFT"}));
    best = best_of(simulate({"barrier", "--simulate", "nodes=100,processes=3"}).out);
    EXPECT_EQ(best, (std::vector<std::string>{"DISS"}));
}

TEST(Simulate, EveryCollectiveHasEveryAlgorithmOfItsTable) {
    for (int c = 0; c < INTER_COLLECTIVES; c++) {
        auto collective = static_cast<inter_collective>(c);
        Output output = simulate({"--simulate", "nodes=3,processes=2,threads=2", inter_collective_name(collective),
                                  "--bytes", "1K,256K", "--format", "json"});
        EXPECT_EQ(output.status, 0) << output.err;
        for (int i = 0; i < inter_algorithm_names(collective); i++) {
            inter_algorithm algorithm;
            ASSERT_TRUE(inter_algorithm_at(collective, i, &algorithm));
            if (algorithm.bracketed)
                continue;
            EXPECT_NE(output.out.find(std::string("\"algorithm\": \"") + algorithm.name + "\", \"us\": "),
                      std::string::npos)
                << inter_collective_name(collective) << ' ' << algorithm.name;
        }
        EXPECT_EQ(output.out.find("null"), std::string::npos) << output.out;
    }
}

TEST(Simulate, JsonIsOneObjectALine) {
    Output output = simulate({"--simulate", "nodes=2,latency=3us,overhead=1us,gap=0ns,bandwidth=1GB/s", "bcast",
                              "--bytes", "1000", "--format", "json"});
    EXPECT_EQ(output.out.substr(0, output.out.find('\n')),
              "{\"simulated\": \"bcast\", \"nodes\": 2, \"processes\": 1, \"threads\": 1, \"bytes\": 1000, "
              "\"algorithm\": \"MST\", \"us\": 6.0000, \"threads_us\": 0.0000, \"messages_between\": 1, "
              "\"messages_within\": 0, \"bytes_between\": 1000, \"bytes_within\": 0, \"best\": true}");
}

TEST(Simulate, WrongUsageIsRefused) {
    const std::vector<std::vector<std::string>> wrong = {
        {"--simulate"},
        {"--simulate", "nodes=2"},
        {"--simulate", "nodes=2", "bcast", "reduce"},
        {"--simulate", "nodes=2", "brodcast"},
        {"--simulate", "nodes=2", "bcast", "--bytes", "0"},
        {"--simulate", "nodes=2", "bcast", "--format", "xml"},
        {"--simulate", "nodes=2", "bcast", "--check"},
        {"--simulate", "bcast"},
    };
    for (const auto &words : wrong) {
        Output output = simulate(words);
        EXPECT_EQ(output.status, 2) << words.back();
        EXPECT_NE(output.err, "") << words.back();
        EXPECT_EQ(output.out, "") << words.back();
    }
    EXPECT_EQ(
        simulate({"--simulate", "nodes=70000", "bcast"}).err,
        "weft-bench --simulate: nodes is \"70000\"; expected a number from 1 to 65536 (--simulate --help shows the "
        "usage)\n");
    EXPECT_EQ(simulate({"--simulate", "--help"}).status, 0);
}

// The promise is 65,536 processes in less than 4 GB; ctest's limit for this program stands for the minute.
TEST(Simulate, SixtyFiveThousandProcessesFitIntoMemory) {
    for (auto [machine, bytes, algorithm] :
         {std::array{"nodes=65536,threads=16", "8", "nbBDE"}, std::array{"nodes=4096,processes=16", "16M", "RAB"}}) {
        Output output = simulate({"--simulate", machine, "allreduce", "--bytes", bytes});
        ASSERT_EQ(output.status, 0) << output.err;
        std::vector<std::string> best = best_of(output.out);
        ASSERT_EQ(best.size(), 1u) << output.out;
        EXPECT_EQ(best.front().substr(0, strlen(algorithm)), algorithm);
    }
    // p² messages: followed where all ranks do the same, else left out.
    Output alltoall = simulate({"--simulate", "nodes=65536", "alltoall", "--bytes", "1M", "--format", "json"});
    EXPECT_NE(alltoall.out.find("\"algorithm\": \"bFT\", \"us\": null, \"reason\": \"too many messages\"}"),
              std::string::npos)
        << alltoall.out;
    EXPECT_NE(alltoall.out.find("\"messages_between\": 4294901760"), std::string::npos) << alltoall.out;
    struct rusage usage;
    ASSERT_EQ(getrusage(RUSAGE_SELF, &usage), 0);
    EXPECT_LT(usage.ru_maxrss, 4L << 20) << "KiB";
}
