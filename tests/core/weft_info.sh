#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# weft_info.sh WEFT-INFO: what it prints and how it ends, section by section.
set -uo pipefail
info=$1
for variable in ${!WEFT_@}; do unset "$variable"; done
unset HWLOC_XMLFILE UCX_TLS UCX_NET_DEVICES
failures=0

# expect STATUS PATTERN COMMAND…: the exit status, and an extended regular expression somewhere in what it prints.
expect() {
    local status=$1 pattern=$2 output got
    shift 2
    output=$("$@" 2>&1) && got=0 || got=$?
    if [ "$got" -ne "$status" ] || ! grep -qE -- "$pattern" <<<"$output"; then
        echo "FAILED: $* ended with $got (expected $status), expected /$pattern/ in:"
        echo "$output"
        failures=$((failures + 1))
    fi
}

expect 0 '^weft +[0-9]+\.[0-9]+\.[0-9]+$' "$info" --version
expect 0 '^kernels +(generic|avx2|avx512)$' "$info" --version
expect 0 '^UCX +1\.' "$info" --version
expect 0 '^PMIx +.*[0-9]+\.[0-9]' "$info" --version
expect 0 'PU 0 \(cpu [0-9]+\)' "$info" --topology
expect 0 '^\* 16 of 16 processing units' env HWLOC_SYNTHETIC='pack:2 numa:1 core:4 pu:2' "$info" --topology
expect 0 '^self +' "$info" --transports
expect 0 'transports tcp,self \(UCX_TLS\)' env UCX_TLS=tcp,self "$info" --transports
expect 0 '^WEFT_SLOTS +64 +environment' env WEFT_SLOTS=64 "$info" --config
expect 0 '^WEFT_WAIT +auto +default' "$info" --config
expect 0 '^== Configuration' "$info"
expect 0 '^Usage: weft-info' "$info" --help

expect 1 'weft-info: WEFT_BOGUS is no variable' env WEFT_BOGUS=1 "$info" --config
expect 1 'WEFT_SLOTS is "3"; expected power of two, 2 to 1024' env WEFT_SLOTS=3 "$info"
expect 1 'did you mean WEFT_THREADS\?' env WEFT_THREAD=2 "$info" --config
expect 0 '^weft ' env WEFT_BOGUS=1 "$info" --version
expect 2 'Usage: weft-info' "$info" --nonsense
expect 2 "unexpected argument 'topology'" "$info" topology
exit $((failures > 0))
