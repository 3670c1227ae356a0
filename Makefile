# Everything runs in a virtual environment of the project's own; PYTHON chooses the interpreter.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
SOURCES := wordvec_ca kernels eval scripts tests setup.py

.DEFAULT_GOAL := help

# Tests start hundreds of processes; with this variable each would compile our modules again.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo test test-slow test-libraries test-torch test-cluster test-gensim docs check lint format typecheck sanitize bench wheels clean

help: ## list the targets
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST) | expand -t 22

# pip without notices; PYTHONWARNINGS hides setuptools' warnings about editable installations.
PIP := PYTHONWARNINGS=ignore $(BIN)/python -m pip --disable-pip-version-check install --quiet

# Compiled code and what the demo needs; remade when the packaging or the compiled sources change.
$(VENV)/.installed: pyproject.toml setup.py $(wildcard kernels/*.pyx kernels/*.h kernels/sgns_*.c)
	@test -x $(BIN)/python || { echo "Making $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@$(PIP) --upgrade pip
	@echo "Installing numpy, scipy, scikit-learn, numba, gensim, openTSNE, ...; compiling the loops: one to three minutes"
	@$(BIN)/python scripts/install.py --editable '.[map]'
	@touch $@

# What the tests and checks need besides. The package itself is already installed and is not compiled again.
$(VENV)/.dev: $(VENV)/.installed
	@echo "Installing what the tests need"
	@$(PIP) 'wordvec-ca[dev]'
	@touch $@

demo: $(VENV)/.installed ## train attention-CBOW on text that every installation has, and look at it on a map
	@$(BIN)/cawv demo

test: $(VENV)/.dev ## the tests, without the slow ones and those that need PyTorch
	$(BIN)/python -m pytest -n auto -m "not slow"

test-slow: $(VENV)/.dev ## the slow tests
	$(BIN)/python -m pytest -n auto --dist loadgroup -m slow

BENCH_CORPUS ?= $(CAWV_DATA)/corpora/wiki.30M.txt.xz
bench: $(VENV)/.dev ## speed beside gensim; half an hour, on a machine that does nothing else
	$(BIN)/python scripts/bench.py $(BENCH_CORPUS) --into bench --page docs/evidence/data/bench.json $(BENCH_OPTIONS)

# gensim's tests are installed with gensim; tests/gensim/redirect.py runs them on the drop-in and lists those that do
# not apply. Tests of the program fasttext are skipped where it is not installed (Debian: apt-get install fasttext).
GENSIM_TESTS ?= $(addprefix gensim.test.test_,word2vec doc2vec keyedvectors phrases fasttext)
test-gensim: $(VENV)/.dev ## gensim's own tests, of the drop-in
	$(PIP) testfixtures pot
	mkdir -p build/gensim && cd build/gensim && PYTHONPATH=$(CURDIR)/tests/gensim $(abspath $(BIN))/python -m pytest \
		-p no:cacheprovider -p redirect -c /dev/null --rootdir=. -q -rfEs --pyargs $(GENSIM_TESTS)

# Compiled code with AddressSanitizer and UndefinedBehaviorSanitizer, in a tree of its own, and its tests. The
# runtimes are preloaded, as Python itself is compiled without them. Leaks are not searched for, because Python does
# not free everything when it ends. Two test files are left out: the readers of dumps, whose processes have a limit of
# memory that is below what sanitizers reserve, and the tests of memory, as sanitizers take more of it.
SANITIZED := build/sanitized
sanitize: $(VENV)/.dev ## the tests of compiled code, with sanitizers
	rm -rf $(SANITIZED)/wordvec_ca && mkdir -p $(SANITIZED)
	cp -rs $(CURDIR)/wordvec_ca $(SANITIZED)/
	cp -rs $(CURDIR)/eval $(SANITIZED)/wordvec_ca/
	mkdir $(SANITIZED)/wordvec_ca/kernels && ln -s $(CURDIR)/kernels/*.py $(SANITIZED)/wordvec_ca/kernels/
	CAWV_SANITIZE=1 $(BIN)/python setup.py --quiet build_ext --parallel 2 \
		--build-lib $(SANITIZED) --build-temp $(SANITIZED)/objects
	LD_PRELOAD="$$(cc -print-file-name=libasan.so) $$(cc -print-file-name=libubsan.so) $$(cc -print-file-name=libstdc++.so)" \
		ASAN_OPTIONS=detect_leaks=0 PYTHONSAFEPATH=1 PYTHONPATH=$(abspath $(SANITIZED)) \
		$(BIN)/python -m pytest -n auto -m "not slow" tests/kernels tests/text tests/corpus \
		--ignore=tests/text/test_dumps.py --ignore=tests/text/test_bounded_memory.py

check: lint typecheck test ## before a merge

# The wheel is tried with each Python that is found by name or in pyenv's folder; make wheels PYTHONS="python3.11 ..."
# names others.
PYTHONS ?= $(shell for v in 3.11 3.12 3.13 3.14; do for p in $$HOME/.pyenv/versions/$$v*/bin/python$$v python$$v; do \
	$$p -c "import venv" 2>/dev/null && echo $$p && break; done; done; true)
