// SPDX-License-Identifier: BSD-3-Clause
#include "messages_program.h"
#include "intra/threads.h"
#include <algorithm>

namespace messages {

namespace {

constexpr int few_tags = 3, own_tags = 100;
constexpr size_t identity = identity_bytes;

struct Slot {
    bool sends;
    int to, tag;
    size_t bytes;
    Mode mode;
    Pattern pattern;
    size_t room;
    bool scattered, busy;
};

// What a rank has under way.
struct Active {
    int handle, slot;
    bool sends, sure; // sure: of a send
    size_t place;     // of a receive: among the rank's in this phase
};

struct Rank {
    std::vector<int> sent;         // messages to it so far in this phase
    std::vector<Pattern> received; // its receives so far in this phase, in order
    std::vector<Active> active;
    std::vector<Slot> slots;
};

class Generator {
  public:
    Generator(Program &program) : program_(program), random_(program.seed), ranks_(size_t(program.ranks)) {
        static const size_t limits[] = {64, 64, 64, 4096, 4096, 4096, 24000, 24000, 300000};
        limit_ = limits[random_.below(std::size(limits))];
        wild_ = unsigned(random_.below(4)) * 30;
        for (int rank = 0; rank < program_.ranks; rank++)
            for (uint64_t slots = random_.below(4); slots > 0; slots--)
                at(rank).slots.push_back(make_slot());
        uint64_t per_rank = limit_ > 100000 ? 8 : 4 + random_.below(25);
        for (int phase = 0; phase < program_.phases; phase++)
            make_phase(phase, per_rank * uint64_t(program_.ranks));
        for (int rank = 0; rank < program_.ranks; rank++)
            program_.slots[size_t(rank)] = int(at(rank).slots.size());
    }

  private:
    Rank &at(int rank) {
        return ranks_[size_t(rank)];
    }
    bool percent(unsigned chance) {
        return random_.below(100) < chance;
    }
    int any_rank() {
        return int(random_.below(uint64_t(program_.ranks)));
    }
    template <class Choice> Choice one_of(std::initializer_list<Choice> choices) {
        return choices.begin()[random_.below(choices.size())];
    }

    void make_phase(int phase, uint64_t steps) {
        phase_ = phase;
        for (Rank &rank : ranks_) {
            rank.sent.clear();
            rank.received.clear();
            rank.active.clear();
            for (Slot &slot : rank.slots)
                slot.busy = false;
        }
        if (percent(40)) {
            for (uint64_t groups = 1 + random_.below(3); groups > 0; groups--)
                post_group();
            everywhere(Kind::barrier);
            send_groups(true);
        }
        while (steps-- > 0)
            step();
        send_groups(false);
        everywhere(Kind::drain);
    }

    void step() {
        uint64_t choice = random_.below(100);
        if (choice < 32)
            send_freely();
        else if (choice < 56)
            receive_freely();
        else if (choice < 64)
            receive_waiting();
        else if (choice < 67)
            post_group();
        else if (choice < 70)
            send_groups(false);
        else if (choice < 75)
            wait_for_each_other();
        else if (choice < 79)
            exchange_in_a_ring();
        else if (choice < 91)
            complete_some();
        else if (choice < 94)
            cancel();
        else if (choice < 96)
            nobody();
        else
            add(any_rank(), Operation(Kind::delay));
    }

    Operation &add(int rank, Operation operation) {
        auto &operations = program_.operations[size_t(rank)];
        operations.push_back(std::move(operation));
        return operations.back();
    }
    void everywhere(Kind kind) {
        for (int rank = 0; rank < program_.ranks; rank++)
            add(rank, Operation(kind));
    }

    size_t bytes() {
        if (percent(8))
            return random_.below(identity);
        return identity + random_.below(percent(50) ? 60 : limit_ - identity + 1);
    }
    size_t room() {
        return percent(85) ? limit_ : 8 + random_.below(limit_ - 7);
    }
    Pattern pattern() {
        return {percent(wild_) ? WEFT_ANY_SOURCE : any_rank(),
                percent(wild_) ? WEFT_ANY_TAG : int(random_.below(few_tags))};
    }

