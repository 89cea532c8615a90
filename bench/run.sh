#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares weft with the machine's limits and with the MPIs that are installed, on this machine, in parts:
#
#     bench/run.sh BUILD_FOLDER [--part PART]… [--quick] [--rounds R] [--processes P]
#
#     thread       2 threads of a process against 2 processes of the MPIs, and against hand-written loops
#     touched      the same, where each rank writes what it gives before each call, and reads what it got after it, as programs do
#     process      2 processes each, every collective
#     teams        the same with thread communicators: 2 processes of one thread each, with a core of its own
#     yield        P processes each (default: 2 for each core, at least 4) on all cores, all of which yield while they wait
#     cores        a rank a core on all cores, where there are more than two: as threads of one process, of 2 and of 4, against
#                  as many processes of the MPIs
#     hybrid       2 processes of 2 threads, and 4 of 4, against 4 and 16 processes of Open MPI that yield
#     nonblocking  weft, 2 processes and 2 threads: blocking, nonblocking and persistent calls of every collective, in turn in one run
#     overlap      2 processes each: how much of a nonblocking collective, and of a message each way, computation hides; and of the
#                  bcast and scatter of 16 threads
#     options      weft, 2 threads and 2 processes: what a timeline and reproducible sums cost
#     messages     between two ranks: 2 threads of a process and 2 processes (weft) against 2 processes of the MPIs, bare UCX,
#                  memcpy and the flag latency
#
# The programs take turns, operation by operation, R rounds over: what else the machine does then hits all of them, and a ratio
# is always one of two times of the same round. --quick: one round, few samples, and the collectives without their relatives
# (those in v and w, reduce_scatter_block, exscan). All rows stay in BUILD_FOLDER/bench.jsonl, one JSON object a line with part
# and round in front. Needs bash and awk; a peer that is missing is left out.
set -euo pipefail

usage() {
    echo "usage: bench/run.sh BUILD_FOLDER [--part thread|touched|process|teams|yield|cores|hybrid|nonblocking|overlap|options|messages]... [--quick]" >&2
    echo "                    [--rounds R] [--processes P]" >&2
    exit 2
}

cores=$(env -u OMP_NUM_THREADS -u OMP_THREAD_LIMIT nproc) # which would answer what those say
build="" rounds="" quick=0 parts="" processes=$((2 * cores))
[ "$processes" -ge 4 ] || processes=4
while [ $# -gt 0 ]; do
    case $1 in
        --quick) quick=1 ;;
        --rounds | --processes | --part)
            [ $# -gt 1 ] || usage
            case $1 in
                --rounds) rounds=$2 ;;
                --processes) processes=$2 ;;
                --part) parts="$parts $2" ;;
            esac
            shift
            ;;
        -*) usage ;;
        *)
            [ -z "$build" ] || usage
            build=$1
            ;;
    esac
    shift
done
rounds=${rounds:-$((quick ? 1 : 3))}
for number in "$rounds" "$processes"; do
    case $number in '' | *[!0-9]* | 0*) usage ;; esac # with a zero in front bash would take it for an octal one
done
for part in $parts; do
    case $part in thread | touched | process | teams | yield | cores | hybrid | nonblocking | overlap | options | messages) ;; *) usage ;; esac
done
[ -n "$build" ] || usage
if [ ! -x "$build/bin/weft-bench" ] || [ ! -x "$build/bin/weftrun" ]; then
    echo "bench/run.sh: $build has no bin/weft-bench and bin/weftrun: build first" >&2
    exit 1
fi

here=$(cd "$(dirname "$0")" && pwd)
bin=$(cd "$build/bin" && pwd)
rows=$build/bench.jsonl
limit_s=60 # no single run of a benchmark comes near it
failures=0
of_processes="barrier bcast scatter scatterv gather gatherv allgather allgatherv alltoall alltoallv alltoallw reduce allreduce
    reduce_scatter reduce_scatter_block scan exscan"
overlapped="bcast allreduce allgather alltoall overlap scatter"
summed="reduce allreduce reduce_scatter scan"
option=none
of_messages="pingpong stream message-rate datatypes"
if [ "$quick" = 1 ]; then # without the relatives of others
    of_processes="barrier bcast scatter gather allgather alltoall reduce allreduce reduce_scatter scan"
fi

