PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready

# One thread for each process: the matrices are small, and the tests already use every core.
export OMP_NUM_THREADS ?= 1

RESULTS := benchmark-results
TABLES := experiments/src/surefoot_experiments/benchmarks

.DELETE_ON_ERROR:
.PHONY: help demo test tests ordinary long lint docs dist man answers bench pictures clean

help:
	@echo "make demo      tune SQLite on this machine, compare with its defaults, write a report"
	@echo "make test      lint, types, import layers, and the tests of each day; what a change must pass"
	@echo "make ordinary  ordinary long use of the installed package; before each change is submitted"
	@echo "make long      all other tests: each night, and before a release"
	@echo "make lint      the checks without the tests"
	@echo "make docs      the documentation site, in site/; needs no network once installed"
	@echo "make dist      source distributions and wheels, checked, in dist/"
	@echo "make man       man pages, in build/man; needs GNU help2man"
	@echo "make answers   short tasks in thirteen families, paired with recorded results; HALF=choose or confirm"
	@echo "make bench     the benchmark tables of the documentation (long)"
	@echo "make pictures  the pictures of the documentation"
	@echo "make clean     remove what the above leaves, .venv included"

$(READY): pyproject.toml experiments/pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch --editable '.[dev]' --editable ./experiments
	@touch $@

demo: $(READY)
	@$(BIN)/python examples/sqlite/demo.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Types take one core for as long as half of the tests.
test: $(READY)
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint tests

tests: $(READY)
	$(BIN)/pytest -n 2 -m "not long"

ordinary: $(READY)
	$(BIN)/pytest -n 2 -m "not long" tests/ordinary

long: $(READY)
	$(BIN)/pytest -n 2 -m long

# Tools that only one target needs.
$(READY)-%: $(READY)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[$*]'
	@touch $@

docs: export NO_MKDOCS_2_WARNING = 1
docs: $(READY)-docs
	$(BIN)/mkdocs build --quiet

dist: $(READY)-release
	rm -rf dist
	$(BIN)/hatchling build -d $(CURDIR)/dist
	cd experiments && $(CURDIR)/$(BIN)/hatchling build -d $(CURDIR)/dist
	$(BIN)/twine check --strict dist/*

COMMANDS = $(shell $(BIN)/python -c "from surefoot.cli_words import GROUPS; print(*sum(GROUPS.values(), ()))")
VERSION = $(shell $(BIN)/python -c "import surefoot; print(surefoot.__version__)")

man: $(READY)
	mkdir -p build/man
	help2man --no-info --name "robust Bayesian optimisation" $(BIN)/surefoot -o build/man/surefoot.1
	for name in $(COMMANDS); do help2man --no-info --version-string $(VERSION) --name "surefoot $$name" \
	  "$(BIN)/surefoot $$name" -o build/man/surefoot-$$name.1 || exit 1; done

# RECORD=1 keeps the results, for later states to be paired with.
answers: $(READY)
	@$(BIN)/surefoot-experiments answers run --half "$(HALF)" $(if $(RECORD),--record)

bench: $(READY)
	$(BIN)/surefoot-experiments run benchmarks --resume --out $(RESULTS) --jobs 2
	for page in $(RESULTS)/bench-*/page.md; do \
	  name=$$(basename $$(dirname $$page)); name=$${name#bench-}; \
	  sed "s#(figure.png)#(../../../../docs/images/sketch_regret.png)#" $$page \
	    > $(TABLES)/$$(echo $$name | tr - _).md; \
	done
	cp $(RESULTS)/bench-sketch-regret/figure.png docs/images/sketch_regret.png

pictures: $(READY)
	$(BIN)/python docs/pictures.py
	$(BIN)/python docs/robot_picture.py

clean:
	rm -rf .venv demo build dist site .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache
