// SPDX-License-Identifier: BSD-3-Clause
// Counters of a real job, over real transports: the sums over its processes are what must cross. ORACLE_HOSTS: each process has a host of
// its own.
#include "oracle_job.h"
#include "traffic.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <utility>
extern "C" {
#include <hier/comm.h>
}

namespace {

// What rows are compared by, summed over the processes.
struct Sums {
    uint64_t operations, inside, crossing, elsewhere; // bytes; between the processes, which share a host, or do not
};

Sums sums_of(const weft_counters &after, const weft_counters &before, int row) {
    const weft_counter_row &a = after.rows[row], &b = before.rows[row];
    Sums sums{a.operations - b.operations, a.inside.bytes - b.inside.bytes, a.on_host.bytes - b.on_host.bytes,
              a.between_hosts.bytes - b.between_hosts.bytes};
    if (getenv("ORACLE_HOSTS"))
        std::swap(sums.crossing, sums.elsewhere);
    EXPECT_EQ(weft_allreduce(WEFT_IN_PLACE, &sums, 4, WEFT_UINT64_T, WEFT_SUM, weft_process_comm()), WEFT_SUCCESS);
    return sums;
}

traffic::Nodes nodes_of_job() {
    traffic::Nodes nodes;
    nodes.threads.resize(size_t(weft_size(weft_process_comm())));
    int own = job::threads();
    EXPECT_EQ(weft_allgather(&own, 1, WEFT_INT, nodes.threads.data(), 1, WEFT_INT, weft_process_comm()), WEFT_SUCCESS);
    return nodes;
}

weft_counters counters_now() {
    weft_counters counters{};
    EXPECT_EQ(weft_counters_get(&counters), WEFT_SUCCESS) << weft_last_error();
    return counters;
}

} // namespace

TEST(Counters, StartFromNothing) {
    weft_counters counters = counters_now();
    for (const weft_counter_row &row : counters.rows)
        EXPECT_EQ(row.operations + row.on_host.messages + row.between_hosts.messages + row.inside.messages, 0u);
    EXPECT_EQ(weft_counters_get(nullptr), WEFT_ERR_ARG);
}

TEST(Counters, AreWhatMustCross) {
    traffic::Nodes nodes = nodes_of_job();
    const hier_selector &selector = weft_process_comm()->world->selector;
    weft_counters before{};
    bool crowded = false;
    job::on_team([&](weft_comm *comm) {
        if (comm->thread == 0)
            crowded = comm->layout->crowded;
    });
    for (inter_collective kind : traffic::kinds)
        for (size_t words : {size_t(8), size_t(2048)}) {
            int root = nodes.ranks() - 1;
            hier_key key = nodes.key_of(kind, words * 8);
            key.one_host = !getenv("ORACLE_HOSTS");
            key.crowded = crowded;
            const inter_algorithm &algorithm = *hier_select(&selector, key).process;
            job::on_team([&](weft_comm *comm) {
                if (comm->thread == 0)
                    before = counters_now();
                EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
                for (traffic::Form form : traffic::forms)
                    traffic::perform(comm, kind, words, root, form);
            });
            Sums sums = sums_of(counters_now(), before, kind);
            std::string what = std::string(weft_counted_name(weft_counted(kind))) + ", " + std::to_string(words);
            const uint64_t forms = std::size(traffic::forms), calls = forms + (kind == INTER_BARRIER ? 1 : 0);
            EXPECT_EQ(sums.operations, calls * uint64_t(nodes.ranks())) << what;
            EXPECT_EQ(sums.inside, forms * traffic::bytes_inside(nodes, kind, words, root)) << what;
            EXPECT_EQ(sums.crossing, forms * traffic::bytes_between(nodes, kind, words, root, algorithm)) << what;
            EXPECT_EQ(sums.elsewhere, 0u) << what;
        }
}

