// SPDX-License-Identifier: BSD-3-Clause
// Which processes share a host.
extern "C" {
#include <inter/hosts.h>
}
#include <gtest/gtest.h>
#include <string>
#include <vector>

static std::vector<int> grouped(std::vector<std::string> names) {
    std::vector<inter_place> places;
    for (std::string &name : names)
        places.push_back({name.data(), int(places.size())});
    std::vector<int> hosts(names.size(), -1);
    inter_hosts_group(places.data(), int(names.size()), hosts.data());
    return hosts;
}

TEST(Hosts, AreNamedByTheirLowestRank) {
    EXPECT_EQ(grouped({"a"}), (std::vector<int>{0}));
    EXPECT_EQ(grouped({"b", "b", "b"}), (std::vector<int>{0, 0, 0}));
    EXPECT_EQ(grouped({"c", "a", "c", "b", "a"}), (std::vector<int>{0, 1, 0, 3, 1}));
    EXPECT_EQ(grouped({"", "a", "", "aa", "a"}), (std::vector<int>{0, 1, 0, 3, 1}));
}

TEST(Hosts, ManyAreGroupedInShortTime) { // each with each would be 40 billion comparisons
    const int size = 200000;
    std::vector<std::string> names;
    for (int rank = 0; rank < size; rank++)
        names.push_back(std::to_string(rank / 2));
    std::vector<int> hosts = grouped(names);
    for (int rank = 0; rank < size; rank++)
        ASSERT_EQ(hosts[size_t(rank)], rank / 2 * 2);
}
