# Each target makes its own environment (.venv) the first time; `make` lists them. Without make, README.md gives the pip
# commands.
PYTHON ?= python3
VENV   := $(CURDIR)/.venv
PATH   := $(VENV)/bin:$(PATH)
export PATH

.DEFAULT_GOAL := help
.PHONY: help lab demo grade formgrader release test test-slow bench lint colab verify-hardware record-labs pictures gallery lock clean

help:        ## this list
	@grep -hE '^[a-z-]+: .*## ' Makefile | sed -E 's/^([a-z-]+):[^#]*## /  make \1\t/' | expand -t 20

lab: $(VENV)/.lab  ## open JupyterLab on the first notebook (your copy lives in work/)
	@python tools/lab.py

demo: $(VENV)/.all  ## four sample students, from release to grades and feedback, no browser
	@python -m autograder demo

grade: $(VENV)/.all  ## grade what lies in autograder/submitted/
	@python -m autograder grade

formgrader: $(VENV)/.all  ## read written answers and marks in nbgrader's formgrader
	@python -m jupyterlab --LabApp.default_url=/formgrader $(if $(filter 0,$(shell id -u)),--allow-root)

release: $(VENV)/.all  ## make release/ from source/
	@python -m autograder release

test: $(VENV)/.all lint  ## everything that needs no browser and no second environment
	@python -m pytest -n 2 --dist loadfile --no-loadscope-reorder --mpl -m "not slow"

test-slow: $(VENV)/.all  ## browser, second environments, whole walks
	@python -m pytest -m "slow and not alone" -n 3 --dist loadfile --no-loadscope-reorder --ignore tests/browser
	@python -m pytest tests/browser -n 2 --dist loadfile
	@python -m pytest -m "slow and alone"

bench: $(VENV)/.all  ## speed, as ratios against a peer in the same run
	@python -m pytest benchmarks -q -s -p no:cacheprovider

lint: $(VENV)/.all
	@ruff check . && ruff format --check . && mypy && lint-imports --no-logo && python tools/notebooks.py

colab: $(VENV)/.all  ## notebooks that work when they are the only file uploaded, build/colab/
	@python tools/colab.py

verify-hardware: $(VENV)/.all  ## compare the simulator with a real GPU, kernel by kernel (needs one)
	@python tools/verify_hardware.py

record-labs: $(VENV)/.all  ## run every chapter on a real GPU and keep what its labs print (needs one)
	@python tools/record_labs.py

pictures: $(VENV)/.all  ## make the README's pictures again (needs Chromium)
	@python tools/pictures.py

gallery: $(VENV)/.all  ## every picture of the course on one page, build/gallery.html
	@python tools/gallery.py

lock: $(VENV)/.all  ## write constraints.txt from what is installed
	@python tools/lock.py

clean:       ## remove the environment and every cache; your work/ and the gradebook stay
	rm -rf $(VENV) build dist .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache autograder/demo

$(VENV)/bin/python:
	@$(PYTHON) tools/need_python.py
	$(PYTHON) -m venv $(VENV)

$(VENV)/.lab: $(VENV)/bin/python pyproject.toml constraints.txt
	python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[lab]"
	@python tools/warm_up.py
	@touch $@

$(VENV)/.all: $(VENV)/bin/python pyproject.toml constraints.txt
	python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt --editable ".[lab,grade,dev,compiler]"
	@python tools/warm_up.py
	@touch $@ $(VENV)/.lab
