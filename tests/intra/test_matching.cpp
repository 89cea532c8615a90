// SPDX-License-Identifier: BSD-3-Clause
// The queues of a mailbox against lists that are searched from the front, and with so many items that whatever is not constant
// in time runs into the time limit.
#include "effort.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <list>
#include <memory>
#include <numeric>
#include <random>
#include <vector>
extern "C" {
#include <intra/matching.h>
}

namespace {

constexpr int many = 100000;
using Order = std::vector<int>;

Order in_order(int count) {
    Order order(static_cast<size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    return order;
}

Order reversed(int count) {
    Order order = in_order(count);
    std::reverse(order.begin(), order.end());
    return order;
}

Order shuffled(int count) {
    Order order = in_order(count);
    std::shuffle(order.begin(), order.end(), std::mt19937(7));
    return order;
}

struct Matching : intra_matching {
    Matching() {
        memset(static_cast<intra_matching *>(this), 0xa7, sizeof(intra_matching));
        intra_matching_init(this);
    }
    ~Matching() {
        intra_matching_free(this);
    }
    Matching(const Matching &) = delete;
};

// An item whose fields, but for the key, are garbage until it is queued.
template <class Item> Item item(int source, int tag) {
    Item made;
    memset(&made, 0xa7, sizeof(made));
    made.source = source;
    made.tag = tag;
    return made;
}

template <class Item> struct Items {
    std::vector<Item> all;
    template <class Key> Items(int count, Key key) {
        for (int i = 0; i < count; i++)
            all.push_back(key(i));
    }
    Item *at(int index) {
        return &all[static_cast<size_t>(index)];
    }
};

// How often the random programs use what.
struct Mix {
    int sources, tags;
    unsigned wild_source, wild_tag; // percent
    unsigned take;                  // percent of operations that take something away
};

std::ostream &operator<<(std::ostream &out, const Mix &mix) {
    return out << mix.sources << " sources, " << mix.tags << " tags, " << mix.wild_source << " % any source, "
               << mix.wild_tag << " % any tag, " << mix.take << " % taken";
}

class Model {
  public:
    Model(const Mix &mix, uint32_t seed) : mix_(mix), random_(seed) {}

    void run(int operations) {
        for (int i = 0; i < operations && !::testing::Test::HasFailure(); i++) {
            bool take = below(100) < mix_.take;
            if (below(2))
                take ? take_posted() : add_posted();
            else
                take ? take_unexpected() : add_unexpected();
            ASSERT_EQ(matching_.posted_count, posted_.size());
            ASSERT_EQ(matching_.unexpected_count, unexpected_.size());
        }
        empty();
    }

  private:
    unsigned below(unsigned limit) {
        return random_() % limit;
    }
    int source() {
        return static_cast<int>(below(static_cast<unsigned>(mix_.sources)));
    }
    int tag() {
        return static_cast<int>(below(static_cast<unsigned>(mix_.tags))) * 1000;
    }
    int source_or_any() {
        return below(100) < mix_.wild_source ? WEFT_ANY_SOURCE : source();
    }
    int tag_or_any() {
        return below(100) < mix_.wild_tag ? WEFT_ANY_TAG : tag();
    }

    void add_posted() {
        posted_.push_back(std::make_unique<intra_posted>(item<intra_posted>(source_or_any(), tag_or_any())));
        intra_matching_post(&matching_, posted_.back().get());
    }

    void take_posted() {
        if (below(4) == 0 && !posted_.empty()) {
            auto cancelled = std::next(posted_.begin(), below(static_cast<unsigned>(posted_.size())));
            intra_matching_unpost(&matching_, cancelled->get());
            posted_.erase(cancelled);
            return;
        }
        int from = source(), with = tag();
        auto expected = std::find_if(posted_.begin(), posted_.end(), [&](const auto &posted) {
            return (posted->source == from || posted->source == WEFT_ANY_SOURCE) &&
                   (posted->tag == with || posted->tag == WEFT_ANY_TAG);
        });
        intra_posted *found = intra_matching_arrive(&matching_, from, with);
        ASSERT_EQ(found, expected == posted_.end() ? nullptr : expected->get());
        if (found)
            posted_.erase(expected);
    }

    void add_unexpected() {
        unexpected_.push_back(std::make_unique<intra_unexpected>(item<intra_unexpected>(source(), tag())));
        intra_matching_keep(&matching_, unexpected_.back().get());
    }

    void take_unexpected() {
        int from = source_or_any(), with = tag_or_any();
        auto expected = std::find_if(unexpected_.begin(), unexpected_.end(), [&](const auto &message) {
            return (message->source == from || from == WEFT_ANY_SOURCE) &&
                   (message->tag == with || with == WEFT_ANY_TAG);
        });
        intra_unexpected *found = intra_matching_find(&matching_, from, with);
        ASSERT_EQ(found, expected == unexpected_.end() ? nullptr : expected->get());
        ASSERT_EQ(intra_matching_find(&matching_, from, with), found) << "a look takes nothing away";
        if (found && below(4)) {
            intra_matching_remove(&matching_, found);
            unexpected_.erase(expected);
        }
    }

    // What is left comes out in order.
    void empty() {
        while (!unexpected_.empty()) {
            ASSERT_EQ(intra_matching_find(&matching_, WEFT_ANY_SOURCE, WEFT_ANY_TAG), unexpected_.front().get());
            intra_matching_remove(&matching_, unexpected_.front().get());
            unexpected_.pop_front();
        }
        for (auto &posted : posted_)
            intra_matching_unpost(&matching_, posted.get());
        ASSERT_EQ(matching_.posted_count + matching_.unexpected_count, 0u);
        ASSERT_EQ(matching_.posted.heads + matching_.unexpected.heads, 0u);
    }

    Mix mix_;
    std::mt19937 random_;
    Matching matching_;
    std::list<std::unique_ptr<intra_posted>> posted_;
    std::list<std::unique_ptr<intra_unexpected>> unexpected_;
};

class Random : public ::testing::TestWithParam<Mix> {};

} // namespace

TEST_P(Random, AsTheListsSay) {
    for (uint32_t seed = 1; seed <= effort::rounds(200u); seed++) {
        Model(GetParam(), seed).run(400);
        ASSERT_FALSE(HasFailure()) << "seed " << seed;
    }
    Model(GetParam(), 0).run(10000);
}

INSTANTIATE_TEST_SUITE_P(Mixes, Random,
                         ::testing::Values(Mix{1, 1, 0, 0, 50}, Mix{1, 1, 50, 50, 50}, Mix{3, 3, 0, 0, 45},
                                           Mix{3, 3, 30, 30, 45}, Mix{3, 3, 90, 90, 45}, Mix{5, 2, 40, 0, 48},
                                           Mix{2, 5, 0, 40, 48}, Mix{40, 40, 10, 10, 40}, Mix{40, 40, 2, 2, 50},
                                           Mix{500, 3, 5, 5, 30}, Mix{3, 500, 5, 5, 30}, Mix{8, 8, 100, 100, 50},
                                           Mix{8, 8, 100, 0, 50}, Mix{8, 8, 0, 100, 50}));

// One receive and no other: no table is touched.
TEST(Matching, OneAtATimeStaysOutsideOfTheTables) {
    Matching matching;
    intra_posted posted = item<intra_posted>(3, WEFT_ANY_TAG);
    intra_unexpected message = item<intra_unexpected>(3, 4);
    for (int i = 0; i < 10; i++) {
        intra_matching_post(&matching, &posted);
        EXPECT_EQ(intra_matching_arrive(&matching, 2, 4), nullptr);
        EXPECT_EQ(intra_matching_arrive(&matching, 3, 4), &posted);
        EXPECT_EQ(intra_matching_arrive(&matching, 3, 4), nullptr);
        intra_matching_keep(&matching, &message);
        EXPECT_EQ(intra_matching_find(&matching, WEFT_ANY_SOURCE, 5), nullptr);
        EXPECT_EQ(intra_matching_find(&matching, WEFT_ANY_SOURCE, 4), &message);
        intra_matching_remove(&matching, &message);
        EXPECT_EQ(matching.posted.heads + matching.unexpected.heads, 0u);
    }
    EXPECT_EQ(std::count(matching.indexed, matching.indexed + INTRA_CLASSES, true), 1) << "nothing there to index";
}

// Receives of every class, oldest first, whichever class that is: 4 × 25,000 in posted order, each message matching four.
TEST(Matching, ManyReceivesOfAllClasses) {
    Matching matching;
    Items<intra_posted> posted(many, [](int i) {
        int key = i / 4;
        return item<intra_posted>(i & INTRA_WILD_SOURCE ? WEFT_ANY_SOURCE : key,
                                  i & INTRA_WILD_TAG ? WEFT_ANY_TAG : key);
    });
    for (int i : in_order(many))
        intra_matching_post(&matching, posted.at(i));
    // The oldest receive with both wildcards is number 3, with an exact source and any tag number 4 key + 2.
    Order wild_both;
    for (int key : reversed(many / 4)) {
        intra_posted *found = intra_matching_arrive(&matching, key, key);
        int next_both = 3 + 4 * static_cast<int>(wild_both.size());
        int expected = std::min(4 * key, next_both);
        ASSERT_EQ(found, posted.at(expected)) << key;
        if (expected == next_both)
            wild_both.push_back(expected);
    }
    EXPECT_EQ(matching.posted_count, static_cast<size_t>(many - many / 4));
}

TEST(Matching, ManyReceivesOfOneKeyInOrder) {
    for (int source : {5, WEFT_ANY_SOURCE})
        for (int tag : {6, WEFT_ANY_TAG}) {
            Matching matching;
            Items<intra_posted> posted(many, [&](int) { return item<intra_posted>(source, tag); });
            for (int i : in_order(many))
                intra_matching_post(&matching, posted.at(i));
            for (int i : in_order(many))
                ASSERT_EQ(intra_matching_arrive(&matching, 5, 6), posted.at(i));
            EXPECT_EQ(intra_matching_arrive(&matching, 5, 6), nullptr);
        }
}

// By different tags, sources, or both in step, as ranks of a grid have them; messages come the other way round.
TEST(Matching, ManyReceivesOfDifferentKeys) {
    for (auto [source_step, tag_step] : {std::array<int, 2>{0, 1}, {1, 0}, {1, 1}, {4, 4096}, {1024, 0}, {0, 16384}})
        for (const Order &arrivals : {in_order(many), reversed(many), shuffled(many)}) {
            Matching matching;
            Items<intra_posted> posted(
                many, [s = source_step, t = tag_step](int i) { return item<intra_posted>(i * s, i * t); });
            for (int i : in_order(many))
                intra_matching_post(&matching, posted.at(i));
            for (int i : arrivals)
                ASSERT_EQ(intra_matching_arrive(&matching, i * source_step, i * tag_step), posted.at(i));
            EXPECT_EQ(matching.posted_count, 0u);
            EXPECT_LE(matching.posted.mask + 1, size_t{1} << 17) << "linear memory";
        }
}

TEST(Matching, ManyReceivesTakenBack) {
    for (int step : {0, 1})
        for (const Order &order : {in_order(many), reversed(many), shuffled(many)}) {
            Matching matching;
            Items<intra_posted> posted(many, [&](int i) { return item<intra_posted>(WEFT_ANY_SOURCE, i * step); });
            for (int i : in_order(many))
                intra_matching_post(&matching, posted.at(i));
            for (int i : order)
                if (i % 3 == 1)
                    intra_matching_unpost(&matching, posted.at(i));
            for (int i : in_order(many)) {
                if (i % 3 != 1) {
                    ASSERT_EQ(intra_matching_arrive(&matching, i, i * step), posted.at(i));
                } else if (step == 1) {
                    ASSERT_EQ(intra_matching_arrive(&matching, i, i * step), nullptr);
                }
            }
            EXPECT_EQ(matching.posted_count, 0u);
        }
}

// Messages with and without equal keys, taken with each kind of look-up, in order and in the reverse.
TEST(Matching, ManyMessages) {
    for (int source_step : {0, 1})
        for (int tag_step : {0, 1})
            for (int look : {INTRA_EXACT, INTRA_WILD_SOURCE, INTRA_WILD_TAG, INTRA_WILD_BOTH}) {
                bool by_source = source_step && !(look & INTRA_WILD_SOURCE);
                bool distinct = by_source || (tag_step && !(look & INTRA_WILD_TAG));
                Matching matching;
                Items<intra_unexpected> messages(
                    many, [&](int i) { return item<intra_unexpected>(i * source_step, i * tag_step); });
                for (int i : in_order(many))
                    intra_matching_keep(&matching, messages.at(i));
                for (int i : distinct ? reversed(many) : in_order(many)) {
                    intra_unexpected *found =
                        intra_matching_find(&matching, look & INTRA_WILD_SOURCE ? WEFT_ANY_SOURCE : i * source_step,
                                            look & INTRA_WILD_TAG ? WEFT_ANY_TAG : i * tag_step);
                    ASSERT_EQ(found, messages.at(i));
                    intra_matching_remove(&matching, found);
                }
                EXPECT_EQ(matching.unexpected_count, 0u);
                EXPECT_EQ(matching.oldest, nullptr);
                EXPECT_EQ(matching.latest, nullptr);
                EXPECT_EQ(matching.unexpected.heads, 0u);
            }
}

// Look-ups of all classes in turn, with what was there before the first and what came later.
TEST(Matching, ManyMessagesEveryLookUp) {
    Matching matching;
    Items<intra_unexpected> messages(many, [](int i) { return item<intra_unexpected>(i % 10, i / 10 % 10); });
    for (int i = 0; i < many / 2; i++)
        intra_matching_keep(&matching, messages.at(i));
    for (int i = 0; i < many; i++) {
        if (i < many / 2)
            intra_matching_keep(&matching, messages.at(many / 2 + i));
        int source = i & INTRA_WILD_SOURCE ? WEFT_ANY_SOURCE : i % 10;
        int tag = i & INTRA_WILD_TAG ? WEFT_ANY_TAG : i / 10 % 10;
        intra_unexpected *found = intra_matching_find(&matching, source, tag);
        if (found) {
            ASSERT_TRUE(intra_matches(source, tag, found->source, found->tag));
            intra_matching_remove(&matching, found);
        }
    }
    for (intra_unexpected *last = nullptr, *found = nullptr;
         (found = intra_matching_find(&matching, WEFT_ANY_SOURCE, WEFT_ANY_TAG)) != nullptr; last = found) {
        ASSERT_TRUE(!last || last < found) << "in the order of arrival";
        intra_matching_remove(&matching, found);
    }
    EXPECT_EQ(matching.unexpected_count, 0u);
}

// Receives of one key stand outside of the table; they are taken back from their middle while others are in it.
TEST(Matching, ReceivesOfOneKeyAreTakenBackAnywhere) {
    for (bool beside : {false, true})
        for (int left_out = 0; left_out < 5; left_out++) {
            Matching matching;
            intra_posted other = item<intra_posted>(2, 8), last = item<intra_posted>(3, 9);
            std::array<intra_posted, 5> run;
            run.fill(item<intra_posted>(WEFT_ANY_SOURCE, 4));
            if (beside)
                intra_matching_post(&matching, &other);
            for (intra_posted &one : run)
                intra_matching_post(&matching, &one);
            intra_matching_unpost(&matching, &run[size_t(left_out)]);
            if (left_out % 2) // and then what is left of them moves into the table
                intra_matching_post(&matching, &last);
            for (int i = 0; i < 5; i++) {
                if (i != left_out) {
                    EXPECT_EQ(intra_matching_arrive(&matching, 7, 4), &run[size_t(i)]) << left_out;
                }
            }
            EXPECT_EQ(intra_matching_arrive(&matching, 7, 4), nullptr);
            EXPECT_EQ(intra_matching_arrive(&matching, 2, 8), beside ? &other : nullptr);
            EXPECT_EQ(intra_matching_arrive(&matching, 3, 9), left_out % 2 ? &last : nullptr);
            EXPECT_EQ(matching.posted_count, 0u);
        }
}
