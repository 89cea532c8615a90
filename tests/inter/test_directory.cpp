// SPDX-License-Identifier: BSD-3-Clause
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <vector>

extern "C" {
#include <inter/directory.h>
#include <weft/error.h>
}

namespace {

struct Directory : ::testing::Test {
    inter_directory *here = inter_directory_create(3), *there = inter_directory_create(3);
    void TearDown() override {
        inter_directory_free(here);
        inter_directory_free(there);
    }
    static int channel(int process, int number) {
        return process * INTER_CHANNELS + number;
    }
    void put(int process, int number, const std::string &address) {
        ASSERT_EQ(inter_directory_put(here, channel(process, number), address.data(), address.size()), WEFT_SUCCESS);
    }
    static std::string find(inter_directory *directory, int process, int number) {
        const void *address = nullptr;
        size_t bytes = 0;
        int code = inter_directory_find(directory, channel(process, number), &address, &bytes);
        return code ? "error" : std::string(static_cast<const char *>(address), bytes);
    }
};

} // namespace

TEST_F(Directory, CarriesAddresses) {
    put(1, 0, "first");
    put(1, 1, "the second");
    put(1, 2, "x");
    std::vector<char> packed(inter_directory_pack(here, 1, 1, 3, nullptr));
    EXPECT_EQ(inter_directory_pack(here, 1, 1, 3, packed.data()), packed.size());
    EXPECT_EQ(inter_directory_unpack(there, 1, packed.data(), packed.size()), WEFT_SUCCESS);
    EXPECT_EQ(find(there, 1, 1), "the second");
    EXPECT_EQ(find(there, 1, 2), "x");
    EXPECT_EQ(find(there, 1, 0), "error");
    EXPECT_EQ(find(there, 2, 1), "error");
    EXPECT_NE(strstr(weft_last_error(), "process 2 has no channel 1"), nullptr) << weft_last_error();
    EXPECT_EQ(inter_directory_pack(here, 1, 2, 2, nullptr), 0u);
    EXPECT_EQ(inter_directory_unpack(there, 1, packed.data(), 0), WEFT_SUCCESS);
}

// Nothing that comes from elsewhere is trusted.
TEST_F(Directory, RefusesWhatIsMalformed) {
    put(0, 5, "an address");
    std::vector<char> packed(inter_directory_pack(here, 0, 5, 6, nullptr));
    inter_directory_pack(here, 0, 5, 6, packed.data());
    for (size_t bytes = 1; bytes < packed.size(); bytes++) {
        std::vector<char> cut(packed.begin(), packed.begin() + long(bytes)); // exactly as long, for AddressSanitizer
        EXPECT_EQ(inter_directory_unpack(there, 0, cut.data(), cut.size()), WEFT_ERR_BOOTSTRAP) << bytes;
    }
    unsigned number = INTER_CHANNELS;
    memcpy(packed.data(), &number, sizeof(number));
    EXPECT_EQ(inter_directory_unpack(there, 0, packed.data(), packed.size()), WEFT_ERR_BOOTSTRAP);
    EXPECT_NE(strstr(weft_last_error(), "process 0"), nullptr) << weft_last_error();
}
