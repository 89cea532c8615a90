// SPDX-License-Identifier: BSD-3-Clause
/**
 * --tag-output: reads what the ranks print from pipes and writes it line by line with "[rank] " in front. And what weftrun itself says.
 *
 * Nothing here may block, or a reader that stopped (a pager) would keep weftrun from its signals and its time limit. So
 * a stream is written only when poll() says that it takes data, by a description that does not block where that may not hold, and while lines
 * wait for it, its ranks' pipes are not read.
 */
#include "weftrun.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LINE_BYTES = 64 << 10 }; /* a longer line is cut in pieces */

struct sink {
    int fd;
    char *text; /* lines that wait: [begin, end) */
    size_t begin, end, bytes;
};

struct source {
    int fd; /* -1: ended */
    size_t used;
    char *line; /* LINE_BYTES */
};

struct weftrun_output {
    bool tagged; /* there are pipes of ranks */
    bool failed;
    int processes;
    struct sink sinks[2];
    struct source sources[]; /* rank * 2 + (stream - 1) */
};

static weftrun_output *current; /* NULL: none is open. For weftrun_output_say(), which is called from everywhere */

/*
 * A pipe has other writers, who may have taken the room that poll() saw, and a terminal takes less than poll() promises. Theirs is weftrun's description, too:
 * O_NONBLOCK would meet them. So there is one of our own where that can be.
 */
static int open_sink(int stream) {
    char path[32];
    struct stat info;
    if (fstat(stream, &info) != 0 || (!S_ISFIFO(info.st_mode) && !isatty(stream)))
        return stream;
    snprintf(path, sizeof(path), "/proc/self/fd/%d", stream);
    int own = open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return own < 0 ? stream : own;
}

weftrun_output *weftrun_output_open(int processes) {
    size_t sources = (size_t)processes * 2;
    weftrun_output *output = calloc(1, sizeof(*output) + sources * sizeof(*output->sources));
    if (!output) {
        weftrun_say("no memory for the output");
        return NULL;
    }
    output->processes = processes;
    for (int stream = 0; stream < 2; stream++)
        output->sinks[stream].fd = open_sink(stream + STDOUT_FILENO);
    for (size_t i = 0; i < sources; i++)
        output->sources[i].fd = -1;
    current = output;
    return output;
}

int weftrun_output_pipe(weftrun_output *output, int rank, int stream) {
    struct source *source = &output->sources[rank * 2 + stream - 1];
    int ends[2];
    if (!(source->line = malloc(LINE_BYTES)) || pipe2(ends, O_CLOEXEC) != 0) {
        weftrun_say("cannot make a pipe for the output of process %d: %s", rank, strerror(errno));
        return -1;
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK); /* our end only */
    source->fd = ends[0];
    output->tagged = true;
    return ends[1];
}

size_t weftrun_output_poll_max(const weftrun_output *output) {
    return (size_t)output->processes * 2 + 2;
}

size_t weftrun_output_poll(weftrun_output *output, struct pollfd *fds) {
    size_t count = 0;
    for (int stream = 0; stream < 2; stream++) {
        struct sink *sink = &output->sinks[stream];
        if (sink->begin < sink->end) {
            fds[count++] = (struct pollfd){.fd = sink->fd, .events = POLLOUT};
            continue;
        }
        for (int rank = 0; rank < output->processes; rank++)
            if (output->sources[rank * 2 + stream].fd >= 0)
                fds[count++] = (struct pollfd){.fd = output->sources[rank * 2 + stream].fd, .events = POLLIN};
    }
    return count;
}

bool weftrun_output_waits(const weftrun_output *output) {
    return output->sinks[0].begin < output->sinks[0].end || output->sinks[1].begin < output->sinks[1].end;
}

static void put(struct sink *sink, const char *text, size_t bytes) {
    if (sink->bytes - sink->end < bytes) {
        size_t grown = (sink->end + bytes) * 2;
        char *moved = realloc(sink->text, grown);
        if (!moved)
            return; /* a line is lost rather than the job */
        sink->text = moved;
        sink->bytes = grown;
    }
    memcpy(sink->text + sink->end, text, bytes);
    sink->end += bytes;
}

static void put_line(struct sink *sink, int rank, const char *line, size_t bytes) {
    char tag[24];
    put(sink, tag, (size_t)snprintf(tag, sizeof(tag), "[%d] ", rank));
    put(sink, line, bytes);
    put(sink, "\n", 1);
}

