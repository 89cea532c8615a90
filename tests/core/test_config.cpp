// SPDX-License-Identifier: BSD-3-Clause
// Configuration: every variable's range, the order of precedence, and errors that name what is wrong.
#include <cstdlib>
#include <filesystem>
#include <gtest/gtest.h>
#include <string>
#include <unistd.h>
#include <vector>
extern "C" {
#include <core/config.h>
#include <weft/error.h>
}

namespace {
class Config : public ::testing::Test {
  protected:
    // Starts from an environment without WEFT_ variables and leaves none behind.
    void SetUp() override {
        clear();
    }
    void TearDown() override {
        clear();
    }
    static void clear() {
        std::vector<std::string> names;
        for (char **entry = environ; *entry; entry++)
            if (std::string(*entry).rfind("WEFT_", 0) == 0)
                names.push_back(std::string(*entry).substr(0, std::string(*entry).find('=')));
        for (const std::string &name : names)
            unsetenv(name.c_str());
    }
    int load(const weft_options *options = nullptr) {
        return core_config_load(&config, options);
    }
    int load_with(const char *name, const std::string &value) {
        setenv(name, value.c_str(), 1);
        int code = load();
        unsetenv(name);
        return code;
    }
    std::string print() {
        char *text = nullptr;
        size_t bytes = 0;
        FILE *file = open_memstream(&text, &bytes);
        core_config_print(file, &config);
        fclose(file);
        std::string result(text, bytes);
        free(text);
        return result;
    }
    static bool error_has(const std::string &part) {
        return std::string(weft_last_error()).find(part) != std::string::npos;
    }

    core_config config = {};
};
} // namespace

TEST_F(Config, Defaults) {
    ASSERT_EQ(load(), WEFT_SUCCESS);
    EXPECT_EQ(config.thread_level, WEFT_THREAD_SERIALIZED);
    EXPECT_EQ(config.wait_policy, WEFT_WAIT_AUTO);
    EXPECT_EQ(config.bind, WEFT_BIND_NONE);
    EXPECT_EQ(config.threads, 0);
    EXPECT_EQ(config.slots, 16);
    EXPECT_EQ(config.bootstrap, CORE_BOOTSTRAP_AUTO);
    EXPECT_EQ(config.lines, 1);
    EXPECT_STREQ(config.algorithm, "");
    EXPECT_STREQ(config.counters, "");
    EXPECT_STREQ(config.trace, "");
    for (core_origin origin : config.origin)
        EXPECT_EQ(origin, CORE_ORIGIN_DEFAULT);
}

TEST_F(Config, EveryWord) {
    EXPECT_EQ(load_with("WEFT_THREAD_LEVEL", "funneled"), WEFT_SUCCESS);
    EXPECT_EQ(config.thread_level, WEFT_THREAD_FUNNELED);
    EXPECT_EQ(config.origin[CORE_VARIABLE_THREAD_LEVEL], CORE_ORIGIN_ENVIRONMENT);
    EXPECT_EQ(load_with("WEFT_THREAD_LEVEL", "serialized"), WEFT_SUCCESS);
    EXPECT_EQ(config.thread_level, WEFT_THREAD_SERIALIZED);

    const std::pair<const char *, weft_wait_policy> policies[] = {
        {"auto", WEFT_WAIT_AUTO}, {"spin", WEFT_WAIT_SPIN}, {"yield", WEFT_WAIT_YIELD}, {"block", WEFT_WAIT_BLOCK}};
    for (auto [word, value] : policies) {
        EXPECT_EQ(load_with("WEFT_WAIT", word), WEFT_SUCCESS);
        EXPECT_EQ(config.wait_policy, value) << word;
    }
    const std::pair<const char *, core_bootstrap_choice> bootstraps[] = {
        {"auto", CORE_BOOTSTRAP_AUTO}, {"pmix", CORE_BOOTSTRAP_PMIX}, {"single", CORE_BOOTSTRAP_SINGLE}};
    for (auto [word, value] : bootstraps) {
        EXPECT_EQ(load_with("WEFT_BOOTSTRAP", word), WEFT_SUCCESS);
        EXPECT_EQ(config.bootstrap, value) << word;
    }
    for (bool core : {true, false}) {
        EXPECT_EQ(load_with("WEFT_BIND", core ? "core" : "none"), WEFT_SUCCESS);
        EXPECT_EQ(config.bind, core ? WEFT_BIND_CORE : WEFT_BIND_NONE);
    }
    for (int on : {0, 1}) {
        EXPECT_EQ(load_with("WEFT_LINES", on ? "on" : "off"), WEFT_SUCCESS);
        EXPECT_EQ(config.lines, on);
    }
}

