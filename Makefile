# Tidegate's two commands are `make demo` and `make test`; the others are their parts or run by hand.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

# One profile and one target folder for everything but the benchmarks, and always the whole workspace,
# so that the agent's heavy dependencies have the same features in every command and are compiled once.
CARGO_FLAGS := --profile ci
AGENT := $(CURDIR)/target/ci/tidegate
MAPPING := $(CURDIR)/target/transforms/mapping.wasm

# Where the demo finds what `make setup` and `make build` made.
export TIDEGATE_RIG_SCRIPT := $(CURDIR)/tests/rig/mariadb.sh
export TIDEGATE_RIG_MARIADB := $(CURDIR)/target/rig/mariadb
export TIDEGATE_DEMO_TRANSFORM := $(MAPPING)

# A newer toolchain's new lints must not fail a newcomer, so warnings are errors in CI only.
CLIPPY_FLAGS := $(if $(filter true,$(CI)),-- -D warnings)

.PHONY: help
help: ## Show this list
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

.PHONY: demo
demo: ## Watch a database's changes arrive in a lake of files (KEEP=1 leaves it running)
	@echo 'This builds the agent and a WebAssembly transform, starts a private MariaDB in a temporary'
	@echo 'folder, and follows a small shop from its tables into a lake of Parquet and JSON-lines files.'
	@echo 'The first run takes 12 to 25 minutes on two cores, nearly all of it compiling; the next, seconds.'
	@$(MAKE) build
	@$(AGENT) demo

.PHONY: test
test: lint build ## Run everything that continuous integration runs
	cargo test --workspace $(CARGO_FLAGS)
	$(AGENT) demo --short

.PHONY: setup
setup: ## Install what is missing to build, test and show (needs root or sudo if something is)
	@tests/rig/setup.sh

.PHONY: build
build: agent mapping ## Build the agent and the standard transform

.PHONY: agent
agent: setup
	cargo build --workspace --bins $(CARGO_FLAGS)

.PHONY: mapping
mapping: agent
	COMPONENT_ENCODER='$(AGENT) transform encode' guest-sdk/rust-wasm.sh build transforms/mapping $(MAPPING)

.PHONY: lint
lint: setup ## Check formatting and lints
	cargo fmt --all --check
	cargo clippy --workspace --all-targets $(CARGO_FLAGS) $(CLIPPY_FLAGS)

.PHONY: bench
bench: setup ## Measure the agent, in a release build; fails when a bar is missed
	cargo build --release --workspace --bins
	COMPONENT_ENCODER='$(CURDIR)/target/release/tidegate transform encode' \
	  guest-sdk/rust-wasm.sh build transforms/mapping $(MAPPING)
	cargo bench --workspace --bench bench

.PHONY: crash
crash: build ## Kill the agent at 50 random moments instead of 10
	TIDEGATE_CRASH_ROUNDS=50 cargo test --workspace $(CARGO_FLAGS) --test it crash

.PHONY: deny
deny: ## Check licences, sources and known faults of the dependencies (needs cargo-deny)
	cargo deny check

.PHONY: clean
clean: ## Remove everything that was built or downloaded
	rm -rf target out
