# Checks are nox sessions. This file only creates the environments of nox and of the simulator. `make help` lists its targets.

PYTHON ?= python3
NOX := .venv/bin/nox
SESSIONS ?= static unit proofs
# The rooms whose tests must detect changes.
MUTATED := _masking _api _http _client _engine _batch _backup _site _vm_backups _pages _workflows
SIMULATOR := .cache/simulator/bin/uvicorn

export UV_SYSTEM_CERTS ?= 1

# pip may fail after it has installed the command that is the target.
.DELETE_ON_ERROR:
.PHONY: help setup demo demo-backup simulator test gate nightly bench release clean

help:
	@echo "make demo       the demo playbook, twice, against the simulator"
	@echo "make demo-backup  a full backup, an increment and a restore, with QEMU and libnbd"
	@echo "make simulator  the simulator on port 8080, with a page to watch it; also ARGS='--port 8081 --hosts 50'"
	@echo "make setup      create .venv with nox, which runs all other commands"
	@echo "make test       the checks to run before each commit; make test SESSIONS='static demo' runs those"
	@echo "make gate       every check, without those of make test that have passed with the same files"
	@echo "make nightly    all tests with each version of ansible-core, chaos, nights of backups, mutations and benchmarks"
	@echo "make bench      what tasks, waits, inventories and roles cost, with goals and recorded limits"
	@echo "make release VERSION=1.1.0  write the changelog, commit, tag and build a release; docs/development.md says how"
	@echo "make clean      remove everything that these commands created"

demo: $(NOX)
	@$(NOX) -s demo

demo-backup: $(NOX)
	@$(NOX) -s demo-backup

# nox would report Ctrl-C as a failure.
simulator: $(SIMULATOR)
	@PYTHONPATH=tests exec $(<D)/python -m simulator $(ARGS)

setup: $(NOX)

test: $(NOX)
	@.venv/bin/python tests/tools/gate.py $(SESSIONS)

gate: $(NOX)
	@.venv/bin/python tests/tools/gate.py

# Each of them runs, also if one before it has failed.
nightly: $(NOX)
	@failed=; \
	for core in 2.16 2.19 2.21 2.22; do $(NOX) -s core-$$core -- all || failed="$$failed core-$$core"; done; \
	$(NOX) -s unit -- --numprocesses auto -m nightly tests/unit || failed="$$failed unit"; \
	EXAMPLES_FACTOR=2 $(NOX) -s generated || failed="$$failed generated"; \
	$(NOX) -s chaos || failed="$$failed chaos"; \
	$(NOX) -s nights || failed="$$failed nights"; \
	$(NOX) -s mutation -- $(MUTATED) || failed="$$failed mutation"; \
	$(NOX) -s bench -- all || failed="$$failed bench"; \
	echo "Failed:$${failed:- none}"; test -z "$$failed"

bench: $(NOX)
	@$(NOX) -s bench

release: $(NOX)
	@$(NOX) -s release -- version $(VERSION)

clean:
	rm -rf .venv .nox .cache .ansible .hypothesis .mypy_cache .pytest_cache .ruff_cache changelogs/.plugin-cache.yaml tests/output
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(NOX): noxfile-requirements.txt
$(SIMULATOR): tests/simulator/requirements.txt
$(NOX) $(SIMULATOR):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed: make PYTHON=python3.12 ...")'
	@$(PYTHON) -c 'import ensurepip, venv' || { echo "On Debian: apt install python3-venv" >&2; exit 1; }
	@echo "Preparing $(@D:/bin=)"
	@$(PYTHON) -m venv --clear $(@D:/bin=)
	@$(@D)/python -m pip install -qq --disable-pip-version-check --no-cache-dir --requirement $<
	@touch $@
