#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Compares weft with Open MPI over a link of 1 Gbit/s between two hosts, which are two network namespaces of this machine:
#
#     bench/link.sh BUILD_FOLDER [--rounds R] [--threads T] [--overlap]
#
# weft has a process of T threads (default: 4) on each host, Open MPI T processes on each, which yield while they wait; they take turns. Beside
# their times stands what the link needs for the bytes that the operation's formula puts on it in one direction, and what plain TCP needs
# for them (of a broadcast one way, of the others both ways at once), in the same turn. Open MPI's mpirun starts both. Nobody is
# bound: the hosts have the same cores, which neither knows. Needs the right to make namespaces, and the programs ip, tc, unshare, nsenter, setpriv and mpirun. All namespaces are nameless
# and go with this script.
#
# --overlap: how much of a nonblocking collective of two processes, one on each host, computation hides (weft-bench --help).
set -euo pipefail
export LC_ALL=C OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

rate_mbit=1000
dies=(setpriv --pdeathsig KILL) # with its parent

fail() {
    echo "bench/link.sh: $*" >&2
    exit 1
}

# remote DIRECTORY OPTION… HOST COMMAND…: what mpirun takes for ssh.
remote() {
    local directory=$1
    shift
    while [ "${1#-}" != "$1" ]; do shift; done
    exec nsenter -t "$(cat "$directory/$1")" --net --uts --ipc sh -c "${*:2}"
}

# In namespaces of its own: a bridge, two hosts on it, and both ends of each cable shaped.
lay_cables() {
    # A timer that wakes a shaper later than its burst lasts (64 KiB: 0.5 ms) takes from the rate what it can never send. Pieces of TCP's
    # that are longer (68 KiB, with their headers) a shaper cuts into packets itself, in the time of who sends: where it matters whose
    # time that is, for an overlap, they are to pass whole, as a network card takes them.
    local directory=$1 number shape=(root tbf rate "${rate_mbit}mbit" burst "$2" limit 1mb)
    ip link set lo up && ip link add bridge0 type bridge && ip link set bridge0 up && ip addr add 10.77.0.254/24 dev bridge0
    printf '127.0.0.1 localhost\n10.77.0.1 host1\n10.77.0.2 host2\n' >"$directory/hosts"
    mount --bind "$directory/hosts" /etc/hosts
    for number in 1 2; do
        "${dies[@]}" unshare --net --uts --ipc sh -c "hostname host$number; echo \$\$ >$directory/host$number.new; mv $directory/host$number.new $directory/host$number; exec sleep infinity" &
        until [ -s "$directory/host$number" ]; do sleep 0.02; done
        local there=(nsenter -t "$(cat "$directory/host$number")" --net)
        ip link add "cable$number" type veth peer name eth0 netns "$(cat "$directory/host$number")"
        ip link set "cable$number" master bridge0 up
        "${there[@]}" ip link set lo up && "${there[@]}" ip addr add "10.77.0.$number/24" dev eth0 && "${there[@]}" ip link set eth0 up
        "${there[@]}" tc qdisc replace dev eth0 "${shape[@]}"
        tc qdisc replace dev "cable$number" "${shape[@]}"
    done
}

# over_link PER_HOST PROGRAM…
over_link() {
    timeout 120 "$mpirun" --mca plm_rsh_agent "$directory/remote" --mca plm_rsh_no_tree_spawn 1 \
        --mca oob_tcp_if_include 10.77.0.0/24 --bind-to none -x WEFT_BIND=none -x UCX_TLS=tcp,sm,self -x UCX_NET_DEVICES=eth0 \
        --host "host1:$1,host2:$1" -n $((2 * $1)) "${@:2}" --format json </dev/null | grep '^{'
}

# tcp OPERATION FORTH BACK: plain TCP with the bytes of an operation.
tcp() {
    nsenter -t "$(cat "$directory/host1")" --net timeout 60 "$bin/peer-tcp" listen 10.77.0.1 "$2" "$3" &
    nsenter -t "$(cat "$directory/host2")" --net timeout 60 "$bin/peer-tcp" connect 10.77.0.1 "$2" "$3" | sed "s/OPERATION/$1/"
    wait %%
}

