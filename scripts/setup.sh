#!/bin/sh
# Makes a virtual environment and installs this checkout into it.
#
#   scripts/setup.sh VENV [EXTRA]     for example: scripts/setup.sh .venv duckdb
#
# CMAKE_ARGS may hold options for the build of the kernels, such as -DLANCE_SQL_SANITIZE=ON.
# PYTHON may name the interpreter; without it, the first of python3, python3.13, ... that is new enough is taken.
# What is missing on the machine is said in one line, before anything is downloaded.
set -eu

venv=$1
extra=${2:+[$2]}
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

fail() {
    echo "lance-sql: $*" >&2
    exit 1
}

find_python() {
    for candidate in ${PYTHON:-python3 python3.14 python3.13 python3.12 python3.11}; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$candidate"
            return
        fi
    done
}

find_compiler() {
    # CXX may hold a command with arguments.
    for candidate in ${CXX:+"${CXX%% *}"} c++ g++ clang++; do
        command -v "$candidate" && return
    done
    return 1
}

python=$(find_python)
if [ -z "$python" ]; then
    fail "needs Python 3.11 or later${PYTHON:+, which '$PYTHON' is not}: install it with 'apt-get install python3'," \
        "or name one with PYTHON=..."
fi
find_compiler >/dev/null || fail "needs a C++20 compiler: install one with 'apt-get install g++'"
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    fail "needs the venv module of $python: install it with 'apt-get install python3-venv'"
"$python" -c 'import os, sys, sysconfig
sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
    fail "needs the C headers of $python: install them with 'apt-get install python3-dev'"

if ! "$venv/bin/python" -c '' 2>/dev/null; then
    echo "lance-sql: making $venv with $("$python" --version)"
    "$python" -m venv --clear "$venv"
fi
echo "lance-sql: installing .$extra into $venv; the first time this takes a minute or two"
# Editable: edits of Python code count at once. The kernels are built here, in a folder of this environment.
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    --config-settings=build-dir="$venv/build" --editable ".$extra"
