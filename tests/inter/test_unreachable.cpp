// SPDX-License-Identifier: BSD-3-Clause
// Two processes that have no way in common: the error names both.
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <weft/error.h>
extern "C" {
#include <inter/bootstrap.h>
#include <inter/directory.h>
#include <inter/transport.h>
}

namespace {

std::string blobs[3]; // by rank: what it has published

// A process whose UCX has these ways, each on a host of its own.
struct Process {
    inter_bootstrap bootstrap{};
    inter_transport *at = nullptr;

    Process(int rank, const char *ways) {
        bootstrap.rank = rank;
        bootstrap.size = 3;
        bootstrap.publish = [](inter_bootstrap *self, const void *address, size_t bytes) {
            blobs[self->rank].assign(static_cast<const char *>(address), bytes);
            return int(WEFT_SUCCESS);
        };
        bootstrap.lookup = [](inter_bootstrap *, int peer, const void **address, size_t *bytes) {
            *address = blobs[peer].data();
            *bytes = blobs[peer].size();
            return int(WEFT_SUCCESS);
        };
        bootstrap.host = [](inter_bootstrap *, int peer) { return peer; };
        setenv("UCX_TLS", ways, 1);
        EXPECT_EQ(inter_transport_ucx(&bootstrap, true, &at), WEFT_SUCCESS) << weft_last_error();
        EXPECT_EQ(at->publish(at, "", 1), WEFT_SUCCESS) << weft_last_error();
    }
    ~Process() {
        at->close(at);
    }
};

int send(inter_transport *at, int peer) {
    inter_completion completion{};
    inter_request request{};
    request.completion = &completion;
    return at->send(at, peer, 1, "text", 5, &request);
}

} // namespace

TEST(Unreachable, BothProcessesAreNamed) {
    Process tcp(1, "tcp"), memory(2, "posix");
    EXPECT_NE(send(tcp.at, 2), WEFT_SUCCESS);
    EXPECT_NE(std::string(weft_last_error()).find("rank 1: UCX could not connect to rank 2"), std::string::npos)
        << weft_last_error();
}

TEST(Unreachable, ChannelsAreNamedByTheirProcesses) {
    Process tcp(1, "tcp"), memory(2, "posix");
    inter_directory *directory = inter_directory_create(3);
    inter_transport *mine = nullptr, *theirs = nullptr;
    ASSERT_EQ(tcp.at->open_channel(tcp.at, 3, directory, &mine), WEFT_SUCCESS) << weft_last_error();
    ASSERT_EQ(memory.at->open_channel(memory.at, 5, directory, &theirs), WEFT_SUCCESS) << weft_last_error();
    EXPECT_NE(send(mine, theirs->rank), WEFT_SUCCESS);
    EXPECT_NE(std::string(weft_last_error()).find("rank 1: UCX could not connect to rank 2"), std::string::npos)
        << weft_last_error();
    theirs->close(theirs);
    mine->close(mine);
    inter_directory_free(directory);
}
