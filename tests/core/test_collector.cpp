// SPDX-License-Identifier: BSD-3-Clause
// Who calls the roll of a job, over real sockets: who is let in, who is asked, what is reported and how often; and callers that nobody
// should trust.
#include <climits>
#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <poll.h>
#include <random>
#include <string>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>
extern "C" {
#include <core/collector.h>
}

namespace {

// A process of the job, or who says so.
class Caller {
  public:
    explicit Caller(int connected) : socket(connected) {
        const timeval limit = {60, 0};
        setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    }
    Caller(const Caller &) = delete;
    ~Caller() {
        close(socket);
    }
    void send_bytes(const void *from, size_t bytes) const {
        ASSERT_EQ(send(socket, from, bytes, MSG_NOSIGNAL), ssize_t(bytes));
    }
    void say(enum core_packet_kind kind, int process, uint32_t question = 0, const std::vector<core_row> &rows = {}) {
        core_packet packet = {};
        packet.head = core_packet_head_of(kind, question, process);
        memcpy(packet.head.key, key, sizeof(key));
        packet.head.count = uint32_t(rows.size());
        std::copy(rows.begin(), rows.end(), packet.rows);
        send_bytes(&packet, core_packet_bytes(packet.head.count));
    }
    bool hears() const {
        pollfd ready = {socket, POLLIN, 0};
        return poll(&ready, 1, 0) == 1;
    }
    // 0: it was cut off.
    core_packet_head hear() const {
        core_packet_head head = {};
        if (recv(socket, &head, sizeof(head), MSG_WAITALL) != ssize_t(sizeof(head)))
            head = {};
        return head;
    }
    unsigned char key[CORE_KEY_BYTES] = {};
    int socket;
};

core_row row_of(int process, const char *call, double waited_s = 5) {
    core_roll roll = {};
    core_row row = *core_roll_add(&roll);
    core_roll_free(&roll);
    row.process = process;
    row.thread = row.home = row.home_rank = 0;
    row.comm = 1;
    row.presence = *call ? CORE_WAITING : CORE_OUTSIDE;
    row.number = 1;
    row.waited_s = waited_s;
    strcpy(row.call, call);
    return row;
}

// A collector of a job of three processes, over TCP.
class Collector : public testing::Test {
  protected:
    void SetUp() override {
        int listener = core_rollcall_listen_far(&address);
        ASSERT_GE(listener, 0);
        ASSERT_GT(address.count, 0);
        collector = core_collector_open(3, listener, address.key, INT_MAX);
        ASSERT_TRUE(collector);
    }
    ~Collector() override {
        core_collector_close(collector);
        for (int fd : over)
            close(fd);
    }
    std::unique_ptr<Caller> connect() {
        std::unique_ptr<Caller> made(new Caller(core_rollcall_connect_far(&address, true, 10000, over[0])));
        EXPECT_GE(made->socket, 0);
        memcpy(made->key, address.key, sizeof(address.key));
        return made;
    }
    // Moves things until the caller hears something, and what that is.
    core_packet_head answer_to(const Caller &caller) {
        while (!caller.hears())
            move();
        return caller.hear();
    }
    void move() {
        pollfd ready = {core_collector_fd(collector), POLLIN, 0};
        poll(&ready, 1, 10);
        take(core_collector_move(collector, ended));
    }
    void take(core_report report) {
        if (!report.roll)
            return;
        reports++;
        char *text = nullptr;
        size_t bytes = 0;
        FILE *file = open_memstream(&text, &bytes);
        core_roll_print_job(file, "it", 3, report.roll, report.by_user);
        fclose(file);
        last = text;
        free(text);
    }
    void report(int number) {
        while (reports < number)
            move();
    }
    std::unique_ptr<Caller> enter(int process) {
        std::unique_ptr<Caller> made = connect();
        made->say(CORE_PACKET_HELLO, process);
        EXPECT_EQ(answer_to(*made).kind, unsigned(CORE_PACKET_WELCOME)) << process;
        return made;
    }
    uint32_t asked(const Caller &caller) {
        core_packet_head head = answer_to(caller);
        EXPECT_EQ(head.kind, unsigned(CORE_PACKET_ASK));
        return head.question;
    }
    // The user calls the roll, and of those that are asked the process answers that it is in `call`.
    void call_roll(Caller &caller, int process, const char *call) {
        int before = reports;
        core_collector_ask(collector);
        uint32_t question = asked(caller);
        caller.say(CORE_PACKET_ROWS_OF, process, question, {row_of(process, call)});
        report(before + 1);
        EXPECT_NE(last.find(call), std::string::npos) << last;
    }
    void expect_cut_off(const Caller &caller) {
        EXPECT_EQ(answer_to(caller).kind, 0u);
    }
    core_rollcall_address address = {};
    core_collector *collector = nullptr;
    const bool *ended = nullptr;
    int over[2] = {-1, -1};
    int piped = pipe(over);
    int reports = 0;
    std::string last;
};

} // namespace

