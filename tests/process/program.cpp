// SPDX-License-Identifier: BSD-3-Clause
#include "program.h"

extern "C" {
#include <hier/comm.h>
}
#include <algorithm>
#include <atomic>
#include <numeric>

namespace process {

namespace {

// A seed of a rank's own.
uint64_t own(weft_comm *comm, uint64_t seed, uint64_t thread = 0) {
    return job::hash(seed, uint64_t(weft_rank(comm)), thread, 11);
}

void shuffle(std::vector<size_t> *indices, threads::Random *random) {
    for (size_t i = indices->size(); i > 1; i--)
        std::swap((*indices)[i - 1], (*indices)[random->below(i)]);
}

std::vector<size_t> shuffled(size_t count, threads::Random *random) {
    std::vector<size_t> indices(count);
    std::iota(indices.begin(), indices.end(), 0);
    shuffle(&indices, random);
    return indices;
}

} // namespace

void Outstanding::expect(bool holds, const char *what) const {
    job::check(holds, comm_, what);
}

void Outstanding::start(std::unique_ptr<Operation> operation) {
    weft_request *request = WEFT_REQUEST_NULL;
    if (!job::ok(operation->call(Form::nonblocking, &request), comm_, describe(operation->what())))
        return;
    operations_.push_back(std::move(operation));
    requests_.push_back(request);
}

void Outstanding::completed(size_t which, int code, const weft_status &status, const char *by) {
    operations_[which]->verify(code, by);
    expect(is_empty(status), "a status is not empty");
    operations_[which].reset();
}

// The handles of `which`, in this order; WEFT_REQUEST_NULL for those behind.
void Outstanding::call(const std::vector<size_t> &which, std::vector<weft_request *> *handles) {
    const weft_status unset{7, 7, 7, 7, 7};
    size_t count = handles->size(), index = count, done_count = count;
    std::vector<weft_status> statuses(count, unset);
    std::vector<size_t> indices(count, count);
    weft_request **list = handles->data();
    weft_status *status = statuses.data();
    int done = -1, code = WEFT_SUCCESS;
    const char *by = "";
    auto one = [&](size_t i, const weft_status &told) { completed(which[i], code, told, by); };
    switch (random_.below(9)) {
    case 0:
        by = "weft_wait";
        code = weft_wait(list, status);
        one(0, *status);
        break;
    case 1:
        by = "weft_test";
        code = weft_test(list, &done, status);
        if (done == 1)
            one(0, *status);
        break;
    case 2:
        by = "weft_waitall";
        code = weft_waitall(count, list, status);
        for (size_t i = 0; i < which.size(); i++)
            one(i, status[i]);
        break;
    case 3:
        by = "weft_testall";
        code = weft_testall(count, list, &done, status);
        for (size_t i = 0; i < which.size() && done == 1; i++)
            one(i, status[i]);
        break;
    case 4:
        by = "weft_waitany";
        code = weft_waitany(count, list, &index, status);
        expect(index < which.size(), "the index of weft_waitany");
        one(index, *status);
        break;
    case 5:
        by = "weft_testany";
        code = weft_testany(count, list, &index, &done, status);
        if (done == 1)
            one(index, *status);
        break;
    case 6:
        by = "weft_waitsome";
        code = weft_waitsome(count, list, &done_count, indices.data(), status);
        expect(done_count >= 1 && done_count <= which.size(), "the number that weft_waitsome completed");
        break;
    case 7:
        by = "weft_request_get_status";
        code = weft_request_get_status(*list, &done, status);
        expect(is_empty(*status) || done != 1, "the status of weft_request_get_status is empty");
        if (done != 1)
            break;
        expect(weft_wait(list, status) == code, "what is told of an end is so");
        one(0, *status);
        break;
    default:
        by = "weft_testsome";
        code = weft_testsome(count, list, &done_count, indices.data(), status);
        expect(done_count <= which.size(), "the number that weft_testsome completed");
    }
    for (size_t i = 0; *by && done_count <= which.size() && i < done_count && indices[i] < count; i++)
        one(indices[i], status[i]);
    job::ok(code, comm_, by);
}

void Outstanding::complete_some() {
    std::vector<size_t> which = shuffled(requests_.size(), &random_);
    which.resize(1 + random_.below(which.size()));
    std::vector<weft_request *> handles;
    for (size_t i : which)
        handles.push_back(requests_[i]);
    handles.resize(which.size() + random_.below(3), WEFT_REQUEST_NULL);
    call(which, &handles);
    for (size_t i = 0; i < which.size(); i++) {
        expect((handles[i] == WEFT_REQUEST_NULL) == !operations_[which[i]], "which handles were set to null");
        requests_[which[i]] = handles[i];
    }
    operations_.erase(std::remove(operations_.begin(), operations_.end(), nullptr), operations_.end());
    requests_.erase(std::remove(requests_.begin(), requests_.end(), WEFT_REQUEST_NULL), requests_.end());
}

void Outstanding::complete_all() {
    while (size())
        complete_some();
}

Case random_case(weft_comm *comm, uint64_t seed, uint64_t i) {
    threads::Random random(job::hash(seed, i, 13));
    Case what;
    what.collective = inter_collective(random.below(INTER_COLLECTIVES));
    what.count = random.below(30) == 0 ? 1000 + random.below(9000) : random.below(50);
    what.root = int(random.below(uint64_t(weft_size(comm))));
    what.in_place = random.below(2);
    what.uneven = random.below(2);
    what.kind = unsigned(random.below(28));
    what.seed = job::hash(seed, i, 17);
    return what;
}

void run_program(weft_comm *comm, uint64_t seed, uint64_t count, size_t window) {
    threads::Random random(own(comm, seed));
    Outstanding outstanding(comm, own(comm, seed + 1));
    for (uint64_t i = 0; i < count; i++) {
        auto operation = std::make_unique<Operation>(comm, random_case(comm, seed, i));
        operation->fill(i);
        if (job::hash(seed, i, 19) % 16 == 0) {
            operation->verify(operation->call(Form::blocking, nullptr), "blocking, among others");
            continue;
        }
        outstanding.start(std::move(operation));
        while (outstanding.size() >= window || (outstanding.size() && random.below(window) == 0))
            outstanding.complete_some();
    }
    outstanding.complete_all();
}

void run_program_on(const std::vector<weft_comm *> &comms, uint64_t seed, uint64_t count, size_t window) {
    threads::Random random(own(comms[0], seed));
    std::vector<Outstanding> outstanding;
    for (weft_comm *comm : comms)
        outstanding.emplace_back(comm, own(comm, seed + 1));
    for (uint64_t i = 0; i < count; i++) {
        size_t which = job::hash(seed, i, 23) % comms.size();
        weft_comm *comm = comms[which];
        auto operation = std::make_unique<Operation>(comm, random_case(comm, seed, i));
        operation->fill(i);
        outstanding[which].start(std::move(operation));
        Outstanding &any = outstanding[random.below(comms.size())];
        if (any.size() >= window || (any.size() && random.below(window) == 0))
            any.complete_some();
    }
    for (size_t i = 0, first = random.below(comms.size()); i < comms.size(); i++)
        outstanding[(first + i) % comms.size()].complete_all();
}

void run_program_by_threads(weft_comm *comm, uint64_t seed, uint64_t count, int thread_count) {
    std::atomic<uint64_t> turn{0};
    threads::run(thread_count, [&](int thread) {
        Outstanding outstanding(comm, own(comm, seed, uint64_t(thread) + 1));
        threads::Random random(own(comm, seed + 1, uint64_t(thread)));
        for (uint64_t i = uint64_t(thread); i < count; i += uint64_t(thread_count)) {
            auto operation = std::make_unique<Operation>(comm, random_case(comm, seed, i));
            operation->fill(i);
            while (turn.load(std::memory_order_acquire) != i) /* pairs with the store below */
                std::this_thread::yield();
            outstanding.start(std::move(operation));
            turn.store(i + 1, std::memory_order_release);
            if (outstanding.size() && random.below(3) == 0)
                outstanding.complete_some();
        }
        outstanding.complete_all();
    });
}

void run_persistent(weft_comm *comm, uint64_t seed, uint64_t count, uint64_t rounds) {
    threads::Random random(own(comm, seed));
    std::vector<std::unique_ptr<Operation>> operations;
    std::vector<weft_request *> requests(count, WEFT_REQUEST_NULL);
    for (uint64_t i = 0; i < count; i++) {
        operations.push_back(std::make_unique<Operation>(comm, random_case(comm, seed, i)));
        job::ok(operations[i]->call(Form::persistent, &requests[i]), comm, describe(operations[i]->what()) + ", init");
    }
    for (uint64_t round = 0; round < rounds; round++) {
        Outstanding others(comm, own(comm, seed + round));
        for (auto &operation : operations)
            operation->fill(round);
        std::vector<size_t> order = shuffled(count, &random);
        size_t together = random.below(count + 1);
        std::vector<weft_request *> list;
        for (size_t i = 0; i < together; i++)
            list.push_back(requests[order[i]]);
        job::ok(weft_startall(together, list.data()), comm, "weft_startall");
        for (size_t i = together; i < count; i++)
            job::ok(weft_start(&requests[order[i]]), comm, "weft_start");
        for (uint64_t i = 0; i < 4; i++) {
            auto operation = std::make_unique<Operation>(comm, random_case(comm, seed + 5, round * 4 + i));
            operation->fill(i);
            others.start(std::move(operation));
        }
        order = shuffled(count, &random);
        for (size_t i : order) {
            weft_request *handle = requests[i];
            operations[i]->verify(weft_wait(&requests[i], WEFT_STATUS_IGNORE), "persistent, in any order");
            job::check(requests[i] == handle, comm, "a persistent request stays");
        }
        others.complete_all();
    }
    for (size_t i : shuffled(count, &random))
        job::ok(weft_request_free(&requests[i]), comm, "weft_request_free");
}

void run_repeated(weft_comm *comm, uint64_t seed, uint64_t rounds) {
    threads::Random random(seed);
    for (int kind = 0; kind < INTER_COLLECTIVES; kind++) {
        std::vector<std::unique_ptr<Operation>> operations;
        for (uint64_t i = 0; i < 2; i++) {
            Case what = random_case(comm, seed + uint64_t(kind), i);
            what.collective = inter_collective(kind);
            what.in_place = what.in_place && !inter_is(what.collective, without_in_place);
            what.uneven = what.uneven && inter_is(what.collective, with_counts);
            operations.push_back(std::make_unique<Operation>(comm, what));
        }
        auto end = [&](Operation &operation, weft_request **request) {
            operation.verify(weft_wait(request, WEFT_STATUS_IGNORE), "repeated");
        };
        for (uint64_t round = 0; round < rounds; round++) {
            Operation &one = *operations[random.below(4) == 0], &other = *operations[&one == operations[0].get()];
            weft_request *first = WEFT_REQUEST_NULL, *second = WEFT_REQUEST_NULL, *prepared = WEFT_REQUEST_NULL;
            uint64_t form = random.below(8), beside = random.below(4);
            one.fill(round);
            if (form == 0) {
                one.verify(one.call(Form::blocking, nullptr), "repeated, blocking");
                continue;
            }
            if (form == 1) {
                job::ok(one.call(Form::persistent, &prepared), comm, "repeated, prepared");
                job::ok(weft_start(&prepared), comm, "weft_start");
                end(one, &prepared);
                job::ok(weft_request_free(&prepared), comm, "weft_request_free");
                continue;
            }
            job::ok(one.call(Form::nonblocking, &first), comm, describe(one.what()));
            if (beside == 0) {
                other.fill(round);
                job::ok(other.call(Form::nonblocking, &second), comm, describe(other.what()));
                if (random.below(2))
                    end(other, &second);
            }
            end(one, &first);
            if (second)
                end(other, &second);
        }
    }
}

void expect_delivered_once(weft_comm *comm) {
    weft_request *request = WEFT_REQUEST_NULL;
    weft_datatype *gapped = nullptr;
    int rank = weft_rank(comm), root = weft_size(comm) - 1, values[4];
    EXPECT_EQ(weft_type_vector(2, 1, 2, WEFT_INT, &gapped), WEFT_SUCCESS);
    EXPECT_EQ(weft_type_commit(&gapped), WEFT_SUCCESS);
    EXPECT_EQ(weft_bcast_init(values, 1, gapped, root, comm, &request), WEFT_SUCCESS) << weft_last_error();
    for (int round = 1; round < 4; round++) {
        std::fill_n(values, 4, rank == root ? round : 0);
        EXPECT_EQ(weft_start(&request), WEFT_SUCCESS) << weft_last_error();
        for (int done = 0; !done;)
            EXPECT_EQ(weft_request_get_status(request, &done, WEFT_STATUS_IGNORE), WEFT_SUCCESS) << weft_last_error();
        EXPECT_EQ(values[0], round);
        EXPECT_EQ(values[1], rank == root ? round : 0);
        EXPECT_EQ(values[2], round);
        std::fill_n(values, 4, -1);
        EXPECT_EQ(weft_wait(&request, WEFT_STATUS_IGNORE), WEFT_SUCCESS) << weft_last_error();
        EXPECT_EQ(std::count(values, values + 4, -1), 4);
    }
    EXPECT_EQ(weft_request_free(&request), WEFT_SUCCESS);
    EXPECT_EQ(weft_type_free(&gapped), WEFT_SUCCESS);
}

void expect_no_allocations(weft_comm *comm, const Case &what, const std::string &how, uint64_t may,
                           const std::function<void()> &apart) {
    const size_t *allocations = &comm->world->engine.allocations;
    Operation operation(comm, what);
    weft_request *request = WEFT_REQUEST_NULL;
    size_t before = 0;
    EXPECT_EQ(operation.call(Form::persistent, &request), WEFT_SUCCESS) << weft_last_error();
    for (uint64_t round = 0; round < may + 2; round++) {
        operation.fill(round);
        EXPECT_EQ(weft_start(&request), WEFT_SUCCESS) << weft_last_error();
        operation.verify(weft_wait(&request, nullptr), how);
        apart();
        if (round >= may) {
            EXPECT_EQ(*allocations, before) << describe(what) << ", " << how;
        }
        before = *allocations;
        apart();
    }
    EXPECT_EQ(weft_request_free(&request), WEFT_SUCCESS) << weft_last_error();
}

} // namespace process
