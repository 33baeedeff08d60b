# Everything a user or a developer runs. `make test` needs nothing but Python.
PYTHON ?= python3
BUILD := build
LINT := $(BUILD)/lint

.PHONY: test size lint requirements schema-suite conformance peers hosting frontends bench load mutants wasm dist clean

test:
	$(PYTHON) -m tests

size:
	$(PYTHON) -m tests.size

lint: $(LINT)/done
	$(LINT)/bin/ruff check .
	$(LINT)/bin/mypy
	$(LINT)/bin/python -m tests.typing_check
	$(LINT)/bin/vermin --target=3.9- --no-tips --violations --eval-annotations mcp_ref era_stub.py

$(LINT)/done: Makefile
	$(PYTHON) -m venv $(LINT)
	$(LINT)/bin/pip install --quiet ruff==0.17.6 mypy==1.20.2 vermin==1.9.2
	touch $@

requirements:
	$(PYTHON) -m tests.requirements

mutants:
	$(PYTHON) -m tests.mutants

schema-suite:
	$(PYTHON) -m tests.schema_suite

conformance:
	$(PYTHON) -m tests.conformance

frontends:
	$(PYTHON) -m tests.frontends

peers:
	$(PYTHON) -m tests.peers

hosting:
	$(PYTHON) -m tests.hosting

bench:
	$(PYTHON) -m tests.bench
	$(PYTHON) -m tests.bench.clients

load:
	$(PYTHON) -m tests.load

wasm:
	$(PYTHON) -m tests.wasm

dist:
	$(PYTHON) -m tests.dist

clean:
	rm -rf $(BUILD) dist
