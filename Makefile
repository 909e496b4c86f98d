# The names that matter: demo and test. `make help` lists all.

SHELL := /bin/bash
.DEFAULT_GOAL := help
CACHE := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/simkube
TARGET := $(or $(CARGO_TARGET_DIR),target)
SKCTL := $(TARGET)/release/skctl
CARGO_DENY := $(CACHE)/tools/bin/cargo-deny
CARGO_FUZZ := $(CACHE)/tools/bin/cargo-fuzz
FUZZ_SECONDS ?= 60

.PHONY: help demo test check fmt lint doc bench fuzz generate dist tools skctl

help: ## list these names
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

demo: skctl ## build what is missing and show what skctl does, on the bundled trace
	@scripts/demo $(SKCTL)

test: tools lint doc ## everything that must hold before a change lands
	cargo test --workspace --locked

check: ## the fast answer while editing: does it compile, is it tidy
	cargo clippy --workspace --all-targets --locked -- -D warnings

fmt: ## format all code
	cargo fmt --all

lint: $(CARGO_DENY) check ## formatting, lints, licences, bans
	cargo fmt --all --check
	$(CARGO_DENY) --log-level error check licenses bans sources

doc: ## the code's own documentation, without a broken link
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

bench: skctl ## measure, beside a floor in the same run (figures: docs/benchmarks.md)
	cargo bench --locked --package simkube-cli --bench traces --bench plane

fuzz: $(CARGO_FUZZ) skctl ## run every fuzz target for FUZZ_SECONDS (60)
	scripts/fuzz $(CARGO_FUZZ) $(SKCTL) $(FUZZ_SECONDS)

generate: skctl ## rewrite what is generated: bundled trace, command reference, snapshots
	$(SKCTL) trace generate --output examples/web-hour.sktrace
	UPDATE=1 INSTA_UPDATE=always cargo test --locked --package simkube-cli --test it

dist: skctl ## an archive with the binary, for this platform
	mkdir -p dist
	tar -C $(TARGET)/release -czf dist/skctl-$$(uname -s)-$$(uname -m).tar.gz skctl

skctl:
	cargo build --release --locked --package simkube-cli

# What tests and documentation use beside Rust: jq and zstd, from Debian's packages.
tools:
	@scripts/install-tools zstd jq

$(CARGO_DENY):
	cargo install --locked --version 0.20.2 --root $(CACHE)/tools cargo-deny

$(CARGO_FUZZ):
	cargo install --locked --version 0.13.2 --root $(CACHE)/tools cargo-fuzz
