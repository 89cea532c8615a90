# SPDX-License-Identifier: BSD-3-Clause
# The everyday commands. All of them wrap CMake, whose presets (CMakePresets.json) can be used directly as well.
PREFIX ?= /usr/local
SOURCES = find include src tools bench apps examples tests -name '*.[ch]' -o -name '*.cpp'

.PHONY: all build demo check bench install deps deps-bench deps-check format clean help
# Prerequisites in the order they are written: first the packages, then the build.
.NOTPARALLEL:
all: build

help:
	@echo "make              build the library, tools, benchmarks, examples and tests into build/"
	@echo "make demo         install what is missing, build, and sort 8 million keys with 2 processes x 2 threads"
	@echo "make check        install what is missing, build and test everything: format, lint, two compilers, sanitizers"
	@echo "make bench        install what is missing, build, and compare with the peers and with the machine's limits"
	@echo "make install      install to PREFIX=$(PREFIX) (DESTDIR is honoured)"
	@echo "make deps         install the Debian packages that building needs; deps-bench, deps-check: what those need"
	@echo "make format       format the sources in place"
	@echo "make clean        remove all build folders"

build/build.ninja:
	cmake --preset release

build: build/build.ninja
	cmake --build build

demo: deps build/build.ninja
	cmake --build build --target weftrun is
	@echo
	@echo "NAS Integer Sort, class A: 2 processes x 2 threads, each thread a rank."
	@echo "build/bin/weftrun -n 2 -t 2 build/apps/is A"
	@build/bin/weftrun -n 2 -t 2 build/apps/is A

check: deps-check
	scripts/check.sh

bench: deps-bench
	cmake --preset release # again: it finds the peers that were not installed when it first looked
	cmake --build build
	bench/run.sh build

install: build
	cmake --install build --prefix "$(PREFIX)"

deps:
	@scripts/deps.sh build

deps-bench:
	@scripts/deps.sh bench

deps-check:
	@scripts/deps.sh check

format:
	$(SOURCES) | xargs clang-format -i

clean:
	rm -rf build build-debug build-asan build-tsan
