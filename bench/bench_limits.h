// SPDX-License-Identifier: BSD-3-Clause
/**
 * `weft-bench limits`: what the machine can do, measured without weft. (A file limits.h would hide C's own.)
 */
#ifndef BENCH_LIMITS_H
#define BENCH_LIMITS_H

#include "options.h"

/** Measures and prints. `setting`: version and format. Returns the exit status. */
int bench_limits(const bench_options *options, const bench_setting *setting);

#endif
