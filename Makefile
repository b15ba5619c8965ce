# Signet: `make demo` to see it run, `make test` to prove it. Plain `make` lists the rest.

PYTHON ?= python3
UV     ?= uv
PORT   ?= 8080
JOBS   ?= auto
ARGS   ?=

VENV  := .venv
BENCH := .venv-bench
PROXY := .venv-bench-mcp-proxy
BIN   := $(VENV)/bin

# A stamp is touched once an installation is complete; an edited file on its right makes it anew.
RUN_STAMP   := $(VENV)/.installed-for-run
TEST_STAMP  := $(VENV)/.installed-for-test
BENCH_STAMP := $(BENCH)/.installed
PROXY_STAMP := $(PROXY)/.installed
# An environment made for the tests holds all that the demo needs, so the demo takes it as it is.
DEMO_STAMP  := $(if $(wildcard $(TEST_STAMP)),$(TEST_STAMP),$(RUN_STAMP))

SOURCES := $(shell find src -type f -not -name '*.pyc')
PIP     := -m pip --disable-pip-version-check --quiet install
# One file of tests at a time in each process: its tests share the servers that they start.
PARALLEL := -n $(JOBS) --maxprocesses 4 --dist loadfile
# By their files: the names of many other tests have the word too, and some need programs that only `make test` installs.
CONTRACTS := tests/test_contracts.py tests/contracts tests/toolsets/test_contract_edges.py tests/toolsets/boj/test_contract_limits.py
CHECKS   := $(BIN)/ruff check && $(BIN)/ruff format --check && $(BIN)/mypy && $(BIN)/lint-imports --no-logo
# Without isolation, the package is built by the backend that was installed by its hash.
LOCAL   := --no-deps --no-build-isolation
COMPILE := $(UV) pip compile -q --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory
.PHONY: help demo test test-release coverage ways repeat check attack fuzz bench load load-wrapped mutants clients servers wrapped-servers measure docs screenshots contracts lock sbom audit tools clean

help: ## Show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: $(DEMO_STAMP) ## Install and start the server on sample data (PORT=8080)
	@exec $(BIN)/signet serve --sandbox --port $(PORT)

# The checks run beside the tests, which wait now and then; what they print stands below, and they fail the run too.
test: $(TEST_STAMP) tools ## Install what the tests need and run everything (ARGS="-k words" JOBS=2)
	@mkdir -p build
	@($(CHECKS)) >build/check.log 2>&1 & check=$$!; \
	$(BIN)/python -m pytest $(PARALLEL) $(ARGS); tests=$$?; \
	wait $$check; checks=$$?; cat build/check.log; \
	[ $$tests -eq 0 ] && [ $$checks -eq 0 ]

test-release: $(TEST_STAMP) tools ## Build the container image without a registry and test it (needs root), and read the largest lists of the Bank
	@$(BIN)/python -m pytest tests/release $(ARGS)

coverage: $(TEST_STAMP) tools ## Run the tests and show the lines that none of them reaches; takes half as long again
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest $(PARALLEL) $(ARGS)
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report

ways: $(TEST_STAMP) tools ## Run the tests in each way in which they may be started (ARGS="tests/transports")
	@JOBS=$(JOBS) scripts/ways.sh $(ARGS)

repeat: $(TEST_STAMP) tools ## Run the tests ten times in a row with all cores busy and write docs/test-runs.md (ARGS="--runs 2")
	@$(BIN)/python scripts/repeat_tests.py $(ARGS)

check: $(TEST_STAMP) ## Lint, format, types and the import rules
	@$(CHECKS)

attack: $(TEST_STAMP) ## Attack a server on loopback for 18 minutes and watch a bystander (ARGS="mixed --minutes 2")
	@$(BIN)/python scripts/attack.py $(ARGS)

fuzz: $(TEST_STAMP) ## Fuzz every reader of outside bytes for 10 minutes and write docs/fuzzing.md (ARGS="--target wire --minutes 5")
	@$(BIN)/python -m fuzz $(ARGS)

bench: $(BENCH_STAMP) $(PROXY_STAMP) tools ## Measure beside every peer and write docs/benchmarks.md (ARGS="--only stdio --quick", "--draw", "--help")
	@env -u PYTHONDONTWRITEBYTECODE $(BENCH)/bin/python -m compileall -q src bench
	@env -u PYTHONDONTWRITEBYTECODE $(BENCH)/bin/python -m bench $(ARGS)

load: $(TEST_STAMP) tools ## Call three servers behind HAProxy 100,000 times while faults happen (ARGS="--calls 5000")
	@$(BIN)/python -m load $(ARGS)

load-wrapped: $(TEST_STAMP) ## Call a wrapped server 100,000 times while it is killed again and again (ARGS="--calls 5000")
	@$(BIN)/python -m load.wrap $(ARGS)

mutants: $(TEST_STAMP) tools ## Change one rule at a time, see a test fail, write docs/mutation.md (ARGS="--package lock", "--help")
	@$(BIN)/python -m mutation $(ARGS)

clients: $(TEST_STAMP) tools ## Run real clients and write docs/clients.md (ARGS="--only NAME,NAME", "--help"; needs uv)
	@command -v $(UV) >/dev/null || { echo "make clients needs uv: pip install uv"; exit 1; }
	@UV=$(UV) $(BIN)/python clients/run.py $(ARGS)