    int make_message(int from, int to, int tag, size_t bytes) {
        int id = int(program_.messages.size());
        program_.messages.push_back({from, to, bytes < identity ? tiny_tags + id : tag, phase_, bytes});
        at(to).sent.push_back(id);
        return id;
    }

    // The operation of sending a message, and its handle when it does not wait.
    Operation sending(int from, int message, Mode mode, bool waits, bool sure, int slot = -1) {
        Operation operation(Kind::send);
        operation.message = message;
        operation.mode = mode;
        operation.scattered = percent(10);
        operation.slot = slot;
        if (mode == Mode::buffered)
            program_.buffered_bytes[size_t(from)] += program_.messages[size_t(message)].bytes + WEFT_BSEND_OVERHEAD;
        if (!waits) {
            operation.handle = program_.handles[size_t(from)]++;
            at(from).active.push_back({operation.handle, slot, true, sure, 0});
        }
        return operation;
    }

    Operation receiving(int rank, Pattern pattern, size_t room, bool waits, int slot = -1) {
        Operation operation(Kind::receive);
        operation.pattern = pattern;
        operation.room = room;
        operation.room_scattered = percent(10);
        operation.slot = slot;
        if (waits) {
            operation.way =
                one_of({Way::plain, Way::plain, Way::probe, Way::iprobe, Way::mprobe, Way::improbe, Way::imrecv});
        } else {
            operation.handle = program_.handles[size_t(rank)]++;
            at(rank).active.push_back({operation.handle, slot, false, false, at(rank).received.size()});
        }
        at(rank).received.push_back(pattern);
        return operation;
    }

    Slot make_slot() {
        Slot slot{};
        slot.sends = percent(50);
        slot.to = any_rank();
        slot.tag = int(random_.below(few_tags));
        slot.bytes = std::max(bytes(), identity);
        slot.mode = one_of({Mode::standard, Mode::synchronous, Mode::buffered});
        slot.pattern = pattern();
        slot.room = limit_;
        slot.scattered = percent(10);
        return slot;
    }

    Operation starting(int rank, int number) {
        Slot &slot = at(rank).slots[size_t(number)];
        slot.busy = true;
        Operation part = slot.sends ? sending(rank, make_message(rank, slot.to, slot.tag, slot.bytes), slot.mode, false,
                                              slot.mode == Mode::buffered, number)
                                    : receiving(rank, slot.pattern, slot.room, false, number);
        part.scattered = part.room_scattered = slot.scattered;
        return part;
    }

    // Starts one persistent request, or all, that are free. False: there is none.
    bool start(int rank, bool all) {
        Operation operation(Kind::start);
        for (int number = 0; number < int(at(rank).slots.size()) && (all || operation.parts.empty()); number++)
            if (!at(rank).slots[size_t(number)].busy)
                operation.parts.push_back(starting(rank, number));
        if (operation.parts.empty())
            return false;
        add(rank, operation);
        return true;
    }

    void send_freely() {
        int from = any_rank();
        if (percent(15) && start(from, percent(40)))
            return;
        int message = make_message(from, any_rank(), int(random_.below(few_tags)), bytes());
        Mode mode = one_of({Mode::standard, Mode::standard, Mode::synchronous, Mode::buffered});
        bool buffered = mode == Mode::buffered;
        add(from, sending(from, message, mode, buffered && percent(50), buffered));
    }

    void receive_freely() {
        int rank = any_rank();
        add(rank, receiving(rank, pattern(), room(), false));
    }

    // Do more messages match than the first `before` receives of the rank could take?
    bool comes_surely(int rank, Pattern pattern, size_t before) {
        std::vector<const Message *> matching;
        for (int id : at(rank).sent)
            if (pattern.takes(program_.messages[size_t(id)]))
                matching.push_back(&program_.messages[size_t(id)]);
        auto end = at(rank).received.begin() + ptrdiff_t(before);
        auto takers = std::count_if(at(rank).received.begin(), end, [&](Pattern other) {
            return std::any_of(matching.begin(), matching.end(), [&](const Message *m) { return other.takes(*m); });
        });
        return ptrdiff_t(matching.size()) > takers;
    }

