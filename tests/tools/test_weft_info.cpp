// SPDX-License-Identifier: BSD-3-Clause
// weft-info: the algorithms' names, an algorithm as a table and as a picture.
#include "command.h"

#include "../sim/table_of_names.h"
#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <sstream>
#include <unistd.h>

namespace {

int count(const std::string &text, const std::string &part) {
    int times = 0;
    for (size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size())
        times++;
    return times;
}

// Its words up to the thread level's, without commas, by the collective at the beginning of the line.
std::map<std::string, std::vector<std::string>> words_of_lines(const std::string &text) {
    std::map<std::string, std::vector<std::string>> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        std::istringstream words(line.substr(0, line.find(" / ")));
        std::string first, word;
        words >> first;
        while (words >> word)
            lines[first].push_back(word.back() == ',' ? word.substr(0, word.size() - 1) : word);
    }
    return lines;
}

} // namespace

TEST(Algorithms, EveryNameOfTheTableIsListed) {
    Result result = run({"--algorithms"});
    EXPECT_EQ(result.status, 0) << result.err;
    auto lines = words_of_lines(result.out);
    ASSERT_EQ(sim::table_of_names().size(), 17u);
    for (const auto &[collective, names] : sim::table_of_names())
        for (const std::string &name : names)
            EXPECT_EQ(std::count(lines[collective].begin(), lines[collective].end(), name), 1)
                << collective << ' ' << name << " in\n"
                << result.out;
    EXPECT_EQ(count(result.out, "compositions as in MSTReduce+MSTBcast"), 1) << result.out;
}

// The words of the line that begins with `first`, a space between any two; "" without such a line.
std::string line_of(const std::string &text, const std::string &first) {
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) {
        std::istringstream words(line);
        std::string joined, word;
        while (words >> word)
            joined += (joined.empty() ? "" : " ") + word;
        if (joined.compare(0, first.size(), first) == 0)
            return joined;
    }
    return "";
}

