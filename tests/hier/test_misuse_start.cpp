// SPDX-License-Identifier: BSD-3-Clause
// What weft_init refuses: options, variables, bootstraps, and surroundings that look like a launcher's but are not complete.
// After each refusal nothing is left started, and the right call works.
#include "misuse.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <unistd.h>

namespace {

// A variable for as long as the object lives.
class variable {
  public:
    variable(const char *name, const char *value) : name_(name) {
        setenv(name, value, 1);
    }
    ~variable() {
        unsetenv(name_);
    }

  private:
    const char *name_;
};

void expect_refused(int code, const weft_options *options, const misuse::words &named) {
    misuse::expect_error(code, weft_init(options), named, "weft_init");
    EXPECT_EQ(weft_initialized(), 0);
    EXPECT_EQ(weft_process_comm(), nullptr);
}

class Start : public ::testing::Test {
  protected:
    // The variables of a launcher that runs these tests are not part of them.
    void SetUp() override {
        std::vector<std::string> names;
        for (char **entry = environ; *entry; entry++)
            for (const char *prefix : {"WEFT_", "PMIX_", "PMI_", "OMPI_", "SLURM_"})
                if (strncmp(*entry, prefix, strlen(prefix)) == 0)
                    names.emplace_back(*entry, strcspn(*entry, "="));
        for (const std::string &name : names)
            unsetenv(name.c_str());
    }
    void TearDown() override {
        EXPECT_OK(weft_init(nullptr));
        EXPECT_OK(weft_barrier(weft_process_comm()));
        EXPECT_OK(weft_finalize());
    }
};

TEST_F(Start, OptionsOutOfRange) {
    weft_options options = {};
    options.thread_level = static_cast<weft_thread_level>(4);
    expect_refused(WEFT_ERR_ARG, &options, {"WEFT_THREAD_LEVEL", "4", "funneled"});
    options = {};
    options.wait_policy = static_cast<weft_wait_policy>(-1);
    expect_refused(WEFT_ERR_ARG, &options, {"WEFT_WAIT", "-1", "spin"});
    options = {};
    std::string longer(100000, 'a');
    options.algorithm = longer.c_str();
    expect_refused(WEFT_ERR_ARG, &options, {"WEFT_ALGORITHM"});
}

TEST_F(Start, UnknownVariable) {
    for (const char *name : {"WEFT_WAITING", "WEFT_", "WEFT_thread_level", "WEFT_NO_SUCH_VARIABLE"}) {
        variable wrong(name, "1");
        expect_refused(WEFT_ERR_CONFIG, nullptr, {name});
    }
}

TEST_F(Start, VariableOutOfRange) {
    const std::multimap<const char *, const char *> wrong = {{"WEFT_THREAD_LEVEL", "single"},
                                                             {"WEFT_THREAD_LEVEL", ""},
                                                             {"WEFT_WAIT", "Spin"},
                                                             {"WEFT_WAIT", "spin "},
                                                             {"WEFT_THREADS", "-1"},
                                                             {"WEFT_THREADS", "4097"},
                                                             {"WEFT_THREADS", "two"},
                                                             {"WEFT_THREADS", "2x"},
                                                             {"WEFT_THREADS", "99999999999999999999"},
                                                             {"WEFT_SLOTS", "0"},
                                                             {"WEFT_SLOTS", "3"},
                                                             {"WEFT_SLOTS", "2048"},
                                                             {"WEFT_BOOTSTRAP", "mpi"},
                                                             {"WEFT_THREADS", "\xff\xfe"}};
    for (auto &[name, value] : wrong) {
        variable set(name, value);
        expect_refused(WEFT_ERR_CONFIG, nullptr, {name, value});
    }
}

// A variable wins over its field, but a field that is wrong is wrong.
TEST_F(Start, VariableAndOption) {
    weft_options options = {};
    options.thread_level = WEFT_THREAD_FUNNELED;
    variable set("WEFT_THREAD_LEVEL", "serialized");
    EXPECT_OK(weft_init(&options));
    EXPECT_EQ(weft_thread_level_get(), WEFT_THREAD_SERIALIZED);
    EXPECT_OK(weft_finalize());
}

TEST_F(Start, Algorithms) {
    const std::map<std::string, std::string> wrong = {
        {"allreduce", "collective=PROCESS/thread"},
        {"allsum=nbBDE", "allsum"},
        {"=nbBDE/slices", "collective"},
        {"allreduce=MST", "MST"},
        {"gather=MST/slices", "slices"},
        {"allreduce=nbBDE/", "thread-level"},
        {"bcast=nbFT,reduce=fastest", "fastest"},
        {"bcast=nbFT/flags/inline", "flags/inline"},
        {"bcast=MST /flags", "MST "},
        {std::string(600, 'x'), "WEFT_ALGORITHM"},
    };
    for (auto &[text, named] : wrong) {
        variable set("WEFT_ALGORITHM", text.c_str());
        expect_refused(WEFT_ERR_CONFIG, nullptr, {"WEFT_ALGORITHM", named});
    }
    weft_options options = {};
    options.algorithm = "bcast=no_such";
    expect_refused(WEFT_ERR_CONFIG, &options, {"bcast", "no_such"});
    for (const char *right :
         {"", "barrier=DISS/counter", "bcast=nbFT", "allreduce=/inline", "bcast=MST/flags,reduce=MST"}) {
        options.algorithm = right;
        EXPECT_OK(weft_init(&options));
        EXPECT_OK(weft_finalize());
    }
}

TEST_F(Start, DirectoriesThatCannotBe) {
    for (const char *name : {"WEFT_COUNTERS", "WEFT_TRACE"}) {
        for (const char *value : {"/dev/null", "/dev/null/below", "/no/such/directory"}) {
            variable set(name, value);
            expect_refused(WEFT_ERR_CONFIG, nullptr, {name, value});
        }
        // One that is lost meanwhile: the end is one all the same.
        char path[] = "/tmp/test-weft-start-XXXXXX";
        ASSERT_NE(mkdtemp(path), nullptr);
        variable set(name, path);
        EXPECT_OK(weft_init(nullptr));
        EXPECT_EQ(rmdir(path), 0);
        misuse::expect_error(WEFT_ERR_CONFIG, weft_finalize(), {name, path}, "weft_finalize");
        EXPECT_EQ(weft_initialized(), 0);
    }
}

// What the callback is told to do, and how often it was called.
struct exchange {
    int result = 0, calls = 0;
    bool garbage = false;
};

int allgather(const void *send, void *recv, size_t bytes, void *context) {
    auto *how = static_cast<exchange *>(context);
    how->calls++;
    memset(recv, how->garbage ? 0xee : 0, 2 * bytes);
    if (!how->garbage)
        memcpy(recv, send, bytes);
    return how->result;
}

// Under FUNNELED no thread of weft's own may drive the network.
TEST_F(Start, ProgressThreadAndFunneled) {
    variable progress("WEFT_PROGRESS", "thread");
    {
        variable level("WEFT_THREAD_LEVEL", "funneled");
        expect_refused(WEFT_ERR_CONFIG, nullptr, {"WEFT_PROGRESS", "thread", "WEFT_THREAD_LEVEL", "funneled"});
    }
    weft_options options = {};
    options.thread_level = WEFT_THREAD_FUNNELED;
    expect_refused(WEFT_ERR_CONFIG, &options, {"WEFT_PROGRESS", "funneled"});
    options.thread_level = WEFT_THREAD_SERIALIZED;
    EXPECT_OK(weft_init(&options));
    EXPECT_OK(weft_barrier(weft_process_comm()));
    EXPECT_OK(weft_finalize());
}

TEST_F(Start, Bootstrap) {
    exchange how;
    weft_options options = {};
    for (auto [rank, size] : {std::pair(0, 0), {1, 1}, {-1, 4}, {4, 4}, {0, -3}, {7, 2}}) {
        weft_bootstrap bootstrap = {rank, size, allgather, &how};
        options.bootstrap = &bootstrap;
        expect_refused(WEFT_ERR_ARG, &options, {"rank " + std::to_string(rank) + " and size " + std::to_string(size)});
    }
    weft_bootstrap without = {0, 2, nullptr, nullptr};
    options.bootstrap = &without;
    expect_refused(WEFT_ERR_ARG, &options, {"allgather"});
    EXPECT_EQ(how.calls, 0);
    weft_bootstrap alone = {0, 1, allgather, &how};
    options.bootstrap = &alone;
    EXPECT_OK(weft_init(&options));
    EXPECT_EQ(weft_size(weft_process_comm()), 1);
    EXPECT_OK(weft_finalize());
}

TEST_F(Start, BootstrapThatFails) {
    exchange how;
    weft_bootstrap bootstrap = {0, 2, allgather, &how};
    weft_options options = {};
    options.bootstrap = &bootstrap;
    how.result = 17;
    expect_refused(WEFT_ERR_BOOTSTRAP, &options, {"allgather", "returned 17"});
    EXPECT_EQ(how.calls, 1);
    how.result = 0; // it delivers nothing for the other process
    expect_refused(WEFT_ERR_BOOTSTRAP, &options, {"process 1"});
    how.garbage = true;
    expect_refused(WEFT_ERR_BOOTSTRAP, &options, {"process 0"});
}

int allgather_that_calls(const void *, void *, size_t, void *) {
    EXPECT_ERROR(WEFT_ERR_INIT, weft_init(nullptr), "weft_init", "callback");
    EXPECT_ERROR(WEFT_ERR_INIT, weft_finalize(), "weft_finalize", "callback");
    return 1;
}

TEST_F(Start, BootstrapThatStartsWeft) {
    weft_bootstrap bootstrap = {0, 2, allgather_that_calls, nullptr};
    weft_options options = {};
    options.bootstrap = &bootstrap;
    expect_refused(WEFT_ERR_BOOTSTRAP, &options, {"allgather", "returned 1"});
}

// Some of a launcher's variables, not all of them.
TEST_F(Start, LauncherVariableMissing) {
    {
        variable space("PMIX_NAMESPACE", "a-job");
        expect_refused(WEFT_ERR_BOOTSTRAP, nullptr, {"PMIX_RANK", "not set"});
        variable rank("PMIX_RANK", "0");
        expect_refused(WEFT_ERR_BOOTSTRAP, nullptr, {"PMIX_SERVER_URI", "not set"});
    }
    {
        variable rank("PMIX_RANK", "0");
        expect_refused(WEFT_ERR_BOOTSTRAP, nullptr, {"PMIX_NAMESPACE", "not set"});
    }
    variable wanted("WEFT_BOOTSTRAP", "pmix");
    expect_refused(WEFT_ERR_BOOTSTRAP, nullptr, {"PMIX_NAMESPACE", "not set"});
}

// Left over from a launcher that is gone: nobody listens there.
TEST_F(Start, LauncherIsGone) {
    variable space("PMIX_NAMESPACE", "a-job"), rank("PMIX_RANK", "0"),
        uri4("PMIX_SERVER_URI4", "gone.0;tcp4://127.0.0.1:9"), uri2("PMIX_SERVER_URI2", "gone.0;tcp4://127.0.0.1:9"),
        uri41("PMIX_SERVER_URI41", "gone.0;tcp4://127.0.0.1:9");
    expect_refused(WEFT_ERR_BOOTSTRAP, nullptr, {"launcher"});
    variable alone("WEFT_BOOTSTRAP", "single");
    EXPECT_OK(weft_init(nullptr));
    EXPECT_OK(weft_finalize());
}

// One of several, but the launcher speaks something else: to be alone would be wrong.
TEST_F(Start, OtherLaunchers) {
    {
        variable size("PMI_SIZE", "4"), rank("PMI_RANK", "2");
        expect_refused(WEFT_ERR_BOOTSTRAP, nullptr, {"PMI_SIZE", "weftrun"});
        variable alone("WEFT_BOOTSTRAP", "single");
        EXPECT_OK(weft_init(nullptr));
        EXPECT_OK(weft_finalize());
    }
    {
        variable size("OMPI_COMM_WORLD_SIZE", "2");
        expect_refused(WEFT_ERR_BOOTSTRAP, nullptr, {"OMPI_COMM_WORLD_SIZE"});
    }
    variable size("SLURM_STEP_NUM_TASKS", "8"), rank("SLURM_PROCID", "3");
    expect_refused(WEFT_ERR_BOOTSTRAP, nullptr, {"srun"});
}

} // namespace
