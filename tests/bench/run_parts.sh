#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# run_parts.sh RUN_SH: how bench/run.sh calls the programs, which here only print what they were called with.
set -euo pipefail

run=$1
build=$(mktemp -d)
trap 'rm -rf "$build"' EXIT
mkdir "$build/bin"

fail() {
    echo "run_parts.sh: $*" >&2
    exit 1
}

program() {
    printf '#!/bin/sh\n%s\n' "$1" >"$build/bin/weftrun"
    cp "$build/bin/weftrun" "$build/bin/weft-bench"
    chmod +x "$build"/bin/*
}

program "echo '{\"library\": \"weft\", \"arguments\": \"'\"\$*\"'\"}'"
bash "$run" "$build" --quick --part hybrid --part process --part thread >/dev/null 2>&1
for expected in 'hybrid 2x2.*--repeats 20 ' 'process.*--repeats 50 ' 'thread.*--repeats 50 '; do
    grep -q "\"part\": \"$expected" "$build/bench.jsonl" || fail "--quick: no call with $expected"
done
! grep -q 'hybrid.*--repeats 50' "$build/bench.jsonl" || fail "--quick has more samples taken than the part asks for"

program "exit 0"
status=0
bash "$run" "$build" --quick --part process >/dev/null 2>&1 || status=$?
[ "$status" -eq 1 ] || fail "without a row the status is $status"
