#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# deps.sh [build|bench|check]: installs the Debian packages that are missing for building weft (default), comparing it with
# other libraries, or checking it. Uses sudo when not root. Touches the network only when something is missing.
set -euo pipefail
export LC_ALL=C

to_build="gcc g++ libc6-dev cmake ninja-build pkg-config libucx-dev libhwloc-dev libpmix-dev libgtest-dev libgmock-dev"
# The peers, and hosts in network namespaces; the tests run weft programs under Open MPI's launcher, too.
to_bench="$to_build openmpi-bin libopenmpi-dev mpich libmpich-dev iproute2"
# clang, its OpenMP and sanitizer runtimes, formatter and linter; another processor's compiler; a drawing.
to_check="$to_bench clang libomp-dev libclang-rt-dev clang-format clang-tidy gcc-aarch64-linux-gnu libc6-dev-arm64-cross procps graphviz"
case ${1:-build} in
build) packages=$to_build ;;
bench) packages=$to_bench ;;
check) packages=$to_check ;;
*)
    echo "usage: scripts/deps.sh [build|bench|check]" >&2
    exit 2
    ;;
esac

command -v dpkg-query >/dev/null || {
    echo "deps: not a Debian system, so nothing is looked for; needed is what corresponds to: $packages" >&2
    exit 0
}
missing=()
for package in $packages; do
    status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$status" = installed ] || missing+=("$package")
done
if [ ${#missing[@]} -eq 0 ]; then
    exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        echo "deps: need ${missing[*]}; run as root: apt-get install ${missing[*]}" >&2
        exit 1
    }
    as_root=(sudo)
fi
echo "deps: installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    -o Dpkg::Use-Pty=0 "${missing[@]}"
