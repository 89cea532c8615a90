// SPDX-License-Identifier: BSD-3-Clause
/* What --help prints: the meaning of every option and of every figure. */
#include "options.h"

#include <stdio.h>

/* The lines as they are printed. */
/* clang-format off */
static const char help_text[] =
    "  --bytes SIZES        what one rank contributes: 8, 64K, 8..4M (doubling), or a list\n"
    "                       with commas; suffixes K, M, G; default 8..4M. A row shows what was\n"
    "                       really contributed.\n"
    "                       bcast: the message\n"
    "                       scatter, gather, allgather: the block that a rank gets or gives\n"
    "                       alltoall: a rank's whole send buffer, one block for each rank, rounded\n"
    "                       up to whole bytes a block\n"
    "                       reduce, allreduce, scan, exscan: the vector; doubles, summed, rounded\n"
    "                       up to whole ones\n"
    "                       reduce_scatter, reduce_scatter_block: the whole vector, of equal blocks\n"
    "                       of doubles, one for each rank\n"
    "                       pingpong, stream ...: a message; of message-rate the default is 8..1K;\n"
    "                       of datatypes rounded up to whole blocks of 64 bytes\n"
    "                       Those ending in v or w are called with equal counts, packed.\n"
    "  --format table|json  json: one object a line\n"
    "  --check              before a row is timed, verify every byte of the results of its size, of\n"
    "                       one element less and of one more, with other data and another root in\n"
    "                       each call (barrier: that nobody leaves before all came); a mismatch ends\n"
    "                       the run with status 1\n"
    "  --touch              each rank writes into each cache line of what it gives before each call, and\n"
    "                       reads from each of what it got after it, in the time that is measured, as a\n"
    "                       program that computes does: else what others read straight from its memory\n"
    "                       is in their caches from the second call on, and what they wrote into it\n"
    "                       stays there. Not of messages, nor with --overlap\n"
    "  --repeats R          samples a row; default: what fits into 0.3 s, 10 to 1000\n"
    "  --nonblocking        start and wait instead of the blocking call\n"
    "  --persistent         prepare once a row; each call is a start and a wait (of the MPIs those of\n"
    "                       version 4 on)\n"
    "  --blocking           the blocking call (default). Of these three several may be given: there is\n"
    "                       a row for each, and their samples take turns, which is the fair way to\n"
    "                       compare them\n"
    "  --overlap            how much of the operation computation hides, see below; nonblocking, or\n"
    "                       with --persistent\n"
    "  --tests N            of overlap and --overlap: tests during the computation; default: one for every\n"
    "                       10 us of the blocking call, from 4 to 100\n"
    "  --help\n"
    "\n"
    "A sample is a batch of calls that lasts at least 20 us (with more ranks than processors that\n"
    "they may use, which start a turn of the scheduler apart, 1 ms) and that all ranks start together; its value is the time of\n"
    "the slowest rank, divided by the calls. min, median and p99 are taken over the samples. In\n"
    "collectives with a root and in scans a barrier follows each call, in weft and in\n"
    "the peers alike: otherwise the ranks that only send would run ahead.\n"
    "\n"
    "Overlap (Hoefler, Lumsdaine, Rehm 2007; Ramos, Taboada, Exposito, Tourino 2015): a sample is the\n"
    "blocking call, the computation alone, which is a fixed amount of work that lasts about as long\n"
    "as the blocking call (with more ranks than processors 10 ms at least, several turns of the\n"
    "scheduler), and the call started, the same work in slices with a test between each two, and a\n"
    "wait; all ranks begin each of them together. Times are medians over the samples, of the\n"
    "slowest rank: blocking, compute, total (of the third), exposed (total - compute, of the rank where\n"
    "it is largest; with more ranks than processors no more than its calls), calls (the part of total\n"
    "that is spent in start, tests and wait).\n"
    "hidden % = 100 (1 - exposed / blocking), kept within 0 and 100; calls % = 100 calls / blocking.\n"
    "\n"
    "Messages go between two ranks, of multi-pair between the ranks of all pairs; times are those of\n"
    "one message, MB/s (10^6 bytes) and messages/s of all pairs together, by the median. After the OSU\n"
    "micro-benchmarks (Liu et al., SC03):\n"
    "  pingpong      half of a round trip of blocking calls\n"
    "  stream        64 sends started, as many receives, all from and into one buffer, waited for\n"
    "                together; a short message answers. In one direction, the answer's time included\n"
    "  message-rate  the same for small messages\n"
    "  multi-pair    the same by all pairs at once\n"
    "  overlap       as above: blocking is a sendrecv of both ranks with each other, and what is hidden\n"
    "                the send and the receive that they start instead\n"
    "  datatypes     a vector of doubles, in blocks of 64 bytes 128 apart: packed and unpacked by one\n"
    "                rank, beside memcpy of as many bytes; its ping-pong, beside that of contiguous bytes\n";

static const char limits_text[] =
    "\n"
    "Threads are bound to a core each where the process may use that many cores; limits says when it may\n"
    "not.\n"
    "\n"
    "limits: what the machine and hand-written loops reach: limit:flag_latency (one way, one cache\n"
    "line), limit:memcpy1 and limit:memcpyall (one thread, all threads; from 4K on), floor:barrier\n"
    "(two flags) and floor:allreduce (two threads, each adds half of the vector for both; to 1K also\n"
    "with the values beside the flags, and the faster of the two counts; of it alone --touch).\n";
/* clang-format on */

/* The names from `first` to before `end`, in lines. */
static void print_operations(int first, int end) {
    int column = 0;
    for (int i = first; i < end; i++) {
        const char *name = bench_operation_name((enum bench_operation)i);
        if (column > 70) {
            printf("\n");
            column = 0;
        }
        column += printf("%s%s", column ? " " : "  ", name);
    }
    printf("\n");
}

void bench_print_help(const char *program, bool peer) {
    printf("usage: %s OPERATION [OPTION ...]\n", program);
    if (!peer)
        printf("       %s limits [--threads T] [--bytes SIZES] [--touch] [--format table|json] [--repeats R]\n"
               "       %s --simulate MACHINE COLLECTIVE (see --simulate --help)\n\n"
               "Run it under a launcher: weftrun -n PROCESSES -t THREADS %s allreduce. Threads come from OpenMP.\n",
               program, program, program);
    printf("\nOPERATION is one of\n");
    print_operations(0, BENCH_COLLECTIVES);
    printf("or of the messages (of these no --nonblocking, --persistent, --overlap)\n");
    print_operations(BENCH_PINGPONG, BENCH_OPERATIONS);
    if (!peer) {
        printf("\n  --level LEVEL        thread (default): every thread is a rank; process: every process is one, and\n"
               "                       threads have no part\n"
               "  --pair KIND          of messages. same-node: the threads 2k and 2k + 1 of a process (default if\n"
               "                       there are two); other-node: threads of one number of the processes 2k\n"
               "                       and 2k + 1\n");
    } else {
        printf("\n");
    }
    fputs(help_text, stdout);
    if (!peer)
        fputs(limits_text, stdout);
}
