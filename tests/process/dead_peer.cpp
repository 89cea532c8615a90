// SPDX-License-Identifier: BSD-3-Clause
#include "dead_peer.h"
#include "directory_bootstrap.h"

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>
#include <unistd.h>

namespace dead {

bool is_victim() {
    return weft_rank(weft_process_comm()) == victim;
}

void sleep_ms(int ms) {
    std::this_thread::sleep_for(std::chrono::milliseconds(ms));
}

std::vector<int> living(const weft_comm *comm) {
    std::vector<int> ranks;
    for (int rank = 0; rank < weft_size(comm); rank++)
        if (rank != victim)
            ranks.push_back(rank);
    return ranks;
}

static std::string sign(const std::string &name) {
    const char *folder = getenv("TESTS_DIRECTORY");
    return std::string(folder ? folder : "/nowhere") + "/" + name;
}

void show(const std::string &name) {
    std::ofstream(sign(name)).put('1');
}

bool is_shown(const std::string &name) {
    return access(sign(name).c_str(), F_OK) == 0;
}

void await_shown(const std::string &name) {
    for (int waits = 0; waits < 60000 && !is_shown(name); waits++)
        sleep_ms(1);
}

void await_death(int else_ms) {
    if (getenv("TESTS_SIZE")) // namespaces.sh says when
        await_shown("dead");
    else
        sleep_ms(else_ms);
}

static std::string initialized(int rank) {
    return "initialized." + std::to_string(rank);
}

void die(int after_ms) {
    for (int rank = 0; rank < weft_size(weft_process_comm()); rank++)
        await_shown(initialized(rank));
    sleep_ms(after_ms);
    raise(SIGKILL);
    abort();
}

void greet(weft_comm *comm) {
    int size = weft_size(comm), rank = weft_rank(comm), value = 0;
    for (int peer = 0; peer < size; peer++)
        if (peer != rank) {
            EXPECT_EQ(WEFT_SUCCESS,
                      weft_sendrecv(&rank, 1, WEFT_INT, peer, 1, &value, 1, WEFT_INT, peer, 1, comm, nullptr))
                << weft_last_error();
            EXPECT_EQ(value, peer);
        }
}

void live_on(weft_comm *comm) {
    int rank = weft_rank(comm), value = -1;
    if (weft_size(comm) > 2 && rank != victim) {
        int other = 2 - rank;
        EXPECT_EQ(WEFT_SUCCESS,
                  weft_sendrecv(&rank, 1, WEFT_INT, other, 9, &value, 1, WEFT_INT, other, 9, comm, nullptr))
            << weft_last_error();
        EXPECT_EQ(value, other);
    }
}

} // namespace dead

int main(int argc, char **argv) {
    ::testing::InitGoogleTest(&argc, argv);
    DirectoryBootstrap directory;
    weft_options options{};
    options.bootstrap = directory.get();
    if (weft_init(&options) != WEFT_SUCCESS) {
        fprintf(stderr, "%s\n", weft_last_error());
        return 1;
    }
    dead::show(dead::initialized(weft_rank(weft_process_comm())));
    int failed = RUN_ALL_TESTS();
    int code = weft_finalize();
    if (code != WEFT_ERR_PROC_FAILED) {
        fprintf(stderr, "weft_finalize returned %s: %s\n", weft_strerror(code), weft_last_error());
        failed = 1;
    }
    return failed;
}