TEST_F(Collector, AsksAllAndReportsOnce) {
    auto zero = enter(0), one = enter(1), two = enter(2);
    EXPECT_EQ(core_collector_wait_ms(collector), -1);
    one->say(CORE_PACKET_HANG, 1, 4);
    uint32_t question = asked(*zero);
    EXPECT_GE(core_collector_wait_ms(collector), 0);
    EXPECT_EQ(asked(*one), question);
    EXPECT_EQ(asked(*two), question);
    one->say(CORE_PACKET_HANG, 1, 4); // they are being asked
    zero->say(CORE_PACKET_ROWS_OF, 0, question, {row_of(0, "weft_barrier")});
    one->say(CORE_PACKET_ROWS_OF, 1, question, {row_of(1, "weft_barrier", 6)});
    two->say(CORE_PACKET_ROWS_OF, 2, question, {row_of(2, "")});
    report(1);
    EXPECT_EQ(last.substr(0, last.find('\n')), "it: a wait has lasted 6.0 s; roll-call of 3 processes:");
    EXPECT_LT(last.find("process 2, thread 0): outside"), last.find("process 0, thread 0): in weft_barrier")) << last;
    EXPECT_LT(last.find("process 0, thread 0): in weft_barrier"), last.find("process 1, thread 0): in weft_barrier"))
        << last;

    // The same waits stand: nothing new. One is over and another lasts too long: there is.
    for (uint64_t number : {1, 2}) {
        one->say(CORE_PACKET_HANG, 1, 4);
        question = asked(*zero);
        core_row row = row_of(0, "weft_barrier");
        row.number = number;
        zero->say(CORE_PACKET_ROWS_OF, 0, question, {row});
        EXPECT_EQ(asked(*one), question);
        one->say(CORE_PACKET_ROWS_OF, 1, question, {row_of(1, "weft_barrier", 6)});
        EXPECT_EQ(asked(*two), question);
        two->say(CORE_PACKET_ROWS_OF, 2, question, {row_of(2, "")});
        while (core_collector_wait_ms(collector) >= 0)
            move();
        EXPECT_EQ(reports, int(number));
    }

    // What was too long is over when all have answered.
    one->say(CORE_PACKET_HANG, 1, 4);
    question = asked(*zero);
    zero->say(CORE_PACKET_ROWS_OF, 0, question, {row_of(0, "weft_barrier", 1)});
    one->say(CORE_PACKET_ROWS_OF, 1, question, {row_of(1, "")});
    two->say(CORE_PACKET_ROWS_OF, 2, question, {row_of(2, "")});
    while (core_collector_wait_ms(collector) >= 0)
        move();
    EXPECT_EQ(reports, 2);
}

TEST_F(Collector, TakesMoreRowsThanAPacketHas) {
    auto zero = enter(0);
    core_collector_ask(collector);
    uint32_t question = asked(*zero);
    std::vector<core_row> full(CORE_PACKET_ROWS, row_of(0, "weft_barrier"));
    zero->say(CORE_PACKET_ROWS_OF, 0, question, full);
    zero->say(CORE_PACKET_ROWS_OF, 0, question, full);
    EXPECT_GE(core_collector_wait_ms(collector), 0) << "its last packet is not full";
    zero->say(CORE_PACKET_ROWS_OF, 0, question);
    report(1);
    size_t rows = 0;
    for (size_t at = last.find("in weft_barrier"); at != std::string::npos; at = last.find("in weft_barrier", at + 1))
        rows++;
    EXPECT_EQ(rows, 2u * CORE_PACKET_ROWS);
    EXPECT_EQ(last.substr(0, last.find('\n')), "it: roll-call of 3 processes:");
}