namespace {

// Nodes of any communicator, by asking its ranks.
traffic::Nodes nodes_of(weft_comm *comm) {
    traffic::Nodes nodes;
    int own = weft_rank(weft_process_comm());
    std::vector<int> processes(size_t(weft_size(comm)));
    EXPECT_EQ(weft_allgather(&own, 1, WEFT_INT, processes.data(), 1, WEFT_INT, comm), WEFT_SUCCESS);
    std::map<int, int> numbers;
    for (int process : processes) {
        int node = numbers.emplace(process, int(numbers.size())).first->second;
        nodes.threads.resize(numbers.size());
        nodes.threads[size_t(node)]++;
        nodes.places.push_back(node);
    }
    return nodes;
}

// Bytes: between the processes, and within them.
struct Bytes {
    uint64_t between, inside;
};

// What a call of every rank moves. `counts`: one rank of each process does for all of it.
Bytes moved(weft_comm *comm, bool counts, inter_collective kind, const std::function<void()> &call) {
    auto now = [&] {
        EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
        weft_counter_row row = counters_now().rows[kind];
        EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
        return Bytes{row.on_host.bytes + row.between_hosts.bytes, row.inside.bytes};
    };
    Bytes before = now();
    call();
    Bytes after = now(), sum{};
    if (counts)
        sum = {after.between - before.between, after.inside - before.inside};
    EXPECT_EQ(weft_allreduce(WEFT_IN_PLACE, &sum, 2, WEFT_UINT64_T, WEFT_SUM, comm), WEFT_SUCCESS);
    return sum;
}

weft_datatype *word_with_a_gap() {
    weft_datatype *half = nullptr, *type = nullptr;
    EXPECT_EQ(weft_type_vector(2, 1, 2, WEFT_UINT32_T, &half), WEFT_SUCCESS);
    EXPECT_EQ(weft_type_resized(half, 0, 16, &type), WEFT_SUCCESS);
    EXPECT_EQ(weft_type_commit(&type), WEFT_SUCCESS);
    EXPECT_EQ(weft_type_free(&half), WEFT_SUCCESS);
    return type;
}

} // namespace

// Wherever the ranks of a communicator are (ORACLE_SPLIT: a part of the threads, interleaved over the nodes), and however their
// elements lie, no more crosses than must, and inside changes hands what must. Without reduce_scatters of ranks that are interleaved: those go by the fixed bracketing
// (core/bracket.h), whose operands are not the nodes' sums.
TEST(CountersOf, PartsAndDerivedTypes) {
    weft_datatype *apart = word_with_a_gap();
    job::on_team([&](weft_comm *comm) {
        traffic::Nodes nodes = nodes_of(comm);
        int rank = weft_rank(comm), own = nodes.node_of(rank), root = nodes.ranks() / 2;
        bool counts = std::find(nodes.places.begin(), nodes.places.end(), own) - nodes.places.begin() == rank;
        for (inter_collective kind :
             {INTER_BCAST, INTER_REDUCE, INTER_ALLREDUCE, INTER_GATHER, INTER_SCATTER, INTER_ALLGATHER, INTER_ALLTOALL,
              INTER_GATHERV, INTER_SCATTERV, INTER_ALLGATHERV, INTER_ALLTOALLV, INTER_ALLTOALLW, INTER_REDUCE_SCATTER,
              INTER_REDUCE_SCATTER_BLOCK})
            for (size_t words : {size_t(3), size_t(700)}) {
                bool scatters = kind == INTER_REDUCE_SCATTER || kind == INTER_REDUCE_SCATTER_BLOCK;
                bool computes = kind == INTER_REDUCE || kind == INTER_ALLREDUCE || scatters;
                if (scatters && !std::is_sorted(nodes.places.begin(), nodes.places.end()))
                    continue;
                hier_key key = nodes.key_of(kind, words * 8);
                key.one_host = comm->layout->one_host;
                key.crowded = comm->layout->crowded;
                const inter_algorithm &algorithm = *hier_select(&comm->world->selector, key).process;
                const uint64_t expected = traffic::bytes_between(nodes, kind, words, root, algorithm);
                const uint64_t inside = traffic::bytes_inside(nodes, kind, words, root);
                std::string what = std::string(weft_counted_name(weft_counted(kind))) + ", " + std::to_string(words);
                for (traffic::Form form : traffic::forms)
                    for (const weft_datatype *type : {WEFT_UINT64_T, (const weft_datatype *)apart})
                        if (type != apart || !computes) {
                            auto call = [&] { traffic::perform(comm, kind, words, root, form, type); };
                            Bytes sum = moved(comm, counts, kind, call);
                            job::check(sum.between == expected && sum.inside == inside, comm,
                                       what + (type == apart ? ", with gaps" : "") + ", form " +
                                           std::to_string(int(form)) + ": " + std::to_string(sum.between) +
                                           " bytes cross, expected " + std::to_string(expected) + "; inside " +
                                           std::to_string(sum.inside) + ", expected " + std::to_string(inside));
                        }
            }
    });
    EXPECT_EQ(weft_type_free(&apart), WEFT_SUCCESS);
}

