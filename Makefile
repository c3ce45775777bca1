# `make help` lists what there is. Thin on purpose: each recipe is a command one could type.

PREFIX ?= /usr/local
DESTDIR ?=
# Tests start servers and programs: a few at once keep two cores busy, all at once only each other waiting.
TESTS_AT_ONCE ?= 6
# The queue's suites that touch sessions: statements kept, settings, levels, locks, broken and shared sessions, and the
# calls that all workers and producers make.
POOLED := Claim|DatabaseSetting|Durability|Enqueue|Fault|Isolation|Liveness|Lock|Pooler|$\
    PreparedStatements|SearchPath|Session|Storm|Wait
# The major version for `make newer`.
POSTGRES ?= 18
STEPS ?= 1000000
# For `make fuzz`.
TARGET ?= all
SECONDS ?= 60
SEED ?= 1000
CHAOS_SECONDS ?= 90
CHAOS_SEED ?= 1
# With Swift's own library inside, the programs run where there is no toolchain.
RELEASE := -c release --static-swift-stdlib --product

.DEFAULT_GOAL := help
.PHONY: help setup build lab demo unit test nightly newer object-stores chaos sanitize soak fuzz damaged model lint check install deb image dist trixie deploy-check clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install the Debian packages that are missing (packages.txt)
	@scripts/setup

build: ## build the programs: larder and larder-transcoder, which it starts, in .build/release
	@scripts/swift build $(RELEASE) larder
	@scripts/swift build $(RELEASE) larder-transcoder

lab: build ## build the program that measures and breaks Larder: .build/release/larder-lab
	@scripts/swift build $(RELEASE) larder-lab

demo: setup ## 200 images and ten bad URLs through the whole program, to demo-output/
	@$(MAKE) --no-print-directory build
	@demo/run

unit: setup ## run the tests that start no program and no database
	@scripts/test --filter "$$(scripts/unit-tests)"

newer: setup ## run the queue's tests on a newer Postgres (POSTGRES: 16, 17 or 18)
	@scripts/newer-postgres $(POSTGRES)
	@LARDER_TEST_SERVERS="$(CURDIR)/.build/postgres-$(POSTGRES)" scripts/test \
	    --experimental-maximum-parallelization-width $(TESTS_AT_ONCE) --filter JobQueueTests

test: setup ## run the tests with real servers, those of sessions once more through a pooler
	@scripts/browser
	@scripts/test --experimental-maximum-parallelization-width $(TESTS_AT_ONCE)
	@LARDER_TEST_POOLER=1 scripts/test --skip-build \
	    --experimental-maximum-parallelization-width $(TESTS_AT_ONCE) --filter '^JobQueueTests\.($(POOLED))Tests/'

nightly: setup ## run all tests, also those that `make test` skips, newer servers, random steps, faults and packages
	@scripts/newer-postgres
	@scripts/collector install
	@LARDER_TEST_TIER=nightly $(MAKE) --no-print-directory test
	@for major in 16 17 18; do $(MAKE) --no-print-directory newer POSTGRES=$$major || exit; done
	@$(MAKE) --no-print-directory object-stores
	@$(MAKE) --no-print-directory soak STEPS=200000
	@$(MAKE) --no-print-directory damaged STEPS=10000
	@$(MAKE) --no-print-directory fuzz SECONDS=30
	@$(MAKE) --no-print-directory model
	@$(MAKE) --no-print-directory chaos CHAOS_SECONDS=600
	@$(MAKE) --no-print-directory deploy-check

object-stores: setup ## run the tests of the object store against moto, a server from a Python wheel
	@scripts/object-stores
	@LARDER_TEST_OBJECT_STORES=1 scripts/test --filter 'ObjectStoreTests|BucketCommandTests|BucketSourceTests'

chaos: setup ## CHAOS_SECONDS of faults under load in the built program (CHAOS_SEED: the seed of the faults)
	@$(MAKE) --no-print-directory lab
	@.build/release/larder-lab chaos --seconds $(CHAOS_SECONDS) --seed $(CHAOS_SEED)

sanitize: setup ## run ThreadSanitizer, AddressSanitizer and UBSan on what they can check
	@scripts/sanitize

soak: setup ## STEPS random steps of the queue, compared with its model (SEED: the first seed)
	@LARDER_SOAK_STEPS=$(STEPS) LARDER_SOAK_SEED=$(SEED) scripts/test \
	    --experimental-maximum-parallelization-width $(TESTS_AT_ONCE) --filter RandomTests

fuzz: setup ## SECONDS of libFuzzer on one parser (TARGET, else on each): scripts/fuzz
	@scripts/fuzz $(TARGET) $(SECONDS)

damaged: setup ## STEPS damaged images of all formats through real transcoders (SEED: the first seed)
	@LARDER_FUZZ_STEPS=$(STEPS) LARDER_FUZZ_SEED=$(SEED) scripts/test --filter FuzzTests

model: setup ## check the models of the queue with spin: each property, and that each deliberate bug is found
	@scripts/model

lint: ## swift format, SQL and shell checks, the project's rules
	@scripts/lint

check: ## all that CI does
	@.ci/run

install: ## install programs, man pages and completions to PREFIX (PREFIX=/usr/local)
	@[ -x .build/release/larder-transcoder ] || { echo "install: run 'make build' first" >&2; exit 1; }
	install -D -m 755 .build/release/larder '$(DESTDIR)$(PREFIX)/bin/larder'
	install -D -m 755 .build/release/larder-transcoder '$(DESTDIR)$(PREFIX)/lib/larder/larder-transcoder'
	@scripts/install-manual .build/release/larder '$(DESTDIR)$(PREFIX)/share'

deb: lab ## the Debian packages larder and larder-lab, in .build/package (needs debhelper, lintian)
	@scripts/package-deb

image: build ## container images (needs podman, or CONTAINER_TOOL=docker)
	@scripts/package-image

dist: build ## the programs and their files as a .tar.xz, with a bill of materials (SPDX) and checksums, in .build/package
	@scripts/package-archive

trixie: ## build, demo and tests in a fresh Debian 13, as root (needs debootstrap)
	@scripts/trixie

deploy-check: lab ## install, boot and run what deploy/ has, as root: docs/deploy.md
	@scripts/deploy-check

clean: ## remove what was built and what the demo left
	@[ ! -x .build/release/larder ] || [ ! -d demo-output/home ] || \
	    LARDER_HOME='$(CURDIR)/demo-output/home' .build/release/larder db stop >/dev/null || true
	rm -rf .build demo-output
