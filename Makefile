# Every target does its own set-up: a virtual environment in .venv with the versions of constraints.txt.
# Another Python beside it: make test PYTHON=python3.13 VENV=.venv-3.13
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
JOBS ?= 2

# what `make quick` runs: rules, golden games, kernels, command line
QUICK := tests/games tests/golden tests/kernels/test_batch.py tests/kernels/test_rng.py tests/kernels/test_state.py tests/test_cli.py

# what `make coverage` runs in the interpreter, where kernels are measured: a few minutes instead of hours
INTERPRETED := tests/golden $(wildcard tests/games/test_*_rules.py tests/games/test_*_observation.py) \
	tests/games/test_ice_points_games.py tests/games/test_ice_points_text.py tests/games/test_micons_deck.py \
	tests/games/test_icons_games.py::test_resample_keeps_what_is_known_and_draws_the_rest_evenly \
	tests/games/test_micons_games.py::test_resample_keeps_the_open_traits_and_draws_the_rest_evenly \
	tests/kernels/test_rng.py tests/kernels/test_state.py tests/test_kuhn_poker.py

.PHONY: help demo test quick coverage test-bridges lint format bench clean

help:  ## this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*##/\t/' | expand -t 14

$(VENV)/installed: pyproject.toml constraints.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "card-envs needs Python 3.11 or newer; set PYTHON=..."; exit 1; }
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $@

demo: $(VENV)/installed  ## train a small agent by self-play, then play it against the built-in policies
	$(BIN)/python training/demo.py

test: $(VENV)/installed  ## the whole test suite
	$(BIN)/python -m tests.warm $(JOBS)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal

quick: $(VENV)/installed  ## the tests that tell most, under a minute once the kernels are compiled
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal $(QUICK)

coverage: $(VENV)/installed  ## which lines and branches the tests reach: rules in the interpreter, all else as it runs
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n $(JOBS) --dist worksteal --cov --cov-report= $(INTERPRETED)
	$(BIN)/python -m tests.warm $(JOBS)
	$(BIN)/python -m pytest -n $(JOBS) --dist worksteal --cov --cov-append

test-bridges:  ## the programs of docs/bridges on every game, each library in an environment of its own
	$(PYTHON) -m tests.bridges.run --jobs $(JOBS) $(BRIDGES)

lint: $(VENV)/installed  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/installed  ## let ruff mend what it can
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/installed  ## throughput side by side with peers
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[bench]'
	$(BIN)/python -m benchmarks.throughput

clean:  ## remove the environment and caches
	rm -rf $(VENV) .venv-bridges .pytest_cache .ruff_cache .mypy_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
