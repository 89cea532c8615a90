// SPDX-License-Identifier: BSD-3-Clause
#include <core/clock.h>
#include <core/collector.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MAX_LOOKS = 256, STRANGERS = 64 };
#define ANSWER_NS UINT64_C(2000000000) /* who has not answered by then is not waited for */

/* A connection, and the packet that comes over it. */
typedef struct caller {
    struct caller *next;
    int fd, process; /* process -1: has not said hello */
    size_t got;      /* bytes of the packet so far */
    core_packet_head head;
    core_row *rows; /* room for CORE_PACKET_ROWS while rows come, else NULL */
} caller;

/* What is known of a process. */
typedef struct member {
    caller *caller; /* NULL: not connected */
    bool through;   /* was, and has said goodbye */
    bool lost;      /* was, and has not */
    bool awaited;   /* has not answered all of the present question */
} member;

struct core_collector {
    int processes, listener, events; /* events: an epoll of the listener (NULL) and all callers */
    int most;                        /* descriptors from here on are for others */
    bool deaf;                       /* the listener is not looked at: there is no room for more */
    bool keyed;
    unsigned char key[CORE_KEY_BYTES];
    member *members; /* by process */
    caller *callers;
    int strangers; /* callers that have not said hello */
    bool asking, asked_by_user;
    uint32_t question;
    uint64_t limit_ns; /* when asking ends (core_now_ns) */
    double hang_s;     /* what a process calls too long */
    core_roll answer;  /* so far */
    core_roll last;    /* the last report of waits that were too long … */
    double last_s;     /* … for which this was too long */
};

static bool watch(core_collector *collector, int fd, caller *from) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = from};
    return epoll_ctl(collector->events, EPOLL_CTL_ADD, fd, &event) == 0;
}

core_collector *core_collector_open(int processes, int listener, const unsigned char *key, int most) {
    core_collector *made = calloc(1, sizeof(*made));
    if (!made) {
        close(listener);
        errno = ENOMEM;
        return NULL;
    }
    made->processes = processes;
    made->listener = listener;
    made->most = most;
    made->members = calloc((size_t)processes, sizeof(*made->members));
    made->events = epoll_create1(EPOLL_CLOEXEC);
    made->keyed = key;
    if (key)
        memcpy(made->key, key, CORE_KEY_BYTES);
    /* Who has hung up meanwhile is not waited for. */
    int flags = fcntl(listener, F_GETFL);
    if (made->members && made->events >= 0 && flags >= 0 && fcntl(listener, F_SETFL, flags | O_NONBLOCK) == 0 &&
        watch(made, listener, NULL))
        return made;
    int code = errno;
    core_collector_close(made);
    errno = code;
    return NULL;
}

static void listen_again(core_collector *collector) {
    if (collector->deaf)
        collector->deaf = !watch(collector, collector->listener, NULL);
}

static void free_caller(caller *gone) {
    close(gone->fd);
    free(gone->rows);
    free(gone);
}

void core_collector_close(core_collector *collector) {
    if (!collector)
        return;
    while (collector->callers) {
        caller *next = collector->callers->next;
        free_caller(collector->callers);
        collector->callers = next;
    }
    close(collector->listener);
    if (collector->events >= 0)
        close(collector->events);
    core_roll_free(&collector->answer);
    core_roll_free(&collector->last);
    free(collector->members);
    free(collector);
}

int core_collector_fd(const core_collector *collector) {
    return collector->events;
}

static void cut_off(core_collector *collector, caller *gone) {
    caller **link = &collector->callers;
    while (*link != gone)
        link = &(*link)->next;
    *link = gone->next;
    if (gone->process < 0) {
        collector->strangers--;
    } else {
        member *who = &collector->members[gone->process];
        who->caller = NULL;
        who->lost = !who->through;
    }
    /* Closing it would not do where a child of the program has the descriptor, too. */
    epoll_ctl(collector->events, EPOLL_CTL_DEL, gone->fd, NULL);
    free_caller(gone);
    listen_again(collector);
}

