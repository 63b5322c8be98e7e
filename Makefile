# Every target works on a fresh clone: the first one to run builds .venv with the tested versions.
# Another interpreter: make PYTHON=python3.12 test

PYTHON ?= python3
# For TIMEFORMAT and `time`, by which the tests say what they took.
SHELL := bash
# Set in many images; hundreds of processes that tests start would each compile all that they import.
unexport PYTHONDONTWRITEBYTECODE
VENV := .venv
BIN := $(VENV)/bin
# A second environment, with the lowest supported versions of the dependencies and of the frameworks.
LOWEST := .venv-lowest
# A small one for `make demo`: what agentguard itself needs, and no more.
DEMO := .venv-demo
# Environments for the frameworks that cannot live beside all others.
FRAMEWORKS := .venv-frameworks
# One with uv, which fills the others: it downloads side by side, and what two of them have is downloaded once.
UV := .venv-uv
# Rebuilt when the declared or the tested versions change.
STAMP := $(VENV)/.agentguard-installed
LOWEST_STAMP := $(LOWEST)/.agentguard-installed
DEMO_STAMP := $(DEMO)/.agentguard-installed
# The suites whose code calls a dependency or a framework.
LOWEST_SUITES := $(addprefix tests/,calibration cli content convergence engine gate guard hooks integrations live proxy report \
  serving stores telemetry traces)
# The package as a wheel holds it, by links; what .venv has installed (setup.py).
LAYOUT := .layout/agentguard
# A file of tests stays on one process, for the servers that it shares; each process starts servers of its own.
PARALLEL := -n auto --maxprocesses 4 --dist loadfile
# Prints the wall time of a command, and the CPU time of it and all processes that it started and waited for.
TIMED = @TIMEFORMAT='$@: %R s, of CPU %U s user + %S s system'; time
# What mypy checks; tests/typing is the public API as its users' type checkers see it.
TYPED := $(LAYOUT) $(wildcard tests/typing docs/generate)
# pydantic-ai has no release for Python 3.10.
UNTYPED_ON_310 := integrations/pydantic_ai.py

# How long `make fuzz` searches each target; and which ones, if not all.
SECONDS ?= 3600
TARGETS ?=

# Which frameworks `make test-frameworks` tests, if not all.
NAMES ?=

# Apart from the others: what releases are made with (tools/requirements.txt).
RELEASE := .venv-release
RELEASE_STAMP := $(RELEASE)/.agentguard-installed

.DEFAULT_GOAL := help
.PHONY: help demo docs layout servers clients test test-slow coverage test-lowest test-frameworks lint format bench weights measure scale fuzz dist sbom audit clean

help: ## Show the targets
	@echo "agentguard: make TARGET [PYTHON=python3.12]"
	@awk -F ':.*## ' '/^[a-z-]+:.*## /{printf "  %-15s %s\n", $$1, $$2}' Makefile

demo: $(DEMO_STAMP) ## Guard several hundred real tool calls with faults among them
	@$(DEMO)/bin/agentguard demo

test: layout servers ## Run the tests but for the slow ones, the doctests and the code blocks of the documents
	$(TIMED) $(BIN)/python -m pytest -q $(PARALLEL) -m "not slow"

test-slow: layout servers clients ## Run the tests that take long: wheels, forks, browsers, Spark, processes that are killed
	$(TIMED) $(BIN)/python -m pytest -q $(PARALLEL) -m slow tests

servers:
	@tests/stores/redis/ensure_server.sh
	@tests/gate/elasticsearch/ensure_server.sh
	@tests/proxy/ensure_servers.sh
	@tests/ensure_browser.sh

clients:
	@tests/guard/api/ensure_node.sh
	@PYTHON=$(BIN)/python tests/guard/api/ensure_litellm.sh

coverage: layout servers ## Run the tests but for the slow ones, and say which lines none of them reaches
	$(BIN)/python -m pytest -q $(PARALLEL) -m "not slow" --cov=agentguard --cov-report=term:skip-covered

test-lowest: $(LOWEST_STAMP) servers ## Run a smoke test of each file on the lowest supported versions, in .venv-lowest
	$(TIMED) $(LOWEST)/bin/python -m pytest -q $(PARALLEL) --hypothesis-profile=brief -m smoke $(LOWEST_SUITES)

test-frameworks: $(UV)/bin/uv ## Test each framework in environments of its own, newest and lowest (NAMES=strands: one)
	@$(FROM_INDEX) $(UV)/bin/python tools/frameworks.py $(NAMES)

lint: layout ## Check style, format, types and the rules of who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(TYPED) $$(test -d $(VENV)/lib/python3.10 && echo --exclude=$(UNTYPED_ON_310))
	$(BIN)/lint-imports --no-logo

layout: $(STAMP)  # links to what is new at the top of the package
	@$(BIN)/python -c 'import setup; setup.lay_out()'

format: $(STAMP) ## Bring the code into the one format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP) ## Measure speed
	$(BIN)/python -m pytest benchmarks/

