// SPDX-License-Identifier: BSD-3-Clause
// The process-level algorithms that the library must offer: ALGORITHMS.md's table "Process level", name by name. The one
// list for all tests that ask whether an algorithm exists, and whether it has been run.
#ifndef TESTS_SIM_TABLE_OF_NAMES_H
#define TESTS_SIM_TABLE_OF_NAMES_H

#include <map>
#include <string>
#include <vector>

namespace sim {

using TableOfNames = std::map<std::string, std::vector<std::string>>; // by collective

inline const TableOfNames &table_of_names() {
    static const TableOfNames table = [] {
        const struct {
            std::vector<std::string> collectives, names;
        } rows[] = {
            {{"barrier"}, {"nbFTGather+bFaTBcast", "Gather+Bcast", "BT", "BTe", "DISS", "nbFT"}},
            {{"bcast"}, {"bFT", "nbFT", "bFaT", "MST", "BT", "SAG", "CHAIN"}},
            {{"scatter", "scatterv"}, {"nbFT", "MST"}},
            {{"gather", "gatherv"}, {"bFT", "nbFT", "nb1FT", "MST"}},
            {{"allgather", "allgatherv"}, {"nbFT", "BT", "BTe", "nbBDE", "bBKT", "nbBKT", "BRUCK", "Gather+Bcast"}},
            {{"alltoall", "alltoallv", "alltoallw"}, {"bFT", "nbFT", "nb1FT", "nb2FT", "PAIR"}},
            {{"alltoall"}, {"BRUCK"}},
            {{"reduce"}, {"bFT", "nbFT", "MST", "RAB", "CHAIN", "FOLD", "SFOLD"}},
            {{"allreduce"}, {"nbFT", "BT", "BTe", "bBDE", "nbBDE", "RAB", "BKT", "Reduce+Bcast", "FOLD", "SFOLD"}},
            {{"reduce_scatter", "reduce_scatter_block"}, {"bBDE", "nbBDE", "bBKT", "nbBKT", "Reduce+Scatterv", "FOLD"}},
            {{"scan", "exscan"}, {"nbFT", "linear", "BDE", "FOLD"}},
        };
        TableOfNames made;
        for (const auto &row : rows)
            for (const std::string &collective : row.collectives)
                made[collective].insert(made[collective].end(), row.names.begin(), row.names.end());
        return made;
    }();
    return table;
}

} // namespace sim

#endif
