# The commands that people and CI use; each works from a fresh clone on a fresh machine.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Ryu 4.34 builds only with an older setuptools; both spellings, for old and new pip.
BUILD_CONSTRAINT := $(CURDIR)/vagrant/ryu-build-constraint.txt

.PHONY: help setup demo test check lint fast labs labs-together labs-alone catalogue bench vm-test vm-full packages test-packages
help:            ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

packages:        # Debian packages, only those that are missing
	@bash vagrant/packages.sh

test-packages: packages # and those that only tests use
	@bash vagrant/packages.sh tshark

$(BIN)/dcnlab: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable .
	@touch $@

$(VENV)/.dev: pyproject.toml $(BIN)/dcnlab
	@PIP_CONSTRAINT=$(BUILD_CONSTRAINT) PIP_BUILD_CONSTRAINT=$(BUILD_CONSTRAINT) \
	  $(BIN)/pip install --quiet --disable-pip-version-check --editable '.[dev,ryu]'
	@touch $@

setup: packages $(BIN)/dcnlab   ## install what is missing: Debian packages, .venv, dcnlab

demo: setup      ## run a BCube(4,1): ping, iperf3, cut a link while traffic flows, heal it
	@$(BIN)/dcnlab demo

lint: test-packages $(VENV)/.dev
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy && $(BIN)/lint-imports

fast: test-packages $(VENV)/.dev
	@$(BIN)/pytest -q -n 2 -m 'not lab and not vm'

check: lint fast ## lint, types, layers, fast tests: no privileges needed

labs: labs-together labs-alone ## real labs; every topology and every scheme is in some

labs-together: test-packages $(VENV)/.dev # two at a time
	@$(BIN)/pytest -q -n 2 --dist loadgroup -m 'lab and not quiet'

labs-alone: test-packages $(VENV)/.dev # those that expect times: one at a time, after the others
	@$(BIN)/pytest -q -m 'lab and quiet'

test: check labs ## everything that CI runs but vm-test: check, then labs

catalogue: packages $(VENV)/.dev ## every topology with every scheme that fits as a lab (8 minutes)
	@DCNLAB_CATALOGUE=all $(BIN)/pytest -q -n 2 --dist loadgroup -m lab tests/lab/test_catalogue.py

bench: packages $(VENV)/.dev    ## side-by-side benchmarks, ratios printed
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@$(BIN)/python -m benchmarks

vm-test: packages $(VENV)/.dev  ## boot a kernel with Open vSwitch and netem, run the tests that want one
	@bash vagrant/packages.sh user-mode-linux gcc libc6-dev
	@bash vagrant/uml/run.sh

vm-full:         ## `vagrant up` in earnest, emulated where need be; writes docs/vm.md (10 minutes and more)
	@bash vagrant/packages.sh vagrant vagrant-libvirt libvirt-daemon-system libvirt-clients dnsmasq-base \
	  qemu-system-x86 qemu-utils mmdebstrap slirp4netns rsync procps
	@bash vagrant/full/run.sh
