# make demo   index the example corpus and ask it four questions
# make test   every check that CI runs
# make lint   style and types only
# make docs   the guides and the API reference as a site, in build/site
# make format rewrite the code in the house style

PYTHON ?= $(shell command -v python3.11 || command -v python3)
BIN := .venv/bin
INSTALLED := .venv/.installed
DEMO := .conspectus/demo
CORPUS := examples/world/pages examples/novel/*.md

export HF_HUB_OFFLINE = 1
export TOKENIZERS_PARALLELISM = false

.PHONY: demo test lint docs format clean

demo: $(INSTALLED)
	@echo "$$ conspectus index $(CORPUS) --index $(DEMO)"
	@$(BIN)/conspectus index $(CORPUS) --index $(DEMO)
	@echo; echo "Global: a question about the whole"
	@$(BIN)/conspectus ask "What are the main themes of The House of Weights?" --method global --index $(DEMO)
	@echo; echo "Multi-hop: no single passage holds the answer"
	@$(BIN)/conspectus ask "Who directed the film shot at Marrow, Vey in 1962?" --index $(DEMO)
	@echo; echo "Single fact"
	@$(BIN)/conspectus ask "What is painted in the hall of the House of Weights?" --index $(DEMO)
	@echo; echo "Unknown: nothing in the documents supports an answer"
	@$(BIN)/conspectus ask "Which moons of Jupiter did Galileo discover?" --index $(DEMO)

test: lint
	$(BIN)/pytest --numprocesses 2 --dist loadfile -m 'not clock'
	$(BIN)/pytest -m clock

lint: $(INSTALLED) .tree/conspectus
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# One folder of links in which the package looks as it does when it is installed: what mypy reads.
.tree/conspectus: $(wildcard conspectus/*)
	@rm -rf .tree && mkdir -p .tree/conspectus
	@for entry in conspectus/* storage prompts query pipelines; do \
	  ln -s "../../$$entry" ".tree/conspectus/$${entry##*/}"; done

docs: $(INSTALLED)
	$(BIN)/sphinx-build -q -W -b html docs build/site
	@echo "build/site/index.html"

format: $(INSTALLED)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

$(INSTALLED): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable '.[dev]'
	@touch $@

clean:
	rm -rf .venv .tree .conspectus build *.egg-info .mypy_cache .ruff_cache .pytest_cache
