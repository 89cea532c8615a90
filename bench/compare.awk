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

# The median over the rounds of values[who, key, round] as text; "-" without a measurement. Who: a library, a mode, a limit;
# key: part, operation and bytes.
function median_cell(values, who, key, format,    round, count, list) {
    count = 0
    for (round = 1; round <= rounds; round++)
        if ((who, key, round) in values)
            list[++count] = values[who, key, round]
    return !count ? "-" : format ? sprintf(format, median(list, count)) : number(median(list, count))
}

function time_cell(who, key,    round, least, cell) {
    cell = median_cell(med, who, key)
    if (cell == "-")
        return cell
    least = ""
    for (round = 1; round <= rounds; round++)
        if ((who, key, round) in min && (least == "" || min[who, key, round] < least))
            least = min[who, key, round]
    return cell " [" number(least) "]"
}

function ratio(over, under, key,    round, count, list) {
    count = 0
    for (round = 1; round <= rounds; round++)
        if ((over, key, round) in med && (under, key, round) in med && med[under, key, round] > 0)
            list[++count] = med[over, key, round] / med[under, key, round]
    return count ? median(list, count) : ""
}

function ratio_cell(over, under, key,    value) {
    value = ratio(over, under, key)
    return value == "" ? "-" : sprintf("%.2f", value)
}

# With a mark when the ratio is outside low … high.
function marked_cell(over, under, key, low, high,    value) {
    value = ratio(over, under, key)
    return value == "" ? "-" : sprintf("%.3f %s", value, value < low || value > high ? "!" : " ")
}

# All that is noted about an operation and a size in a part goes into one line of its table.
function note(key) {
    if (!(key in seen)) {
        seen[key] = 1
        keys[++key_count] = key
        if (!lines[field("part")]++)
            parts[++part_count] = field("part")
    }
}

# The copies of one group are what its messages are held against; of all of a round the table of limits shows the fastest.
function read_copy(key,    least) {
    least = field("min_us") + 0
    if (!((operation, bytes, round) in med) || med[operation, bytes, round] > field("median_us") + 0)
        med[operation, bytes, round] = field("median_us") + 0
    if (!((operation, bytes, round) in min) || min[operation, bytes, round] > least)
        min[operation, bytes, round] = least
    med[operation, key, round] = field("median_us") + 0
    if (!(bytes in copied)) {
        copied[bytes] = 1
        copies[++copy_count] = bytes
    }
}

function read_limit(    key) {
    if (operation == "limit:flag_latency") {
        latency["limits", part SUBSEP field("operation_of_round"), round] = field("median_us") + 0
        return
    }
    key = part SUBSEP field("operation_of_round") SUBSEP bytes
    if (operation ~ /^limit:/) {
        read_copy(key)
    } else if (operation == "floor:" field("operation_of_round")) {
        # The floors of a barrier are measured beside every operation: only those of its own group count.
        med["limits", key, round] = field("median_us") + 0
        min["limits", key, round] = field("min_us") + 0
    }
}

{
    round = field("round")
    part = field("part")
    library = field("library")
    operation = field("operation")
    bytes = field("bytes")
    versions[library] = field("version")
    if (library == "limits") {
        read_limit()
        next
    }
    who = part ~ /^nonblocking/ ? field("mode") : part ~ /^options/ ? field("option") : part == "messages" && library == "weft" ? "weft " field("level") : library
    key = part SUBSEP operation SUBSEP bytes
    note(key)
    if (part ~ /^overlap/) {
        med[who, key, round] = field("blocking_us") + 0
        exposed[who, key, round] = field("exposed_us") + 0
        hidden[who, key, round] = field("hidden_percent") + 0
        calls[who, key, round] = field("calls_percent") + 0
    } else {
        med[who, key, round] = field("median_us") + 0
        min[who, key, round] = field("min_us") + 0
    }
}

# One line of a part's table; split_key: operation, bytes.
function thread_line(part, operation, bytes, key,    short, times) {
    short = operation == "barrier" || (operation == "allreduce" && bytes <= 1024)
    times = operation == "allreduce" && bytes >= 32768 ? 3 : 2
    printf "%-20s %8s %7s %18s %18s %20s %20s %13s %13s %13s\n", operation, bytes,
        median_cell(latency, "limits", part SUBSEP operation), time_cell("limits", key), time_cell("weft", key),
        time_cell("openmpi", key), time_cell("mpich", key), marked_cell("weft", "limits", key, 0, short ? 1.3 : 1e9),
        marked_cell("openmpi", "weft", key, times, 1e9), marked_cell("mpich", "weft", key, times, 1e9)
}

function process_line(operation, bytes, key) {
    printf "%-20s %8s %20s %20s %20s %14s %12s\n", operation, bytes, time_cell("weft", key), time_cell("openmpi", key),
        time_cell("mpich", key), marked_cell("openmpi", "weft", key, 1, 1e9), ratio_cell("mpich", "weft", key)
}

function yield_line(operation, bytes, key) {
    printf "%-20s %8s %20s %20s %14s\n", operation, bytes, time_cell("weft", key), time_cell("openmpi", key),
        marked_cell("openmpi", "weft", key, 1, 1e9)
}

