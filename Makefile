# Two commands do everything on a fresh machine: make demo and make test.
# Both make their own environment and install what they need from the package registries.
PYTHON ?= python3
VENV := .venv
OLDEST := .venv-oldest
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
OLDEST_STAMP := $(OLDEST)/.installed

# Real data sets, where this machine has them; tests that need them skip with a message elsewhere.
SFUMATO_DATA ?= $(wildcard $(abspath ../shared/data))
export SFUMATO_DATA

.PHONY: demo test check tests oldest coverage format derive docs stamp clean

demo: $(STAMP)
	$(BIN)/sfumato demo --out demo-release --force

test: check tests oldest

check: $(STAMP)
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/proofs/stamp.py --check

# Each of the two workers has one core: threads of their libraries would wait for one another. The
# readers are tested with several threads by `oldest`.
tests: export POLARS_MAX_THREADS = 1
tests: export OPENBLAS_NUM_THREADS = 1
tests: $(STAMP)
	$(BIN)/pytest -n 2 --dist worksteal -q

# The oldest versions of every dependency that pyproject.toml allows: the digests of every method,
# and the readers, pages and estimators that call other libraries most.
oldest: $(OLDEST_STAMP)
	$(OLDEST)/bin/pytest -n 2 --dist worksteal -q -m "not slow and not replay" \
		tests/test_digests.py tests/data tests/engines tests/noise tests/report tests/sklearn

# Statements and branches that the tests execute, by folder; for a part of them:
# make coverage TESTS=tests/noise
TESTS ?= tests
coverage: $(STAMP)
	$(BIN)/pytest -n 2 --dist worksteal -q --cov --cov-report= $(TESTS)
	$(BIN)/coverage json -q -o coverage.json
	$(BIN)/python tests/coverage_by_folder.py coverage.json

format: $(STAMP)
	$(BIN)/ruff format src tests benchmarks examples
	$(BIN)/ruff check --fix src tests benchmarks examples

docs: $(STAMP)
	$(BIN)/pip install -q -e ".[docs]"
	$(BIN)/mkdocs build --strict

# What follows from the classes of methods and from the heads of proof pages: catalogue, stubs,
# reference, index of the proofs, navigation, and the digests of methods that have none yet.
derive: $(STAMP)
	$(BIN)/python docs/derive.py
	$(BIN)/python tests/record_digests.py --missing

# After reading one proof against its code: make stamp PAGE=selection
stamp: $(STAMP)
	$(BIN)/python docs/proofs/stamp.py $(PAGE)

# The version is read from __init__.py at installation.
$(STAMP): pyproject.toml src/sfumato/__init__.py
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e ".[dev]"
	touch $@

$(OLDEST_STAMP): pyproject.toml src/sfumato/__init__.py oldest.txt
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install -q --disable-pip-version-check -c oldest.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) demo-release build dist site .mypy_cache .ruff_cache .pytest_cache .coverage* coverage.json