wheels: ## source distribution and Linux wheels into dist/, tried in empty environments
	$(PYTHON) scripts/platforms/build_wheels.py dist --aarch64 --pythons $(PYTHONS)

# Other libraries, with which the tests load what we export, and an S3 server.
$(VENV)/.libraries: $(VENV)/.dev
	$(PIP) 'wordvec-ca[libraries]'
	touch $@

test-libraries: $(VENV)/.libraries ## install the libraries that exports are for, and run the tests that load them
	$(BIN)/python -m pytest -n auto tests/formats tests/vectors tests/text

# The torch extra, for the package installed above. The version is fixed so that the tests use the same one everywhere.
$(VENV)/.torch: $(VENV)/.dev
	$(PIP) 'wordvec-ca[torch]' 'torch==2.13.0' sentence-transformers
	touch $@

test-torch: $(VENV)/.torch ## install PyTorch and run the tests that need it
	$(BIN)/python -m pytest tests/nn tests/eval/test_bilstm_tagging.py tests/formats/test_exports.py

# The cluster extra, and an S3 server (moto) for its tests.
$(VENV)/.cluster: $(VENV)/.dev
	$(PIP) 'wordvec-ca[cluster,remote]' 'ray>=2.60' 'moto[server]>=5'
	touch $@

test-cluster: $(VENV)/.cluster ## install Ray and run the tests that need it, some minutes
	$(BIN)/python -m pytest tests/cluster

# The documentation site; open build/site/index.html, no server is needed. A broken link or reference fails.
$(VENV)/.docs: $(VENV)/.dev
	$(PIP) 'wordvec-ca[docs]'
	touch $@

docs: $(VENV)/.docs ## build the documentation site into build/site and test it
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build
	$(BIN)/python -m pytest tests/docs/test_site.py

C_SOURCES := $(filter-out kernels/unicode_tables.h,$(wildcard kernels/*.h kernels/sgns_*.c kernels/ngrams_*.c kernels/classifier_*.c))

lint: $(VENV)/.dev ## style and format, of Python by ruff, of C by clang-format
	$(BIN)/ruff check $(SOURCES)
	$(BIN)/ruff format --check $(SOURCES)
	$(BIN)/clang-format --dry-run --Werror $(C_SOURCES)

format: $(VENV)/.dev ## write the format that lint checks
	$(BIN)/ruff format $(SOURCES)
	$(BIN)/clang-format -i $(C_SOURCES)

# mypy does not follow the package-dir mapping of kernels/ and eval/: give it a tree of links.
typecheck: $(VENV)/.dev ## mypy, strict
	rm -rf build/mypy && mkdir -p build/mypy
	cp -rs $(CURDIR)/wordvec_ca build/mypy/
	cp -rs $(CURDIR)/kernels $(CURDIR)/eval build/mypy/wordvec_ca/
	cd build/mypy && $(abspath $(BIN))/mypy --config-file $(CURDIR)/pyproject.toml -p wordvec_ca

clean: ## remove what was built
	rm -rf $(VENV) build dist *.egg-info kernels/*.so kernels/_*.c
