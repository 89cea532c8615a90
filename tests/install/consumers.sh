#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# consumers.sh BUILD LIBDIR CC CXX: installs BUILD into a scratch prefix, moves that (an installed tree can be moved), and
# builds and runs a program against it in each way that the README offers, that in C++ with each compiler that is there.
set -euo pipefail
export LC_ALL=C
build=$1 libdir=$2 cc=$3 cxx=$4
here=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'code=$?; [ $code = 0 ] || cat "$scratch/log"; rm -rf "$scratch"' EXIT

DESTDIR= cmake --install "$build" --prefix "$scratch/first" >"$scratch/log"
mv "$scratch/first" "$scratch/weft"
prefix=$scratch/weft
export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
version=$(pkg-config --modversion weft)

# run PROGRAM SHARED: runs it, and checks whether it needs libweft.so (yes or no).
run() {
    echo "$1"
    [ "$(LD_LIBRARY_PATH=$prefix/$libdir "$1")" = "weft $version: 42" ]
    local shared=no
    if readelf -d "$1" | grep -q 'NEEDED.*libweft\.so'; then shared=yes; fi
    [ "$shared" = "$2" ] || { echo "needs libweft.so: $shared, expected $2"; exit 1; }
}

strict="-std=c11 -Wall -Wextra -Wpedantic -Werror"
# shellcheck disable=SC2046,SC2086 # flags are meant to be split
{
    "$cc" $strict "$here/consumer.c" $(pkg-config --cflags --libs weft) -o "$scratch/pc_shared"
    "$cc" $strict "$here/consumer.c" $(pkg-config --cflags --libs weft-static) -o "$scratch/pc_static"
}
run "$scratch/pc_shared" yes
run "$scratch/pc_static" no

for compiler in "$cxx" $(command -v g++ clang++); do
    cmake -S "$here/cmake_consumer" -B "$scratch/cmake" -G Ninja -DCMAKE_CXX_COMPILER="$compiler" \
        -DCMAKE_PREFIX_PATH="$prefix" -DWANTED="$version" >>"$scratch/log"
    cmake --build "$scratch/cmake" >>"$scratch/log"
    run "$scratch/cmake/with_weft" yes
    run "$scratch/cmake/with_weft_static" no
    rm -r "$scratch/cmake"
done

"$prefix/bin/weftrun" -n 2 -t 1 "$prefix/bin/weft-info" >>"$scratch/log"
for file in LICENSE README.md; do
    [ -s "$prefix/share/doc/weft/$file" ] || { echo "$file is not installed"; exit 1; }
done
echo "all consumers ran with weft $version"
