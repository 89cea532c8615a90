// SPDX-License-Identifier: BSD-3-Clause
/** A program of somebody else, in C and in C++: one process finds the sum over itself. */
#include <stdio.h>
#include <weft/weft.h>

int main(void) {
    int mine = 42, sum = 0;
    if (weft_init(NULL) != WEFT_SUCCESS) {
        fprintf(stderr, "weft_init: %s\n", weft_last_error());
        return 1;
    }
    if (weft_allreduce(&mine, &sum, 1, WEFT_INT, WEFT_SUM, weft_process_comm()) != WEFT_SUCCESS) {
        fprintf(stderr, "weft_allreduce: %s\n", weft_last_error());
        return 1;
    }
    if (weft_finalize() != WEFT_SUCCESS) {
        fprintf(stderr, "weft_finalize: %s\n", weft_last_error());
        return 1;
    }
    printf("weft %s: %d\n", weft_version(), sum);
    return sum == 42 ? 0 : 1;
}
