# What to type: `make demo` to see it work, `make test` to check it. Everything is built inside
# this directory: .venv (Python), build (C++).
VENV := .venv
PYTHON := $(VENV)/bin/python
JOBS ?= $(shell nproc)
# Python tests at the same time: one more than processors, since they often wait.
WORKERS ?= $(shell expr $(JOBS) + 1)
PACKAGES := build-essential clang cmake libbpf-dev libcli11-dev liblz4-dev libtomlplusplus-dev ninja-build \
  nlohmann-json3-dev python3-dev python3-venv
# What the tests are built with: both MPIs, whatever the machine's own is.
BUILD_TEST_PACKAGES := babeltrace2 gfortran libgtest-dev libmpich-dev libopenmpi-dev mpich openmpi-bin otf2-tools
# Third-party programs that tests run, and tools that they compare with; more for the long tests.
TEST_PACKAGES := blktrace chromium chromium-headless-shell e2fsprogs fio git hdf5-tools hpcc iproute2 lammps \
  libhdf5-mpich-dev libhdf5-openmpi-dev libhypre-dev liblttng-ust1 libnetcdf-mpi-dev liburing-dev linux-perf lttng-tools mocassin \
  munge netpipe-mpich2 netpipe-openmpi openssh-client openssh-server openssl perl postgresql python3-mpi4py python3-numpy \
  scalapack-mpi-test slurm-wlm sqlite3 strace systemd util-linux vim
LONG_TEST_PACKAGES := busybox-static cp2k gromacs libns3-dev mariadb-server nwchem-mpich nwchem-openmpi petsc-dev \
  python3-lammps python3-petsc4py qemu-system-x86 quantum-espresso quantum-espresso-data slurmdbd
CXX_FILES = $(shell git ls-files '*.cc' '*.h' 'tracer/*.inc' | grep -v '/generated/')

.PHONY: help setup build build-tests test test-fast test-long demo docs bench lint format sanitize wheel test-wheel clean

help:
	@echo "make setup      install what building needs (Debian packages if root, and $(VENV))"
	@echo "make build      build all but the C++ tests"
	@echo "make build-tests  the same with the C++ tests"
	@echo "make test       build, then all tests but the long ones"
	@echo "make test-fast  build, then the tests that need no root rights and no real MPI runs"
	@echo "make test-long  all tests"
	@echo "make demo       predict a real program on two machines; writes demo/report.html"
	@echo "make docs       build the documentation site; writes build/site/index.html"
	@echo "make bench      measure the simulator's speed; prints ratios"
	@echo "make lint       check style, types and formatting"
	@echo "make format     format the sources"
	@echo "make sanitize   C++ tests with the address and undefined-behaviour sanitizers"
	@echo "make wheel      build dist/*.whl in a fresh Debian 12 (as root, with debootstrap)"
	@echo "make test-wheel  build it, and try it in fresh roots of Debian 12 and 13 without a compiler"
	@echo "make clean      remove what was built"

setup: $(VENV)/.ready

$(VENV)/.ready-to-build: pyproject.toml tools/setup.sh
	@bash tools/setup.sh $(VENV) build $(PACKAGES)
	@touch $@

$(VENV)/.ready: $(VENV)/.ready-to-build
	@bash tools/setup.sh $(VENV) all
	@touch $@

$(VENV)/.ready-to-build-tests: $(VENV)/.ready-to-build Makefile
	@bash tools/setup.sh $(VENV) mpi $(BUILD_TEST_PACKAGES)
	@touch $@

# Debian's packages come one after another, because apt does not wait for itself.
$(VENV)/.ready-to-test: $(VENV)/.ready-to-build-tests
	@bash tools/install_packages.sh $(TEST_PACKAGES) || echo "tests skip what is not there" >&2
	@touch $@

$(VENV)/.ready-to-test-long: $(VENV)/.ready-to-test
	@bash tools/install_packages.sh $(LONG_TEST_PACKAGES) || echo "tests skip what is not there" >&2
	@touch $@

INSTALL = CMAKE_BUILD_PARALLEL_LEVEL=$(JOBS) $(PYTHON) -m pip install --quiet --no-build-isolation \
  --no-deps --disable-pip-version-check --editable . --config-settings=build-dir=build

# The other packages are installed while the compiler works: pip uses one processor, or waits. Of these
# jobs, only one installs Debian packages: apt does not wait for another one.
MEANWHILE = @+$(MAKE) --no-print-directory --jobs=3
build: $(VENV)/.ready-to-build
	$(MEANWHILE) compile $(VENV)/.ready

build-tests: $(VENV)/.ready-to-build-tests
	$(MEANWHILE) compile-tests workloads $(VENV)/.ready

# Only parts of the targets above.
.PHONY: compile compile-tested compile-tests workloads demo-parts compile-demo
compile: $(VENV)/.ready-to-build
	@$(INSTALL) --config-settings=cmake.define.SESAME_TESTS=OFF
	@rm -f $(ONLY_DEMO)

# What Python tests run; tools/run_tests.py builds the C++ tests.
compile-tested: $(VENV)/.ready-to-build-tests
	@$(INSTALL) --config-settings=cmake.define.SESAME_TESTS=ON
	@rm -f $(ONLY_DEMO)

# The workloads that Python tests run. They need nothing of what is compiled, and fill the time in which
# that leaves a processor idle: while it is configured, and packed. If it fails, make waits for them.
workloads: $(VENV)/.ready-to-build-tests
	@PYTHONPATH=python nice -n 19 $(PYTHON) -m tests.built_workloads $(JOBS)

compile-tests: compile-tested
	@cmake --build build --target sesame_tests --parallel $(JOBS) -- --quiet

test: $(VENV)/.ready-to-build-tests
	$(MEANWHILE) compile-tested workloads $(VENV)/.ready $(VENV)/.ready-to-test
	@$(PYTHON) tools/run_tests.py --jobs $(JOBS) --workers $(WORKERS)

test-fast: $(VENV)/.ready-to-build-tests
	$(MEANWHILE) compile-tested workloads $(VENV)/.ready $(VENV)/.ready-to-test
	@$(PYTHON) tools/run_tests.py --jobs $(JOBS) --workers $(WORKERS) --fast

test-long: $(VENV)/.ready-to-build-tests
	$(MEANWHILE) compile-tested workloads $(VENV)/.ready $(VENV)/.ready-to-test-long
	@$(PYTHON) tools/run_tests.py --jobs $(JOBS) --workers $(WORKERS) --long

# Where nothing is installed, only the parts of the package that the demo needs: the Python module
# and one or two simulators. `make build` adds the others.
ONLY_DEMO := $(VENV)/.only-demo
demo: $(if $(wildcard $(ONLY_DEMO)),demo-parts,$(if $(wildcard $(VENV)/bin/sesame),build,demo-parts))
	@bash tools/demo.sh $(VENV)

demo-parts: $(VENV)/.ready-to-build
	$(MEANWHILE) compile-demo $(VENV)/.ready

compile-demo: $(VENV)/.ready-to-build
	@bash tools/demo.sh $(VENV) --compile >/dev/null
	@parts="_native;$$(cat demo/simulators)"; $(INSTALL) --config-settings=cmake.define.SESAME_TESTS=OFF \
	  --config-settings=build.targets="$$parts" --config-settings=install.components="$$parts"
	@touch $(ONLY_DEMO)

docs: build
	@$(PYTHON) tools/website/build.py

bench: build
	@$(PYTHON) bench/run.py

lint: setup
	$(VENV)/bin/ruff check python tests tools bench
	$(VENV)/bin/ruff format --check python tests tools bench
	$(VENV)/bin/mypy
	$(VENV)/bin/clang-format --dry-run --Werror $(CXX_FILES)

format: setup
	$(VENV)/bin/ruff check --fix python tests tools bench
	$(VENV)/bin/ruff format python tests tools bench
	$(VENV)/bin/clang-format -i $(CXX_FILES)

sanitize: setup $(VENV)/.ready-to-build-tests
	cmake -S . -B build-sanitize -G Ninja -DSESAME_TESTS=ON -DSESAME_BINDINGS=OFF \
	  -DSESAME_SANITIZE=address,undefined -DCMAKE_BUILD_TYPE=Debug
	cmake --build build-sanitize --target all sesame_tests --parallel $(JOBS)
	ctest --test-dir build-sanitize --output-on-failure --parallel $(JOBS)

wheel:
	@bash tools/wheel/build.sh

test-wheel: wheel
	@bash tools/wheel/test.sh bookworm trixie

clean:
	rm -rf build build-sanitize demo .pytest_cache .mypy_cache .ruff_cache