TEST_F(Collector, TakesPacketsByteByByte) {
    auto zero = connect();
    core_packet packet = {};
    packet.head = core_packet_head_of(CORE_PACKET_HELLO, 0, 0);
    memcpy(packet.head.key, address.key, CORE_KEY_BYTES);
    auto trickle = [&](size_t bytes) {
        for (size_t i = 0; i < bytes; i++) {
            zero->send_bytes((const char *)&packet + i, 1);
            move();
        }
    };
    trickle(sizeof(packet.head));
    EXPECT_EQ(answer_to(*zero).kind, unsigned(CORE_PACKET_WELCOME));
    core_collector_ask(collector);
    packet.head = core_packet_head_of(CORE_PACKET_ROWS_OF, asked(*zero), 0);
    packet.head.count = 2;
    packet.rows[0] = row_of(0, "weft_gather");
    packet.rows[1] = row_of(0, "weft_scan");
    trickle(core_packet_bytes(2));
    report(1);
    EXPECT_NE(last.find("weft_gather"), std::string::npos);
    EXPECT_NE(last.find("weft_scan"), std::string::npos);
}

TEST_F(Collector, SaysWhoIsMissing) {
    auto zero = enter(0), one = enter(1), two = enter(2);
    two->say(CORE_PACKET_GOODBYE, 2);
    two.reset();
    one.reset();
    while (!core_collector_through(collector, 2))
        move();
    call_roll(*zero, 0, "weft_barrier");
    EXPECT_NE(last.find("process 1: has hung up; has it ended?"), std::string::npos) << last;
    EXPECT_NE(last.find("process 2: before the end of weft_init or after weft_finalize"), std::string::npos) << last;

    // Who starts the processes knows better who has ended; and who does not answer is not waited for for ever.
    const bool by_process[3] = {false, true, true};
    ended = by_process;
    core_collector_ask(collector);
    asked(*zero);
    report(2);
    EXPECT_NE(last.find("process 0: does not answer"), std::string::npos) << last;
    EXPECT_NE(last.find("process 1: has ended"), std::string::npos) << last;
    EXPECT_NE(last.find("process 2: has ended"), std::string::npos) << last;
}

TEST_F(Collector, NobodyHasConnected) {
    core_collector_ask(collector);
    report(1);
    EXPECT_NE(last.find("process 0: does not answer"), std::string::npos) << last;
    const bool by_process[3] = {};
    ended = by_process;
    core_collector_ask(collector);
    report(2);
    EXPECT_NE(last.find("process 0: before the end of weft_init"), std::string::npos) << last;
}

TEST_F(Collector, WhoStartsWeftAgainIsInAgain) {
    auto first = enter(1);
    first->say(CORE_PACKET_GOODBYE, 1);
    while (!core_collector_through(collector, 1))
        move();
    auto second = enter(1);
    EXPECT_FALSE(core_collector_through(collector, 1));
    expect_cut_off(*first);
    call_roll(*second, 1, "weft_barrier");
}

TEST_F(Collector, CutsOffWhoSendsNonsense) {
    auto good = enter(0);
    auto with_head = [&](void (*change)(core_packet_head & head)) {
        auto bad = connect();
        core_packet_head head = core_packet_head_of(CORE_PACKET_HELLO, 0, 1);
        memcpy(head.key, address.key, CORE_KEY_BYTES);
        change(head);
        bad->send_bytes(&head, sizeof(head));
        expect_cut_off(*bad);
    };
    with_head([](core_packet_head &head) { head.key[CORE_KEY_BYTES - 1] ^= 1; });
    with_head([](core_packet_head &head) { head.process = -1; });
    with_head([](core_packet_head &head) { head.process = 3; });
    with_head([](core_packet_head &head) { head.version++; });
    with_head([](core_packet_head &head) { head.row_bytes++; });
    with_head([](core_packet_head &head) { head.count = 1; });
    with_head([](core_packet_head &head) { head.count = UINT32_MAX; });
    with_head([](core_packet_head &head) { head.kind = CORE_PACKET_ROWS_OF; });
    with_head([](core_packet_head &head) { head.kind = CORE_PACKET_HANG; });
    with_head([](core_packet_head &head) { head.kind = CORE_PACKET_GOODBYE; });

    auto said = [&](enum core_packet_kind kind, int process, const std::vector<core_row> &rows) {
        auto bad = enter(1);
        bad->say(kind, process, 1, rows);
        expect_cut_off(*bad);
    };
    said(CORE_PACKET_ROWS_OF, 2, {});
    said(CORE_PACKET_ROWS_OF, 1, {row_of(2, "weft_barrier")});
    said(CORE_PACKET_HELLO, 1, {});
    said(CORE_PACKET_ASK, 1, {});
    said(CORE_PACKET_WELCOME, 1, {});
    said(core_packet_kind(1000), 1, {});

    core_collector_ask(collector);
    uint32_t question = asked(*good);
    good->say(CORE_PACKET_ROWS_OF, 0, question + 1, {row_of(0, "weft_scan")}); // to another question
    good->say(CORE_PACKET_ROWS_OF, 0, question, {row_of(0, "weft_barrier")});
    report(1);
    EXPECT_NE(last.find("weft_barrier"), std::string::npos) << last;
    EXPECT_EQ(last.find("weft_scan"), std::string::npos) << last;
}

