#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# namespaces.sh PROGRAM…: runs test programs (each one word with its arguments), one after the other, as three processes on three
# hosts (NAMESPACES_HOSTS: another number): each in a network, host name and ipc namespace of its own, joined by a bridge, with TCP as the only transport. Needs no
# privileges where user namespaces are allowed; ends with 77, and says why, where namespaces are not permitted. All namespaces are
# nameless and belong to processes that the kernel kills when their parent is gone, so none outlives this script, however it ends.
# NAMESPACES_VICTIM: the number of a host whose process kills itself in every program; the others succeed all the same.
# NAMESPACES_CUT=1: when it has died, which the file "dead" in TESTS_DIRECTORY shows, its cable is cut, which "cut" shows.
# NAMESPACES_LEAST_BYTES: that every host must have sent, and received, for each program (without: 1000000).
set -uo pipefail
export LC_ALL=C
hosts=${NAMESPACES_HOSTS:-3}
seconds=120         # for each program
# Every host takes the machine's cores for its own, so nobody may spin on them: every other program gives them away or sleeps.
policies=(yield block)
dies=(setpriv --pdeathsig KILL) # with its parent
least_bytes=${NAMESPACES_LEAST_BYTES:-1000000}
victim=${NAMESPACES_VICTIM:-none}
killed=137 # as bash tells signal 9

skip() {
    echo "skipped: $*"
    exit 77
}

# The processes that a run of this script in a directory has left: all have the directory's name in their environment. (A namespace's
# number says nothing: the next namespace, of a test beside this one, has the number of the last that went.)
processes_of() {
    grep -lzxF "NAMESPACES_DIRECTORY=$1" /proc/[0-9]*/environ 2>/dev/null
}

# The address of a host's end of the cable.
machine() {
    printf '02:00:00:00:00:%02x' "$1"
}

# host NUMBER DIRECTORY: waits for its end of the cable, then for programs to run, each in a directory of its own.
host() {
    local number=$1 directory=$2 run status other
    touch "$directory/space.$number"
    hostname "weft-host-$number" || exit 1
    until [ -e "$directory/cables" ]; do sleep 0.02; done
    ip link set eth0 address "$(machine $number)" && ip addr add "10.77.0.$((number + 1))/24" dev eth0 || exit 1
    ip link set lo up && ip link set eth0 up || exit 1
    for ((other = 0; other < hosts; other++)); do # else a host that is gone is missed after three seconds
        [ $other = $number ] || ip neigh add "10.77.0.$((other + 1))" lladdr "$(machine $other)" nud permanent dev eth0
    done
    until ip -o link show eth0 | grep -q 'state UP'; do sleep 0.02; done # which the kernel finds out in its own time
    export UCX_TLS=tcp UCX_NET_DEVICES=eth0 ORACLE_HOSTS=$hosts TESTS_RANK=$number TESTS_SIZE=$hosts
    for run in "${!programs[@]}"; do
        cat /proc/net/dev >"$directory/before.$run.$number"
        WEFT_WAIT=${policies[run % ${#policies[@]}]} TESTS_DIRECTORY=$directory/$run \
            "${dies[@]}" timeout -k 1 $seconds "${dies[@]}" ${programs[run]}
        status=$?
        cat /proc/net/dev >"$directory/after.$run.$number"
        if [ "$number" = "$victim" ]; then
            status=$((status == killed ? 0 : 1))
            touch "$directory/$run/dead"
            [ -z "${NAMESPACES_CUT:-}" ] || { ip link set eth0 down && touch "$directory/$run/cut"; }
        fi
        [ $status -eq 0 ] || exit $status
    done
}

# Within the outer namespace: the bridge, the hosts and their cables.
inside() {
    local directory=$1 number status=0 pids=()
    ip link add bridge0 type bridge 2>/dev/null && ip link set bridge0 up || exit 77
    for ((number = 0; number < hosts; number++)); do
        "${dies[@]}" unshare --net --uts --ipc bash "$0" host "$number" "$directory" "${programs[@]}" &
        pids+=($!)
    done
    for ((number = 0; number < hosts; number++)); do
        until [ -e "$directory/space.$number" ]; do
            kill -0 "${pids[number]}" 2>/dev/null || exit 77
            sleep 0.02
        done
        ip link add "cable$number" type veth peer name eth0 netns "${pids[number]}" || exit 77
        ip link set "cable$number" master bridge0 up || exit 1
    done
    touch "$directory/cables"
    for ((number = 0; number < hosts; number++)); do
        wait "${pids[number]}" || {
            status=$?
            echo "FAILED: host $number ended with status $status"
        }
    done
    exit "$status"
}

# What eth0 has received ($2 = 2) or sent (10) according to a copy of /proc/net/dev.
bytes() {
    awk -v field="$2" '{ sub(":", " ") } $1 == "eth0" { print $field }' "$1"
}

case $1 in
inside)
    programs=("${@:3}")
    inside "$2"
    ;;
host)
    programs=("${@:4}")
    host "$2" "$3"
    exit
    ;;
esac

for tool in ip unshare setpriv timeout; do
    command -v $tool >/dev/null || skip "there is no $tool"
done
if unshare --net true 2>/dev/null; then
    outer=(unshare --net)
elif unshare --user --map-root-user --net true 2>/dev/null; then
    outer=(unshare --user --map-root-user --net)
else
    skip "network namespaces are not permitted here"
fi
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
programs=("$@")
links=$(ip -o link | wc -l)
for run in "${!programs[@]}"; do mkdir "$directory/$run"; done
# The root inside the outer namespace may not be allowed to write to the directory otherwise.
chmod 777 "$directory" "$directory"/[0-9]*
NAMESPACES_DIRECTORY=$directory "${dies[@]}" "${outer[@]}" bash "$0" inside "$directory" "${programs[@]}"
status=$?
[ $status -eq 77 ] && skip "a bridge, or a namespace within a namespace, is not permitted here"

failures=0
fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
[ $status -eq 0 ] || fail "the processes ended with status $status"
for run in "${!programs[@]}"; do
    for ((number = 0; status == 0 && number < hosts; number++)); do
        for field in 2 10; do
            grown=$(($(bytes "$directory/after.$run.$number" $field) - $(bytes "$directory/before.$run.$number" $field)))
            echo "run $run, host $number: $grown bytes $([ $field = 2 ] && echo received || echo sent)"
            [ "$grown" -ge $least_bytes ] || fail "fewer than $least_bytes: the data took another way"
        done
    done
done
left=$(processes_of "$directory")
[ -z "$left" ] || fail "still running: $left"
[ "$(ip -o link | wc -l)" -eq "$links" ] || fail "network devices are left behind"
exit $((failures > 0))
