# `make help` lists what there is. Thin on purpose: each recipe is a command one could type.

PREFIX ?= /usr/local
DESTDIR ?=
# Tests start servers and programs: a few at once keep two cores busy, all at once only each other waiting.
TESTS_AT_ONCE ?= 6
# Of the queue's tests, what has nothing to do with a pooler: servers of their own, plans.
NOT_POOLED := Embedded|Outage|Crash|PlanTests|MigratorTests
# The major version for `make newer`.
POSTGRES ?= 18
STEPS ?= 1000000
SEED ?= 1000
CHAOS_SECONDS ?= 90
CHAOS_SEED ?= 1
# With Swift's own library inside, the program runs where there is no toolchain.
RELEASE := -c release --product larder --static-swift-stdlib

.DEFAULT_GOAL := help
.PHONY: help setup build demo unit test newer isolation object-stores chaos sanitize soak fuzz lint check install deb image dist deploy-check clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: ## install the Debian packages that are missing (packages.txt)
	@scripts/setup

build: ## build the program: .build/release/larder
	@scripts/swift build $(RELEASE)

demo: setup ## 200 images and ten bad URLs through the whole program, to demo-output/
	@$(MAKE) --no-print-directory build
	@demo/run

unit: setup ## run tests that start no program and no database
	@scripts/test --filter "$$(scripts/unit-tests)"

newer: setup ## run the queue's tests on a newer Postgres (POSTGRES: 16, 17 or 18)
	@scripts/newer-postgres $(POSTGRES)
	@LARDER_TEST_SERVERS="$(CURDIR)/.build/postgres-$(POSTGRES)" scripts/test \
	    --experimental-maximum-parallelization-width $(TESTS_AT_ONCE) --filter JobQueueTests

test: setup ## run all tests, the queue's once more through a pooler
	@scripts/newer-postgres
	@scripts/browser
	@scripts/test --experimental-maximum-parallelization-width $(TESTS_AT_ONCE)
	@LARDER_TEST_POOLER=1 scripts/test --skip-build \
	    --experimental-maximum-parallelization-width $(TESTS_AT_ONCE) --filter JobQueueTests \
	    --skip '$(NOT_POOLED)'

isolation: setup ## run the queue's tests with REPEATABLE READ and SERIALIZABLE as the default
	@for level in "repeatable read" serializable; do \
	    LARDER_TEST_ISOLATION="$$level" scripts/test \
	        --experimental-maximum-parallelization-width $(TESTS_AT_ONCE) --filter JobQueueTests || exit; \
	done

object-stores: setup ## run the tests of the object store against moto, a server from a Python wheel
	@scripts/object-stores
	@LARDER_TEST_OBJECT_STORES=1 scripts/test --filter 'ObjectStoreTests|BucketCommandTests|BucketSourceTests'

chaos: setup ## CHAOS_SECONDS of faults under load in the built program (CHAOS_SEED: the seed of the faults)
	@$(MAKE) --no-print-directory build
	@.build/release/larder chaos --seconds $(CHAOS_SECONDS) --seed $(CHAOS_SEED)

sanitize: setup ## run ThreadSanitizer, AddressSanitizer and UBSan on what they can check
	@scripts/sanitize

soak: setup ## STEPS random steps of the queue beside its model (SEED: the first seed)
	@LARDER_SOAK_STEPS=$(STEPS) LARDER_SOAK_SEED=$(SEED) scripts/test \
	    --experimental-maximum-parallelization-width $(TESTS_AT_ONCE) --filter RandomTests

fuzz: setup ## STEPS damaged images of all formats through real transcoders (SEED: the first seed)
	@LARDER_FUZZ_STEPS=$(STEPS) LARDER_FUZZ_SEED=$(SEED) scripts/test --filter FuzzTests

lint: ## swift format, SQL and shell checks, the project's rules
	@scripts/lint

check: ## all that CI does
	@.ci/run

install: build ## install program, man pages and completions to PREFIX (PREFIX=/usr/local)
	install -D -m 755 .build/release/larder '$(DESTDIR)$(PREFIX)/bin/larder'
	@scripts/install-manual .build/release/larder '$(DESTDIR)$(PREFIX)/share'

deb: build ## the Debian package, in .build/package (needs debhelper, lintian)
	@scripts/package-deb

image: build ## container images (needs podman, or CONTAINER_TOOL=docker)
	@scripts/package-image

dist: build ## the program and its files as a .tar.xz with checksums, in .build/package
	@scripts/package-archive

deploy-check: build ## install, boot and run what deploy/ has, as root: docs/deploy.md
	@scripts/deploy-check

clean: ## remove what was built and what the demo left
	@[ ! -x .build/release/larder ] || [ ! -d demo-output/home ] || \
	    LARDER_HOME='$(CURDIR)/demo-output/home' .build/release/larder db stop >/dev/null || true
	rm -rf .build demo-output
