// SPDX-License-Identifier: BSD-3-Clause
/*
 * What a link gives to plain TCP: one process at each end, over one connection.
 *
 *     peer-tcp listen ADDRESS FORTH BACK
 *     peer-tcp connect ADDRESS FORTH BACK
 *
 * A sample lasts from the connecting end's first byte to the listening end's word that all FORTH bytes have come, while BACK bytes go
 * the other way. A limit for weft's collectives over a link (bench/link.sh), printed by the connecting end as a row of OPERATION.
 */
#include "../statistics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { SAMPLES = 40, WARM_UP = 10, PORT = 7077, CONNECT_TRIES = 500 };

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static void check_moved(ssize_t moved, const char *what) {
    if (moved <= 0)
        fail(what);
}

/* Sends and receives at once, until so many bytes have gone and come. */
static void exchange(int connection, char *buffer, size_t sent, size_t received) {
    while (sent || received) {
        struct pollfd look = {.fd = connection, .events = (short)((sent ? POLLOUT : 0) | (received ? POLLIN : 0))};
        if (poll(&look, 1, -1) < 0)
            fail("poll");
        if (received && look.revents & (POLLIN | POLLHUP | POLLERR)) {
            ssize_t moved = recv(connection, buffer, received, MSG_DONTWAIT);
            check_moved(moved, "recv");
            received -= (size_t)moved;
        }
        if (sent && look.revents & POLLOUT) {
            ssize_t moved = send(connection, buffer, sent, MSG_DONTWAIT | MSG_NOSIGNAL);
            check_moved(moved, "send");
            sent -= (size_t)moved;
        }
    }
}

static int listen_at(const struct sockaddr_in *address) {
    int listener = socket(AF_INET, SOCK_STREAM, 0), on = 1, connection;
    if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) ||
        bind(listener, (const struct sockaddr *)address, sizeof *address) || listen(listener, 1))
        fail("listen");
    connection = accept(listener, NULL, NULL);
    if (connection < 0)
        fail("accept");
    close(listener);
    return connection;
}

/* The other end may begin later. */
static int connect_to(const struct sockaddr_in *address) {
    for (int try = 0; try < CONNECT_TRIES; try++) {
        int connection = socket(AF_INET, SOCK_STREAM, 0);
        if (connection < 0)
            fail("socket");
        if (connect(connection, (const struct sockaddr *)address, sizeof *address) == 0)
            return connection;
        close(connection);
        nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
    }
    fail("connect");
    return -1;
}

static double now_us(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e6 + (double)time.tv_nsec / 1e3;
}

static void answer(int connection, char *buffer, size_t forth, size_t back) {
    for (int i = 0; i < WARM_UP + SAMPLES; i++) {
        if (poll(&(struct pollfd){.fd = connection, .events = POLLIN}, 1, -1) < 0)
            fail("poll");
        exchange(connection, buffer, back, forth);
        exchange(connection, buffer, 1, 0);
    }
}

static void measure(int connection, char *buffer, size_t forth, size_t back) {
    double samples[SAMPLES];
    for (int i = -WARM_UP; i < SAMPLES; i++) {
        double begin = now_us();
        exchange(connection, buffer, forth, back + 1);
        if (i >= 0)
            samples[i] = now_us() - begin;
    }
    bench_summary summary = bench_summarise(samples, SAMPLES);
    printf(
        "{\"library\": \"tcp\", \"operation\": \"OPERATION\", \"bytes\": %zu, \"min_us\": %.4f, \"median_us\": %.4f}\n",
        forth, summary.min, summary.median);
}

/* A number of bytes in digits alone. */
static bool parse_bytes(const char *text, size_t *bytes) {
    char *end;
    errno = 0;
    *bytes = strtoull(text, &end, 10);
    return *text >= '0' && *text <= '9' && *end == '\0' && !errno && *bytes < SIZE_MAX / 2;
}

int main(int argc, char **argv) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    size_t forth, back;
    bool listens = argc == 5 && strcmp(argv[1], "listen") == 0;
    char *buffer;
    int on = 1, connection;
    if (argc != 5 || (!listens && strcmp(argv[1], "connect") != 0) || !parse_bytes(argv[3], &forth) ||
        !parse_bytes(argv[4], &back) || !forth || inet_pton(AF_INET, argv[2], &address.sin_addr) != 1) {
        fprintf(stderr, "usage: peer-tcp listen|connect ADDRESS FORTH BACK; bytes, FORTH at least 1\n");
        return 2;
    }
    buffer = calloc((forth > back ? forth : back) + 1, 1);
    if (!buffer)
        fail("no buffer");
    connection = listens ? listen_at(&address) : connect_to(&address);
    if (setsockopt(connection, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on))
        fail("setsockopt");
    (listens ? answer : measure)(connection, buffer, forth, back);
    close(connection);
    free(buffer);
    return 0;
}