TEST_F(Config, WordsAreExact) {
    for (const char *name : {"WEFT_THREAD_LEVEL", "WEFT_WAIT", "WEFT_BIND", "WEFT_BOOTSTRAP", "WEFT_LINES"})
        for (const char *bad : {"", " ", "Auto", "auto ", " auto", "autox", "1", "multiples"}) {
            EXPECT_EQ(load_with(name, bad), WEFT_ERR_CONFIG) << name << "=" << bad;
            EXPECT_TRUE(error_has(std::string(name) + " is \"" + bad + "\"; expected one of: ")) << weft_last_error();
        }
    EXPECT_EQ(load_with("WEFT_WAIT", "sleep"), WEFT_ERR_CONFIG);
    EXPECT_TRUE(error_has("auto, spin, yield, block")) << weft_last_error();
}

TEST_F(Config, NumbersInRange) {
    for (int value : {0, 1, 7, 4095, 4096}) {
        EXPECT_EQ(load_with("WEFT_THREADS", std::to_string(value)), WEFT_SUCCESS) << weft_last_error();
        EXPECT_EQ(config.threads, value);
    }
    for (int value = 2; value <= 1024; value *= 2) {
        EXPECT_EQ(load_with("WEFT_SLOTS", std::to_string(value)), WEFT_SUCCESS) << weft_last_error();
        EXPECT_EQ(config.slots, value);
    }
}

TEST_F(Config, NumbersOutOfRangeOrMalformed) {
    const char *const never[] = {"",
                                 " ",
                                 "-1",
                                 "+8",
                                 " 8",
                                 "8 ",
                                 "8x",
                                 "x",
                                 "0x8",
                                 "8.0",
                                 "8,",
                                 "-",
                                 "1e1",
                                 "4294967304",
                                 "18446744073709551624",
                                 "99999999999999999999999"};
    for (const char *name : {"WEFT_THREADS", "WEFT_SLOTS"})
        for (const char *bad : never) {
            EXPECT_EQ(load_with(name, bad), WEFT_ERR_CONFIG) << name << "=" << bad;
            EXPECT_TRUE(error_has(std::string(name) + " is \"" + bad + "\"")) << weft_last_error();
        }
    EXPECT_EQ(load_with("WEFT_THREADS", "4097"), WEFT_ERR_CONFIG);
    EXPECT_TRUE(error_has("expected 0 to 4096")) << weft_last_error();
    for (const char *bad : {"0", "1", "3", "12", "1023", "2048"}) {
        EXPECT_EQ(load_with("WEFT_SLOTS", bad), WEFT_ERR_CONFIG) << bad;
        EXPECT_TRUE(error_has("expected power of two, 2 to 1024")) << weft_last_error();
    }
}

TEST_F(Config, TextUpToItsLength) {
    std::string longest(CORE_ALGORITHM_BYTES - 1, 'a');
    EXPECT_EQ(load_with("WEFT_ALGORITHM", longest), WEFT_SUCCESS);
    EXPECT_EQ(config.algorithm, longest);
    EXPECT_EQ(load_with("WEFT_ALGORITHM", longest + "a"), WEFT_ERR_CONFIG);
    EXPECT_TRUE(error_has("WEFT_ALGORITHM")) << weft_last_error();
    EXPECT_TRUE(error_has("text of at most 1023 bytes")) << weft_last_error();
    EXPECT_EQ(load_with("WEFT_ALGORITHM", ""), WEFT_SUCCESS);
    EXPECT_STREQ(config.algorithm, "");
    EXPECT_EQ(load_with("WEFT_HANG_REPORT", ""), WEFT_ERR_CONFIG) << "a file's name";
    EXPECT_TRUE(error_has("WEFT_HANG_REPORT is \"\"; expected text of 1 to ")) << weft_last_error();
    EXPECT_EQ(load_with("WEFT_HANG_REPORT", "h"), WEFT_SUCCESS);
    EXPECT_STREQ(config.hang_report, "h");
    EXPECT_EQ(load_with("WEFT_COUNTERS", "a/b"), WEFT_SUCCESS);
    EXPECT_STREQ(config.counters, "a/b");
    EXPECT_EQ(load_with("WEFT_TRACE", "c d"), WEFT_SUCCESS);
    EXPECT_STREQ(config.trace, "c d");
    for (const char *name : {"WEFT_COUNTERS", "WEFT_TRACE"})
        EXPECT_EQ(load_with(name, std::string(CORE_PATH_BYTES, 'a')), WEFT_ERR_CONFIG) << name;
}

