// SPDX-License-Identifier: BSD-3-Clause
// How much of their work the tests of this build do.
#include "effort.h"

namespace effort {

const size_t parts = TESTS_PARTS;
const bool sanitized = TESTS_SANITIZED;

} // namespace effort