// Packets of any kind from anybody, whole and in parts: who behaves is served all the same.
TEST_F(Collector, SurvivesWhateverIsSent) {
    std::mt19937 random(7);
    auto below = [&](unsigned most) { return unsigned(random() % most); };
    auto good = enter(0);
    std::vector<std::unique_ptr<Caller>> bad;
    for (int round = 0; round < 3000; round++) {
        if (bad.size() < 8 && below(4) == 0)
            bad.push_back(connect());
        if (bad.empty())
            continue;
        size_t which = below(unsigned(bad.size()));
        static core_packet packet;
        uint32_t kind = below(9), process = below(4) ? 1 + below(2) : random(), count = below(3) ? below(3) : random();
        packet.head = core_packet_head_of(core_packet_kind(kind), below(4), int(process));
        memcpy(packet.head.key, address.key, sizeof(packet.head.key));
        packet.head.count = count;
        packet.head.version += below(40) == 0;
        packet.head.key[below(16)] ^= below(20) == 0;
        for (core_row &row : packet.rows) {
            row = row_of(int(process), "weft_barrier", below(10));
            row.presence = below(10) ? row.presence : int(random());
            row.comm = row.ranks = int(below(5) ? below(100) : random());
            memset(row.place, below(256), sizeof(row.place));
        }
        size_t bytes = below(3) ? core_packet_bytes(count <= CORE_PACKET_ROWS ? count : 0) : below(sizeof(packet));
        (void)send(bad[which]->socket, &packet, bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (below(6) == 0)
            bad.erase(bad.begin() + int(which));
        take(core_collector_move(collector, nullptr));
        while (good->hears()) { // somebody has said that he waits for too long
            core_packet_head head = good->hear();
            ASSERT_EQ(head.kind, unsigned(CORE_PACKET_ASK));
            good->say(CORE_PACKET_ROWS_OF, 0, head.question, {row_of(0, "weft_scan")});
        }
    }
    bad.clear();
    while (core_collector_wait_ms(collector) >= 0)
        move();
    while (good->hears())
        good->hear();
    call_roll(*good, 0, "weft_gather");
}

TEST_F(Collector, StrangersDoNotKeepOthersOut) {
    auto zero = enter(0);
    std::vector<std::unique_ptr<Caller>> strangers;
    for (int i = 0; i < 100; i++) // more than it lets in
        strangers.push_back(connect());
    int cut = 0;
    for (int look = 0; look < 20; look++)
        move();
    for (const auto &stranger : strangers)
        cut += stranger->hears() && stranger->hear().kind == 0;
    EXPECT_GT(cut, 0);
    EXPECT_LT(cut, 100);
    strangers.clear();
    auto one = enter(1);
    core_collector_ask(collector);
    asked(*zero);
}

TEST_F(Collector, WhoComesWhileItAsksIsAsked) {
    auto zero = enter(0);
    core_collector_ask(collector);
    uint32_t question = asked(*zero);
    auto one = enter(1);
    EXPECT_EQ(asked(*one), question);
    zero->say(CORE_PACKET_ROWS_OF, 0, question, {row_of(0, "weft_barrier")});
    one->say(CORE_PACKET_ROWS_OF, 1, question, {row_of(1, "weft_scan")});
    report(1);
    EXPECT_NE(last.find("weft_barrier"), std::string::npos) << last;
    EXPECT_NE(last.find("weft_scan"), std::string::npos) << last;
}

// A child of the program has its descriptors, too, and keeps connections open that are cut off.
TEST_F(Collector, AForkedChildKeepsNothingAlive) {
    auto zero = enter(0), one = enter(1);
    int hold[2];
    ASSERT_EQ(pipe(hold), 0);
    pid_t child = fork();
    if (child == 0) {
        char byte;
        close(hold[1]);
        _exit(int(read(hold[0], &byte, 1)));
    }
    ASSERT_GT(child, 0);
    for (int round = 0; round < 2; round++) { // the second comes to the child's
        one->send_bytes("nonsense, and more of it than a packet's head has", sizeof(core_packet_head));
        for (int look = 0; look < 20; look++)
            move();
    }
    call_roll(*zero, 0, "weft_barrier");
    EXPECT_NE(last.find("process 1: has hung up"), std::string::npos) << last;
    close(hold[1]);
    close(hold[0]);
    int status;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
}

TEST(Descriptors, AreNotAllTakenFromTheProgram) {
    core_rollcall_address address = {};
    int over[2];
    ASSERT_EQ(pipe(over), 0);
    int listener = core_rollcall_listen_far(&address);
    ASSERT_GE(listener, 0);
    core_collector *collector = core_collector_open(3, listener, address.key, 0);
    ASSERT_TRUE(collector);
    {
        Caller one(core_rollcall_connect_far(&address, true, 10000, over[0]));
        ASSERT_GE(one.socket, 0);
        while (!one.hears())
            core_collector_move(collector, nullptr);
        EXPECT_EQ(one.hear().kind, 0u) << "refused";
    }
    core_collector_close(collector);
    close(over[0]);
    close(over[1]);
}

TEST_F(Collector, WithoutDescriptorsItWaitsForOne) {
    auto zero = enter(0);
    rlimit before;
    ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
    auto late = connect();
    late->say(CORE_PACKET_HELLO, 1);
    std::vector<int> held;
    rlimit little = {64, before.rlim_max};
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &little), 0);
    for (int fd; (fd = dup(0)) >= 0;)
        held.push_back(fd);
    move();
    move();
    pollfd ready = {core_collector_fd(collector), POLLIN, 0};
    EXPECT_EQ(poll(&ready, 1, 0), 0) << "it does not spin";
    for (int fd : held)
        close(fd);
    ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
    zero.reset(); // one that is free again
    EXPECT_EQ(answer_to(*late).kind, unsigned(CORE_PACKET_WELCOME));
}