TEST(Rules, EveryRowIsThere) {
    Result result = run({"--rules"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(line_of(result.out, "barrier any"), "barrier any any any DISS/flags model");
    EXPECT_EQ(line_of(result.out, "allreduce 4 any any"), "allreduce 4 any any RAB:64K/slices cores");
    EXPECT_EQ(line_of(result.out, "alltoallv"), "alltoallv 16 32 any nb1FT/direct reads");
    EXPECT_NE(line_of(result.out, "reduce_scatter any any 1K nbBDE/inline model operations that commute"), "");
    for (const auto &[collective, names] : sim::table_of_names())
        EXPECT_NE(line_of(result.out, collective + " any any any "), "") << collective << " has no last row";
}

TEST(Why, TellsWhatEachRowWasMissedBy) {
    unsetenv("WEFT_ALGORITHM");
    Result result = run({"--why", "allreduce", "--bytes", "64K", "--nodes", "8", "--threads", "4"});
    ASSERT_EQ(result.status, 0) << result.err;
    const std::string &out = result.out;
    EXPECT_EQ(line_of(out, "allreduce of"),
              "allreduce of 65536 bytes a rank, 8 nodes of 4 threads, an operation that commutes");
    EXPECT_EQ(line_of(out, "allreduce 1 any 256"), "allreduce 1 any 256 nbBDE/inline structure no: 8 nodes, at most 1");
    EXPECT_EQ(line_of(out, "allreduce any any 8K"),
              "allreduce any any 8K nbBDE/slices model no: 65536 bytes, at most 8192");
    EXPECT_EQ(count(out, " fits\n"), 1) << out;
    EXPECT_EQ(line_of(out, "allreduce any any 64K"), "allreduce any any 64K RAB/slices model fits");
    EXPECT_EQ(line_of(out, "allreduce any any any"), "allreduce any any any RAB:256K/slices model not looked at");
    EXPECT_EQ(count(out, "WEFT_ALGORITHM says nothing of allreduce\nchosen: RAB/slices\n"), 1) << out;
    EXPECT_EQ(line_of(out, "RAB ").substr(0, 4), "RAB ");
    EXPECT_EQ(count(out, "us  chosen\n"), 1) << out;
    for (const std::string &name : sim::table_of_names().at("allreduce"))
        EXPECT_NE(line_of(out, name + " "), "") << name << " is not predicted in\n" << out;
}

TEST(Why, ThreadsAndTheOrderOfOperands) {
    Result many = run({"--why", "alltoall", "--bytes", "800", "--nodes", "200", "--threads", "2"});
    EXPECT_EQ(line_of(many.out, "alltoall any 1 "),
              "alltoall any 1 64K BRUCK/flags model no: 2 threads a node, at most 1");
    Result one = run({"--why", "alltoall", "--bytes", "800", "--nodes", "100"});
    EXPECT_EQ(count(one.out, "chosen: BRUCK/flags\n(nodes of one thread: the processes' messages alone, by BRUCK)"), 1)
        << one.out;
    setenv("WEFT_ALGORITHM", "alltoall=BRUCK", 1);
    Result two = run({"--why", "alltoall", "--bytes", "800", "--nodes", "100", "--threads", "2"});
    unsetenv("WEFT_ALGORITHM");
    EXPECT_EQ(count(two.out, "chosen: BRUCK/flags\n(on thread communicators by the rules of alltoallv"), 1) << two.out;
    Result ordered = run({"--why=reduce_scatter", "--noncommutative", "--nodes=3", "--bytes=1M"});
    EXPECT_EQ(line_of(ordered.out, "reduce_scatter 6"),
              "reduce_scatter 6 any 1M nbBKT:16K/slices model no: loses the order of the ranks");
    EXPECT_EQ(line_of(ordered.out, "chosen:"), "chosen: MSTReduce+MSTScatterv/slices");
    EXPECT_EQ(count(ordered.out, "us  loses the order of the ranks\n"), 6) << ordered.out;
    Result unknown = run({"--why", "gatherv", "--bytes", "1M"});
    EXPECT_EQ(count(unknown.out, "no rule asks for them"), 1) << unknown.out;
}

// Whoever reads blocks directly needs to be told where they lie; and reading needs the shared memory of a host.
TEST(Why, WhatIsReadDirectly) {
    const std::vector<std::string> asked = {"--why", "allgather", "--bytes", "64K",       "--nodes",
                                            "4",     "--threads", "4",       "--machine", "processes=4"};
    Result direct = run(asked);
    EXPECT_EQ(line_of(direct.out, "chosen:"), "chosen: nbFT/direct") << direct.out;
    EXPECT_EQ(count(direct.out, "(nbFT only where the blocks are not read: who reads them learns where they lie by nb"),
              1)
        << direct.out;
    setenv("WEFT_LINES", "off", 1);
    Result carried = run(asked);
    unsetenv("WEFT_LINES");
    EXPECT_EQ(count(line_of(carried.out, "chosen:"), "direct"), 0) << carried.out;
    setenv("WEFT_ALGORITHM", "allgather=/inline", 1);
    Result full = run({"--why", "allgather", "--bytes", "512", "--nodes", "16", "--threads", "16"});
    unsetenv("WEFT_ALGORITHM");
    EXPECT_EQ(count(full.out, "/inline gives way: more blocks than there is room for"), 1) << full.out;
}

TEST(Why, ReproducibleSums) {
    setenv("WEFT_ALGORITHM", "allreduce=RAB/tree", 1);
    Result result = run({"--why", "allreduce", "--reproducible", "--bytes", "1M", "--nodes", "2"});
    unsetenv("WEFT_ALGORITHM");
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(line_of(result.out, "allreduce 4 any any"),
              "allreduce 4 any any RAB:64K/slices cores no: for nodes of one host");
    EXPECT_EQ(count(result.out, "WEFT_ALGORITHM: RAB gives way: it has brackets of its own\n"
                                "WEFT_ALGORITHM: /tree gives way: it has brackets of its own\n"
                                "chosen: SFOLD/slices\n"),
              1)
        << result.out;
    EXPECT_EQ(count(result.out, "us  has brackets of its own\n"), count(result.out, " us") - 2) << result.out;
    Result wrong = run({"--why", "bcast", "--reproducible"});
    EXPECT_EQ(wrong.status, 2);
    EXPECT_EQ(count(wrong.err, "--reproducible is for reductions"), 1) << wrong.err;
}

TEST(Why, AnOverrideHasTheLastWord) {
    setenv("WEFT_ALGORITHM", "bcast=CHAIN:8K/inline,reduce_scatter=nbBKT", 1);
    Result chain = run({"--why", "bcast", "--bytes", "64K", "--nodes", "8"});
    EXPECT_EQ(count(chain.out, "WEFT_ALGORITHM: CHAIN:8K\n"
                               "WEFT_ALGORITHM: /inline gives way: more bytes than a cell has room for\n"
                               "chosen: CHAIN:8K/flags\n"),
              1)
        << chain.out << chain.err;
    EXPECT_EQ(line_of(chain.out, "CHAIN:8K ").rfind(" us chosen"), line_of(chain.out, "CHAIN:8K ").size() - 10);
    Result ordered = run({"--why", "reduce_scatter", "--noncommutative"});
    EXPECT_EQ(count(ordered.out, "WEFT_ALGORITHM: nbBKT gives way: it loses the order of the ranks\n"), 1)
        << ordered.out;
    setenv("WEFT_ALGORITHM", "bcast=NONE", 1);
    Result bad = run({"--why", "bcast"});
    EXPECT_EQ(bad.status, 1);
    EXPECT_EQ(count(bad.err, "bcast has no process-level algorithm \"NONE\""), 1) << bad.err;
    unsetenv("WEFT_ALGORITHM");
}

// A slower network sends fewer bytes in more messages; processes of a host are near.
TEST(Why, TheMachineMatters) {
    auto seconds = [](const std::string &machine, const std::string &algorithm) {
        std::vector<std::string> words = {"--why", "barrier", "--nodes", "8"};
        if (!machine.empty())
            words.insert(words.end(), {"--machine", machine});
        std::istringstream line(line_of(run(words).out, algorithm + " "));
        std::string name;
        double us = 0;
        line >> name >> us;
        return us;
    };
    EXPECT_DOUBLE_EQ(seconds("", "DISS"), 3 * 1.4);
    EXPECT_DOUBLE_EQ(seconds("latency=10us,overhead=0us,gap=0us", "DISS"), 3 * 10);
    EXPECT_LT(seconds("processes=8", "DISS"), 3 * 0.5);
    Result shared = run({"--why", "reduce", "--nodes", "2", "--bytes", "1M", "--machine", "processes=2"});
    EXPECT_EQ(line_of(shared.out, "reduce of").substr(0, 54), "reduce of 1048576 bytes a rank, 2 nodes of one host of");
    EXPECT_EQ(line_of(shared.out, "reduce 2 1 any"), "reduce 2 1 any MST/slices host fits");
    Result apart = run({"--why", "reduce", "--nodes", "2", "--bytes", "1M"});
    EXPECT_EQ(line_of(apart.out, "reduce 2 1 any"), "reduce 2 1 any MST/slices host no: for nodes of one host");
    std::vector<std::string> host = {"--why", "bcast",   "--nodes", "4",         "--threads",
                                     "2",     "--bytes", "1M",      "--machine", "processes=4"};
    Result roomy = run(host);
    EXPECT_EQ(line_of(roomy.out, "chosen:"), "chosen: nbFT:64K/flags");
    EXPECT_EQ(line_of(roomy.out, "bcast 4 any any MST:32K"),
              "bcast 4 any any MST:32K/flags crowd no: for threads that share cores");
    host.emplace_back("--crowded");
    Result crowded = run(host);
    EXPECT_EQ(line_of(crowded.out, "chosen:"), "chosen: MST:32K/flags");
    EXPECT_EQ(line_of(crowded.out, "bcast of"),
              "bcast of 1048576 bytes a rank, 4 nodes of one host of 2 threads on fewer cores");
    Result alone = run({"--why", "bcast", "--nodes", "1"});
    EXPECT_EQ(alone.status, 0);
    EXPECT_EQ(count(alone.out, "One node: there is nothing between processes to predict."), 1) << alone.out;
}

TEST(Draw, EdgesBetweenNodesStandOut) {
    Result result = run({"--draw", "bcast:MST", "--ranks", "16", "--nodes", "4"});
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(count(result.out, " -> "), 15);
    EXPECT_EQ(count(result.out, "penwidth"), 3);
    EXPECT_EQ(count(result.out, "subgraph cluster_"), 4);
    for (const char *line : {"  0 -> 15 [label=\"1: 16\", color=", "  15 -> 8 [label=\"2: 16\", color=",
                             "  0 -> 7 [label=\"2: 16\", color=", "  0 -> 3 [label=\"3: 16\"];\n",
                             "subgraph cluster_2 { label=\"node 2\"; 8; 9; 10; 11; }\n", "0 [shape=doublecircle]",
                             "MST, 16 ranks on 4 nodes: 15 messages, 3 between nodes, 4 steps"})
        EXPECT_EQ(count(result.out, line), 1) << line << " in\n" << result.out;
}

// What theory says of block placement: a tree over contiguous ranges crosses nodes only between them.
TEST(Draw, PlacementCounts) {
    Result mst = run({"--draw", "bcast:MST", "--ranks", "128", "--nodes", "8"});
    EXPECT_EQ(count(mst.out, " -> "), 127);
    EXPECT_EQ(count(mst.out, "penwidth"), 7);
    Result four = run({"--draw", "bcast:bFaT", "--ranks", "128", "--nodes", "8"});
    EXPECT_EQ(count(four.out, " -> "), 127);
    EXPECT_EQ(count(four.out, "penwidth"), 112);
}

TEST(Draw, TimeSteps) {
    auto ends = [](std::vector<std::string> words, const std::string &summary) {
        words.insert(words.begin(), "--draw");
        Result result = run(words);
        EXPECT_EQ(result.status, 0) << result.err;
        EXPECT_EQ(count(result.out, summary), 1) << words[1] << ": " << summary << " in\n" << result.out;
    };
    ends({"allreduce:nbBDE", "--ranks", "8"}, "8 ranks on 1 node: 24 messages, 0 between nodes, 3 steps");
    ends({"allreduce:nbBDE", "--ranks", "6"}, "6 ranks on 1 node: 12 messages, 0 between nodes, 4 steps");
    ends({"allgather:nbBKT", "--ranks", "5"}, " 20 messages, 0 between nodes, 4 steps");
    ends({"barrier:DISS", "--ranks", "5", "--nodes", "5"},
         "5 ranks on 5 nodes: 15 messages, 15 between nodes, 3 steps");
    ends({"bcast:nbFT", "--ranks", "5"}, " 4 messages, 0 between nodes, 4 steps"); // one message a rank and step
    ends({"alltoall:nb1FT", "--ranks", "4"}, " 12 messages, 0 between nodes, 3 steps");
    ends({"bcast:CHAIN:1", "--ranks", "3", "--count", "5"}, " 10 messages, 0 between nodes, 6 steps");
    ends({"bcast:CHAIN:1", "--ranks", "2", "--count", "20"}, " 20 messages, 0 between nodes, 20 steps");
    ends({"scan", "--ranks", "1"}, "1 ranks on 1 node: 0 messages, 0 between nodes, 0 steps");
}

TEST(Draw, DotMakesThePicture) {
    char directory[] = "/tmp/test-weft-info-XXXXXX";
    ASSERT_NE(mkdtemp(directory), nullptr);
    std::string file = std::string(directory) + "/mst.svg", path = getenv("PATH");
    std::string rm = std::string(directory) + "/rm"; // all that the test itself needs
    ASSERT_EQ(symlink("/bin/rm", rm.c_str()), 0);
    setenv("PATH", directory, 1);
    Result without = run({"--draw", "bcast:MST", "--output", file});
    EXPECT_EQ(without.status, 1);
    EXPECT_EQ(count(without.err, "needs Graphviz's dot"), 1) << without.err;
    setenv("PATH", path.c_str(), 1);
    if (system("dot -V 2>/dev/null") == 0) {
        Result with = run({"--draw", "bcast:MST", "--output", file});
        EXPECT_EQ(with.status, 0) << with.err;
        std::ifstream stream(file);
        std::string svg{std::istreambuf_iterator<char>(stream), {}};
        EXPECT_EQ(count(svg, "class=\"edge\""), 7);
        EXPECT_EQ(run({"--draw", "bcast:MST", "--output", file + "/x.svg"}).status, 1);
    }
    unlink(file.c_str());
    unlink(rm.c_str());
    rmdir(directory);
}

TEST(Steps, ATableOfEveryRank) {
    EXPECT_EQ(run({"--steps", "allreduce:nbBDE", "--ranks", "3", "--count", "2"}).out,
              "allreduce nbBDE, 3 ranks\n"
              "rank strand stage  step   peer  count  where\n"
              "   0      0     0  send      1      2  send[0..1]\n"
              "   0      0     1  recv      1      2  recv[0..1]\n"
              "   1      0     0  recv      0      2  recv[0..1]\n"
              "   1      0     1  reduce           2  recv[0..1] = recv[0..1] op send[0..1]\n"
              "   1      0     1  send      2      2  recv[0..1]\n"
              "   1      0     1  recv      2      2  temp[0..1]\n"
              "   1      0     2  reduce           2  recv[0..1] = recv[0..1] op temp[0..1]\n"
              "   1      0     2  send      0      2  recv[0..1]\n"
              "   2      0     0  send      1      2  send[0..1]\n"
              "   2      0     0  recv      1      2  recv[0..1]\n"
              "   2      0     1  reduce           2  recv[0..1] = recv[0..1] op send[0..1]\n");
    EXPECT_EQ(run({"--steps", "bcast:MST:3", "--ranks", "2", "--root", "1", "--count", "4"}).out,
              "bcast MST:3, 2 ranks, root 1\n"
              "rank strand stage  step   peer  count  where\n"
              "   0      0     0  recv      1      3  recv[0..2]\n"
              "   0      1     0  recv      1      1  recv[3..3]\n"
              "   1      0     0  send      0      3  recv[0..2]\n"
              "   1      1     0  send      0      1  recv[3..3]\n");
    EXPECT_EQ(count(run({"--steps", "barrier", "--ranks", "2"}).out, "  nothing\n"), 4);
}

TEST(WrongUsage, IsSaid) {
    const struct {
        std::vector<std::string> words;
        std::string message;
    } rows[] = {
        {{"--draw", "brodcast:MST"}, "there is no collective \"brodcast\""},
        {{"--draw", ":MST"}, "there is no collective \"\""},
        {{"--steps", "bcast:mst"}, "bcast has no algorithm \"mst\""},
        {{"--steps", "gather:MST:64K"}, "gather has no algorithm \"MST:64K\""},
        {{"--steps", "bcast:"}, "bcast has no algorithm \"\""},
        {{"--draw", "bcast", "--ranks", "0"}, "--ranks is \"0\"; expected a number from 1 to 4096"},
        {{"--draw", "bcast", "--ranks", "8x"}, "--ranks is \"8x\""},
        {{"--draw", "bcast", "--ranks", "4097"}, "--ranks is \"4097\""},
        {{"--draw", "bcast", "--nodes", "9"}, "--nodes 9 are more than the 8 ranks"},
        {{"--draw", "bcast", "--root", "8"}, "--root 8 is none of the 8 ranks"},
        {{"--draw", "bcast", "--root", "-1"}, "--root is \"-1\""},
        {{"--draw", "allreduce", "--root", "1"}, "allreduce has no root"},
        {{"--draw", "bcast", "--count", "1K"}, "--count is \"1K\""},
        {{"--draw", "bcast", "--output", "x.png"}, "expected a name that ends with .svg"},
        {{"--steps", "bcast", "--output", "x.svg"}, "--output goes with --draw"},
        {{"--steps", "bcast", "--draw", "bcast"}, "one --draw or --steps at a time"},
        {{"--ranks", "3"}, "this option needs --draw or --steps"},
        {{"--draw"}, "wrong option, or one without its value"},
        {{"--why", "brodcast"}, "there is no collective \"brodcast\""},
        {{"--why"}, "wrong option, or one without its value"},
        {{"--why", "bcast", "--bytes", "1X"}, "--bytes is \"1X\"; expected a number up to 1024G"},
        {{"--why", "bcast", "--bytes", "-1"}, "--bytes is \"-1\""},
        {{"--why", "bcast", "--bytes", "1025G"}, "--bytes is \"1025G\""},
        {{"--why", "bcast", "--nodes", "0"}, "--nodes is \"0\"; expected a number from 1 to 65536"},
        {{"--why", "bcast", "--threads", "65537"}, "--threads is \"65537\""},
        {{"--why", "bcast", "--bytes", "1024G", "--nodes", "65536", "--threads", "999"},
         "all ranks together have more bytes than addresses can tell apart"},
        {{"--why", "bcast", "--noncommutative"}, "--noncommutative is for reductions"},
        {{"--why", "bcast", "--machine", "speed=1"}, "--machine: a machine has no \"speed\""},
        {{"--why", "bcast", "--machine", "nodes=4"}, "--machine has nodes or threads"},
        {{"--why", "bcast", "--nodes", "3", "--machine", "processes=2"}, "3 nodes cannot share hosts with 2 on each"},
        {{"--why", "bcast", "--root", "1"}, "wrong option, or one without its value"},
        {{"--why", "bcast", "more"}, "unexpected argument 'more'"},
        {{"--draw", "bcast", "more"}, "unexpected argument 'more'"},
    };
    for (const auto &row : rows) {
        Result result = run(row.words);
        EXPECT_EQ(result.status, 2) << row.message;
        EXPECT_EQ(result.out, "") << row.message;
        EXPECT_EQ(count(result.err, row.message), 1) << row.message << " in " << result.err;
    }
    Result many = run({"--draw", "allgather:nbBKT", "--ranks", "1000"});
    EXPECT_EQ(many.status, 1);
    EXPECT_EQ(count(many.err, "more than 100000 messages are no picture"), 1) << many.err;
    many = run({"--steps", "bcast:CHAIN:1", "--ranks", "200", "--count", "50000000"});
    EXPECT_EQ(many.status, 1);
    EXPECT_EQ(many.out, "");
    EXPECT_EQ(count(many.err, "more than 1000000 steps are no table"), 1) << many.err;
}