measure() {
    local round operation bytes mega=1048576
    export WEFT_THREADS=$threads OMP_NUM_THREADS=$threads
    # With what crosses the link forth and back. All of a broadcast; as much of an allreduce in halves; half of an allgather, whose block
    # is a rank's; of an alltoall what half of the ranks have for the other half.
    local sizes=(bcast $mega $mega 0
        allreduce $mega $mega $mega
        allgather $((mega / (2 * threads))) $((mega / 2)) $((mega / 2))
        alltoall $mega $((mega * threads / 2)) $((mega * threads / 2)))
    for ((round = 1; round <= rounds; round++)); do
        set -- "${sizes[@]}"
        while [ $# -gt 0 ]; do
            operation=$1 bytes=$2
            tcp "$operation" "$3" "$4"
            shift 4
            over_link 1 -x WEFT_THREADS -x OMP_NUM_THREADS "$bin/weft-bench" "$operation" --bytes "$bytes"
            over_link "$threads" --mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any \
                --mca mpi_yield_when_idle 1 "$bin/peer-openmpi" "$operation" --bytes "$bytes"
        done
    done
}

measure_overlap() {
    local round operation
    for ((round = 1; round <= rounds; round++)); do
        for operation in bcast allreduce allgather alltoall; do
            over_link 1 "$bin/weft-bench" "$operation" --level process --overlap --bytes 1M
            over_link 1 --mca pml ucx --mca pml_ucx_tls any --mca pml_ucx_devices any "$bin/peer-openmpi" "$operation" --overlap --bytes 1M
        done
    done
}

functions='
        function field(name) { match($0, "\"" name "\": [^,}]*"); return substr($0, RSTART + length(name) + 4, RLENGTH - length(name) - 4) }
        function median(list,   n, i, j, t, a) {
            n = split(list, a, " ")
            for (i = 2; i <= n; i++) for (j = i; j > 1 && a[j] + 0 < a[j - 1] + 0; j--) { t = a[j]; a[j] = a[j - 1]; a[j - 1] = t }
            return a[int((n + 1) / 2)]
        }
        function read_row() {
            operation = field("operation"); gsub("\"", "", operation)
            library = field("library"); gsub("\"", "", library)
            if (!(operation in seen)) order[++operations] = operation
            seen[operation]
            if (library == "tcp") on_link[operation] = field("bytes")
            else bytes[operation] = field("bytes")
        }
'

# One line an operation, medians over the rounds.
print() {
    awk -v rate="$rate_mbit" "$functions"'
        {
            read_row()
            medians[operation, library] = medians[operation, library] " " field("median_us") / 1000
            least = field("min_us") / 1000
            if (!((operation, library) in min) || least < min[operation, library]) min[operation, library] = least
        }
        END {
            printf "%-10s %9s %9s  %17s  %17s  %17s  %10s\n", "operation", "bytes", "link, ms", "TCP min median", "weft", "Open MPI", "ratio"
            for (i = 1; i <= operations; i++) {
                o = order[i]
                t = median(medians[o, "tcp"]); w = median(medians[o, "weft"]); p = median(medians[o, "openmpi"])
                printf "%-10s %9d %9.2f  %8.2f %8.2f  %8.2f %8.2f  %8.2f %8.2f  %10.2f\n", o, bytes[o], on_link[o] * 8 / rate / 1000, min[o, "tcp"], t, min[o, "weft"], w, min[o, "openmpi"], p, p / w
            }
        }'
}

# One line an operation, medians over the rounds.
print_overlap() {
    awk "$functions"'
        {
            read_row()
            blocking[operation, library] = blocking[operation, library] " " field("blocking_us") / 1000
            hidden[operation, library] = hidden[operation, library] " " field("hidden_percent")
        }
        END {
            printf "%-10s %9s  %17s  %17s\n", "operation", "bytes", "weft, ms hidden %", "Open MPI"
            for (i = 1; i <= operations; i++) {
                o = order[i]
                printf "%-10s %9d  %8.2f %8.1f  %8.2f %8.1f\n", o, bytes[o], median(blocking[o, "weft"]), median(hidden[o, "weft"]), median(blocking[o, "openmpi"]), median(hidden[o, "openmpi"])
            }
        }'
}

case ${1:-} in
    --remote) remote "${@:2}" ;;
    --inside)
        directory=$2 bin=$3 rounds=$4 threads=$5 mpirun=$6
        lay_cables "$directory" "$([ "$7" = 1 ] && echo 128kb || echo 64kb)"
        if [ "$7" = 1 ]; then measure_overlap; else measure; fi >"$directory/rows"
        exit
        ;;
esac

build="" rounds=3 threads=4 overlap=0
while [ $# -gt 0 ]; do
    case $1 in
        --rounds) rounds=${2:?} && shift ;;
        --threads) threads=${2:?} && shift ;;
        --overlap) overlap=1 ;;
        *) build=$1 ;;
    esac
    shift
done
for number in "$rounds" "$threads"; do
    case $number in '' | *[!0-9]* | 0*) fail "rounds and threads are numbers from 1 on, not \"$number\"" ;; esac
done
[ -x "$build/bin/weft-bench" ] && [ -x "$build/bin/peer-tcp" ] && [ -x "$build/bin/peer-openmpi" ] || fail "usage: bench/link.sh BUILD_FOLDER [--rounds R] [--threads T] [--overlap]; the folder has weft-bench, peer-tcp and peer-openmpi"
mpirun=$(command -v mpirun.openmpi || command -v mpirun) || fail "there is no mpirun"
for tool in ip tc unshare nsenter setpriv; do
    command -v $tool >/dev/null || fail "there is no $tool"
done
bin=$(cd "$build/bin" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
printf '#!/bin/sh\nexec bash "%s" --remote "%s" "$@"\n' "$here/link.sh" "$directory" >"$directory/remote"
chmod +x "$directory/remote"
outer=(unshare --net --mount)
"${outer[@]}" true 2>/dev/null || outer=(unshare --user --map-root-user --net --mount)
"${outer[@]}" true 2>/dev/null || fail "namespaces are not permitted here"
"${dies[@]}" "${outer[@]}" bash "$here/link.sh" --inside "$directory" "$bin" "$rounds" "$threads" "$mpirun" "$overlap"
if [ "$overlap" = 1 ]; then print_overlap; else print; fi <"$directory/rows"
