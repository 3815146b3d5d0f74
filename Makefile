# Two commands for a fresh machine: `make train` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: train test test-slow lint benchmark clean

train: $(VENV)/installed  ## learn Divider Duel
	$(BIN)/python train/ppo.py --game divider-duel

test: lint  ## lint, types and tests
	$(BIN)/python -m pytest -n auto

test-slow: $(VENV)/installed  ## the tests that take minutes
	$(BIN)/python -m pytest -n auto -m slow

lint: $(VENV)/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

benchmark: $(VENV)/installed
	$(BIN)/python train/benchmark.py

# Written only when the installation has succeeded, so that a broken one is repeated.
$(VENV)/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
