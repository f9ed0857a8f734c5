# The one door is nox: this file only makes the environment that nox lives in. `make help` lists what there is.

PYTHON ?= python3
NOX := .venv/bin/nox

export UV_SYSTEM_CERTS ?= 1

.PHONY: help demo test bench clean

help:
	@echo "make demo    the demo playbook, twice, against the simulator"
	@echo "make test    every check, about half an hour on two cores; make test SESSIONS='style typing' runs those (.venv/bin/nox -l)"
	@echo "make bench   what a task and a wait cost, in proportion to Ansible's own"
	@echo "make clean   remove everything that these commands made"

demo: $(NOX)
	@$(NOX) -s demo

test: $(NOX)
	@.venv/bin/python tests/tools/gate.py $(SESSIONS)

bench: $(NOX)
	@$(NOX) -s bench

clean:
	rm -rf .venv .nox .cache .ansible .hypothesis .mypy_cache .pytest_cache .ruff_cache changelogs/.plugin-cache.yaml tests/output
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(NOX): noxfile-requirements.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	@$(PYTHON) -c 'import ensurepip, venv' || { echo "On Debian: apt install python3-venv" >&2; exit 1; }
	@echo "Preparing .venv"
	@$(PYTHON) -m venv --clear .venv
	@.venv/bin/python -m pip install -qq --disable-pip-version-check --no-cache-dir --requirement $<
	@touch $@
