# Everything runs in .venv, which `make` builds from pyproject.toml alone.
VENV := .venv
PYTHON ?= python3
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check truth bench golden clean

demo: $(STAMP)
	$(BIN)/lanewise run examples/gemm.cu

test: check
	$(BIN)/pytest -n 2 --dist worksteal

check: $(STAMP)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

truth: $(STAMP)
	LANEWISE_FULL_TRUTH=1 $(BIN)/pytest -s tests/sass/test_truth.py tests/model/test_accuracy.py tests/advice/test_accuracy_of_gains.py tests/examples/test_examples_advice.py tests/ladder/test_checks.py

bench: $(STAMP)
	$(BIN)/python benchmarks/run.py

golden: $(STAMP)
	LANEWISE_UPDATE_GOLDEN=1 $(BIN)/pytest -n 2 tests/report tests/cli tests/advice tests/docs

$(STAMP): pyproject.toml
	@echo "Installing into $(VENV), NVIDIA's compilers among it: about 1 GB, a minute or two."
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable '.[dev]'
	touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