// The process communicator's: a rank a process, blocking, nonblocking and persistent.
TEST(Counters, OfProcessCommunicators) {
    weft_comm *comm = weft_process_comm();
    size_t count = size_t(weft_size(comm));
    weft_counters before = counters_now();
    traffic::perform(comm, INTER_BCAST, 100, 0);
    uint64_t words[100] = {};
    weft_request *request = nullptr;
    EXPECT_EQ(weft_ibcast(words, 100, WEFT_UINT64_T, 0, comm, &request), WEFT_SUCCESS);
    EXPECT_EQ(weft_wait(&request, WEFT_STATUS_IGNORE), WEFT_SUCCESS);
    EXPECT_EQ(weft_bcast_init(words, 100, WEFT_UINT64_T, 0, comm, &request), WEFT_SUCCESS);
    for (int start = 0; start < 3; start++) {
        EXPECT_EQ(weft_start(&request), WEFT_SUCCESS);
        EXPECT_EQ(weft_wait(&request, WEFT_STATUS_IGNORE), WEFT_SUCCESS);
    }
    EXPECT_EQ(weft_request_free(&request), WEFT_SUCCESS);
    Sums sums = sums_of(counters_now(), before, WEFT_COUNTED_BCAST);
    EXPECT_EQ(sums.operations, 5 * count);
    EXPECT_EQ(sums.crossing, 5 * (count - 1) * 800);
    EXPECT_EQ(sums.inside + sums.elsewhere, 0u);
}

TEST(Counters, OfMessages) {
    weft_counters before = counters_now();
    traffic::Nodes nodes = nodes_of_job();
    job::on_team([&](weft_comm *comm) {
        char out[100] = {}, in[100];
        int rank = weft_rank(comm), size = weft_size(comm);
        EXPECT_EQ(weft_sendrecv(out, 100, WEFT_BYTE, (rank + 1) % size, 0, in, 100, WEFT_BYTE, (rank + size - 1) % size,
                                0, comm, WEFT_STATUS_IGNORE),
                  WEFT_SUCCESS);
        for (int i = 0; i < 2; i++) {
            weft_request *requests[2];
            EXPECT_EQ(weft_irecv(in, 100, WEFT_BYTE, (rank + size - 1) % size, 1, comm, &requests[0]), WEFT_SUCCESS);
            EXPECT_EQ(i ? weft_isend(out, 100, WEFT_BYTE, (rank + 1) % size, 1, comm, &requests[1])
                        : weft_issend(out, 100, WEFT_BYTE, (rank + 1) % size, 1, comm, &requests[1]),
                      WEFT_SUCCESS);
            EXPECT_EQ(weft_waitall(2, requests, WEFT_STATUSES_IGNORE), WEFT_SUCCESS);
        }
        // Under FUNNELED the others' messages need the leader until they are through.
        EXPECT_EQ(weft_barrier(comm), WEFT_SUCCESS);
    });
    uint64_t inside = 0, ranks = uint64_t(nodes.ranks());
    for (int rank = 0; rank < int(ranks); rank++)
        inside += nodes.node_of(rank) == nodes.node_of((rank + 1) % int(ranks));
    Sums sums = sums_of(counters_now(), before, WEFT_COUNTED_MESSAGES);
    EXPECT_EQ(sums.operations, 3 * ranks);
    EXPECT_EQ(sums.inside, 3 * inside * 100);
    EXPECT_EQ(sums.crossing, 3 * (ranks - inside) * 100);
    EXPECT_EQ(sums.elsewhere, 0u);
}
