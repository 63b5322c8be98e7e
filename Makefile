# Every target works on a fresh clone: the first one to run builds .venv with the tested versions.
# Another interpreter: make PYTHON=python3.12 test

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Rebuilt when the declared or the tested versions change.
STAMP := $(VENV)/.agentguard-installed
# What mypy checks; tests/typing is the public API as its users' type checkers see it.
TYPED := src integrations $(wildcard tests/typing)

.DEFAULT_GOAL := help
.PHONY: help demo test lint format bench measure clean

help: ## Show the targets
	@echo "agentguard: make TARGET [PYTHON=python3.12]"
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "  %-8s %s\n", $$1, $$2}' Makefile

demo: $(STAMP) ## Guard several hundred real tool calls with faults among them
	@$(BIN)/agentguard demo

test: $(STAMP) ## Run all tests, the doctests and the code blocks of the documents
	$(BIN)/python -m pytest -q

lint: $(STAMP) ## Check style, format, types and the rules of who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(TYPED)
	$(BIN)/lint-imports --no-logo

format: $(STAMP) ## Bring the code into the one format
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(STAMP) ## Measure speed
	$(BIN)/python -m pytest benchmarks/

measure: $(STAMP) ## Measure speed, and detection where recorded data lies beside the checkout, into docs/measurements.md
	$(BIN)/python benchmarks/measurements.py

clean: ## Remove .venv, builds and caches
	rm -rf $(VENV) build dist src/*.egg-info .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache .benchmarks

$(STAMP): pyproject.toml setup.py constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || { \
	  echo "agentguard needs Python 3.10 or newer, and '$(PYTHON)' is not that." >&2; \
	  echo "Name an interpreter that is: make PYTHON=python3.12 $(MAKECMDGOALS)" >&2; exit 1; }
	@test -x $(BIN)/pip || { echo "Creating $(VENV) with $$($(PYTHON) --version)"; $(PYTHON) -m venv $(VENV); } || { \
	  echo "'$(PYTHON) -m venv' failed. On Debian and Ubuntu, first: apt-get install python3-venv" >&2; exit 1; }
	@echo "Installing agentguard and its tested dependencies into $(VENV) (once, about a minute)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]' || { \
	  echo "The installation failed; the lines above say why. It needs a package index: see 'pip config list'." >&2; exit 1; }
	@touch $@