TEST_F(Config, WhereItIsInstalledIsNoMatterOfWefts) {
    for (const char *name : {"WEFT_ROOT", "WEFT_DIR", "WEFT_HOME", "WEFT_PREFIX"})
        EXPECT_EQ(load_with(name, "/opt/weft"), WEFT_SUCCESS) << name;
    EXPECT_EQ(load_with("WEFT_ROO", "/opt/weft"), WEFT_ERR_CONFIG);
}

TEST_F(Config, UnknownVariablesAreNamedWithTheClosest) {
    const std::pair<const char *, const char *> pairs[] = {{"WEFT_SLOT", "WEFT_SLOTS"},
                                                           {"WEFT_THREAD", "WEFT_THREADS"},
                                                           {"WEFT_THREADLEVEL", "WEFT_THREAD_LEVEL"},
                                                           {"WEFT_ALGORYTHM", "WEFT_ALGORITHM"},
                                                           {"WEFT_WAIT_", "WEFT_WAIT"},
                                                           {"WEFT_boot", "WEFT_"}};
    for (auto [name, closest] : pairs) {
        EXPECT_EQ(load_with(name, "1"), WEFT_ERR_CONFIG) << name;
        EXPECT_TRUE(error_has(std::string(name) + " is no variable")) << weft_last_error();
        EXPECT_TRUE(error_has(std::string("did you mean ") + closest)) << weft_last_error();
    }
    EXPECT_EQ(load_with("WEFT_", "1"), WEFT_ERR_CONFIG);
    for (size_t length : {63, 64, 65, 100000}) {
        std::string name = "WEFT_" + std::string(length - 5, 'X');
        EXPECT_EQ(load_with(name.c_str(), "1"), WEFT_ERR_CONFIG);
        EXPECT_TRUE(error_has("WEFT_XXX")) << weft_last_error();
    }
    EXPECT_EQ(load_with("WEF_SLOTS", "1"), WEFT_SUCCESS);
    EXPECT_EQ(load_with("weft_slots", "1"), WEFT_SUCCESS);
}

TEST_F(Config, OptionsWinOverDefaults) {
    weft_options options = {};
    options.thread_level = WEFT_THREAD_FUNNELED;
    options.wait_policy = WEFT_WAIT_BLOCK;
    options.algorithm = "bcast=MST/flags";
    options.hang_timeout = 60;
    options.reproducible = 1;
    options.bind = WEFT_BIND_CORE;
    options.hang_report = "/tmp/where";
    ASSERT_EQ(load(&options), WEFT_SUCCESS);
    EXPECT_EQ(config.hang_timeout, 60);
    EXPECT_EQ(config.reproducible, 1);
    EXPECT_EQ(config.bind, WEFT_BIND_CORE);
    EXPECT_STREQ(config.hang_report, "/tmp/where");
    EXPECT_EQ(config.thread_level, WEFT_THREAD_FUNNELED);
    EXPECT_EQ(config.wait_policy, WEFT_WAIT_BLOCK);
    EXPECT_STREQ(config.algorithm, "bcast=MST/flags");
    EXPECT_EQ(config.origin[CORE_VARIABLE_WAIT], CORE_ORIGIN_OPTION);
    EXPECT_EQ(config.origin[CORE_VARIABLE_ALGORITHM], CORE_ORIGIN_OPTION);
    EXPECT_EQ(config.origin[CORE_VARIABLE_SLOTS], CORE_ORIGIN_DEFAULT);

    options = {};
    ASSERT_EQ(load(&options), WEFT_SUCCESS);
    EXPECT_EQ(config.thread_level, WEFT_THREAD_SERIALIZED);
    EXPECT_EQ(config.origin[CORE_VARIABLE_WAIT], CORE_ORIGIN_DEFAULT);
}

TEST_F(Config, TheEnvironmentWinsOverOptions) {
    weft_options options = {};
    options.thread_level = WEFT_THREAD_FUNNELED;
    options.wait_policy = WEFT_WAIT_BLOCK;
    options.algorithm = "of the option";
    setenv("WEFT_THREAD_LEVEL", "serialized", 1);
    setenv("WEFT_WAIT", "spin", 1);
    setenv("WEFT_ALGORITHM", "of the environment", 1);
    ASSERT_EQ(load(&options), WEFT_SUCCESS);
    EXPECT_EQ(config.thread_level, WEFT_THREAD_SERIALIZED);
    EXPECT_EQ(config.wait_policy, WEFT_WAIT_SPIN);
    EXPECT_STREQ(config.algorithm, "of the environment");
    EXPECT_EQ(config.origin[CORE_VARIABLE_THREAD_LEVEL], CORE_ORIGIN_ENVIRONMENT);
}

