# Everything a person types. `make quickstart` and `make test` do all set-up themselves.
SHELL := /bin/bash
.DEFAULT_GOAL := build
JOBS ?= $(shell nproc)
# Ubuntu and Debian name their clang by version; the fuzzers need the one that setup installed.
CLANG_VERSION := $(lastword $(sort $(patsubst /usr/bin/clang++-%,%,$(wildcard /usr/bin/clang++-[0-9]*))))
FORMAT := .deps/venv/bin/clang-format
SOURCES = $(shell git ls-files --cached --others --exclude-standard 'src/*.h' 'src/*.cpp' 'bench/*.h' 'bench/*.cpp')
FUZZERS := task_yaml_fuzz kernel_file_fuzz launcher_fuzz rules_fuzz diagnostics_fuzz nvcc_log_fuzz wire_fuzz ptx_parser_fuzz engine_fuzz gpu_message_fuzz reference_message_fuzz ncu_fuzz safetensors_fuzz gguf_fuzz tokenizer_fuzz model_config_fuzz verdict_file_fuzz template_fuzz answer_fuzz kernel_constants_fuzz python_text_fuzz program_fuzz calls_fuzz html_report_fuzz configuration_fuzz definition_fuzz package_fuzz http_request_fuzz http_response_fuzz endpoint_fuzz
# Executions of each fuzzer in `make test`; CONTRIBUTING.md has the command for a million.
FUZZ_RUNS ?= 10000
STEP := scripts/step.sh

.PHONY: setup setup-program build program test test-fast test-gpu test-world test-thorough test-kills test-faults test-threads test-threads-short test-asan-all install package python-wheel container-tree container-test quickstart format format-check page-check include-check length-check lint lint-changed clean asan fuzz bench bench-model parity parity-env golden gotchas

setup:
	@scripts/setup.sh

# Without compilers for tests and, where there is no GPU, without what only a GPU needs; GPU=1: with that all the same.
setup-program:
	@scripts/setup.sh program $(if $(GPU),--gpu)

build: setup
	@cmake --preset release -DKW_VECTOR_UNITS=all >build.log 2>&1 || { cat build.log; exit 1; }; mv build.log build/configure.log
	@cmake --build build -j $(JOBS)

test: setup
	@$(STEP) "format check" $(MAKE) --no-print-directory format-check
	@$(STEP) "page check" $(MAKE) --no-print-directory page-check
	@$(STEP) "include check" $(MAKE) --no-print-directory include-check
	@$(STEP) "length check" $(MAKE) --no-print-directory length-check
	@$(STEP) "lint of what changed" $(MAKE) --no-print-directory lint-changed
	@$(STEP) "release build" $(MAKE) --no-print-directory build
	@$(STEP) "unit and integration tests" ctest --test-dir build --output-on-failure --no-tests=error -j $(JOBS)
	@$(STEP) "sanitizer build" $(MAKE) --no-print-directory asan
	@$(STEP) "sanitizer tests" env $(SANITIZER_ENV) ctest --test-dir build-asan --output-on-failure --no-tests=error -L fast -R '^(base|database|config|run_log|tokenizer|weights|arithmetic|counters|task|source|emulate|reward|agent|page|experiment|http|package)\.' -j $(JOBS)
	@$(STEP) "thread sanitizer" $(MAKE) --no-print-directory test-threads-short
	@$(STEP) "fuzzing, up to $(FUZZ_RUNS) executions each" $(MAKE) --no-print-directory fuzz FUZZ_RUNS=$(FUZZ_RUNS) FUZZ_SECONDS=$(or $(FUZZ_SECONDS),6)
	@$(STEP) --summary

test-fast: build
	@ctest --test-dir build --output-on-failure --no-tests=error -L fast -j $(JOBS)

# Clients and tools that people use, at full length: real servers, real browsers, in environments of their own. `make test` has one short
# test of each.
test-world: build
	@ctest --test-dir build --output-on-failure --no-tests=error -L world
	@tests/world/service_api.py --conversations 100
	@scripts/adapters.sh
	@tests/world/judge_services.py
	@scripts/ranks_test.py --program build/kernelwright --sizes 2 --kills 1
	@KERNELWRIGHT="$(CURDIR)/build/kernelwright" scripts/framework_run.sh ray -m pytest -q -p no:cacheprovider \
	  $(CURDIR)/python/tests/frameworks/test_ray.py || [ $$? = 77 ]