    void receive_waiting() {
        for (int attempt = 0; attempt < 5; attempt++) {
            int rank = any_rank();
            Pattern wanted = pattern();
            if (comes_surely(rank, wanted, at(rank).received.size())) {
                add(rank, receiving(rank, wanted, room(), true));
                return;
            }
        }
    }

    // Receives with a tag of their own, and as many messages that will be sent to them: those receives that name their
    // source first, so that the others are left to the other senders.
    void post_group() {
        int to = any_rank(), tag = next_tag_++;
        std::vector<int> senders(1 + random_.below(4));
        for (int &sender : senders)
            sender = any_rank();
        size_t exact = random_.below(senders.size() + 1);
        for (size_t i = 0; i < senders.size(); i++)
            add(to, receiving(to, {i < exact ? senders[i] : WEFT_ANY_SOURCE, tag}, limit_, false)).room_scattered =
                false;
        for (int sender : senders)
            groups_.push_back({sender, to, tag, 0, identity + random_.below(limit_ - identity + 1)});
        std::shuffle(groups_.begin(), groups_.end(), shuffler{random_});
    }

    // Sends to the groups so far; ready: their receives are known to be posted.
    void send_groups(bool ready) {
        for (const Message &to : groups_) {
            int message = make_message(to.from, to.to, to.tag, to.bytes);
            Mode mode = one_of({Mode::standard, Mode::standard, Mode::synchronous, Mode::buffered});
            if (ready && percent(70))
                mode = Mode::ready;
            add(to.from, sending(to.from, message, mode, percent(60), true));
        }
        groups_.clear();
    }

    // May rank wait for a message that has a tag of its own?
    bool undisturbed(int rank, int from) {
        return std::none_of(at(rank).received.begin(), at(rank).received.end(), [&](Pattern other) {
            return other.takes({from, rank, next_tag_, phase_, identity});
        });
    }

    void wait_for_each_other() {
        int from = any_rank(), to = any_rank();
        if (from == to || !undisturbed(to, from))
            return;
        int tag = next_tag_++;
        int message = make_message(from, to, tag, std::max(bytes(), identity));
        Mode mode = one_of({Mode::standard, Mode::synchronous, Mode::buffered});
        add(from, sending(from, message, mode, true, true));
        add(to, receiving(to, {percent(50) ? WEFT_ANY_SOURCE : from, tag}, limit_, true));
    }

    void exchange_in_a_ring() {
        std::vector<int> ring(size_t(program_.ranks));
        for (size_t i = 0; i < ring.size(); i++)
            ring[i] = int(i);
        std::shuffle(ring.begin(), ring.end(), shuffler{random_});
        ring.resize(1 + random_.below(ring.size()));
        size_t length = ring.size();
        for (size_t i = 0; i < length; i++)
            if (!undisturbed(ring[(i + 1) % length], ring[i]))
                return;
        int tag = next_tag_++;
        for (size_t i = 0; i < length; i++) {
            int rank = ring[i], from = ring[(i + length - 1) % length];
            int message =
                make_message(rank, ring[(i + 1) % length], tag, identity + random_.below(limit_ - identity + 1));
            Operation operation = receiving(rank, {percent(30) ? WEFT_ANY_SOURCE : from, tag}, limit_, true);
            operation.kind = Kind::exchange;
            operation.message = message;
            operation.replace = percent(30);
            operation.scattered = percent(10);
            operation.room_scattered = !operation.replace && operation.room_scattered;
            add(rank, operation);
        }
    }

    bool sure(int rank, const Active &active) {
        return active.sends ? active.sure : comes_surely(rank, at(rank).received[active.place], active.place);
    }