TEST_F(Config, OptionsOutOfRange) {
    weft_options options = {};
    options.thread_level = static_cast<weft_thread_level>(4);
    EXPECT_EQ(load(&options), WEFT_ERR_ARG);
    EXPECT_TRUE(error_has("WEFT_THREAD_LEVEL is 4; expected one of: funneled, serialized, multiple"))
        << weft_last_error();
    options = {};
    options.hang_timeout = -1;
    EXPECT_EQ(load(&options), WEFT_ERR_ARG);
    EXPECT_TRUE(error_has("WEFT_HANG_TIMEOUT is -1; expected 0 to 1000000")) << weft_last_error();
    options = {};
    options.reproducible = 2;
    EXPECT_EQ(load(&options), WEFT_ERR_ARG);
    EXPECT_TRUE(error_has("WEFT_REPRODUCIBLE is 2; expected 0 to 1")) << weft_last_error();
    for (const char *value : {"2", "yes", ""})
        EXPECT_EQ(load_with("WEFT_REPRODUCIBLE", value), WEFT_ERR_CONFIG) << value;

    options = {};
    options.wait_policy = static_cast<weft_wait_policy>(5);
    EXPECT_EQ(load(&options), WEFT_ERR_ARG);
    EXPECT_TRUE(error_has("WEFT_WAIT")) << weft_last_error();
    options = {};
    std::string endless(CORE_ALGORITHM_BYTES, 'a');
    options.algorithm = endless.c_str();
    EXPECT_EQ(load(&options), WEFT_ERR_ARG);
    EXPECT_TRUE(error_has("WEFT_ALGORITHM")) << weft_last_error();
    setenv("WEFT_ALGORITHM", "short", 1);
    EXPECT_EQ(load(&options), WEFT_ERR_ARG) << "a wrong option is wrong even when a variable wins over it";
}

TEST_F(Config, AnErrorLeavesTheConfigurationAsItWas) {
    ASSERT_EQ(load_with("WEFT_SLOTS", "128"), WEFT_SUCCESS);
    setenv("WEFT_WAIT", "spin", 1);
    EXPECT_EQ(load_with("WEFT_ALGORITHM", std::string(2000, 'a')), WEFT_ERR_CONFIG);
    EXPECT_EQ(config.slots, 128);
    EXPECT_EQ(config.wait_policy, WEFT_WAIT_AUTO);
}

TEST_F(Config, PathsAreThoseOfTheDirectoryAtTheStart) {
    ASSERT_EQ(load_with("WEFT_TRACE", "some/where"), WEFT_SUCCESS);
    ASSERT_EQ(core_config_anchor(&config), WEFT_SUCCESS);
    const std::string here = std::filesystem::current_path();
    EXPECT_EQ(config.trace, here + "/some/where");
    EXPECT_STREQ(config.hang_report, "weft-hang") << "there will be none";
    config.hang_timeout = 1;
    EXPECT_EQ(core_config_anchor(&config), WEFT_SUCCESS);
    EXPECT_EQ(config.hang_report, here + "/weft-hang");
    EXPECT_STREQ(config.counters, "");
    EXPECT_EQ(core_config_anchor(&config), WEFT_SUCCESS);
    EXPECT_EQ(config.trace, here + "/some/where");
    ASSERT_EQ(load_with("WEFT_COUNTERS", std::string(CORE_PATH_BYTES - 1, 'a')), WEFT_SUCCESS);
    EXPECT_EQ(core_config_anchor(&config), WEFT_ERR_CONFIG);
    EXPECT_TRUE(error_has("WEFT_COUNTERS")) << weft_last_error();
}

TEST_F(Config, ThePrintedTableShowsValuesAndOrigins) {
    weft_options options = {};
    options.wait_policy = WEFT_WAIT_YIELD;
    setenv("WEFT_SLOTS", "256", 1);
    setenv("WEFT_ALGORITHM", "allreduce=nbBDE/slices", 1);
    ASSERT_EQ(load(&options), WEFT_SUCCESS);
    std::string table = print();
    for (const char *row :
         {"WEFT_THREAD_LEVEL     serialized   default ", "WEFT_WAIT             yield        option ",
          "WEFT_SLOTS            256          environment ", "WEFT_THREADS          0            default ",
          "WEFT_BOOTSTRAP        auto         default ", "WEFT_LINES            on           default ",
          "WEFT_PROGRESS         none         default ", "WEFT_EAGER_LIMIT      -1           default ",
          "WEFT_UNEXPECTED_LIMIT 16777216     default ", "WEFT_ALGORITHM        allreduce=nbBDE/slices environment"})
        EXPECT_NE(table.find(row), std::string::npos) << row << "\nin\n" << table;
    EXPECT_NE(table.find("power of two, 2 to 1024"), std::string::npos) << table;
}
