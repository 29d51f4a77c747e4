# Every target creates .venv and installs what it needs by itself.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin

.PHONY: demo test lint bench docs clean

$(VENV)/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "stochpref needs Python 3.11 or newer; run 'make PYTHON=/path/to/python3.11 ...'"; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# One stamp per set of extras: .venv/.with-core, .venv/.with-test, ...
$(VENV)/.with-core: $(VENV)/.created pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e . -c constraints.txt
	@touch $@

$(VENV)/.with-%: $(VENV)/.created pyproject.toml constraints.txt
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e '.[$*]' -c constraints.txt
	@touch $@

demo: $(VENV)/.with-core
	$(BIN)/stochpref demo --out demo

test: $(VENV)/.with-test,jax,dask
	$(BIN)/python -m pytest

lint: $(VENV)/.with-lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: $(VENV)/.with-test
	$(BIN)/python -m benchmarks

docs: $(VENV)/.with-docs
	$(BIN)/python docs/figures.py docs/_generated
	$(BIN)/sphinx-build -W -b html docs docs/_build/html

clean:
	rm -rf $(VENV) demo docs/_build docs/_generated
