#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# absolute.sh SOURCE CC CXX: library and headers have places of their own beside the prefix, as some distributions have it: what other builds and
# the installed programs are told. Only configured; the rest is as elsewhere.
set -euo pipefail
export LC_ALL=C
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

CC=$2 CXX=$3 cmake -S "$1" -B "$scratch" -G Ninja -DWEFT_TESTS=OFF -DCMAKE_INSTALL_PREFIX=/opt/weft \
    -DCMAKE_INSTALL_LIBDIR=/srv/weft/lib -DCMAKE_INSTALL_INCLUDEDIR=/srv/weft-dev/include >/dev/null

# expect WHAT EXPECTED FOUND
expect() {
    [ "$2" = "$3" ] || { echo "$1: $3, expected $2"; exit 1; }
}
export PKG_CONFIG_PATH=$scratch/cmake
expect "weft.pc" "-I/srv/weft-dev/include -L/srv/weft/lib -lweft" "$(pkg-config --cflags --libs weft | xargs)"
expect "weft.pc's prefix" /opt/weft "$(pkg-config --variable=prefix weft)"
expect "weft-static.pc" /srv/weft/lib "$(pkg-config --variable=libdir weft-static)"
expect "the CMake package's headers" /srv/weft-dev/include "$(grep -rhoE '/srv/weft-dev/[a-z]+' "$scratch/CMakeFiles/Export" | sort -u)"
expect "the programs' library" /srv/weft/lib "$(grep -oE ' RPATH "[^":]+' "$scratch/cmake_install.cmake" | cut -d'"' -f2 | sort -u)"
echo "both places are found"
