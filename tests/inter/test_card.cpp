// SPDX-License-Identifier: BSD-3-Clause
// What a process tells of itself, and what is believed of that.
extern "C" {
#include <inter/card.h>
}
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <weft/error.h>
#include <weft/version.h>

namespace {

// A bootstrap of rank 0 whose peer 1 tells what process 0 has published.
struct Told {
    inter_bootstrap base{};
    std::string blob;

    explicit Told(const std::string &card = "card") {
        base.size = 2;
        base.publish = [](inter_bootstrap *self, const void *address, size_t length) {
            reinterpret_cast<Told *>(self)->blob.assign(static_cast<const char *>(address), length);
            return int(WEFT_SUCCESS);
        };
        base.lookup = [](inter_bootstrap *self, int, const void **address, size_t *length) {
            Told *told = reinterpret_cast<Told *>(self);
            *address = told->blob.data();
            *length = told->blob.size();
            return int(WEFT_SUCCESS);
        };
        EXPECT_EQ(inter_card_publish(&base, card.data(), card.size(), "address", 8), WEFT_SUCCESS);
    }
    void refused(size_t card_bytes, const char *why) {
        const void *found = nullptr;
        EXPECT_EQ(inter_card_find(&base, 1, card_bytes, &found), WEFT_ERR_BOOTSTRAP);
        EXPECT_EQ(found, nullptr);
        EXPECT_NE(std::string(weft_last_error()).find(why), std::string::npos) << weft_last_error();
    }
};

} // namespace

TEST(Card, IsFoundAndTheAddressBehindIt) {
    Told told;
    const void *found = nullptr;
    ASSERT_EQ(inter_card_find(&told.base, 1, 4, &found), WEFT_SUCCESS) << weft_last_error();
    EXPECT_EQ(memcmp(found, "cardaddress", 12), 0);
}

TEST(Card, OfAnotherVersionIsRefused) {
    Told(std::string("card")).refused(5, "rank 1 comes from another version of weft"); // a card of another size
    Told older;
    const uint64_t form = uint64_t(WEFT_VERSION - 1) << 32 | 4;
    memcpy(older.blob.data(), &form, sizeof(form));
    older.refused(4, "rank 1 comes from another version of weft");
}

TEST(Card, ThatIsShortIsRefused) {
    Told told;
    told.blob.resize(12); // nothing is left of the address
    told.refused(4, "has 12 bytes, expected more than 12");
    told.blob.resize(7);
    told.refused(4, "rank 1 comes from another version of weft");
}