    // Waits for, or tests, some of what the rank has under way. Whoever waits for all names what is sure to come; who waits for
    // one or some of many has something sure among them.
    void complete_some() {
        int rank = any_rank();
        Rank &own = at(rank);
        Operation operation(Kind::complete);
        operation.form = one_of({Form::one, Form::all, Form::any, Form::some});
        operation.waits = percent(60);
        bool all_sure = operation.waits && (operation.form == Form::one || operation.form == Form::all);
        size_t most = operation.form == Form::one ? 1 : 1 + random_.below(12);
        std::vector<Active> order = own.active;
        std::shuffle(order.begin(), order.end(), shuffler{random_});
        for (const Active &active : order) {
            bool is_sure = sure(rank, active);
            if (operation.handles.size() == most || (all_sure && !is_sure))
                continue;
            operation.handles.push_back(active.handle);
            operation.sure.push_back(is_sure);
            if (all_sure)
                completed(rank, active.handle);
        }
        if (!operation.handles.empty())
            add(rank, operation);
    }

    void completed(int rank, int handle) {
        auto &active = at(rank).active;
        auto found =
            std::find_if(active.begin(), active.end(), [&](const Active &one) { return one.handle == handle; });
        if (found->slot >= 0)
            at(rank).slots[size_t(found->slot)].busy = false;
        active.erase(found);
    }

    // Takes a receive back and waits for it, which may have met a message all the same. Those of groups stay.
    void cancel() {
        int rank = any_rank();
        std::vector<int> handles;
        for (const Active &active : at(rank).active)
            if (!active.sends && (at(rank).received[active.place].tag < own_tags))
                handles.push_back(active.handle);
        if (handles.empty())
            return;
        Operation operation(Kind::cancel);
        operation.handle = handles[random_.below(handles.size())];
        add(rank, operation);
        completed(rank, operation.handle);
    }

    // To or from WEFT_PROC_NULL.
    void nobody() {
        Operation operation(percent(50) ? Kind::send : Kind::receive);
        operation.mode = one_of({Mode::standard, Mode::synchronous, Mode::ready});
        operation.way = one_of({Way::plain, Way::probe, Way::mprobe, Way::imrecv});
        operation.room = 8;
        int rank = any_rank();
        if (percent(50)) {
            operation.handle = program_.handles[size_t(rank)]++;
            at(rank).active.push_back({operation.handle, -1, true, true, 0});
        }
        add(rank, operation);
    }

    struct shuffler {
        using result_type = uint32_t;
        threads::Random &random;
        static constexpr result_type min() {
            return 0;
        }
        static constexpr result_type max() {
            return 0xffffffff;
        }
        result_type operator()() {
            return result_type(random.below(uint64_t{1} << 32));
        }
    };

    Program &program_;
    threads::Random random_;
    std::vector<Rank> ranks_;
    std::vector<Message> groups_; // to be sent
    size_t limit_;
    unsigned wild_; // percent
    int phase_ = 0, next_tag_ = own_tags;
};

} // namespace

Program::Program(uint64_t program_seed, int rank_count)
    : seed(program_seed), ranks(rank_count), phases(1 + int(program_seed % 3)), operations(size_t(rank_count)),
      handles(size_t(rank_count)), slots(size_t(rank_count)), buffered_bytes(size_t(rank_count)) {
    Generator generator(*this);
}

int Program::sent_to(int rank, int phase) const {
    return int(std::count_if(messages.begin(), messages.end(),
                             [&](const Message &message) { return message.to == rank && message.phase == phase; }));
}

size_t Program::first_taker(int message) const {
    const Message &wanted = messages[size_t(message)];
    const std::vector<Operation> &list = operations[size_t(wanted.to)];
    int phase = 0;
    for (size_t place = 0; place < list.size(); place++) {
        const Operation &operation = list[place];
        bool receives = operation.kind == Kind::receive || operation.kind == Kind::exchange;
        bool takes = receives && operation.pattern.takes(wanted);
        for (const Operation &part : operation.parts)
            takes = takes || (part.kind == Kind::receive && part.pattern.takes(wanted));
        if (phase == wanted.phase && (takes || operation.kind == Kind::drain))
            return place;
        phase += operation.kind == Kind::drain;
    }
    return list.size();
}

} // namespace messages