/* One whose socket is full does not read. False: it got half of it. */
static bool tell(const caller *to, enum core_packet_kind kind, uint32_t question) {
    core_packet_head head = core_packet_head_of(kind, question, 0);
    ssize_t sent = send(to->fd, &head, sizeof(head), MSG_DONTWAIT | MSG_NOSIGNAL);
    return sent < 0 || sent == sizeof(head);
}

/* Of those that did not answer. */
static void add_absent(core_collector *collector, const bool *ended) {
    for (int process = 0; process < collector->processes; process++) {
        const member *who = &collector->members[process];
        if (who->caller && !who->awaited)
            continue;
        core_row *row = core_roll_add(&collector->answer);
        if (!row)
            return;
        row->process = process;
        if (ended ? ended[process] : who->lost)
            row->presence = ended ? CORE_ENDED : CORE_LOST;
        else if (who->caller || !(ended || who->through))
            row->presence = CORE_NO_ANSWER;
        else
            row->presence = CORE_NOT_IN_WEFT;
    }
}

static bool is_complete(const core_collector *collector) {
    for (int process = 0; process < collector->processes; process++)
        if (collector->members[process].caller && collector->members[process].awaited)
            return false;
    return true;
}

static core_report finish(core_collector *collector, const bool *ended) {
    const core_report nothing = {NULL, false};
    bool by_user = collector->asked_by_user;
    collector->asking = false;
    /* One report of a hang; and what was told of may be over meanwhile. Who waits on tells it again. */
    if (!by_user && !core_roll_is_news(&collector->last, collector->last_s, &collector->answer, collector->hang_s))
        return nothing;
    add_absent(collector, ended);
    core_roll_sort(&collector->answer);
    if (by_user)
        return (core_report){&collector->answer, true};
    core_roll_free(&collector->last);
    collector->last = collector->answer;
    collector->last_s = collector->hang_s;
    collector->answer = (core_roll){0};
    return (core_report){&collector->last, false};
}

static void ask(core_collector *collector, bool by_user) {
    collector->asked_by_user = by_user;
    collector->asking = true;
    collector->limit_ns = core_now_ns() + ANSWER_NS;
    collector->question++;
    collector->answer.count = 0;
    listen_again(collector);
    for (int process = 0; process < collector->processes; process++) {
        member *who = &collector->members[process];
        who->awaited = who->caller;
        if (who->awaited && !tell(who->caller, CORE_PACKET_ASK, collector->question))
            shutdown(who->caller->fd, SHUT_RDWR); /* its next packet is the end */
    }
}

/* False: it makes no sense. */
static bool take_rows(core_collector *collector, const caller *from) {
    uint32_t count = from->head.count;
    member *who = &collector->members[from->process];
    if (count && !core_roll_check(from->rows, count, from->process))
        return false;
    if (!collector->asking || from->head.question != collector->question || !who->awaited)
        return true; /* too late */
    for (uint32_t i = 0; i < count; i++) {
        core_row *row = core_roll_add(&collector->answer);
        if (row)
            *row = from->rows[i];
    }
    who->awaited = count == CORE_PACKET_ROWS;
    return true;
}

static bool take_hello(core_collector *collector, caller *from) {
    int process = from->head.process;
    if (process < 0 || process >= collector->processes ||
        (collector->keyed && memcmp(from->head.key, collector->key, CORE_KEY_BYTES) != 0))
        return false;
    member *who = &collector->members[process];
    if (who->caller) /* it has started weft again */
        cut_off(collector, who->caller);
    *who = (struct member){.caller = from};
    from->process = process;
    collector->strangers--;
    who->awaited = collector->asking;
    return tell(from, CORE_PACKET_WELCOME, 0) &&
           (!collector->asking || tell(from, CORE_PACKET_ASK, collector->question));
}

