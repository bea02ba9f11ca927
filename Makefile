# Everything that is run by hand or by CI. Each target installs what it needs.

PYTHON ?= python3
BIN := .venv/bin
CORES ?= 2
# A lock that has changed has another stamp, so the next target installs it, and the one after does not.
RUNTIME := .venv/runtime-$(shell cksum requirements.lock | tr -cs '0-9\n' - | cut -d- -f1)
DEVELOPMENT := .venv/development-$(shell cksum requirements-test.lock | tr -cs '0-9\n' - | cut -d- -f1)
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes
COMPILE := UV_CUSTOM_COMPILE_COMMAND="make lock" $(BIN)/uv pip compile --quiet --universal --python-version 3.11 \
	--generate-hashes --no-emit-index-url --no-emit-find-links
# Half of a test's time it waits: for a process, a browser, the end of a lease. With two processes for each core a
# fifth of the time is nobody's, with three a sixteenth. Six need some 4 GB. What takes long is left two.
# `make test` keeps a picture of every page here: wide and narrow, light and dark.
SHOTS ?= .data/pictures
PER_CORE := 3
test-long: PER_CORE := 2
PYTEST = $(BIN)/python -m pytest --numprocesses=$$(($(PER_CORE) * $(CORES))) --dist=loadfile
# Read once, what pytest makes of each file is kept; on a fresh machine each process would make it for itself.
READ := env -u PYTHONDONTWRITEBYTECODE $(BIN)/python -m pytest --collect-only -qq

.PHONY: demo serve test test-long test-postgres15 check bench promise dev lock

demo: $(RUNTIME)
	exec $(BIN)/python -m config.demo

serve: $(RUNTIME)
	exec $(BIN)/python -m config.serve

test: $(DEVELOPMENT)
	bash .ci/need chromium-headless-shell /usr/bin/chromium-headless-shell
	bash .ci/need curl /usr/bin/curl
	bash .ci/need jq /usr/bin/jq
	@echo "Reading the tests …"
	@$(READ) >/dev/null || true
	SHOTS=$(SHOTS) $(PYTEST) -m "not long"

test-long: $(DEVELOPMENT)
	command -v npm >/dev/null || bash .ci/need npm /usr/bin/npm
	bash .ci/need nodejs /usr/bin/node
	bash .ci/need redis-server /usr/bin/redis-server
	bash .ci/need libreoffice-calc /usr/bin/soffice
	$(PYTEST) -m long

test-postgres15: $(DEVELOPMENT)
	bash .ci/need postgresql-15 /usr/lib/postgresql/15/bin/postgres
	bash .ci/need chromium-headless-shell /usr/bin/chromium-headless-shell
	PG_BIN=/usr/lib/postgresql/15/bin $(PYTEST) -m "database and not long"

check: $(DEVELOPMENT)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/mypy --config-file= --strict --python-version 3.9 ledger/door/client.py
	$(BIN)/lint-imports
	$(BIN)/python -W ignore::RuntimeWarning manage.py makemigrations --check --dry-run
	$(BIN)/python .ci/audit.py requirements.lock

# BENCH="--readme" prints the README's tables; --help names the rest.
bench: $(DEVELOPMENT)
	$(BIN)/python -m tests.bench $(BENCH)
	$(BIN)/python -m tests.bench.console $(filter --readme --help,$(BENCH))
	$(BIN)/python -m tests.bench.files $(filter --help,$(BENCH))

# Adds to docs/api-v1.json what is new in the API; refuses to take anything back.
promise: $(DEVELOPMENT)
	$(BIN)/python -m tests.promise

dev: $(DEVELOPMENT)

lock: $(DEVELOPMENT)
	$(COMPILE) $(UPGRADE) pyproject.toml --output-file requirements.lock
	$(COMPILE) $(UPGRADE) pyproject.toml --group dev --constraint requirements.lock --output-file requirements-test.lock
	$(COMPILE) $(UPGRADE) tests/bench/peer.in --output-file tests/bench/peer.lock

$(BIN)/python:
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Tieout needs Python 3.11 or newer; set PYTHON.")'
	$(PYTHON) -m venv .venv

$(RUNTIME): | $(BIN)/python
	@echo "Installing what Tieout needs to run …"
	$(INSTALL) --requirement requirements.lock
	@rm -f .venv/runtime-* && touch $@

$(DEVELOPMENT): | $(BIN)/python
	@echo "Installing what the tests and checks need …"
	$(INSTALL) --requirement requirements-test.lock
	@rm -f .venv/development-* .venv/runtime-* && touch $@ $(RUNTIME)
