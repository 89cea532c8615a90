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
              "   1      0     1  recv      2      2  temp[0..1]\n"
              "   1      0     1  send      2      2  recv[0..1]\n"
              "   1      0     2  reduce           2  recv[0..1] = recv[0..1] op temp[0..1]\n"
              "   1      0     2  send      0      2  recv[0..1]\n"
              "   2      0     0  recv      1      2  recv[0..1]\n"
              "   2      0     0  send      1      2  send[0..1]\n"
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
}
