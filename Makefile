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

.PHONY: demo test check tests oldest format docs stamp clean

demo: $(STAMP)
	$(BIN)/sfumato demo --out demo-release --force

test: check tests oldest

check: $(STAMP)
	$(BIN)/ruff format --check src tests benchmarks examples
	$(BIN)/ruff check src tests benchmarks examples
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python docs/proofs/stamp.py --check

tests: $(STAMP)
	$(BIN)/pytest -n 2 --dist worksteal -q

# The oldest versions of every dependency that pyproject.toml allows. What no version of a library
# can change is tested once, above.
oldest: $(OLDEST_STAMP)
	$(OLDEST)/bin/pytest -n 2 --dist worksteal -q -m "not slow and not replay"

format: $(STAMP)
	$(BIN)/ruff format src tests benchmarks examples
	$(BIN)/ruff check --fix src tests benchmarks examples

docs: $(STAMP)
	$(BIN)/pip install -q -e ".[docs]"
	$(BIN)/mkdocs build --strict

# After reading one proof against its code: make stamp PAGE=selection
stamp: $(STAMP)
	$(BIN)/python docs/proofs/stamp.py $(PAGE)

$(STAMP): pyproject.toml
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install -q --disable-pip-version-check -e ".[dev]"
	touch $@

$(OLDEST_STAMP): pyproject.toml oldest.txt
	test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install -q --disable-pip-version-check -c oldest.txt -e ".[dev]"
	touch $@

clean:
	rm -rf $(VENV) $(OLDEST) demo-release build dist site .mypy_cache .ruff_cache .pytest_cache