TEST(Addresses, NobodyListensOrTheCallerIsThrough) {
    core_rollcall_address address = {};
    int over[2];
    ASSERT_EQ(pipe(over), 0);
    int listener = core_rollcall_listen_far(&address);
    ASSERT_GE(listener, 0);
    int one = core_rollcall_connect_far(&address, true, 10000, over[0]);
    EXPECT_GE(one, 0);
    EXPECT_EQ(write(over[1], "x", 1), 1);
    EXPECT_LT(core_rollcall_connect_far(&address, true, 10000, over[0]), 0) << "it is over";
    char byte;
    EXPECT_EQ(read(over[0], &byte, 1), 1);
    close(listener);
    EXPECT_LT(core_rollcall_connect_far(&address, true, 10000, over[0]), 0) << "nobody listens";
    address.count = 60000;
    EXPECT_LT(core_rollcall_connect_far(&address, true, 10000, over[0]), 0)
        << "no more addresses than there is room for";
    for (int fd : {one, over[0], over[1]})
        close(fd);
}

TEST(Addresses, LoopbackIsForTheSameHost) {
    core_rollcall_address address = {};
    int over[2];
    ASSERT_EQ(pipe(over), 0);
    int listener = core_rollcall_listen_far(&address);
    ASSERT_GE(listener, 0);
    const unsigned char v4[16] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1};
    memcpy(address.hosts[0], v4, sizeof(v4));
    address.count = 1;
    EXPECT_LT(core_rollcall_connect_far(&address, false, 10000, over[0]), 0);
    int one = core_rollcall_connect_far(&address, true, 10000, over[0]);
    EXPECT_GE(one, 0);
    for (int fd : {listener, one, over[0], over[1]})
        close(fd);
}

TEST(Directories, OfAnyName) {
    char top[] = "/tmp/weft-rollcall-XXXXXX";
    ASSERT_TRUE(mkdtemp(top));
    std::string directory = top + std::string("/") + std::string(200, 'd');
    ASSERT_EQ(mkdir(directory.c_str(), 0700), 0);
    EXPECT_LT(core_rollcall_connect(directory.c_str()), 0) << "nobody listens";
    int listener = core_rollcall_listen(directory.c_str());
    ASSERT_GE(listener, 0);
    core_collector *collector = core_collector_open(1, listener, nullptr, INT_MAX);
    ASSERT_TRUE(collector);
    {
        Caller one(core_rollcall_connect(directory.c_str()));
        ASSERT_GE(one.socket, 0);
        one.say(CORE_PACKET_HELLO, 0); // without a key
        while (!one.hears())
            core_collector_move(collector, nullptr);
        EXPECT_EQ(one.hear().kind, unsigned(CORE_PACKET_WELCOME));
    }
    core_collector_close(collector);
    unlink((directory + "/" CORE_ROLLCALL_SOCKET).c_str());
    rmdir(directory.c_str());
    rmdir(top);
    EXPECT_LT(core_rollcall_connect(directory.c_str()), 0) << "there is no such directory";
}
