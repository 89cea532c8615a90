#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check-spdx.sh [ROOT]: every file that can carry a comment names its licence within its first three lines.
set -euo pipefail
export LC_ALL=C
cd "${1:-$(dirname "$0")/..}"
find . \( -name .git -o -path './build*' -o -path ./install \) -prune -o -type f \
    \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.in' -o -name '*.sh' -o -name '*.py' -o -name '*.cmake' -o -name '*.supp' \
    -o -name CMakeLists.txt -o -name Makefile -o -name '.clang-*' -o -path './.ci/*' \) -print0 | sort -z |
    xargs -0 awk '
        FNR <= 3 && /SPDX-License-Identifier: BSD-3-Clause/ { named[FILENAME] = 1 }
        FNR == 3 { nextfile }
        END {
            for (i = 1; i < ARGC; i++)
                if (!(ARGV[i] in named)) {
                    print ARGV[i] ": no SPDX line within the first three lines"
                    wrong = 1
                }
            exit wrong
        }'
