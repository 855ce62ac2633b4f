# Everything runs in .venv, which `make` builds from pyproject.toml alone.
VENV := .venv
PYTHON ?= python3
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

# What runs in part by default, and whole with `make truth`.
TRUTH := sass/test_truth.py model/test_accuracy.py advice/test_accuracy_of_gains.py \
  examples/test_examples_advice.py ladder/test_checks.py ladder/test_emulated.py \
  lowering/test_matrices_card.py

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
	LANEWISE_FULL_TRUTH=1 $(BIN)/pytest -s $(addprefix tests/,$(TRUTH))

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
