# SPDX-License-Identifier: BSD-3-Clause
# The tables of run.sh, from its rows. A time is the median over the rounds of each round's median, in brackets the least of all
# samples; a ratio is the median over the rounds of that round's ratio. POSIX awk.

function field(name,    at, rest) {
    at = index($0, "\"" name "\": ")
    if (!at)
        return ""
    rest = substr($0, at + length(name) + 4)
    sub(/[,}].*/, "", rest)
    gsub(/"/, "", rest)
    return rest
}

# The median of list[1 … count], which is sorted.
function median(list, count,    i, j, value) {
    for (i = 2; i <= count; i++) {
        value = list[i]
        for (j = i - 1; j > 0 && list[j] > value; j--)
            list[j + 1] = list[j]
        list[j + 1] = value
    }
    return count % 2 ? list[(count + 1) / 2] : (list[count / 2] + list[count / 2 + 1]) / 2
}

function number(value) {
    return sprintf(value < 10 ? "%.3f" : value < 100 ? "%.2f" : "%.1f", value)
}

# The cell of who (limits, weft, …) in a row, key being operation and bytes; "-" without a measurement.
function time_cell(who, key,    round, count, list, least) {
    count = 0
    for (round = 1; round <= rounds; round++)
        if ((who, key, round) in med) {
            list[++count] = med[who, key, round]
            if (count == 1 || min[who, key, round] < least)
                least = min[who, key, round]
        }
    return count ? number(median(list, count)) " [" number(least) "]" : "-"
}

function latency_cell(operation,    round, count, list) {
    count = 0
    for (round = 1; round <= rounds; round++)
        if ((operation, round) in latency)
            list[++count] = latency[operation, round]
    return count ? number(median(list, count)) : "-"
}

function ratio_cell(over, under, key,    round, count, list) {
    count = 0
    for (round = 1; round <= rounds; round++)
        if ((over, key, round) in med && med[under, key, round] > 0)
            list[++count] = med[over, key, round] / med[under, key, round]
    return count ? sprintf("%.2f", median(list, count)) : "-"
}

{
    round = field("round")
    library = field("library")
    operation = field("operation")
    bytes = field("bytes")
    versions[library] = field("version")
    if (operation == "limit:flag_latency") {
        latency[field("operation_of_round"), round] = field("median_us")
        next
    }
    if (operation ~ /^limit:/) {
        who = operation
        key = bytes
    } else {
        # The floors of a barrier are measured beside every operation: only those of its own group count.
        if (library == "limits" && operation != "floor:" field("operation_of_round"))
            next
        who = library
        if (who == "weft" && field("level") == "process")
            who = "process"
        sub(/^floor:/, "", operation)
        key = operation SUBSEP bytes
        if (library != "limits" && !((key) in seen)) {
            seen[key] = 1
            keys[++key_count] = key
        }
    }
    med[who, key, round] = field("median_us") + 0
    min[who, key, round] = field("min_us") + 0
    if (who ~ /^limit:/ && !((bytes) in copied)) {
        copied[bytes] = 1
        copies[++copy_count] = bytes
    }
}

function first_table(    i, key, part) {
    printf "2 threads of one process (weft) against 2 processes (MPI); us: median over rounds [least]\n"
    printf "%-10s %8s %7s %18s %18s %20s %20s %11s %12s %11s\n", "operation", "bytes", "L", "floor", "weft", "Open MPI", \
        "MPICH", "weft/floor", "openmpi/weft", "mpich/weft"
    for (i = 1; i <= key_count; i++) {
        key = keys[i]
        split(key, part, SUBSEP)
        printf "%-10s %8s %7s %18s %18s %20s %20s %11s %12s %11s\n", part[1], part[2], latency_cell(part[1]), \
            time_cell("limits", key), time_cell("weft", key), time_cell("openmpi", key), time_cell("mpich", key), \
            ratio_cell("weft", "limits", key), ratio_cell("openmpi", "weft", key), ratio_cell("mpich", "weft", key)
    }
}

function second_table(    i, key, part) {
    printf "\n2 processes, process level\n"
    printf "%-10s %8s %20s %20s %20s %12s %11s\n", "operation", "bytes", "weft", "Open MPI", "MPICH", "openmpi/weft", "mpich/weft"
    for (i = 1; i <= key_count; i++) {
        key = keys[i]
        split(key, part, SUBSEP)
        printf "%-10s %8s %20s %20s %20s %12s %11s\n", part[1], part[2], time_cell("process", key), \
            time_cell("openmpi", key), time_cell("mpich", key), ratio_cell("openmpi", "process", key), \
            ratio_cell("mpich", "process", key)
    }
}

function limits_table(    i) {
    printf "\nmemcpy\n%-10s %8s %20s %20s\n", "", "bytes", "one thread", "both threads"
    for (i = 1; i <= copy_count; i++)
        printf "%-10s %8s %20s %20s\n", "", copies[i], time_cell("limit:memcpy1", copies[i]), \
            time_cell("limit:memcpyall", copies[i])
}

END {
    printf "weft %s", versions["weft"]
    if ("openmpi" in versions)
        printf ", Open MPI %s", versions["openmpi"]
    if ("mpich" in versions)
        printf ", MPICH %s", versions["mpich"]
    printf "; %d rounds; L: one-way flag latency between two threads; a ratio is the median of each round's ratio\n\n", rounds
    first_table()
    second_table()
    limits_table()
}
