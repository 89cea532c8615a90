// SPDX-License-Identifier: BSD-3-Clause
#include "mixture.h"
#include "program.h"

#include <memory>
#include <thread>

namespace process {

namespace {

using job::hash;

constexpr size_t most_groups = 9;
constexpr uint64_t least_steps = 20, more_steps = 150, most_pending = 60;

// A communicator as one of its ranks sees it, and what that has under way there. `seed`: the same on its ranks. Without one: the rank is
// not in it, or has freed it.
class Group {
  public:
    Group(weft_comm *comm, uint64_t seed, uint64_t own)
        : comm_(comm), seed_(seed), random_(own), outstanding_(comm, own + 1) {}

    weft_comm *comm() const {
        return comm_;
    }
    size_t pending() const {
        return outstanding_.size() + exchanges_.size();
    }
    void collective(uint64_t step);
    void persistent(uint64_t step);
    void exchange(uint64_t step);
    Group derive(uint64_t step);
    void complete_some();
    void complete_all();
    void free();

  private:
    struct Prepared {
        std::unique_ptr<Operation> operation;
        weft_request *request = WEFT_REQUEST_NULL;
        uint64_t rounds = 0;
        bool active = false;
    };
    // A message to a rank and one from another.
    struct Exchange {
        std::vector<unsigned char> sent, came;
        uint64_t expected = 0;
        weft_request *requests[2] = {WEFT_REQUEST_NULL, WEFT_REQUEST_NULL};
        std::string text;
    };

    std::unique_ptr<Operation> draw(uint64_t step) const;
    void receive(Exchange *one, int source, int tag, bool probed, int from);
    void end(Prepared *one);
    void end(Exchange *one);

