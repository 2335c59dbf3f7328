# `make` alone lists the targets.

SHELL := /bin/bash
TARGET := $(or $(CARGO_TARGET_DIR),target)
PYTHON ?= /usr/bin/python3
FUZZ_SECONDS ?= 10
# Real programs that tests run, see scripts/lab-parts.
PARTS := etcd kubernetes crds metallb frr-k8s talos-1.13 talos-1.14 \
	talosctl-1.11 talosctl-1.12 talosctl-1.13 talosctl-1.14 golden-1.14 talos-api-1.13 talos-api-1.14 tofu sops schematic-id
# Those that only `make test-all` runs.
LONG_PARTS := helm
JUDGE_CASES ?= 2000

export ICHOR := $(abspath $(TARGET)/release/ichor)
export ICHOR_AGENT := $(abspath $(TARGET)/release/ichor-agent)

.PHONY: help demo demo-lab quick agent test test-all check docs bench install fuzz fuzz-build fuzz-lock judge

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-12s %s\n", $$1, $$2 }' Makefile

# Without optimization, so that the first output is there soon. What real daemons need is built when the demo comes to them.
demo demo-lab: export ICHOR := $(abspath $(TARGET)/debug/ichor)
demo demo-lab: export ICHOR_AGENT := $(abspath $(TARGET)/debug/ichor-agent)

demo: ## Build ichor and show what it does, on an example cluster with real daemons
	@scripts/tools cc
	cargo build --locked --package ichor
	@scripts/demo

demo-lab:
	@scripts/tools frr gobgp iproute ping unshare
	cargo build --locked --package ichor-agent

# Without double-spawn, nextest starts one process for a test instead of two in a row. It only prevents a race of stopping a run with
# Ctrl-Z while tests start.
quick: ## Run the tests that need neither root nor daemons: the loop while working
	@scripts/tools cc nextest
	NEXTEST_DOUBLE_SPAWN=0 cargo nextest run --workspace --locked

# Only the last crate is built as a static one, so the others are those of every release build.
agent: ## Build the agent of a node, one static program
	@scripts/tools cc
	cargo rustc --release --locked --package ichor-agent --bin ichor-agent -- \
		-C target-feature=+crt-static -C relocation-model=static -C strip=symbols

test: check ## Run everything: check, tests, doc tests, fuzz targets, real daemons
	@scripts/tools cc nextest openssl frr frr-reload bird iso fat libvirt openvswitch lvm disk dhcp busybox kmod oci squashfs tcpdump gobgp iproute unshare
	@scripts/lab-root
	@scripts/lab-vm
	@scripts/lab-efi
	@scripts/lab-parts $(PARTS)
	cargo test --doc --workspace --locked
	@$(MAKE) --no-print-directory fuzz
	@$(MAKE) --no-print-directory quick agent
	cargo nextest run --workspace --locked --profile lab
	$(PYTHON) scripts/tested lab $(TARGET)/nextest/lab/junit.xml

test-all: test ## Run everything, and the tests whose programs take long to build
	@scripts/lab-parts $(LONG_PARTS)
	cargo nextest run --workspace --locked --profile long
	$(PYTHON) scripts/tested long $(TARGET)/nextest/long/junit.xml

check: ## Look quickly: format, lints, docs, links, licences, house rules
	@scripts/tools cc fmt clippy deny python
	cargo fmt --all -- --check
	rustfmt --check fuzz/targets/*.rs
	cargo clippy --workspace --all-targets --locked -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked
	cargo deny --locked check licenses bans sources
	scripts/house
	scripts/language
	scripts/direction
	$(PYTHON) scripts/links

# mdBook succeeds in spite of its warnings, such as an unclosed tag.
docs: ## Build the documentation as a site in target/book
	@scripts/tools cc python mdbook
	$(PYTHON) scripts/links
	@mkdir -p $(TARGET)
	set -o pipefail; mdbook build --dest-dir $(abspath $(TARGET))/book 2>&1 | tee $(TARGET)/book.log
	@! grep -qE '^ *(WARN|ERROR)' $(TARGET)/book.log || { echo "error: mdBook warns about the pages, see above" >&2; exit 1; }

bench: agent ## Measure ichor and its agent beside PyYAML, jinja2-cli, genisoimage, xorriso, mksquashfs and real FRR
	@scripts/tools cc python-yaml python-venv time nextest frr frr-reload iproute iso oci squashfs
	@scripts/lab-root
	@scripts/lab-vm
	cargo build --release --locked --package ichor
	$(PYTHON) scripts/bench --out $(TARGET)/bench.json
	$(PYTHON) scripts/bench-build --out $(TARGET)/bench-build.json
	$(PYTHON) -m venv $(TARGET)/bench-tools
	$(TARGET)/bench-tools/bin/pip install --quiet jinja2-cli==1.0.0 pyyaml==6.0.3
	$(PYTHON) scripts/bench-seed --tools $(TARGET)/bench-tools/bin --out $(TARGET)/bench-seed.json
	$(PYTHON) scripts/bench-media --out $(TARGET)/bench-media.json
	$(PYTHON) scripts/bench-image --out $(TARGET)/bench-image.json
	$(PYTHON) scripts/bench-lab --root target/lab/trixie --out $(TARGET)/bench-lab.json
	$(PYTHON) scripts/bench-up --out $(TARGET)/bench-up.json
	$(PYTHON) scripts/bench-agent --tools $(TARGET)/bench-tools/bin --out $(TARGET)/bench-agent.json
	cargo nextest run --workspace --locked --profile bench --no-capture

install: agent ## Install the ichor command with cargo, and the agent of a node beside it
	cargo install --path crates/cli --locked
	install -m 755 $(ICHOR_AGENT) "$${CARGO_INSTALL_ROOT:-$${CARGO_HOME:-$$HOME/.cargo}}/bin/ichor-agent"

fuzz-build: ## Build the fuzz targets
	@scripts/tools cc c++
	scripts/fuzz build

fuzz: fuzz-build ## Run every fuzz target for FUZZ_SECONDS (10) each
	scripts/fuzz run $(FUZZ_SECONDS)

judge: ## Compare JUDGE_CASES (2000) random inputs of each kind with real talosctl and sops
	@scripts/tools cc nextest
	@scripts/lab-parts talosctl-1.11 talosctl-1.12 talosctl-1.13 talosctl-1.14 sops
	ICHOR_JUDGE_CASES=$(JUDGE_CASES) ICHOR_JUDGE_FIRST=1000 cargo nextest run --locked --profile judge --package ichor-talos

fuzz-lock: ## Bring fuzz/Cargo.lock to the versions of Cargo.lock
	scripts/fuzz lock