weights: $(STAMP) ## Learn what each signal counts for, from generated and recorded calls, into verification/weights.py
	$(BIN)/python benchmarks/weights/run.py

measure: $(STAMP) ## Measure speed, and detection where recorded data lies beside the checkout, into docs/measurements.md
	$(BIN)/python benchmarks/measurements.py

scale: $(STAMP) ## Measure replay on processes and Spark, and workers on one Redis, into docs/scale.md
	$(BIN)/python benchmarks/scale.py

docs: $(STAMP) ## Build the documentation into site/
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

fuzz: $(STAMP) ## Look for inputs that break a promise: eight targets, an hour each (make fuzz SECONDS=60: a minute)
	$(BIN)/python -m fuzz --campaign $(TARGETS) --seconds $(SECONDS)

dist: $(RELEASE_STAMP) ## Build the source distribution, and from it the wheel, into dist/, and try it in an empty environment
	rm -rf dist build/try
	SOURCE_DATE_EPOCH=$$(git log -1 --format=%ct 2> /dev/null || date +%s) $(RELEASE)/bin/python -m build
	$(RELEASE)/bin/twine check --strict dist/*
	$(RELEASE)/bin/check-wheel-contents dist
	@$(PYTHON) -m venv --without-pip build/try
	@$(RELEASE)/bin/python -m pip --python build/try/bin/python install --quiet -c constraints.txt dist/*.whl
	build/try/bin/python tools/smoke.py

sbom: dist ## List what constraints.txt installs with the extra `all` (CycloneDX), into build/agentguard.cdx.json
	@rm -rf build/all && $(PYTHON) -m venv --without-pip build/all
	@$(RELEASE)/bin/python -m pip --python build/all/bin/python install --quiet -c constraints.txt "$$(ls dist/*.whl)[all]"
	$(RELEASE)/bin/cyclonedx-py environment --pyproject pyproject.toml --mc-type library --output-reproducible \
	  --output-format JSON --output-file build/agentguard.cdx.json build/all/bin/python

audit: $(RELEASE_STAMP) ## Ask the package index whether a version in constraints.txt has a known vulnerability
	$(RELEASE)/bin/pip-audit --strict --no-deps --disable-pip -r constraints.txt

clean: ## Remove .venv, builds and caches
	rm -rf $(VENV) $(LOWEST) $(DEMO) $(FRAMEWORKS) $(UV) $(RELEASE) build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .benchmarks .layout site

$(STAMP): pyproject.toml setup.py constraints.txt | $(UV)/bin/uv
	$(call install,$(VENV),constraints.txt,-e '.[dev]')

$(LOWEST_STAMP): pyproject.toml setup.py constraints-lowest.txt | $(UV)/bin/uv
	$(call install,$(LOWEST),constraints-lowest.txt,-e '.[test]')

$(UV)/bin/uv:
	$(call environment,$(UV))
	@$(UV)/bin/python -m pip install --quiet --disable-pip-version-check 'uv>=0.9' || { $(why) }

$(DEMO_STAMP): pyproject.toml setup.py constraints.txt
	$(call environment,$(DEMO))
	@echo "Installing agentguard into $(DEMO) (once, half a minute)"
	@$(DEMO)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile -c constraints.txt -e . || { $(why) }
	@touch $@

$(RELEASE_STAMP): tools/requirements.txt
	@test -x $(RELEASE)/bin/pip || $(PYTHON) -m venv $(RELEASE)
	@$(RELEASE)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade pip -r tools/requirements.txt
	@touch $@

# Before a command of uv, which reads no settings of pip: from the index that pip is set to use.
FROM_INDEX = index=$${UV_DEFAULT_INDEX:-$${PIP_INDEX_URL:-$$($(UV)/bin/python -m pip config get global.index-url 2> /dev/null)}}; \
  env $${index:+"UV_DEFAULT_INDEX=$$index"}

# $(call environment,FOLDER) makes an empty environment, where the interpreter is one that agentguard runs on.
define environment
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
  echo "agentguard needs Python 3.10 or newer, and '$(PYTHON)' is not that." >&2; \
  echo "Name an interpreter that is: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
@test -x $(1)/bin/pip || { echo "Creating $(1) with $$($(PYTHON) --version)"; $(PYTHON) -m venv $(1); } || { \
  echo "'$(PYTHON) -m venv' failed. On Debian and Ubuntu, first: apt-get install python3-venv" >&2; exit 1; }
endef

define why
  echo "The installation failed; the lines above say why. It needs a package index: 'pip config list' names it." >&2; exit 1;
endef

# $(call install,ENVIRONMENT,CONSTRAINTS,WHAT) makes an environment with agentguard, built anew, and marks it done.
define install
$(call environment,$(1))
@echo "Installing agentguard and what it is tested with into $(1) (once, a minute or two)"
@$(FROM_INDEX) $(UV)/bin/uv pip install --quiet --python $(1)/bin/python \
  --reinstall-package agentguard -c $(2) $(3) || { $(why) }
@touch $@
endef