    weft_comm *comm_;
    uint64_t seed_;
    threads::Random random_;
    Outstanding outstanding_;
    std::vector<Prepared> prepared_;
    std::vector<Exchange> exchanges_;
};

std::unique_ptr<Operation> Group::draw(uint64_t step) const {
    Case what = random_case(comm_, seed_, step);
    if (hash(seed_, step, 1) % 40 == 0) { // cut into pieces, or fetched
        size_t blocks = inter_is(what.collective, INTER_REDUCTIONS) ? 1 : size_t(weft_size(comm_));
        what.count = hash(seed_, step, 2) % (1u << 20) / unit_bytes(what.collective, what.kind) / blocks;
    }
    return std::make_unique<Operation>(comm_, what);
}

void Group::collective(uint64_t step) {
    auto operation = draw(step);
    operation->fill(step);
    if (hash(seed_, step, 3) % 4 == 0) {
        operation->verify(operation->call(Form::blocking, nullptr), "blocking");
        return;
    }
    outstanding_.start(std::move(operation));
}

void Group::persistent(uint64_t step) {
    if (prepared_.empty() || (prepared_.size() < 3 && hash(seed_, step, 4) % 4 == 0)) {
        prepared_.emplace_back();
        Prepared &made = prepared_.back();
        made.operation = draw(step);
        job::ok(made.operation->call(Form::persistent, &made.request), comm_, "init");
    }
    Prepared &one = prepared_[hash(seed_, step, 5) % prepared_.size()];
    end(&one);
    one.operation->fill(++one.rounds);
    one.active = job::ok(weft_start(&one.request), comm_, "weft_start");
}

void Group::receive(Exchange *one, int source, int tag, bool probed, int from) {
    if (!probed) {
        job::ok(weft_irecv(one->came.data(), one->came.size(), WEFT_BYTE, source, tag, comm_, &one->requests[1]), comm_,
                one->text);
        return;
    }
    weft_message *message = nullptr;
    weft_status status;
    job::ok(weft_mprobe(source, tag, comm_, &message, &status), comm_, one->text);
    job::check(status.source == from && status.tag == tag && status.bytes == one->came.size(), comm_,
               one->text + ": the probe's status");
    job::ok(weft_imrecv(one->came.data(), one->came.size(), WEFT_BYTE, &message, &one->requests[1]), comm_, one->text);
}

// Every rank to the one that is so many further.
void Group::exchange(uint64_t step) {
    int size = weft_size(comm_), rank = weft_rank(comm_), shift = int(hash(seed_, step, 6) % uint64_t(size));
    int to = (rank + shift) % size, from = (rank + size - shift) % size, tag = int(step);
    uint64_t kind = hash(seed_, step, 7) % 8;
    auto content = [&](int sender) { return hash(seed_, step, uint64_t(sender), 8); };
    auto bytes = [&](int sender) { return size_t(content(sender) % (kind == 0 ? 300000 : kind < 3 ? 20000 : 200)); };
    Exchange one;
    one.sent.resize(bytes(rank));
    one.came.resize(bytes(from));
    one.expected = content(from);
    one.text = "message " + std::to_string(step) + " of " + std::to_string(one.came.size()) + " bytes from rank " +
               std::to_string(from);
    job::fill(one.sent.data(), one.sent.size(), content(rank));
    int source = random_.below(3) == 0 ? WEFT_ANY_SOURCE : from;
    bool probed = random_.below(5) == 0, late = probed || random_.below(2);
    if (!late)
        receive(&one, source, tag, false, from);
    auto *send = random_.below(4) == 0 ? weft_issend : weft_isend;
    job::ok(send(one.sent.data(), one.sent.size(), WEFT_BYTE, to, tag, comm_, &one.requests[0]), comm_, one.text);
    if (late)
        receive(&one, source, tag, probed, from);
    exchanges_.push_back(std::move(one));
}

Group Group::derive(uint64_t step) {
    weft_comm *made = nullptr;
    int color = 0;
    if (!comm_)
        return {nullptr, 0, 0};
    if (hash(seed_, step, 9) % 4 == 0) {
        job::ok(weft_comm_dup(comm_, &made), comm_, "weft_comm_dup");
    } else {
        uint64_t wish = hash(seed_, step, uint64_t(weft_rank(comm_)), 10), colors = 1 + hash(seed_, step, 11) % 3;
        color = wish % 7 == 0 ? WEFT_COLOR_UNDEFINED : int(wish / 7 % colors);
        job::ok(weft_comm_split(comm_, color, int(wish >> 40), &made), comm_, "weft_comm_split");
    }
    job::check((made != nullptr) == (color >= 0), comm_, "who has a color has a communicator");
    return {made, hash(seed_, step, uint64_t(color), 12), random_.below(1u << 30)};
}

void Group::end(Prepared *one) {
    if (one->active)
        one->operation->verify(weft_wait(&one->request, WEFT_STATUS_IGNORE), "persistent");
    one->active = false;
}

void Group::end(Exchange *one) {
    job::ok(weft_waitall(2, one->requests, WEFT_STATUSES_IGNORE), comm_, one->text);
    job::check(job::matches(one->came.data(), one->came.size(), one->expected), comm_, one->text + " is wrong");
}

void Group::complete_some() {
    if (outstanding_.size() && random_.below(2))
        outstanding_.complete_some();
    if (!exchanges_.empty() && random_.below(2)) {
        size_t which = random_.below(exchanges_.size());
        end(&exchanges_[which]);
        exchanges_.erase(exchanges_.begin() + ptrdiff_t(which));
    }
}

void Group::complete_all() {
    for (Exchange &one : exchanges_)
        end(&one);
    exchanges_.clear();
    for (Prepared &one : prepared_) {
        end(&one);
        job::ok(weft_request_free(&one.request), comm_, "weft_request_free");
    }
    prepared_.clear();
    outstanding_.complete_all();
}

void Group::free() {
    if (!comm_)
        return;
    complete_all();
    job::ok(weft_comm_free(&comm_), nullptr, "weft_comm_free");
}

// What one thread does. The first communicators are not its to free.
void run_thread(const std::vector<weft_comm *> &first, uint64_t seed, uint64_t own) {
    threads::Random random(own);
    std::vector<Group> groups;
    groups.reserve(most_groups);
    for (weft_comm *comm : first)
        groups.emplace_back(comm, hash(seed, groups.size(), 13), random.below(1u << 30));
    uint64_t steps = least_steps + hash(seed, 14) % more_steps, most = 1 + hash(seed, 15) % most_pending;
    for (uint64_t step = 0; step < steps; step++) {
        size_t which = hash(seed, step, 16) % groups.size();
        uint64_t what = hash(seed, step, 17) % 100;
        Group &group = groups[which];
        if (what < 6 && groups.size() < most_groups)
            groups.push_back(group.derive(step));
        else if (what < 8 && which >= first.size())
            group.free();
        else if (group.comm() && what < 25)
            group.exchange(step);
        else if (group.comm() && what < 33)
            group.persistent(step);
        else if (group.comm())
            group.collective(step);
        auto pending = [&] {
            size_t sum = 0;
            for (const Group &one : groups)
                sum += one.pending();
            return sum;
        };
        while (pending() >= most || (pending() && random.below(8) == 0))
            groups[random.below(groups.size())].complete_some();
    }
    for (size_t i = groups.size(); i-- > first.size();)
        groups[i].free();
    for (Group &group : groups)
        group.complete_all();
}

} // namespace

void run_mixture(weft_comm *processes, int most_threads, uint64_t seed) {
    auto process = uint64_t(weft_rank(processes));
    int threads = 1 + int(hash(seed, process, 18) % uint64_t(most_threads));
    std::vector<weft_team *> teams(1 + hash(seed, 19) % 3, nullptr);
    for (size_t i = 0; i < teams.size(); i++) { // the first is of all threads
        int count = i ? 1 + int(hash(seed, process, i, 20) % uint64_t(threads)) : threads;
        job::ok(weft_team_create(processes, count, &teams[i]), processes, "weft_team_create");
    }
    threads::run(threads, [&](int thread) {
        std::vector<weft_comm *> comms(teams.size() + 1, nullptr);
        for (size_t i = 0; i < teams.size(); i++)
            if (thread < weft_team_threads(teams[i]))
                job::ok(weft_team_enter(teams[i], thread, &comms[i]), processes, "weft_team_enter");
        comms.back() = thread == 0 ? processes : nullptr;
        run_thread(comms, seed, hash(seed, process, uint64_t(thread), 21));
        // Under FUNNELED all moves while the leader is in weft.
        job::ok(weft_barrier(comms[0]), comms[0], "weft_barrier");
        for (size_t i = 0; i < teams.size(); i++)
            if (comms[i])
                job::ok(weft_team_leave(&comms[i]), processes, "weft_team_leave");
    });
    for (weft_team *&team : teams)
        job::ok(weft_team_free(&team), processes, "weft_team_free");
}

} // namespace process
