#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# symbols.sh HEADERS SHARED STATIC: both libraries offer what the headers declare WEFT_API, all of it weft_…, and nothing else.
set -euo pipefail
export LC_ALL=C
headers=$1 shared=$2 static=$3
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

# Functions: the name before the first parenthesis. Objects: by the macros that name them.
{
    sed -nE 's/^WEFT_API [^(]*\b(weft_[a-z0-9_]+)\(.*/\1/p' "$headers"/*.h
    sed -nE 's/^#define .*WEFT_PREDEFINED_DATATYPE\(([a-z0-9_]+)\).*/weft_datatype_\1/p' "$headers"/types.h
    sed -nE 's/^#define .*WEFT_PREDEFINED_OP\(([a-z0-9_]+)\).*/weft_op_\1/p' "$headers"/types.h
} | sort -u >"$scratch/declared"
[ "$(wc -l <"$scratch/declared")" -ge 50 ] || { echo "the headers were not understood"; exit 1; }

nm --dynamic --defined-only --format=posix "$shared" | cut -d' ' -f1 | sort -u >"$scratch/shared"
nm --extern-only --defined-only --format=posix "$static" | grep -v ':$' | cut -d' ' -f1 | sort -u >"$scratch/static"
for kind in shared static; do
    if ! diff "$scratch/declared" "$scratch/$kind" >"$scratch/diff"; then
        echo "$kind library: '<' is declared WEFT_API but missing, '>' is exported but not declared"
        cat "$scratch/diff"
        exit 1
    fi
done
echo "$(wc -l <"$scratch/declared") symbols in both libraries"
