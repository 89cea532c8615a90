#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check.sh: everything that must hold before a change lands. Each step prints a heading and its seconds; the first that fails
# ends the check. gcc compiles the release, clang the builds with sanitizers (gcc's take 1.7 times as long to compile) and the tests, which
# are in C++ (g++ takes twice as long), all with warnings as errors. The release's tests are linked with AddressSanitizer's library, too.
set -uo pipefail
export LC_ALL=C
cd "$(dirname "$0")/.."
jobs=$(nproc)
results=$(mktemp)
trap 'rm -f "$results"' EXIT

# step TITLE COMMAND…
step() {
    local title=$1 begin=$SECONDS
    shift
    printf '\n==== %s\n' "$title"
    if ! "$@"; then
        printf '\ncheck: FAILED in "%s" after %d s\n' "$title" $((SECONDS - begin))
        exit 1
    fi
    printf '==== %s: %d s\n' "$title" $((SECONDS - begin))
}

format() {
    find include src tools bench apps examples tests -name '*.[ch]' -o -name '*.cpp' |
        xargs -P "$jobs" -n 8 clang-format --dry-run -Werror
}

# Another processor's compiler reads the library: what x86 alone has is not used elsewhere. Of UCX, hwloc and PMIx it sees this system's headers.
cross() {
    local here
    here=/usr/include/$(gcc -dumpmachine)
    find src -name '*.c' |
        xargs -P "$jobs" -n 8 aarch64-linux-gnu-gcc -fsyntax-only -std=c11 -O1 -Wall -Wextra -Wshadow -Wpointer-arith -Werror \
            -D_GNU_SOURCE -DCORE_KERNELS_ISA=generic -Iinclude -Isrc $(pkg-config --cflags ucx hwloc pmix) -idirafter "$here"
}

# build PRESET [OPTION…]: cmake's.
build() {
    cmake --preset "$@" >/dev/null && cmake --build --preset "$1"
}

# tidy: the C files that clang compiled for the TSan build, with its flags; long ones first, so that no core waits for the last.
# The analyzer gives a function up after fewer steps than the 225,000 of its default: those take most of the time.
tidy() {
    local option steps=()
    for option in -Xclang -analyzer-config -Xclang max-nodes=20000; do
        steps+=("--extra-arg=$option")
    done
    sed -nE 's/^ *"file": "(.*\.c)",?$/\1/p' build-tsan/compile_commands.json | sort -u | xargs -d '\n' ls -S |
        xargs -d '\n' -P "$jobs" -n 1 clang-tidy --quiet -p build-tsan "${steps[@]}" 2>&1 |
        sed -E '/^[0-9]+ warnings? generated\.$/d'
}

run_tests() {
    ctest --preset "$1" -j $((jobs + 1)) | tee -a "$results"
}

step "layers" scripts/check-layers.sh
step "licence lines" scripts/check-spdx.sh
step "format" format
step "aarch64" cross
CC=gcc CXX=clang++ step "build: gcc, release" build release
step "tests: release" run_tests release
step "build: clang, ThreadSanitizer" build tsan
step "lint: clang-tidy" tidy
step "tests: ThreadSanitizer" run_tests tsan
step "build: clang, AddressSanitizer and UndefinedBehaviorSanitizer" build asan -DWEFT_TESTS_OF="$PWD/build"
step "tests: AddressSanitizer and UndefinedBehaviorSanitizer" run_tests asan

passed=$(awk '/ tests passed, / { n += $NF } END { print n }' "$results")
printf '\ncheck: all steps passed in %d s\n%d passed, 0 failed\n' "$SECONDS" "$passed"
