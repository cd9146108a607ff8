# make demo: digits by t-SNE, UMAP, CauchyMap and PatchPosterior (a picture, a table)
# make test: run the whole test suite
# make coverage: run the suite and report which lines and branches it reaches
# make sanitize: run the tests and a fuzzer with the loops in C under sanitizers
# make steady: run the test suite RUNS times (10) beside a busy process
# make lint: check style and types
# make docs: build the documentation site, build/docs/index.html
#
# All work in .venv, made from PYTHON on first use.

PYTHON ?= python3
PYTEST_ARGS ?= -n 2 --dist worksteal
RUNS ?= 10
# Least share of lines and branches that the suite must reach, in percent: what a complete
# run reaches, rounded down.
COVERED ?= 96

VENV := .venv
BIN := $(VENV)/bin
INSTALL := $(BIN)/python -m pip install -qq --disable-pip-version-check

.PHONY: demo test coverage sanitize steady lint docs clean
.NOTPARALLEL:

demo: $(VENV)/.installed-demo
	@$(BIN)/python -m patchfold.studies.demo --out demo.png

# Tests start hundreds of processes: without compiled modules each compiles the package.
test coverage: export PYTHONDONTWRITEBYTECODE =

test: $(VENV)/.installed-dev
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

coverage: $(VENV)/.installed-torch
	@$(BIN)/python -m pytest $(PYTEST_ARGS) --cov --cov-report=term-missing:skip-covered \
		--cov-fail-under=$(COVERED)

# SANITIZE_ARGS: arguments of pytest, to run some tests only.
sanitize: $(VENV)/.installed-dev
	@$(BIN)/python benchmarks/sanitize.py $(SANITIZE_ARGS)

steady: $(VENV)/.installed-dev
	@.ci/steady $(RUNS)

lint: $(VENV)/.installed-dev
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy

# Every warning is an error. The gallery's programs run here.
docs: $(VENV)/.installed-docs
	@$(BIN)/python -m sphinx -W --keep-going -q -b html docs build/docs
	@echo "Site: build/docs/index.html"

clean:
	rm -rf $(VENV) demo.png build docs/api docs/auto_gallery

# pip is what a virtual environment gets last: with it, the environment is whole.
$(BIN)/pip:
	@$(PYTHON) -c 'import sys; sys.exit("patchfold needs Python 3.11 or newer: \
	make PYTHON=python3.11" if sys.version_info < (3, 11) else 0)'
	@echo "Making $(VENV) ..."
	@$(PYTHON) -m venv $(VENV)

$(VENV)/.installed-demo: pyproject.toml | $(BIN)/pip
	@echo "Installing patchfold into $(VENV) ..."
	@$(INSTALL) -e ".[demo]"
	@touch $@

# dev contains plot, so `make demo` has nothing to install after `make test`.
$(VENV)/.installed-dev: pyproject.toml | $(BIN)/pip
	@echo "Installing patchfold and its test tools into $(VENV) ..."
	@$(INSTALL) -e ".[dev]"
	@touch $@ $(VENV)/.installed-plot

# The stages for tensors count too. A torch that is there already is kept.
$(VENV)/.installed-torch: $(VENV)/.installed-dev
	@echo "Installing torch into $(VENV) ..."
	@$(INSTALL) -e ".[torch]"
	@touch $@

$(VENV)/.installed-docs: pyproject.toml | $(BIN)/pip
	@echo "Installing patchfold and what builds its site into $(VENV) ..."
	@$(INSTALL) -e ".[docs]"
	@touch $@ $(VENV)/.installed-plot