servers: ## Install other people's servers below build/servers, from npm and PyPI
	@PYTHON=$(PYTHON) scripts/install_servers.sh

wrapped-servers: $(TEST_STAMP) tools servers ## Wrap other people's servers and write docs/wrapped-servers.md (ARGS="--only NAME")
	@PYTHONPATH=tests:tests/support $(BIN)/python -m wrap.wrapped_servers $(ARGS)

measure: $(TEST_STAMP) ## Measure the source tree: modules, lines, functions, the road of a call
	@$(BIN)/python scripts/measure_house.py $(ARGS)

docs: $(TEST_STAMP) ## Write the generated pages of docs/ anew
	@$(BIN)/python scripts/spec_matrix.py
	@$(BIN)/python scripts/reference.py

screenshots: $(TEST_STAMP) tools ## Take the pictures of the console anew (docs/images/console)
	@SIGNET_WRITE_SCREENSHOTS=1 $(BIN)/python -m pytest -q tests/console/test_screenshots.py

contracts: $(TEST_STAMP) ## Check every contract against its code and against the set that was tagged last
	@$(BIN)/python -m pytest -q $(CONTRACTS) $(ARGS)
	@echo "To keep the contracts of a release in contracts/<version>: $(BIN)/python scripts/tag_contracts.py"

lock: ## Write requirements/*.txt anew from pyproject.toml and requirements/*.in (needs uv)
	@command -v $(UV) >/dev/null || { echo "make lock needs uv: pip install uv"; exit 1; }
	$(COMPILE) pyproject.toml -o requirements/run.txt
	$(COMPILE) requirements/build.in -c requirements/run.txt -o requirements/build.txt
	$(COMPILE) pyproject.toml requirements/build.in requirements/test.in -o requirements/test.txt
	$(COMPILE) pyproject.toml --extra otel --extra redis requirements/build.in requirements/bench.in -o requirements/bench.txt
	$(COMPILE) requirements/bench-mcp-proxy.in -o requirements/bench-mcp-proxy.txt
	$(COMPILE) requirements/servers.in -o requirements/servers.txt
	$(COMPILE) requirements/servers-older.in -o requirements/servers-older.txt
	$(COMPILE) pyproject.toml --extra redis --extra oauth --extra otel -c requirements/test.txt -o requirements/deploy.txt

sbom: $(TEST_STAMP) ## Write the bill of materials (CycloneDX, with licences) of packages, image and wheel to build/sbom.cdx.json
	@$(BIN)/python scripts/sbom.py

audit: $(TEST_STAMP) ## Look for known vulnerabilities in the locked dependencies (needs network)
	@$(BIN)/python scripts/audit.py

tools: # the outside programs that the tests run against us
	@scripts/install_tools.sh

clean: ## Remove all that was made here
	@rm -rf $(VENV) $(BENCH) $(PROXY) node_modules build dist runs
	@rm -rf .coverage .coverage.* .hypothesis .schemathesis .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	@find src tests bench clients fuzz scripts -name __pycache__ -prune -exec rm -rf {} +

# --- environments -----------------------------------------------------------------------------

$(VENV)/pyvenv.cfg $(BENCH)/pyvenv.cfg $(PROXY)/pyvenv.cfg:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Signet needs Python 3.11 or newer, and '$(PYTHON)' is not: make PYTHON=/path/to/python3.11 $(MAKECMDGOALS)"; exit 1; }
	@echo "making $(@D)"
	@$(PYTHON) -m venv $(@D) || { rm -rf $(@D); \
	  echo "'$(PYTHON) -m venv' does not work here; on Debian and Ubuntu: apt install python3-venv"; exit 1; }

$(RUN_STAMP): requirements/run.txt requirements/build.txt pyproject.toml $(SOURCES) | $(VENV)/pyvenv.cfg
	@echo "installing Signet into $(VENV)"
	@$(BIN)/python $(PIP) --require-hashes -r requirements/run.txt
	@$(BIN)/python $(PIP) --require-hashes -r requirements/build.txt
	@$(BIN)/python $(PIP) $(LOCAL) .
	@touch $@

$(TEST_STAMP): requirements/test.txt pyproject.toml | $(VENV)/pyvenv.cfg
	@echo "installing Signet and what its tests need into $(VENV)"
	@$(BIN)/python $(PIP) --require-hashes -r requirements/test.txt
	@$(BIN)/python $(PIP) $(LOCAL) -e .
	@touch $@

$(BENCH_STAMP): requirements/bench.txt pyproject.toml | $(BENCH)/pyvenv.cfg
	@echo "installing Signet and the peers into $(BENCH)"
	@$(BENCH)/bin/python $(PIP) --require-hashes -r requirements/bench.txt
	@$(BENCH)/bin/python $(PIP) $(LOCAL) -e .
	@touch $@

$(PROXY_STAMP): requirements/bench-mcp-proxy.txt | $(PROXY)/pyvenv.cfg
	@echo "installing mcp-proxy into $(PROXY)"
	@$(PROXY)/bin/python $(PIP) --require-hashes -r requirements/bench-mcp-proxy.txt
	@touch $@
