# Medley's commands. `make` alone prints them.
.DEFAULT_GOAL := help
.PHONY: help run test test-security lint quick check evaluate bench results secrets lock sbom chart clean

PYTHON ?= python3
SERVE := .venv
TEST := .venv-test
TOOLS := .venv-tools
LOCKED := .venv-locked
LOCK := deploy/requirements.lock
CHART := deploy/helm/medley
RENDERED := tests/golden/helm
KUBE := 1.34.0
# Two workers, the idle one takes over from the other; much of a test's time is waiting for processes that it started.
WORKERS := -n 2 --dist worksteal --durations=10
# What needs a server or seconds is left out, and its modules are not imported.
FAST := $(WORKERS) -m 'not slow and not torch and not browser and not opensearch and not data' \
	--ignore tests/browser --ignore tests/web/test_schemathesis.py -p no:schemathesis
export PIP_DISABLE_PIP_VERSION_CHECK := 1
export PIP_NO_INPUT := 1
# Some images set it; then every process that the tests start compiles all that it imports.
unexport PYTHONDONTWRITEBYTECODE

help:  ## print this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

$(SERVE)/.ready: setup.py
	$(PYTHON) -m venv $(SERVE)
	$(SERVE)/bin/pip install --quiet --editable '.[cpu]'
	@touch $@

$(TEST)/.ready: setup.py
	$(PYTHON) -m venv $(TEST)
	$(TEST)/bin/pip install --quiet --editable '.[cpu,train,eval,dev,bench]'
	@touch $@

run: $(SERVE)/.ready  ## install, index the demo collections and open the search page
	$(SERVE)/bin/medley demo
	$(SERVE)/bin/medley serve

test: $(TEST)/.ready  ## everything, against real parts
	$(TEST)/bin/python -m pytest tests $(WORKERS)

test-security: $(TEST)/.ready  ## a node with TLS and users, as docker-compose.yml configures it
	MEDLEY_TEST_SECURITY=1 $(TEST)/bin/python -m pytest tests/security

lint: $(TEST)/.ready  ## lint, types and architecture: a few seconds
	$(TEST)/bin/ruff check .
	$(TEST)/bin/ruff format --check .
	$(TEST)/bin/mypy
	$(TEST)/bin/lint-imports --no-cache

check: $(TEST)/.ready  ## make lint, and beside it the tests that need no server: under a minute
	@$(MAKE) --no-print-directory --jobs 2 --output-sync=target lint quick

quick: $(TEST)/.ready
	$(TEST)/bin/python -m pytest tests $(FAST)

evaluate: $(TEST)/.ready  ## print every suite's table, going on where it stopped (needs MEDLEY_DATA; QUICK=1: samples)
	$(TEST)/bin/medley evaluate all $(if $(filter 1,$(QUICK)),--quick,--report docs/results)

bench: $(TEST)/.ready  ## print speed and memory, as ratios
	$(TEST)/bin/medley bench all

secrets:  ## make the certificates, passwords and tokens that docker-compose.yml needs
	$(PYTHON) deploy/make_secrets.py

$(TOOLS)/.ready:
	$(PYTHON) -m venv $(TOOLS)
	$(TOOLS)/bin/pip install --quiet 'cyclonedx-bom>=7,<8' 'uv>=0.9,<1'
	@touch $@

lock: $(TOOLS)/.ready  ## write deploy/requirements.lock anew: the newest versions in setup.py's bounds, with hashes
	$(TOOLS)/bin/uv pip compile setup.py --extra cpu --extra traces --universal --python-version 3.11 \
		--generate-hashes --no-header --no-annotate --upgrade --quiet --output-file $(LOCK)

sbom: $(TOOLS)/.ready  ## write sbom.json (CycloneDX) of what the lock installs, with licences
	$(TOOLS)/bin/uv venv --quiet --clear --python $(PYTHON) $(LOCKED)
	$(TOOLS)/bin/uv pip install --quiet --python $(LOCKED) --require-hashes --requirement $(LOCK)
	$(TOOLS)/bin/uv pip install --quiet --python $(LOCKED) --no-deps .
	$(TOOLS)/bin/cyclonedx-py environment --output-reproducible --output-format JSON --output-file sbom.json $(LOCKED)

chart:  ## lint the Helm chart, and render it for the tests (needs helm)
	for name in minimal full; do \
		helm lint --strict --kube-version $(KUBE) --values $(RENDERED)/$$name.values.yaml $(CHART) && \
		helm template medley $(CHART) --namespace search --kube-version $(KUBE) --values $(RENDERED)/$$name.values.yaml > $(RENDERED)/$$name.yaml || exit 1; \
	done
	(cd $(CHART) && find . -type f | LC_ALL=C sort | xargs sha256sum) > $(RENDERED)/chart.sha256

clean:  ## remove the virtual environments and caches, not the data
	find . -name __pycache__ -prune -exec rm -rf {} +
	rm -rf $(SERVE) $(TEST) $(TOOLS) $(LOCKED) sbom.json .mypy_cache .ruff_cache .pytest_cache .hypothesis *.egg-info
