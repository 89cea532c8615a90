// SPDX-License-Identifier: BSD-3-Clause
#include <arpa/inet.h>
#include <core/rollcall_socket.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Processes that connect at the same time. */
#define BACKLOG 4096

_Static_assert(offsetof(core_packet, rows) == sizeof(core_packet_head), "rows follow their head");

bool core_packet_valid(const core_packet_head *head) {
    return head->version == CORE_PACKET_VERSION && head->row_bytes == sizeof(core_row) &&
           head->count <= CORE_PACKET_ROWS;
}

/* Closes it and leaves errno as it is. */
static int give_up(int fd) {
    int code = errno;
    if (fd >= 0)
        close(fd);
    errno = code;
    return -1;
}

/* An address has room for some hundred bytes only, so the directory is named by a descriptor. */
static int open_socket(const char *directory, int (*use)(int, const struct sockaddr *, socklen_t)) {
    int at = open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (at < 0)
        return -1;
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s", at, CORE_ROLLCALL_SOCKET);
    if (made >= 0 && use(made, (const struct sockaddr *)&address, sizeof(address)) != 0)
        made = give_up(made);
    close(at);
    return made;
}

int core_rollcall_listen(const char *directory) {
    int made = open_socket(directory, bind);
    return made < 0 || listen(made, BACKLOG) == 0 ? made : give_up(made);
}

int core_rollcall_connect(const char *directory) {
    return open_socket(directory, connect);
}

typedef union any_address {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} any_address;

/* Without IPv6 on this host: with IPv4 alone. */
static int listen_everywhere(in_port_t *port) {
    any_address address = {.v6 = {.sin6_family = AF_INET6}};
    socklen_t bytes = sizeof(address.v6);
    const int no = 0;
    int made = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (made >= 0 && (setsockopt(made, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no)) != 0 ||
                      bind(made, &address.any, sizeof(address.v6)) != 0))
        made = give_up(made);
    if (made < 0) {
        made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        address = (any_address){.v4 = {.sin_family = AF_INET}};
        if (made < 0 || bind(made, &address.any, sizeof(address.v4)) != 0)
            return give_up(made);
    }
    if (listen(made, BACKLOG) != 0 || getsockname(made, &address.any, &bytes) != 0)
        return give_up(made);
    *port = ntohs(address.any.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
    return made;
}

static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};

static bool is_v4(const unsigned char *host) {
    return memcmp(host, mapped, sizeof(mapped)) == 0;
}

static bool is_loopback(const unsigned char *host) {
    return is_v4(host) ? host[12] == 127 : memcmp(host, &in6addr_loopback, sizeof(in6addr_loopback)) == 0;
}

/* Addresses that hold on one link alone are left out: they would need the number of an interface of whoever uses them. */
static bool take_host(const struct sockaddr *from, unsigned char *to) {
    any_address address;
    if (from->sa_family == AF_INET) {
        memcpy(&address.v4, from, sizeof(address.v4));
        memcpy(to, mapped, sizeof(mapped));
        memcpy(to + sizeof(mapped), &address.v4.sin_addr, sizeof(address.v4.sin_addr));
        return true;
    }
    if (from->sa_family != AF_INET6)
        return false;
    memcpy(&address.v6, from, sizeof(address.v6));
    memcpy(to, &address.v6.sin6_addr, sizeof(address.v6.sin6_addr));
    return !IN6_IS_ADDR_LINKLOCAL(&address.v6.sin6_addr);
}

/* Those of interfaces that are up; of loopback interfaces when `loopback`. */
static void take_hosts(const struct ifaddrs *all, bool loopback, core_rollcall_address *address) {
    const unsigned most = sizeof(address->hosts) / sizeof(*address->hosts);
    for (const struct ifaddrs *one = all; one && address->count < most; one = one->ifa_next)
        if (one->ifa_addr && one->ifa_flags & IFF_UP && !!(one->ifa_flags & IFF_LOOPBACK) == loopback &&
            take_host(one->ifa_addr, address->hosts[address->count]))
            address->count++;
}

int core_rollcall_listen_far(core_rollcall_address *address) {
    struct ifaddrs *all;
    core_rollcall_address made = {0};
    if (getrandom(made.key, sizeof(made.key), 0) != sizeof(made.key) || getifaddrs(&all) != 0)
        return -1;
    take_hosts(all, false, &made);
    take_hosts(all, true, &made);
    freeifaddrs(all);
    int listener = listen_everywhere(&made.port);
    if (listener >= 0)
        *address = made;
    return listener;
}

static bool is_readable(int fd) {
    return poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, 0) == 1;
}

/* Connects within a time, or not when `over` is readable. */
static bool reach(int fd, const any_address *address, socklen_t bytes, int limit_ms, int over) {
    int flags = fcntl(fd, F_GETFL), code = 0;
    socklen_t code_bytes = sizeof(code);
    struct pollfd fds[2] = {{.fd = fd, .events = POLLOUT}, {.fd = over, .events = POLLIN}};
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) != 0)
        return false;
    if (connect(fd, &address->any, bytes) != 0 && errno != EINPROGRESS)
        return false;
    return poll(fds, 2, limit_ms) > 0 && fds[0].revents &&
           getsockopt(fd, SOL_SOCKET, SO_ERROR, &code, &code_bytes) == 0 && code == 0 && fcntl(fd, F_SETFL, flags) == 0;
}

int core_rollcall_connect_far(const core_rollcall_address *address, bool same_host, int limit_ms, int over) {
    for (unsigned i = 0;
         i < address->count && i < sizeof(address->hosts) / sizeof(*address->hosts) && !is_readable(over); i++) {
        const unsigned char *host = address->hosts[i];
        any_address to = {.v6 = {.sin6_family = AF_INET6, .sin6_port = htons(address->port)}};
        socklen_t bytes = sizeof(to.v6);
        if (is_loopback(host) && !same_host)
            continue;
        memcpy(&to.v6.sin6_addr, host, sizeof(to.v6.sin6_addr));
        if (is_v4(host)) {
            to = (any_address){.v4 = {.sin_family = AF_INET, .sin_port = htons(address->port)}};
            memcpy(&to.v4.sin_addr, host + sizeof(mapped), sizeof(to.v4.sin_addr));
            bytes = sizeof(to.v4);
        }
        int made = socket(to.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (made >= 0 && reach(made, &to, bytes, limit_ms, over))
            return made;
        give_up(made);
    }
    return -1;
}
