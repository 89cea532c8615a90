// SPDX-License-Identifier: BSD-3-Clause
// Error codes and sentences.
#include <gtest/gtest.h>
#include <set>
#include <string>
#include <thread>
extern "C" {
#include <core/error.h>
}

TEST(Error, EveryCodeHasItsOwnNameAndMeaning) {
    std::set<std::string> seen;
    for (int code = WEFT_SUCCESS; code >= WEFT_ERR_UNSUPPORTED; code--) {
        std::string text = weft_strerror(code);
        EXPECT_EQ(text.rfind(code == WEFT_SUCCESS ? "WEFT_SUCCESS: " : "WEFT_ERR_", 0), 0u) << code << ": " << text;
        EXPECT_NE(text.find(": "), std::string::npos) << text;
        EXPECT_TRUE(seen.insert(text).second) << text << " stands twice";
    }
    EXPECT_EQ(std::string(weft_strerror(WEFT_ERR_RANK)), "WEFT_ERR_RANK: rank out of range");
}

TEST(Error, CodesThatDoNotExistAreUnknown) {
    for (int code : {1, WEFT_ERR_UNSUPPORTED - 1, 1 << 30, -(1 << 30)})
        EXPECT_STREQ(weft_strerror(code), "unknown weft error code");
}

TEST(Error, TheSentenceIsKeptUntilTheNextError) {
    EXPECT_EQ(core_error(WEFT_ERR_RANK, "root %d is outside 0 ... %d", 7, 3), WEFT_ERR_RANK);
    EXPECT_STREQ(weft_last_error(), "root 7 is outside 0 ... 3");
    EXPECT_STREQ(weft_last_error(), "root 7 is outside 0 ... 3");
    EXPECT_EQ(core_error(WEFT_ERR_ARG, "no communicator"), WEFT_ERR_ARG);
    EXPECT_STREQ(weft_last_error(), "no communicator");
}

TEST(Error, LongSentencesAreCut) {
    std::string endless(5000, 'x');
    core_error(WEFT_ERR_ARG, "%s", endless.c_str());
    EXPECT_EQ(std::string(weft_last_error()), endless.substr(0, 511));
}

TEST(Error, EachThreadHasItsOwn) {
    core_error(WEFT_ERR_ARG, "of the first thread");
    std::string before, after;
    std::thread([&] {
        before = weft_last_error();
        core_error(WEFT_ERR_ARG, "of the second thread");
        after = weft_last_error();
    }).join();
    EXPECT_EQ(before, "");
    EXPECT_EQ(after, "of the second thread");
    EXPECT_STREQ(weft_last_error(), "of the first thread");
}