static void end_source(struct source *source) {
    close(source->fd);
    source->fd = -1;
}

static void read_source(struct source *source, struct sink *sink, int rank) {
    ssize_t bytes = read(source->fd, source->line + source->used, LINE_BYTES - source->used);
    if (bytes < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (bytes > 0)
        source->used += (size_t)bytes;
    char *begin = source->line, *end = source->line + source->used;
    for (char *newline; (newline = memchr(begin, '\n', (size_t)(end - begin))); begin = newline + 1)
        put_line(sink, rank, begin, (size_t)(newline - begin));
    bool whole = begin == source->line && source->used == LINE_BYTES;
    if (begin < end && (bytes <= 0 || whole)) {
        put_line(sink, rank, begin, (size_t)(end - begin));
        begin = end;
    }
    source->used = (size_t)(end - begin);
    memmove(source->line, begin, source->used);
    if (bytes <= 0)
        end_source(source);
}

/* A pipe that poll() calls writable takes PIPE_BUF bytes without blocking. Of lines that are not longer none is cut: others write there, too. */
static size_t next_piece(const struct sink *sink) {
    const char *text = sink->text + sink->begin, *newline;
    if (sink->end - sink->begin <= PIPE_BUF)
        return sink->end - sink->begin;
    newline = memrchr(text, '\n', PIPE_BUF);
    return newline ? (size_t)(newline + 1 - text) : PIPE_BUF;
}

static void write_sink(weftrun_output *output, int stream) {
    struct sink *sink = &output->sinks[stream];
    ssize_t written = write(sink->fd, sink->text + sink->begin, next_piece(sink));
    if (written > 0) {
        sink->begin += (size_t)written;
    } else if (written < 0 && errno != EAGAIN && errno != EINTR) {
        /* Nobody reads any more: the ranks find their pipes closed, as they would without --tag-output. */
        if (errno != EPIPE) {
            if (stream == 0)
                weftrun_say("the processes' output cannot be written: %s", strerror(errno));
            output->failed = output->tagged;
        }
        sink->begin = sink->end;
        for (int rank = 0; rank < output->processes; rank++)
            if (output->sources[rank * 2 + stream].fd >= 0)
                end_source(&output->sources[rank * 2 + stream]);
    }
    if (sink->begin == sink->end)
        sink->begin = sink->end = 0;
}

void weftrun_output_say(const char *text, size_t bytes) {
    if (!current) {
        ssize_t written = write(STDERR_FILENO, text, bytes);
        (void)written; /* there is nowhere else to say it */
        return;
    }
    struct sink *sink = &current->sinks[1];
    struct pollfd writable = {.fd = sink->fd, .events = POLLOUT};
    put(sink, text, bytes);
    for (size_t before = SIZE_MAX; sink->end - sink->begin > 0 && sink->end - sink->begin < before;) {
        before = sink->end - sink->begin;
        if (poll(&writable, 1, 0) > 0)
            write_sink(current, 1);
    }
}

void weftrun_output_move(weftrun_output *output, const struct pollfd *fds, size_t count) {
    size_t next = 0; /* walks fds in the order in which weftrun_output_poll filled it */
    for (int stream = 0; stream < 2; stream++) {
        struct sink *sink = &output->sinks[stream];
        if (next < count && fds[next].fd == sink->fd) {
            if (fds[next++].revents && sink->begin < sink->end)
                write_sink(output, stream);
            continue;
        }
        for (int rank = 0; rank < output->processes; rank++) {
            struct source *source = &output->sources[rank * 2 + stream];
            if (source->fd >= 0 && next < count && fds[next].fd == source->fd && fds[next++].revents)
                read_source(source, sink, rank);
        }
    }
}

bool weftrun_output_failed(const weftrun_output *output) {
    return output && output->failed;
}

void weftrun_output_close(weftrun_output *output) {
    if (!output)
        return;
    for (int i = 0; i < output->processes * 2; i++) {
        if (output->sources[i].fd >= 0)
            end_source(&output->sources[i]);
        free(output->sources[i].line);
    }
    current = NULL;
    for (int stream = 0; stream < 2; stream++) {
        if (output->sinks[stream].fd > STDERR_FILENO)
            close(output->sinks[stream].fd);
        free(output->sinks[stream].text);
    }
    free(output);
}