static bool take_packet(core_collector *collector, caller *from) {
    const core_packet_head *head = &from->head;
    if (from->process < 0)
        return head->kind == CORE_PACKET_HELLO && take_hello(collector, from);
    if (head->process != from->process)
        return false;
    switch (head->kind) {
    case CORE_PACKET_GOODBYE:
        return collector->members[from->process].through = true;
    case CORE_PACKET_ROWS_OF:
        return take_rows(collector, from);
    case CORE_PACKET_HANG:
        if (!collector->asking) {
            collector->hang_s = head->question;
            ask(collector, false);
        }
        return true;
    default:
        return false;
    }
}

static void accept_one(core_collector *collector) {
    int fd = accept4(collector->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
            collector->deaf = epoll_ctl(collector->events, EPOLL_CTL_DEL, collector->listener, NULL) == 0;
        return;
    }
    bool room = fd < collector->most && collector->strangers < collector->processes + STRANGERS;
    caller *made = room ? calloc(1, sizeof(*made)) : NULL;
    if (!made || !watch(collector, fd, made)) {
        close(fd);
        free(made);
        return;
    }
    made->fd = fd;
    made->process = -1;
    made->next = collector->callers;
    collector->callers = made;
    collector->strangers++;
}

/* Strangers have no rows to send. */
static bool make_room(caller *from) {
    if (!core_packet_valid(&from->head) || (from->head.count && from->process < 0))
        return false;
    if (from->head.count && !from->rows)
        from->rows = malloc(CORE_PACKET_ROWS * sizeof(*from->rows));
    return !from->head.count || from->rows;
}

enum news { NOTHING_YET, A_PACKET, THE_END };

/* Reads on, a packet at most. */
static enum news read_on(caller *from) {
    for (;;) {
        bool in_head = from->got < sizeof(from->head);
        size_t end = in_head ? sizeof(from->head) : core_packet_bytes(from->head.count);
        char *to = in_head ? (char *)&from->head + from->got : (char *)from->rows + (from->got - sizeof(from->head));
        ssize_t bytes = recv(from->fd, to, end - from->got, MSG_DONTWAIT);
        if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
            return NOTHING_YET;
        if (bytes <= 0)
            return THE_END;
        from->got += (size_t)bytes;
        if (from->got < end)
            continue;
        if (in_head && !make_room(from))
            return THE_END;
        if (from->got == core_packet_bytes(from->head.count))
            return A_PACKET;
    }
}

static void look_at(core_collector *collector, caller *from) {
    if (!from) {
        accept_one(collector);
        return;
    }
    enum news news = read_on(from);
    if (news == NOTHING_YET)
        return;
    from->got = 0;
    if (news == THE_END || !take_packet(collector, from)) {
        cut_off(collector, from);
        return;
    }
    free(from->rows);
    from->rows = NULL;
}

core_report core_collector_move(core_collector *collector, const bool *ended) {
    /* One by one: to look at one may cut off another. Signals come in between. */
    struct epoll_event event;
    for (int looks = 0;
         looks < MAX_LOOKS + 4 * collector->processes && epoll_wait(collector->events, &event, 1, 0) == 1; looks++)
        look_at(collector, event.data.ptr);
    if (collector->asking && (is_complete(collector) || core_now_ns() >= collector->limit_ns))
        return finish(collector, ended);
    return (core_report){NULL, false};
}

bool core_collector_knows(const core_collector *collector, int process) {
    const member *who = &collector->members[process];
    return who->caller || who->through || who->lost;
}

bool core_collector_through(const core_collector *collector, int process) {
    return collector->members[process].through;
}

void core_collector_ask(core_collector *collector) {
    if (collector->asking)
        collector->asked_by_user = true; /* the answers are on their way */
    else
        ask(collector, true);
}

int core_collector_wait_ms(const core_collector *collector) {
    const uint64_t now_ns = core_now_ns();
    if (!collector->asking)
        return -1;
    return now_ns >= collector->limit_ns ? 0 : (int)((collector->limit_ns - now_ns) / 1000000u) + 1;
}
