// SPDX-License-Identifier: BSD-3-Clause
/*
 * scan, exscan BDE: simultaneous binomial trees.
 *
 * Before step k rank r holds the operands of the 2^k ranks that end with r, combined (fewer when there are not so
 * many). It sends them to r + 2^k, and puts what r − 2^k sends in front. An exscan keeps beside that the same without
 * its own operand. A rank that has all below it sends to those that are left at once.
 * Cost: ⌈log2 p⌉ stages, p⌈log2 p⌉ − 2^⌈log2 p⌉ + 1 messages of n elements. Any p; operands meet in rank order.
 * Memory: n, exscan 2n.
 *
 *     k=0:  0→1→2→3→4→5       k=1:  0→2→4  1→3→5       k=2:  0→4  1→5
 *
 * Source: Hillis, Steele, "Data parallel algorithms", Communications of the ACM 29 (1986); Sanders, Träff, "Parallel
 * prefix (scan) algorithms for MPI", EuroPVM/MPI 2006.
 */
#include <inter/algorithms.h>

void inter_scan_bde(inter_schedule *schedule, const inter_view *view) {
    size_t n = view->count;
    int rank = view->rank, size = view->size;
    bool exclusive = view->collective == INTER_EXSCAN;
    inter_place result = inter_at(INTER_RECV, 0), sum = inter_at(INTER_SEND, 0);
    inter_place arrived = inter_schedule_temp(schedule, rank ? n : 0);
    bool sends_twice = rank && rank < size - 2; /* its operand, then sums, which an exscan needs for nothing else */
    bool direct = exclusive && !view->in_place; /* then the first of those before it comes to its place at once */
    inter_place next_sum = exclusive ? inter_schedule_temp(schedule, sends_twice ? n : 0) : result;
    for (int distance = 1; distance < size; distance *= 2) {
        inter_place place = direct && distance == 1 ? result : arrived;
        if (rank < size - distance)
            inter_schedule_send(schedule, rank + distance, sum, n);
        if (rank >= distance)
            inter_schedule_recv(schedule, rank - distance, place, n);
        if (rank < distance)
            continue;
        inter_schedule_next_stage(schedule);
        if (!exclusive || rank < size - 2 * distance) {
            inter_schedule_reduce(schedule, place, sum, next_sum, n);
            sum = next_sum;
        }
        if (exclusive && distance == 1)
            inter_schedule_copy(schedule, place, result, n);
        else if (exclusive)
            inter_schedule_reduce(schedule, arrived, result, result, n);
    }
    if (!exclusive && rank == 0)
        inter_schedule_copy(schedule, sum, result, n);
}
