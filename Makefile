# Dure: everything a person types. `make help` lists it.
SHELL := /bin/bash
JOBS ?= $(shell nproc)
BUILD ?= build
BIN := $(BUILD)/bin
PROGRAMS := dure dure-rank golden_models golden_text planner_accuracy

.PHONY: help setup build run serve test lint format fuzz test-sanitize test-faults bench clean

help:
	@echo "make run            install, build, and take the tour: the demo model on 4 ranks"
	@echo "make test           install, build, lint, and every test"
	@echo "make serve          leave the demo model running on port 8000"
	@echo "make build          the programs, under $(BIN)"
	@echo "make lint           format, include table, clang-tidy"
	@echo "make format         rewrite the sources in the house's format"
	@echo "make test-sanitize  the unit tests and ranks under AddressSanitizer and UBSan"
	@echo "make test-faults    ranks killed every 10 s for 3 minutes under full load"
	@echo "make fuzz           every fuzzer for 60 seconds (FUZZ_SECONDS=n)"
	@echo "make bench          kernel and collective measurements"

setup:
	@tools/install_packages.sh

$(BUILD)/build.ninja: CMakeLists.txt cmake/dure.cmake
	@cmake -S . -B $(BUILD) -G Ninja -DCMAKE_BUILD_TYPE=Release >/dev/null

build: setup $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j$(JOBS) --target $(PROGRAMS)

run: build
	@python3 tools/tour.py --bin $(BIN)

serve: build
	@python3 tools/tour.py --bin $(BIN) --leave-running --port 8000

test: setup $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j$(JOBS)
	@tools/lint.sh $(BUILD)
	@tools/test_python.sh $(BUILD)
	@ctest --test-dir $(BUILD) -j$(JOBS) --output-on-failure --no-tests=error

lint: setup $(BUILD)/build.ninja
	@tools/lint.sh $(BUILD)

format:
	@git ls-files '*.h' '*.cc' | xargs clang-format-14 -i

SANITIZE := $(BUILD)/sanitize
test-sanitize: setup
	@CC=clang-14 CXX=clang++-14 cmake -S . -B $(SANITIZE) -G Ninja -DDURE_SANITIZE=ON >/dev/null
	@cmake --build $(SANITIZE) -j$(JOBS) --target unit_tests
	@ctest --test-dir $(SANITIZE) -L 'unit|comm' --output-on-failure --no-tests=error

FUZZ_SECONDS ?= 60
fuzz: setup
	@tools/fuzz.sh $(BUILD)/fuzz $(FUZZ_SECONDS)

test-faults: build
	@tools/test_python.sh $(BUILD)
	@DURE_BIN=$(abspath $(BIN)) DURE_SURVIVAL_STREAMS=64 DURE_SURVIVAL_DEATHS=18 DURE_SURVIVAL_BETWEEN=10 \
	  DURE_PREFIX_GROUPS=150 $(BUILD)/venv/bin/python -m pytest -q -s -rs -p no:cacheprovider \
	  tests/survival_test.py

bench: setup $(BUILD)/build.ninja
	@cmake --build $(BUILD) -j$(JOBS) --target benches
	@bench/run.sh $(BIN)

clean:
	@rm -rf $(BUILD)
