# Everything runs in a virtual environment of the project's own; PYTHON chooses the interpreter.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := wordvec_ca kernels eval scripts tests setup.py

.PHONY: demo test test-torch check lint typecheck bench clean

# Compiled code and dependencies; remade when the packaging or the compiled sources change.
$(VENV)/.installed: pyproject.toml setup.py $(wildcard kernels/*.pyx kernels/*.h kernels/sgns_*.c)
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip
	$(BIN)/python -m pip install --quiet --editable '.[dev]'
	touch $@

demo: $(VENV)/.installed
	$(BIN)/cawv demo

test: $(VENV)/.installed
	$(BIN)/python -m pytest

# Speed, beside gensim in the same run; half an hour to three quarters, on a machine that does nothing else.
BENCH_CORPUS ?= $(CAWV_DATA)/corpora/wiki.30M.txt.xz
bench: $(VENV)/.installed
	$(BIN)/python scripts/bench.py $(BENCH_CORPUS) --into bench $(BENCH_OPTIONS)

# Before a merge.
check: lint typecheck test

# The extra, for what is installed above; the version is named so that the tests run the same one everywhere.
$(VENV)/.torch: $(VENV)/.installed
	$(BIN)/python -m pip install --quiet 'wordvec-ca[torch]' 'torch==2.13.0'
	touch $@

test-torch: $(VENV)/.torch
	$(BIN)/python -m pytest tests/nn tests/test_bilstm_tagging.py

lint: $(VENV)/.installed
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)

# mypy does not follow the package-dir mapping of kernels/ and eval/: give it a tree of links.
typecheck: $(VENV)/.installed
	rm -rf build/mypy && mkdir -p build/mypy
	cp -rs $(CURDIR)/wordvec_ca build/mypy/
	cp -rs $(CURDIR)/kernels $(CURDIR)/eval build/mypy/wordvec_ca/
	cd build/mypy && $(abspath $(BIN))/mypy --config-file $(CURDIR)/pyproject.toml -p wordvec_ca

clean:
	rm -rf $(VENV) build dist *.egg-info kernels/*.so kernels/_sgns.c kernels/_text.c kernels/_decimals.c