# Every kernel of every corpus (bugs, exploits, attacks, honest forms, storms, the suite), all questions of exams, every algorithm both
# ways. `make test` does a fourth to a half of it.
test-thorough: build
	@KW_THOROUGH=1 ctest --test-dir build --output-on-failure --no-tests=error -R '^(source|compile|judge|data|evaluate|rl|pipeline).*slow' -j $(JOBS)

test-gpu:
	@scripts/test_gpu.sh

# Training runs that are killed at 20 + 20 + 5 random points, and runs to which other things happen: bench/results/faults.md. Minutes.
test-kills: build
	@scripts/killed_runs.py

test-faults: build
	@scripts/fault_run.py
	@build/src/learn/rl/rl_test --gtest_filter='FaultRun*'

# The program alone, and what it loads: tests take as long again to build.
PROGRAM := kernelwright_torch $(if $(or $(GPU),$(wildcard /dev/nvidiactl)),kernelwright_model_gpu) kernelwright
VECTOR_UNITS ?= native
program: setup-program
	@cmake --preset release $(if $(wildcard build/CMakeCache.txt),,-DKW_VECTOR_UNITS=$(VECTOR_UNITS)) >build.log 2>&1 || { cat build.log; exit 1; }; mv build.log build/configure.log
	@cmake --build build -j $(JOBS) --target $(PROGRAM)

# The program on the PATH, with its data files: make install PREFIX=~/.local
PREFIX ?= /usr/local
install: program
	@cmake --install build --prefix "$(PREFIX)" --strip >build/install.log || { cat build/install.log; exit 1; }
	@echo "installed: $(PREFIX)/bin/kernelwright"

# A tarball and a Debian package, in build/.
package: setup-program
	@cmake --preset release -DKW_VECTOR_UNITS=all >build.log 2>&1 || { cat build.log; exit 1; }; mv build.log build/configure.log
	@cmake --build build -j $(JOBS) --target $(PROGRAM)
	@cd build && cpack >package.log || { cat package.log; exit 1; }; ls -sh kernelwright-*.tar.gz kernelwright-*.deb

# The Python package as a wheel that carries the program.
python-wheel: program
	@scripts/python_wheel.sh build build/python

# What images are made of (docs/container.md): build-container/cpu, or build-container/cuda with TARGET=cuda.
TARGET ?= cpu
container-tree:
	@$(MAKE) --no-print-directory program VECTOR_UNITS=all $(if $(filter cuda,$(TARGET)),GPU=1)
	@scripts/container_tree.py $(TARGET) build-container/$(TARGET)

# Builds the image from it and sees it judge a kernel, without rights and with a read-only root; needs Docker.
container-test: container-tree
	@scripts/container_test.sh $(TARGET)

quickstart: program
	@scripts/quickstart.sh

format: setup
	@$(FORMAT) -i $(SOURCES)

format-check: setup
	@$(FORMAT) --dry-run --Werror $(SOURCES) && echo "$(words $(SOURCES)) files are formatted"

# Lines and links of the pages that people read; a test (pages.fast) also compares the command lines in them with --help.
page-check:
	@scripts/check_pages.py
	@scripts/check_pages.py --self-test

# Modules include only what their USES lists allow, groups only lower ones; planted mistakes must be found.
include-check:
	@scripts/check_includes.py
	@scripts/check_includes.py --self-test

# No function over 100 lines, but for a short list with reasons; planted ones must be found. No more repeated lines than there are now.
length-check:
	@scripts/long_functions.py
	@scripts/long_functions.py --self-test
	@scripts/repeated_lines.py --show 0 --most 10

# clang-tidy over everything, or over CHANGED="src/base src/model/rollout/sampler.cpp"; what was clean and is as it was is not looked at
# again. `lint-changed` takes what changed since the commit BASE and leaves out, by name, what is more than LINT_MOST files.
CHANGED ?=
BASE ?= auto
LINT_MOST ?= 12
CLANG_TIDY := $(wildcard /usr/bin/clang-tidy-$(CLANG_VERSION))
LINT = KW_CLANG=clang-$(CLANG_VERSION) KW_CLANGXX=clang++-$(CLANG_VERSION) cmake --preset lint >build-lint.log 2>&1 || { cat build-lint.log; exit 1; }; mv build-lint.log build-lint/configure.log; scripts/lint.py --tidy $(CLANG_TIDY) --jobs $(JOBS)
lint: setup
	@$(LINT) $(CHANGED)

