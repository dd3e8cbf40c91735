# ForageRL. `make` lists the verbs. VENV may be shared by several clones: set-up points it at the
# clone that used it last.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

VENV ?= .venv
ARGS ?=

# The first Python >= 3.11 that can make virtual environments.
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c 'import sys, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo $$p && break; done)

# Set-up is done when a stamp of this name lies in the virtual environment: it changes with the
# requirements and with the place of the checkout, to which the editable install points.
STATE := $(shell { pwd -P; cat pyproject.toml constraints.txt; } | sha256sum | cut -c1-16)
STAMP := $(VENV)/foragerl-$(STATE).stamp

.PHONY: help setup train test test-all check clean

help:  ## list the verbs
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*##/ -/'

setup: $(STAMP)  ## virtual environment, pinned packages, a browser
	@$(VENV)/bin/python -m envs.browser.install

train: setup  ## set-up, then the main job; settings as ARGS="key=value ..."
	$(VENV)/bin/python train.py $(ARGS)

test: setup check  ## set-up, checks, then the default tests; options as ARGS="-k name"
	$(VENV)/bin/python -m pytest --durations=10 $(ARGS)

test-all: setup check  ## as test, with the tests that take minutes
	$(VENV)/bin/python -m pytest --durations=20 -m '' $(ARGS)

check: $(STAMP)  ## lint, format, types, architecture; changes nothing
	$(VENV)/bin/python -m ruff check .
	$(VENV)/bin/python -m ruff format --check .
	$(VENV)/bin/python -m mypy
	$(VENV)/bin/python -m pytest tests/test_architecture.py

clean:  ## remove caches and build output; keeps the virtual environment and runs/
	rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache
	find . -path ./.venv -prune -o -name __pycache__ -type d -print0 | xargs -0 rm -rf

$(STAMP): | $(VENV)/bin/pip
	@echo "== installing the pinned packages into $(VENV); the first time takes minutes and about" \
		"7 GB, nearly all of it torch"
	@rm -f $(VENV)/foragerl-*.stamp
	$(VENV)/bin/python -m pip install --disable-pip-version-check \
		-c constraints.txt -e ".[dev]"
	@touch $@

$(VENV)/bin/pip:
	@if [ -z "$(PYTHON)" ]; then \
		echo "expected Python >= 3.11 with the venv module, found none;" \
			"install one (Debian: apt-get install python3-venv) or set PYTHON=/path/to/python" >&2; \
		exit 1; \
	fi
	@echo "== creating $(VENV) with $$($(PYTHON) --version)"
	@$(PYTHON) -m venv $(VENV)