# measure NAME SAMPLES COMMAND…: appends the rows; a run that fails or takes too long is reported and costs nothing but its
# rows. SAMPLES a row; 0: as many as fit into weft-bench's time for a row.
measure() {
    local name=$1 samples=$2 output status=0 repeats=()
    shift 2
    if [ "$quick" = 1 ] && { [ "$samples" = 0 ] || [ "$samples" -gt 50 ]; }; then samples=50; fi
    [ "$samples" = 0 ] || repeats=(--repeats "$samples")
    output=$(timeout --foreground -k 5 "$limit_s" "$@" "${repeats[@]}" --format json </dev/null) || status=$?
    if [ "$status" -ne 0 ]; then
        echo "bench/run.sh: $name failed with status $status: $*" >&2
        failures=$((failures + 1))
    fi
    { grep '^{' <<<"$output" || true; } |
        sed "s/^{/{\"part\": \"$part\", \"round\": $round, \"operation_of_round\": \"$operation\", \"option\": \"$option\", /" >>"$rows"
}

# Every rank has its own core: weft-bench sees to it by itself, the peers must be told.
bind=none
[ "$cores" -lt 2 ] || bind=core

# openmpi and mpich: the launchers, for 2 processes with a core each; openmpi_yield: for more processes than cores, none of
# which keeps a core while it waits; their number follows. (MPICH's cannot be told to: they are left out there.)
openmpi=() openmpi_yield=() mpich=()
if [ -x "$bin/peer-openmpi" ]; then
    launcher=$(command -v mpirun.openmpi || command -v mpirun || true)
    if [ -n "$launcher" ]; then
        openmpi=("$launcher" --oversubscribe --bind-to "$bind" -n 2 "$bin/peer-openmpi")
        openmpi_yield=("$launcher" --oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
        export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    fi
fi
if [ -x "$bin/peer-mpich" ]; then
    launcher=$(command -v mpirun.mpich || command -v mpiexec.hydra || true)
    [ -z "$launcher" ] || mpich=("$launcher" -bind-to "$bind" -n 2 "$bin/peer-mpich")
fi
[ ${#openmpi[@]} -gt 0 ] || echo "bench/run.sh: no Open MPI (packages openmpi-bin, libopenmpi-dev): its columns stay empty" >&2
[ ${#mpich[@]} -gt 0 ] || echo "bench/run.sh: no MPICH (packages mpich, libmpich-dev): its columns stay empty" >&2

# peers SAMPLES OPTION…: both MPIs with 2 processes.
peers() {
    local samples=$1
    shift
    [ ${#openmpi[@]} -eq 0 ] || measure "Open MPI" "$samples" "${openmpi[@]}" "$operation" "$@"
    [ ${#mpich[@]} -eq 0 ] || measure MPICH "$samples" "${mpich[@]}" "$operation" "$@"
}

# yielding PROCESSES SAMPLES OPTION…
yielding() {
    local count=$1 samples=$2
    shift 2
    [ ${#openmpi[@]} -eq 0 ] ||
        measure "Open MPI, yielding" "$samples" "${openmpi_yield[@]}" -n "$count" "$bin/peer-openmpi" "$operation" "$@"
}

# weft PROCESSES SAMPLES OPTION…
weft() {
    local count=$1 samples=$2
    shift 2
    measure "weft, process level" "$samples" "$bin/weftrun" -n "$count" -t 1 "$bin/weft-bench" "$operation" --level process "$@"
}

# OPTION…, for all
part_thread() {
    local sizes=8,1K,32K,1M,4M limit_sizes=8 # floors exist for two only; the flag latency is wanted beside every operation
    [ "$operation" != allreduce ] || limit_sizes=$sizes
    measure limits 0 "$bin/weft-bench" limits --bytes "$limit_sizes" "$@"
    measure weft 0 "$bin/weftrun" -n 1 -t 2 "$bin/weft-bench" "$operation" --bytes "$sizes" "$@"
    peers 0 --bytes "$sizes" "$@"
}

part_touched() {
    part_thread --touch
}

part_process() {
    weft 2 400 --bytes 8,32K,1M
    peers 400 --bytes 8,32K,1M
}

part_teams() {
    measure weft 400 "$bin/weftrun" -n 2 -t 1 "$bin/weft-bench" "$operation" --level thread --bytes 8,32K,1M
    peers 400 --bytes 8,32K,1M
}

part_yield() {
    weft "$processes" 100 --bytes 8,32K,1M
    yielding "$processes" 100 --bytes 8,32K,1M
}

# With as many processes as cores both MPIs want to hear that hardware threads will do.
part_cores() {
    local part processes sizes=8,1K,32K,1M
    for processes in 1 2 4; do
        if [ $((cores % processes)) != 0 ] || [ "$cores" -le "$processes" ]; then continue; fi
        part="cores ${processes}x$((cores / processes))"
        measure "weft, $part" 100 "$bin/weftrun" -n "$processes" -t $((cores / processes)) "$bin/weft-bench" "$operation" --bytes "$sizes"
        [ ${#openmpi[@]} -eq 0 ] ||
            measure "Open MPI" 100 "${openmpi[0]}" --use-hwthread-cpus --bind-to hwthread -n "$cores" "$bin/peer-openmpi" "$operation" --bytes "$sizes"
        [ ${#mpich[@]} -eq 0 ] ||
            measure MPICH 100 "${mpich[0]}" -bind-to hwthread -n "$cores" "$bin/peer-mpich" "$operation" --bytes "$sizes"
    done
}

part_hybrid() {
    local count part
    for count in 2 4; do
        part="hybrid ${count}x$count"
        measure "weft, $part" 20 "$bin/weftrun" -n "$count" -t "$count" "$bin/weft-bench" "$operation" --bytes 16,1K,32K,1M
        yielding $((count * count)) 20 --bytes 16,1K,32K,1M
    done
}

part_nonblocking() {
    local forms=(--bytes "8,1M" --blocking --nonblocking --persistent) part=$part
    weft 2 300 "${forms[@]}"
    part="nonblocking threads"
    measure "weft, thread level" 300 "$bin/weftrun" -n 1 -t 2 "$bin/weft-bench" "$operation" "${forms[@]}"
}

part_overlap() {
    local of_collectives=(--overlap) part=$part
    [ "$operation" != overlap ] || of_collectives=()
    if [ "$operation" != scatter ]; then
        weft 2 200 --bytes 32K,1M "${of_collectives[@]}"
        peers 200 --bytes 32K,1M "${of_collectives[@]}"
    fi
    case $operation in bcast | scatter)
        part="overlap threads"
        measure "weft, 16 threads" 20 "$bin/weftrun" -n 1 -t 16 "$bin/weft-bench" "$operation" --overlap --bytes 32K,1M
        ;;
    esac
}

part_options() {
    local shape part option timelines
    timelines=$(mktemp -d)
    for shape in 1x2 2x1; do
        part="options $shape"
        for option in none timeline reproducible; do
            local setting=()
            [ "$option" != timeline ] || setting=("WEFT_TRACE=$timelines")
            [ "$option" != reproducible ] || setting=(WEFT_REPRODUCIBLE=1)
            measure "weft, $option" 200 env "${setting[@]}" "$bin/weftrun" -n "${shape%x*}" -t "${shape#*x}" "$bin/weft-bench" "$operation" \
                --level thread --bytes 8,1K,32K,1M
        done
    done
    if grep -qrs '"name":"dropped"' "$timelines"; then
        echo "bench/run.sh: the timelines were full before the end: what they cost is not what the table says" >&2
        failures=$((failures + 1))
    fi
    rm -rf "$timelines"
}

part_messages() {
    local sizes=8,1K,64K,1M,4M
    case $operation in
        message-rate) sizes=8,64 ;;
        datatypes) sizes=4K,64K,1M ;;
        *) measure limits 0 "$bin/weft-bench" limits --bytes "$sizes" ;;
    esac
    measure "weft, thread level" 0 "$bin/weftrun" -n 1 -t 2 "$bin/weft-bench" "$operation" --pair same-node --bytes "$sizes"
    weft 2 0 --bytes "$sizes"
    if [ "$operation" != datatypes ] && [ -x "$bin/peer-ucx" ]; then
        measure UCX 0 "$bin/peer-ucx" "$operation" --bytes "$sizes"
    fi
    peers 0 --bytes "$sizes"
}

operations_of() {
    case $1 in
        overlap) echo "$overlapped" ;;
        options) echo "$summed" ;;
        cores | hybrid) echo "$of_processes multi-pair" ;;
        messages) echo "$of_messages" ;;
        *) echo "$of_processes" ;;
    esac
}

several="" # with two cores it would be `thread` once more
[ "$cores" -le 2 ] || several=cores
: >"$rows"
for ((round = 1; round <= rounds; round++)); do
    for part in ${parts:-thread touched process teams yield $several hybrid nonblocking overlap options messages}; do
        for operation in $(operations_of "$part"); do
            if [ -t 2 ]; then printf '\rround %d of %d: %-12s %-22s' "$round" "$rounds" "$part" "$operation" >&2; fi
            "part_$part"
        done
    done
done
if [ -t 2 ]; then printf '\r%60s\r' '' >&2; fi

if [ ! -s "$rows" ]; then
    echo "bench/run.sh: nothing was measured" >&2
    exit 1
fi
awk -v rounds="$rounds" -v yielding="$processes" -v cores="$cores" -f "$here/compare.awk" "$rows"
echo "rows: $rows"
if [ "$failures" -gt 0 ]; then
    echo "bench/run.sh: $failures runs failed" >&2
    exit 1
fi
