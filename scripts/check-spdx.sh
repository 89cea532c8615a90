#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check-spdx.sh [ROOT]: every file that can carry a comment names its licence within its first three lines.
set -euo pipefail
export LC_ALL=C
cd "${1:-$(dirname "$0")/..}"
wrong=0
while IFS= read -r file; do
    if ! head -n 3 "$file" | grep -q 'SPDX-License-Identifier: BSD-3-Clause'; then
        echo "$file: no SPDX line within the first three lines"
        wrong=1
    fi
done < <(find . \( -name .git -o -path './build*' -o -path ./install \) -prune -o -type f \
    \( -name '*.[ch]' -o -name '*.cpp' -o -name '*.in' -o -name '*.sh' -o -name '*.py' -o -name '*.cmake' -o -name '*.supp' \
    -o -name CMakeLists.txt -o -name Makefile -o -name '.clang-*' -o -path './.ci/*' \) -print | sort)
exit $wrong
