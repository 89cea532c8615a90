#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares weft with the machine's limits and with the MPIs that are installed, on this machine:
#
#     bench/run.sh BUILD_FOLDER [--quick] [--rounds R]
#
# The programs take turns, operation by operation, R rounds over: what else the machine does then hits all of them, and a ratio
# is always one of two times of the same round. All rows stay in BUILD_FOLDER/bench.jsonl, one JSON object a line with the
# round in front. Needs bash and awk; a peer that is missing is left out.
set -euo pipefail

usage() {
    echo "usage: bench/run.sh BUILD_FOLDER [--quick] [--rounds R]" >&2
    exit 2
}

build="" rounds=5 quick=0
while [ $# -gt 0 ]; do
    case $1 in
        --quick) quick=1 ;;
        --rounds)
            [ $# -gt 1 ] || usage
            shift
            rounds=$1
            ;;
        -*) usage ;;
        *)
            [ -z "$build" ] || usage
            build=$1
            ;;
    esac
    shift
done
case $rounds in '' | *[!0-9]* | 0) usage ;; esac
[ -n "$build" ] || usage
if [ ! -x "$build/bin/weft-bench" ] || [ ! -x "$build/bin/weftrun" ]; then
    echo "bench/run.sh: $build has no bin/weft-bench and bin/weftrun: build first" >&2
    exit 1
fi

here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$build/bin" && pwd)
rows=$build/bench.jsonl
limit_s=120 # no single run of a benchmark comes near it
failures=0
operations="barrier allreduce bcast reduce allgather alltoall"
repeats=()
if [ "$quick" = 1 ]; then
    rounds=2
    repeats=(--repeats 50)
fi

sizes_of() {
    case $1 in
        barrier) echo 8 ;; # not used
        allreduce) echo 8,1K,32K,1M,4M ;;
        *) echo 8,1K,32K,1M ;;
    esac
}

# measure NAME COMMAND…: appends the rows; a run that fails or takes too long is reported and costs nothing but its rows.
measure() {
    local name=$1 output status=0
    shift
    output=$(timeout --foreground -k 5 "$limit_s" "$@" "${repeats[@]}" --format json </dev/null) || status=$?
    if [ "$status" -ne 0 ]; then
        echo "bench/run.sh: $name failed with status $status: $*" >&2
        failures=$((failures + 1))
    fi
    { grep '^{' <<<"$output" || true; } | sed "s/^{/{\"round\": $round, \"operation_of_round\": \"$operation\", /" >>"$rows"
}

# Every rank has its own core: weft-bench sees to it by itself, the peers must be told.
bind=none
[ "$(nproc)" -lt 2 ] || bind=core

openmpi=() mpich=()
if [ -x "$bin/peer-openmpi" ]; then
    launcher=$(command -v mpirun.openmpi || command -v mpirun || true)
    if [ -n "$launcher" ]; then
        openmpi=("$launcher" --oversubscribe --bind-to "$bind" -n 2 "$bin/peer-openmpi")
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
fi
if [ -x "$bin/peer-mpich" ]; then
    launcher=$(command -v mpirun.mpich || command -v mpiexec.hydra || true)
    [ -z "$launcher" ] || mpich=("$launcher" -bind-to "$bind" -n 2 "$bin/peer-mpich")
fi
[ ${#openmpi[@]} -gt 0 ] || echo "bench/run.sh: no Open MPI (packages openmpi-bin, libopenmpi-dev): its columns stay empty" >&2
[ ${#mpich[@]} -gt 0 ] || echo "bench/run.sh: no MPICH (packages mpich, libmpich-dev): its columns stay empty" >&2

: >"$rows"
for ((round = 1; round <= rounds; round++)); do
    for operation in $operations; do
        if [ -t 2 ]; then printf '\rround %d of %d: %-10s' "$round" "$rounds" "$operation" >&2; fi
        sizes=$(sizes_of "$operation")
        limit_sizes=8 # floors exist for these two only; the flag latency is wanted beside every operation
        [ "$operation" != allreduce ] || limit_sizes=$sizes
        measure limits "$bin/weft-bench" limits --bytes "$limit_sizes"
        measure weft "$bin/weftrun" -n 1 -t 2 "$bin/weft-bench" "$operation" --bytes "$sizes"
        [ ${#openmpi[@]} -eq 0 ] || measure "Open MPI" "${openmpi[@]}" "$operation" --bytes "$sizes"
        [ ${#mpich[@]} -eq 0 ] || measure MPICH "${mpich[@]}" "$operation" --bytes "$sizes"
        measure "weft, process level" "$bin/weftrun" -n 2 -t 1 "$bin/weft-bench" "$operation" --level process --bytes "$sizes"
    done
done
if [ -t 2 ]; then printf '\r%40s\r' '' >&2; fi

awk -v rounds="$rounds" -f "$here/compare.awk" "$rows"
echo "rows: $rows"
if [ "$failures" -gt 0 ]; then
    echo "bench/run.sh: $failures runs failed" >&2
    exit 1
fi