function nonblocking_line(operation, bytes, key, most) {
    printf "%-20s %8s %20s %20s %20s %12s %12s\n", operation, bytes, time_cell("blocking", key),
        time_cell("nonblocking", key), time_cell("persistent", key),
        marked_cell("nonblocking", "blocking", key, 0, most), marked_cell("persistent", "blocking", key, 0, most)
}

function options_line(operation, bytes, key) {
    printf "%-20s %8s %20s %20s %20s %12s %12s\n", operation, bytes, time_cell("none", key), time_cell("timeline", key),
        time_cell("reproducible", key), marked_cell("timeline", "none", key, 0, 1.03), ratio_cell("reproducible", "none", key)
}

function overlap_line(operation, bytes, key,    i, library) {
    printf "%-20s %8s", operation, bytes
    for (i = 1; i <= 3; i++) {
        library = i == 1 ? "weft" : i == 2 ? "openmpi" : "mpich"
        printf " | %9s %9s %7s %7s", median_cell(med, library, key), median_cell(exposed, library, key),
            median_cell(hidden, library, key, "%.1f"), median_cell(calls, library, key, "%.1f")
    }
    printf "\n"
}

# The faster MPI of each round.
function find_best(key,    round) {
    for (round = 1; round <= rounds; round++) {
        if (("openmpi", key, round) in med)
            med["best", key, round] = med["openmpi", key, round]
        if (("mpich", key, round) in med && !(("best", key, round) in med && med["best", key, round] < med["mpich", key, round]))
            med["best", key, round] = med["mpich", key, round]
    }
}

# What a message is held against: the flag latency when it is small, else one thread's memcpy; packing: memcpy in the same run.
function find_limit(operation, bytes, key,    round, same) {
    same = "messages" SUBSEP "memcpy" SUBSEP bytes
    for (round = 1; round <= rounds; round++)
        if (operation ~ /pack:/) {
            if (("weft thread", same, round) in med)
                med["limit", key, round] = med["weft thread", same, round]
        } else if (bytes >= 4096 && (operation == "pingpong" || operation == "stream")) {
            if (("limit:memcpy1", key, round) in med)
                med["limit", key, round] = med["limit:memcpy1", key, round]
        } else if (bytes < 4096 && operation == "pingpong" && ("limits", "messages", operation, round) in latency)
            med["limit", key, round] = latency["limits", "messages", operation, round]
}

function messages_line(operation, bytes, key,    small, large, rate, of_weft) {
    of_weft = operation != "memcpy"
    small = operation == "pingpong" && bytes <= 8
    large = operation == "pingpong" && bytes >= 1048576
    rate = operation == "message-rate" && bytes <= 8
    bytes += 0
    find_best(key)
    find_limit(operation, bytes, key)
    printf "%-20s %8d %7s %18s %18s %18s %20s %20s %15s %13s %13s %13s\n", operation, bytes, median_cell(med, "limit", key),
        time_cell("weft thread", key), time_cell("weft process", key), time_cell("ucx", key), time_cell("openmpi", key),
        time_cell("mpich", key),
        marked_cell("limit", "weft thread", key, small ? 0.5 : large ? 1.4 : operation == "pack:vector" ? 0.7 : 0, 1e9),
        marked_cell("best", "weft thread", key, small ? 2 : large ? 1.8 : rate ? 4 : of_weft, 1e9),
        marked_cell("weft process", "ucx", key, 0, operation != "pingpong" ? 1e9 : bytes >= 65536 ? 1.05 : 1.25),
        marked_cell("best", "weft process", key, of_weft, 1e9)
}