lint-changed: setup
	@$(if $(CLANG_TIDY),$(LINT) --against $(BASE) --most $(LINT_MOST),echo "no clang-tidy-$(CLANG_VERSION) here: nothing is linted")

# What reads hostile input, the emulator and the vector kernels. The rest would double the time and has its own limits around it.
SANITIZED := base_test database_test run_log_test tokenizer_test counters_test task_test source_test emulate_test weights_test arithmetic_test reward_test agent_test page_test config_test experiment_test http_test package_test
SANITIZER_ENV := ASAN_OPTIONS=detect_container_overflow=0:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1
asan: setup
	@KW_CLANG=clang-$(CLANG_VERSION) KW_CLANGXX=clang++-$(CLANG_VERSION) cmake --preset asan >build-asan.log 2>&1 || { cat build-asan.log; exit 1; }; mv build-asan.log build-asan/configure.log
	@cmake --build build-asan -j $(JOBS) --target $(SANITIZED) $(FUZZERS)

# The fast tests of what judges, samples and learns, too: a long build. Their sandboxed workers are the release build's.
SANITIZED_ALL := rollout_test judge_test data_test episode_test sft_test rl_test
test-asan-all: build asan
	@cmake --build build-asan -j $(JOBS) --target $(SANITIZED_ALL)
	@env $(SANITIZER_ENV) ctest --test-dir build-asan --output-on-failure --no-tests=error -L fast -R '^($(subst $(empty) ,|,$(SANITIZED_ALL:_test=)))\.' -j $(JOBS)

# Where several threads work on the same things. All of it takes half an hour to build, so `make test` has what depends on little.
TSAN = KW_CLANG=clang-$(CLANG_VERSION) KW_CLANGXX=clang++-$(CLANG_VERSION) cmake --preset tsan >build-tsan.log 2>&1 || { cat build-tsan.log; exit 1; }; mv build-tsan.log build-tsan/configure.log; JOBS=$(JOBS) scripts/test_threads.sh
test-threads: build
	@$(TSAN) all

test-threads-short: setup
	@$(TSAN) short

fuzz: asan
	@FUZZ_RUNS=$(FUZZ_RUNS) FUZZ_SECONDS=$(or $(FUZZ_SECONDS),0) $(SANITIZER_ENV) scripts/fuzz.sh $(FUZZERS)

bench: build
	@build/src/kernel/compile/compile_bench
	@build/src/kernel/emulate/emulate_bench
	@build/src/model/arithmetic/arithmetic_bench
	@build/src/kernel/judge/judge_bench
	@build/src/learn/data/data_bench
	@build/src/agents/agent/growth_bench

# Ours and Hugging Face's speed on this machine's CPU, in turns.
bench-model: build parity-env
	@build/kernelwright model fetch smollm2-135m >/dev/null
	@$$(scripts/parity_env.sh)/venv/bin/python scripts/huggingface_cpu_baseline.py --program build/kernelwright 2> >(grep -v -e kernels -e flop_counter -e de-quantizing >&2)

# transformers, peft, bitsandbytes and others, pinned, outside the checkout.
parity-env: setup
	@scripts/parity_env.sh >/dev/null

# Every comparison with them; writes bench/results/parity.md. Minutes.
parity: build parity-env
	@scripts/parity.sh

# The golden files of tests/model, again.
golden: parity-env
	@$$(scripts/parity_env.sh)/venv/bin/python scripts/model_golden.py tests/model
	@$$(scripts/parity_env.sh)/venv/bin/python scripts/muon_golden.py tests/model/muon.safetensors

# Breaks the program on purpose, one known mistake of training after the other: does a test notice? Writes docs/gotchas.md.
gotchas: build
	@scripts/gotchas.py

clean:
	@rm -rf build build-asan build-tsan build-lint build-dev build-debug
