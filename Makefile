# Each target sets up what it needs. Variables:
#   PYTHON        the interpreter to make .venv with
#   VENV          the folder of the environment, .venv
#   T, ARGS       the tests to run, and options of pytest: make test T=tests/reads/scan ARGS="-x --ff"
#   PROCESSES     how many processes run the tests
#   FUZZ_SECONDS, RACES_SECONDS     how long `make fuzz` and `make races` take

VENV ?= .venv
# Not `python -m pytest`: that would put this folder before the installed package.
PYTEST := $(VENV)/bin/pytest
DUCKDB15 := $(VENV)/duckdb15
SAIL := $(VENV)/sail
TOOLS := $(VENV)/tools
OLDEST := $(VENV)/oldest
SANITIZED := $(VENV)/sanitized
RACES := $(VENV)/races
# One more than there are processors, since tests wait, too; and they take memory: no more than four.
PROCESSES ?= $(shell count=$$(getconf _NPROCESSORS_ONLN); echo $$((count < 4 ? count + 1 : 4)))
PARALLEL = -n $(PROCESSES) --dist loadfile
T ?=
ARGS ?=
FUZZ_SECONDS ?= 300
RACES_SECONDS ?= 60
BUILD_FILES := pyproject.toml CMakeLists.txt scripts/setup.sh $(wildcard kernels/*/*) $(wildcard providers/*/*.cpp)
CPP_FILES := $(wildcard kernels/*/*.cpp kernels/*/*.h kernels/*/*.inc providers/*/*.cpp)
SHARED_TESTS := tests/contracts tests/properties/test_filters_in_streams.py tests/providers tests/cli tests/one_sql tests/test_queries.py tests/test_wrong_inputs.py tests/test_readme.py tests/test_docs.py
OLDEST_TESTS := tests/one_sql tests/format/schema tests/format/casts tests/properties/test_filters_in_streams.py tests/providers/test_spark_one_sql.py
# Spark's workers take minutes, and are the same in every Python but for what tests/providers/test_spark.py tests.
ONCE := --ignore-glob 'tests/providers/test_spark_*' --deselect \
	tests/testing/test_spark_pipeline.py::test_the_job_writes_what_its_tests_expect

# An environment that was moved, or whose Python is gone, is made again.
$(shell scripts/setup.sh --stale $(VENV))

.DEFAULT_GOAL := help
.PHONY: help demo quick affected test format lint types generated debug engines pythons slow fuzz races check bench pictures site wheel protos clean

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "  make %-9s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: $(VENV)/duckdb.stamp ## write a table step by step, and query what each step changed
	@$(VENV)/bin/python examples/demo.py

quick: $(VENV)/test.stamp ## run a selection of the tests (times: docs/testing.md): no Java, no servers, few parameters and examples
	@$(PYTEST) -q $(PARALLEL) --quick $(ARGS) $(T)

affected: $(VENV)/test.stamp ## run the tests of the modules that differ from main and of those that import them
	@tests=$$($(VENV)/bin/python scripts/affected_tests.py) && \
		if [ -n "$$tests" ]; then $(PYTEST) -q $(PARALLEL) --quick $(ARGS) $$tests; fi

test: $(VENV)/test.stamp ## run the tests once
	@echo "lance-sql: all tests but the slow ones"
	@$(PYTEST) -q $(PARALLEL) $(ARGS) $(T)

format: $(VENV)/dev.stamp ## format the Python and the C++
	@$(VENV)/bin/ruff format --quiet .
	@$(VENV)/bin/ruff check --quiet --fix .
	@$(VENV)/bin/clang-format -i $(CPP_FILES)

lint: $(VENV)/dev.stamp ## check the format of the Python and the C++, and lint
	@echo "lance-sql: format and lint"
	@$(VENV)/bin/ruff format --check --quiet --diff . || { echo "run 'make format'" >&2; exit 1; }
	@$(VENV)/bin/ruff check .
	@$(VENV)/bin/clang-format --dry-run --Werror $(CPP_FILES) || { echo "run 'make format'" >&2; exit 1; }

types: $(VENV)/dev.stamp ## check the types
	@echo "lance-sql: types"
	@$(VENV)/bin/mypy

generated: ## check that lance_sql/format/proto is generated from protos/
	@scripts/protos_are_current.sh

