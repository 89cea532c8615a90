// SPDX-License-Identifier: BSD-3-Clause
// Tests in the memory of memory.h: each is a run, with another seed.
#include "memory.h"
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

namespace {

// WEAK_SEED: of the first run. WEAK_LESS: what is less than it says it is. WEAK_PLACE: the number of a place where it is. WEAK_PLACES: at the end
// all places are told.
uint64_t number(const char *variable, uint64_t otherwise) {
    const char *text = getenv(variable);
    return text ? strtoull(text, nullptr, 10) : otherwise;
}

weak::weaker weaker_by_name() {
    const char *const names[] = {"", "acquire", "release", "updates", "consistency", "fences", "barriers"};
    const std::string wanted = getenv("WEAK_LESS") ? getenv("WEAK_LESS") : "";
    for (int i = 0; i < int(sizeof(names) / sizeof(*names)); i++)
        if (wanted == names[i])
            return weak::weaker(i);
    fprintf(stderr, "WEAK_LESS=%s is not known\n", wanted.c_str());
    exit(2);
}

class Runs : public ::testing::EmptyTestEventListener {
  public:
    void OnTestStart(const ::testing::TestInfo &) override {
        weak::begin(seed_++);
    }
    void OnTestEnd(const ::testing::TestInfo &) override {
        weak::end();
    }
    void OnTestProgramEnd(const ::testing::UnitTest &) override {
        for (unsigned i = 0; getenv("WEAK_PLACES") && weak::place(i); i++)
            fprintf(stderr, "place %u %s\n", i, weak::place(i));
    }

  private:
    uint64_t seed_ = number("WEAK_SEED", 0);
};

const bool listening = [] {
    weak::weaken(weaker_by_name());
    weak::weaken_place(unsigned(number("WEAK_PLACE", UINT32_MAX)));
    ::testing::UnitTest::GetInstance()->listeners().Append(new Runs);
    return true;
}();

} // namespace
