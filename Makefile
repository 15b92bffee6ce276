# Every target does its own set-up on a bare Debian 12 machine and says what it does.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
# Compiled objects are kept where tools/test.sh keeps them, outside the checkout.
TRANCHE_CACHE ?= $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/tranche
export CCACHE_DIR ?= $(TRANCHE_CACHE)/ccache
.DEFAULT_GOAL := build
.PHONY: build image demo lab lab-down test test-lab test-gpu test-long bench lint format reference clean help install \
        uninstall dist

build:  ## Build the programs into build/bin and build/sim
	@tools/setup.sh build
	@JOBS=$(JOBS) tools/build.sh release

image:  ## The agent's image for amd64 and arm64 in one archive, build/image/tranche.tar (on an amd64 machine)
	@tools/setup.sh build
	@tools/setup.sh arm64
	@tools/arm64_root.sh
	@JOBS=$(JOBS) tools/build.sh release tranche tranche_limit_library tranche_limit_hook
	@JOBS=$(JOBS) tools/build.sh arm64 tranche tranche_limit_library tranche_limit_hook
	@deploy/image/build --platform linux/amd64,linux/arm64

demo:  ## Watch one agent turn 2 schedulable GPUs into 4 and then 11, with no GPU here
	@tools/setup.sh build
	@JOBS=$(JOBS) tools/build.sh demo tranche-demo
	@build/demo/bin/tranche-demo

lab: build  ## A real Kubernetes on this machine, with a simulated GPU that is shared (as root)
	@tools/setup.sh lab
	@lab/build/build
	@lab/try

lab-down:  ## Take it away again
	@lab/down

test-lab: build  ## The tests on a real Kubernetes alone (as root)
	@tools/setup.sh test
	@tools/setup.sh lab
	@lab/build/build
	@lab/build/optional/build
	@tests/cluster/run

test-gpu:  ## The tests on this machine's own GPU, and a report of them (as root)
	@tests/gpu/run

test:  ## Everything that needs no GPU
	@tools/test.sh

test-long:  ## The soaks
	@tools/test.sh --long

bench:  ## The benchmarks
	@tools/bench.sh

lint:  ## Format check, layer rules and clang-tidy on changed files (ALL=1: on every file)
	@tools/lint.sh $(if $(ALL),--all)

format:  ## Lay out every C++ file
	@tools/setup.sh test
	@git ls-files -z '*.h' '*.cpp' | xargs -0 clang-format-19 -i

reference: build  ## Write the generated pages under docs/reference and docs/man anew
	@build/bin/tranche reference docs/reference
	@build/bin/tranche reference --man docs/man

PREFIX ?= /usr/local
install: build  ## The programs, manual pages and completions into PREFIX (/usr/local), below DESTDIR
	@tools/install.py --destdir "$(DESTDIR)" --prefix "$(PREFIX)"

uninstall:  ## Remove them again
	@tools/install.py --uninstall --destdir "$(DESTDIR)" --prefix "$(PREFIX)"

dist: build  ## The same as an archive with checksums, in build/dist
	@tools/install.py --archive build/dist

clean:
	rm -rf build

help:
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12