debug: $(VENV)/test.stamp ## run the tests of the kernels, or T, with kernels that check each index; the next target restores the fast ones
	@PATH="$(abspath $(VENV))/bin:$$PATH" scripts/debug_kernels.sh $(VENV)
	@rm -f $(VENV)/*.stamp
	@$(PYTEST) -q $(ARGS) $(or $(T),tests/kernels)

engines: $(VENV)/test.stamp $(DUCKDB15)/stamp $(OLDEST)/stamp $(SAIL)/stamp ## run the tests of engines again, with the oldest libraries, with Sail instead of Spark, and with other tools
	@echo "lance-sql: the tests of the providers again, with DuckDB 1.5"
	@PYTHONPATH=$(DUCKDB15) $(PYTEST) -q $(PARALLEL) $(SHARED_TESTS) --ignore-glob 'tests/providers/test_spark*'
	@echo "lance-sql: the tests of statements again, with the oldest pyarrow, sqlglot and PySpark"
	@PYTHONPATH=$(OLDEST) $(PYTEST) -q $(PARALLEL) $(OLDEST_TESTS)
	@echo "lance-sql: the tests of Sail, which is Spark without Java"
	@PYTHONPATH=$(abspath $(SAIL)) $(PYTEST) -q tests/sail
	@echo "lance-sql: dbt and other tools, each in an environment of its own"
	@$(VENV)/bin/python scripts/try_tools.py $(TOOLS)

pythons: $(VENV)/test.stamp ## run the tests with the oldest and the newest supported Python, if installed
	@for found in $$(scripts/other_pythons.sh $(VENV)); do \
		version=$${found%%=*}; \
		$(MAKE) --no-print-directory $(VENV)/python$$version/stamp PYTHON="$${found#*=}" || exit; \
		echo "lance-sql: all tests but most of those of Spark again, with Python $$version"; \
		$(VENV)/python$$version/bin/pytest -q $(PARALLEL) $(ONCE) || exit; \
	done

slow: $(VENV)/test.stamp ## run the slow tests: hundreds of new random tables, large inputs
	@$(PYTEST) -q -m slow --hypothesis-profile random
	@$(PYTEST) -q --hypothesis-profile random tests/kernels tests/format/layouts tests/format/encodings tests/properties

fuzz: $(VENV)/test.stamp $(SANITIZED)/stamp ## damage the input of every decoder for five minutes, also with sanitizers
	@preload=$$(scripts/sanitizers.sh) && \
		FUZZ_PRELOAD="$$preload" $(VENV)/bin/python -m fuzz --seconds $(FUZZ_SECONDS) --sanitized $(SANITIZED)/bin/python

races: $(RACES)/stamp ## read streams with many threads for a minute, with kernels that ThreadSanitizer watches
	@preload=$$(scripts/sanitizers.sh thread) && \
		LD_PRELOAD="$$preload" TSAN_OPTIONS="suppressions=fuzz/races.supp report_mutex_bugs=0" \
		$(RACES)/bin/python -m fuzz.races --seconds $(RACES_SECONDS)

check: ## everything a change must pass: format, lint, types, generated code, tests, with every engine and Python
	@$(MAKE) --no-print-directory lint types generated test engines pythons

bench: $(VENV)/test.stamp ## measure against pylance and Parquet
	@$(VENV)/bin/python -m benchmarks

pictures: $(VENV)/dev.stamp ## take the pictures of pages in docs/pictures; needs Debian's chromium
	@$(VENV)/bin/python scripts/pictures.py

site: $(VENV)/test.stamp ## build the documents as a site, build/site/index.html, and check their links
	@NO_MKDOCS_2_WARNING=1 $(VENV)/bin/mkdocs build --quiet
	@echo "lance-sql: the site is build/site/index.html"

wheel: ## build the wheels for x86-64 and aarch64 into dist/, check them, and try those that run here
	@scripts/wheels.sh $(VENV)/wheels dist

protos: ## generate lance_sql/format/proto from protos/
	@scripts/protos.sh

clean: ## remove the environment and all build results
	rm -rf $(VENV) build dist

# An environment for more serves for less.
$(VENV)/dev.stamp: serves := dev test duckdb
$(VENV)/test.stamp: serves := test duckdb
$(VENV)/duckdb.stamp: serves := duckdb
$(VENV)/%.stamp: $(BUILD_FILES)
	@PYTHON="$(PYTHON)" scripts/setup.sh $(VENV) $*
	@touch $(serves:%=$(VENV)/%.stamp)

# The library alone: pylance is in the other environment.
$(SANITIZED)/stamp: $(BUILD_FILES) scripts/sanitizers.sh
	@scripts/sanitizers.sh >/dev/null
	@PYTHON="$(PYTHON)" CXX=g++ CMAKE_ARGS=-DLANCE_SQL_SANITIZE=ON SKBUILD_INSTALL_STRIP=false scripts/setup.sh $(SANITIZED)
	@touch $@

$(RACES)/stamp: $(BUILD_FILES) scripts/sanitizers.sh
	@scripts/sanitizers.sh thread >/dev/null
	@PYTHON="$(PYTHON)" CXX=g++ CMAKE_ARGS=-DLANCE_SQL_SANITIZE=thread SKBUILD_INSTALL_STRIP=false scripts/setup.sh $(RACES) object-stores
	@touch $@

$(VENV)/python%/stamp: $(BUILD_FILES)
	@PYTHON="$(PYTHON)" scripts/setup.sh $(VENV)/python$* test
	@touch $@

$(DUCKDB15)/stamp: | $(VENV)/test.stamp
	@echo "lance-sql: installing DuckDB 1.5.5 into $(DUCKDB15)"
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --no-deps \
		--target $(DUCKDB15) duckdb==1.5.5
	@touch $@

$(OLDEST)/stamp: | $(VENV)/test.stamp
	@echo "lance-sql: installing pyarrow 24.0.0, sqlglot 30.16.0 and PySpark 4.2.0 into $(OLDEST)"
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --no-deps \
		--target $(OLDEST) pyarrow==24.0.0 sqlglot==30.16.0 pyspark==4.2.0
	@touch $@

# It has a pyspark of its own, which hides the other one.
$(SAIL)/stamp: | $(VENV)/test.stamp
	@echo "lance-sql: installing Sail 0.7.2 into $(SAIL)"
	@$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade --no-deps --target $(SAIL) \
		pysail==0.7.2 pyspark-client==4.2.0 grpcio grpcio-status googleapis-common-protos zstandard
	@touch $@
