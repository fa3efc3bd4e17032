# Commands for users and CI; each works from a fresh clone on a fresh machine.
PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
# Else each of some thousand processes compiles all modules again.
unexport PYTHONDONTWRITEBYTECODE
# A .venv that no longer works (an older Python, a moved clone, an interrupted try) is made again.
$(shell bash vagrant/venv.sh stale $(VENV))
# Versions known to work together; `make CONSTRAINTS=` takes the newest.
CONSTRAINTS ?= constraints.txt
# Ryu 4.34 builds only with an older setuptools; old and new pip name the setting differently.
BUILD_CONSTRAINT := $(CURDIR)/vagrant/ryu-build-constraint.txt

.PHONY: help setup demo test check lint fast labs labs-together labs-alone test-ordinary catalogue examples soak bench docs man vm-test vm-many vm-full packages test-packages constraints floors platforms container release assets
help:            ## show this list
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

packages:        # install missing Debian packages
	@bash vagrant/packages.sh

test-packages: packages # and those that only tests need
	@bash vagrant/packages.sh tshark slirp4netns iptables

$(BIN)/dcnlab: pyproject.toml
	@bash vagrant/venv.sh make $(PYTHON) $(VENV)
	@$(BIN)/pip install --quiet --disable-pip-version-check $(CONSTRAINTS:%=--constraint %) --editable '.[top,metrics]'
	@touch $@

$(VENV)/.dev: pyproject.toml $(BIN)/dcnlab
	@PIP_CONSTRAINT=$(BUILD_CONSTRAINT) PIP_BUILD_CONSTRAINT=$(BUILD_CONSTRAINT) \
	  $(BIN)/pip install --quiet --disable-pip-version-check $(CONSTRAINTS:%=--constraint %) --editable '.[dev,ryu]'
	@touch $@

setup: packages $(BIN)/dcnlab   ## install what is missing: Debian packages, .venv, dcnlab

demo: setup      ## run a BCube(4,1): ping, iperf3, cut a link under traffic, restore it
	@$(BIN)/dcnlab demo

assets:          ## install the npm packages that the view's terminals use (needs npm)
	@$(PYTHON) assets/build.py

# What mypy found out is kept from one clone to the next, as tests/kernels.py keeps compiled kernels.
KEPT := $(or $(XDG_CACHE_HOME),$(HOME)/.cache)/dcnlab-tests
lint: test-packages $(VENV)/.dev
	@mkdir -p $(KEPT)
	@$(BIN)/ruff check . && $(BIN)/ruff format --check . && \
	  flock $(KEPT)/mypy.lock $(BIN)/mypy --cache-dir $(KEPT)/mypy && $(BIN)/lint-imports

fast: test-packages $(VENV)/.dev
	@$(BIN)/pytest -q -n 2 -m 'not lab and not vm'

check: test-packages $(VENV)/.dev ## lint, types, layers, fast tests: no privileges needed
	@$(MAKE) --no-print-directory --jobs=2 lint fast

labs: labs-together labs-alone ## real labs; they cover every topology and every scheme

labs-together: test-packages $(VENV)/.dev # two for each of two processors: they often wait
	@$(BIN)/pytest -q -n 4 --dist loadgroup -m 'lab and not quiet' || $(BIN)/python -m tests.again

labs-alone: test-packages $(VENV)/.dev # those that check times, after the others: they mostly wait
	@$(BIN)/pytest -q -n 3 -m 'lab and quiet' || $(BIN)/python -m tests.again

test: check labs ## check, then labs: everything in CI except vm-test

test-ordinary: test-packages $(VENV)/.dev ## by root: all labs once more, as an ordinary user runs them
	@$(BIN)/python -m tests.ordinary $(CURDIR)/$(BIN)/python -m pytest -q -p no:cacheprovider -n 2 --dist loadgroup -m lab

catalogue: packages $(VENV)/.dev ## every compatible pair of topology and scheme: all fast tests of it, and a lab (8 minutes)
	@DCNLAB_CATALOGUE=all $(BIN)/pytest -q -n 2 -m 'not lab and not vm' tests/addressing tests/controller tests/hostagent tests/oracle tests/dcnlab/verifier tests/dcnlab/evaluator/routing
	@DCNLAB_CATALOGUE=all $(BIN)/pytest -q -n 2 --dist loadgroup -m lab tests/lab/launch/test_catalogue.py

examples: packages $(VENV)/.dev ## run every example of docs/examples.md, one after the other
	@bash vagrant/packages.sh slirp4netns nginx-light wrk memcached libmemcached-tools
	@$(BIN)/python -m tests.examples

soak: packages $(VENV)/.dev     ## chaos in labs of six families, lossy links, 1500 wrong command lines and files (25 minutes)
	@$(BIN)/python -m tests.soak
	@$(BIN)/python -m tests.kills

bench: packages $(VENV)/.dev    ## benchmarks beside other programs, with ratios
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[bench]'
	@$(BIN)/python -m benchmarks

docs: $(BIN)/dcnlab ## the documentation site in build/site: guides, reference, search
	@$(BIN)/pip install --quiet --disable-pip-version-check $(CONSTRAINTS:%=--constraint %) --editable '.[docs]'
	@$(BIN)/python -m release.site build/site-source && NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet
	@echo "build/site/index.html is the first page"

man: $(BIN)/dcnlab ## man pages of all commands in build/man
	@$(BIN)/python -m release.manual build/man

constraints: $(VENV)/.dev # write constraints.txt: the versions in .venv, after a `make test` that passed
	@$(BIN)/python -m release.constraints >constraints.new && mv constraints.new constraints.txt

floors: packages ## fast tests with the lowest versions of dependencies that pyproject.toml allows
	@bash vagrant/floors.sh

platforms:       ## `make demo` and `make test` on fresh Debian 12 and 13, a demo on unstable (root; hours)
	@bash vagrant/platforms.sh

container: packages $(VENV)/.dev ## build the container image without a registry; run labs in it, as root and as a user
	@bash vagrant/packages.sh mmdebstrap podman runc crun uidmap slirp4netns
	@$(BIN)/python -m tests.container

release: packages $(VENV)/.dev  ## VERSION=1.2.3: build, check, try in an empty environment, write the changelog
	@$(BIN)/pip install --quiet --disable-pip-version-check --editable '.[release]'
	@$(BIN)/python -m release $(VERSION)

vm-test: packages $(VENV)/.dev  ## boot a kernel with Open vSwitch and netem, run the tests that need one
	@bash vagrant/packages.sh user-mode-linux gcc libc6-dev
	@bash vagrant/uml/run.sh

vm-many: packages $(VENV)/.dev  ## by root: a lab on two virtual machines with kernels of their own (3 minutes)
	@bash vagrant/packages.sh user-mode-linux gcc libc6-dev
	@DCNLAB_REQUIRE_LABS=1 $(BIN)/pytest -q -p no:cacheprovider -m vm tests/vms

vm-full:         ## run the Vagrantfile, emulated if necessary; writes docs/vm.md (10 minutes or more)
	@bash vagrant/packages.sh vagrant vagrant-libvirt libvirt-daemon-system libvirt-clients dnsmasq-base \
	  qemu-system-x86 qemu-utils mmdebstrap slirp4netns rsync procps
	@bash vagrant/full/run.sh
