#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shards.sh COUNT[/ALL] PROGRAM ARGUMENT…: the tests of a Google Test program that mostly sleeps, side by side in COUNT processes;
# with ALL those processes have COUNT parts in so many of the tests.
count=${1%/*}
GTEST_TOTAL_SHARDS=${1#*/}
export GTEST_TOTAL_SHARDS
shift
output=$(mktemp -d) || exit 1
trap 'rm -rf "$output"' EXIT
processes=
shard=0
while [ $shard -lt "$count" ]; do
    GTEST_SHARD_INDEX=$shard "$@" >"$output/$shard" 2>&1 &
    processes="$processes $!"
    shard=$((shard + 1))
done
status=0
for process in $processes; do
    wait "$process" || status=1
done
cat "$output"/*
exit $status
