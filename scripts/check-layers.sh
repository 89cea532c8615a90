#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check-layers.sh [ROOT]: the rooms of src/ include one way, hier -> {inter, intra} -> core; only inter knows the network's headers;
# apps and examples are written against the public headers alone.
set -euo pipefail
export LC_ALL=C
cd "${1:-$(dirname "$0")/..}"
wrong=0

# forbid DIRECTORY REASON HEADERS: no file below DIRECTORY includes a header that the pattern matches.
forbid() {
    if [ ! -d "$1" ]; then
        echo "check-layers.sh: there is no $1"
        wrong=1
        return 0
    fi
    if grep -rnE --include='*.[ch]' --include='*.cpp' "^ *# *include *[<\"]($3)" "$1"; then
        echo "  ^ $1 $2"
        wrong=1
    fi
}

forbid src/core "stands on nothing of weft's own" "(inter|intra|hier)/"
forbid src/inter "knows nothing of threads, nor of what stands on it" "(intra|hier)/"
forbid src/intra "knows nothing of processes, nor of what stands on it" "(inter|hier)/"
for room in core intra hier; do
    forbid src/$room "leaves the network to src/inter" "uc[pst]/|pmix"
done
for user in apps examples; do
    forbid $user "is written against the public headers" "(core|inter|intra|hier)/"
done
# The patterns above know whole paths only.
if grep -rnE --include='*.[ch]' '^ *# *include *("|<\.)' src include; then
    echo "  ^ includes are written <room/file.h>"
    wrong=1
fi
exit $wrong