function head(part,    i, shape) {
    if (part == "thread" || part == "touched") {
        printf "2 threads of one process (weft) against 2 processes (MPI)%s; us: median over rounds [least]\n",
            part == "touched" ? ", each of which writes what it gives, and reads what it got" : ""
        printf "!: less than 2 times as fast (allreduce of 32 KiB and more: 3), or more than 1.3 times the floor (barrier, allreduce up to 1 KiB)\n"
        printf "%-20s %8s %7s %18s %18s %20s %20s %13s %13s %13s\n", "operation", "bytes", "L", "floor", "weft",
            "Open MPI", "MPICH", "weft/floor", "openmpi/weft", "mpich/weft"
    } else if (part ~ /^(process|teams|cores)/) {
        split(part, shape, "[ x]")
        if (part ~ /^cores/)
            printf "%d x %d ranks, processes by threads (weft), against %d processes; a core each", shape[2], shape[3], shape[2] * shape[3]
        else
            printf "2 processes, %s", part == "process" ? "process level" : "a team of one thread in each"
        printf "; !: slower than Open MPI\n"
        printf "%-20s %8s %20s %20s %20s %14s %12s\n", "operation", "bytes", "weft", "Open MPI", "MPICH", "openmpi/weft",
            "mpich/weft"
    } else if (part == "yield" || part ~ /^hybrid/) {
        split(part, shape, "[ x]")
        if (part == "yield")
            printf "%s processes, process level", yielding
        else
            printf "%d processes of %d threads (weft) against %d processes", shape[2], shape[3], shape[2] * shape[3]
        printf ", on %s cores, all yielding; !: slower than Open MPI\n", cores
        printf "%-20s %8s %20s %20s %14s\n", "operation", "bytes", "weft", "Open MPI", "openmpi/weft"
    } else if (part ~ /^options/) {
        split(part, shape, "[ x]")
        printf "weft, %d processes of %d threads: with a timeline, and reproducible; ratios to neither; !: a timeline adds more than 3 %%\n", shape[2], shape[3]
        printf "%-20s %8s %20s %20s %20s %12s %12s\n", "operation", "bytes", "none", "timeline", "reproducible", "timeline",
            "reproducible"
    } else if (part ~ /^nonblocking/) {
        if (part == "nonblocking")
            printf "weft, 2 processes, process level, samples in turn; ratios to blocking; !: more than 3 %% above\n"
        else
            printf "weft, 2 threads, samples in turn; ratios to blocking; !: more than 5 %% above\n"
        printf "%-20s %8s %20s %20s %20s %12s %12s\n", "operation", "bytes", "blocking", "nonblocking", "persistent",
            "nonblocking", "persistent"
    } else if (part == "messages") {
        printf "Messages between 2 threads or 2 processes (weft), 2 processes (UCX, MPI); us a message; MPI: the faster one; limit: L\n"
        printf "below 4 KiB, memcpy by one thread from there on, memcpy in the same run for packing; !: limit/threads of pingpong below\n"
        printf "0.5 at 8 bytes or 1.4 from 1 MiB on, of pack:vector below 0.7; MPI/threads below 1, of pingpong 2 at 8 bytes and 1.8\n"
        printf "from 1 MiB on, of message-rate 4; processes/UCX of pingpong above 1.25, from 64 KiB on 1.05; MPI/processes below 1\n"
        printf "%-20s %8s %7s %18s %18s %18s %20s %20s %15s %13s %13s %13s\n", "operation", "bytes", "limit", "threads",
            "processes", "UCX", "Open MPI", "MPICH", "limit/threads", "MPI/threads", "processes/UCX", "MPI/processes"
    } else {
        printf "Overlap, %s: blocking us, exposed us, hidden %%, start + tests + wait in %% of blocking",
            part == "overlap" ? "2 processes, process level" : "16 threads"
        printf " (weft-bench --help)\n%-20s %8s", "operation", "bytes"
        for (i = 1; i <= 3; i++)
            printf " | %9s %9s %7s %7s", i == 1 ? "weft" : i == 2 ? "Open MPI" : "MPICH", "exposed", "hidden", "calls"
        printf "\n"
    }
}

function table(part,    i, split_key) {
    if (!lines[part])
        return
    head(part)
    for (i = 1; i <= key_count; i++) {
        split(keys[i], split_key, SUBSEP)
        if (split_key[1] != part)
            continue
        if (part == "thread" || part == "touched")
            thread_line(part, split_key[2], split_key[3], keys[i])
        else if (part ~ /^(process|teams|cores)/)
            process_line(split_key[2], split_key[3], keys[i])
        else if (part == "yield" || part ~ /^hybrid/)
            yield_line(split_key[2], split_key[3], keys[i])
        else if (part ~ /^nonblocking/)
            nonblocking_line(split_key[2], split_key[3], keys[i], part == "nonblocking" ? 1.03 : 1.05)
        else if (part ~ /^options/)
            options_line(split_key[2], split_key[3], keys[i])
        else if (part == "messages")
            messages_line(split_key[2], split_key[3], keys[i])
        else
            overlap_line(split_key[2], split_key[3], keys[i])
    }
    printf "\n"
}

function limits_table(    i) {
    if (!copy_count)
        return
    printf "memcpy\n%-10s %8s %20s %20s\n", "", "bytes", "one thread", "both threads"
    for (i = 1; i <= copy_count; i++)
        printf "%-10s %8s %20s %20s\n", "", copies[i], time_cell("limit:memcpy1", copies[i]),
            time_cell("limit:memcpyall", copies[i])
    printf "\n"
}

END {
    printf "weft %s", versions["weft"]
    if ("openmpi" in versions)
        printf ", Open MPI %s", versions["openmpi"]
    if ("mpich" in versions)
        printf ", MPICH %s", versions["mpich"]
    if ("ucx" in versions)
        printf ", UCX %s", versions["ucx"]
    printf "; %d rounds; L: one-way flag latency between two threads; a ratio is the median of each round's ratio\n\n", rounds
    table("thread")
    table("touched")
    limits_table()
    table("process")
    table("teams")
    table("yield")
    for (i = 1; i <= part_count; i++)
        if (parts[i] ~ /^cores/)
            table(parts[i])
    table("hybrid 2x2")
    table("hybrid 4x4")
    table("nonblocking")
    table("nonblocking threads")
    table("overlap")
    table("overlap threads")
    table("options 1x2")
    table("options 2x1")
    table("messages")
}
