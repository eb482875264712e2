#!/bin/sh
# Makes a virtual environment and installs this checkout into it, editable, with kernels that are built here.
#
#   scripts/setup.sh VENV [EXTRA]     for example: scripts/setup.sh .venv duckdb
#   scripts/setup.sh --stale VENV     removes the stamps of an environment that was moved or lost its Python
#
# The build tools live in the environment and the build folder is VENV/build, so that nothing is compiled twice.
# CMAKE_ARGS may hold options for the build of the kernels, such as -DLANCE_SQL_SANITIZE=ON.
# PYTHON may name the interpreter; without it, the first of python3, python3.14, ... that is new enough is taken.
# Whatever is missing on the machine is reported in one line before anything is downloaded.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)

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

version_of() {
    "$1" -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null
}

# Prints why an environment has to be made again; nothing for one that works.
stale() {
    [ -d "$1" ] || { echo "there is none"; return; }
    [ -f "$1/location" ] || { echo "it is not complete"; return; }
    made_at=$(cat "$1/location")
    [ "$made_at" = "$(cd "$1" && pwd)" ] || { echo "this checkout was moved from $(dirname "$made_at")"; return; }
    found=$(version_of "$1/bin/python") || { echo "its Python is gone"; return; }
    [ -d "$1/lib/python$found" ] || echo "its Python is now $found"
}

if [ "$1" = --stale ]; then
    if [ -d "$2" ] && [ -n "$(stale "$2")" ]; then rm -f "$2"/*.stamp "$2"/*/stamp; fi
    exit
fi

venv=$1
extra=${2:-}
cd "$root"
mkdir -p "$(dirname "$venv")"

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

reason=$(stale "$venv")
if [ -n "$reason" ]; then
    echo "lance-sql: making $venv with $("$python" --version)$([ -d "$venv" ] && echo ": $reason")"
    "$python" -m venv --clear "$venv"
    (cd "$venv" && pwd) >"$venv/location"
elif [ -n "${PYTHON:-}" ] && [ "$(version_of "$python")" != "$(version_of "$venv/bin/python")" ]; then
    fail "$venv has Python $(version_of "$venv/bin/python"), not that of '$PYTHON': run 'make clean', or name another" \
        "folder with VENV=..."
fi

log=$venv/setup.log
# The scripts of the environment first: ninja and cmake are among them.
PATH=$(cd "$venv" && pwd)/bin:$PATH
export PATH

# Runs pip and shows its progress: what it compiles, by number; all it prints goes to the log.
pip_install() {
    status=0
    { PYTHONUNBUFFERED=1 python -m pip install --verbose --disable-pip-version-check --retries 2 --timeout 20 "$@" 2>&1 ||
        echo "pip failed"; } |
        awk -v log_file="$log" -v terminal="$([ -t 1 ] && echo 1 || echo 0)" '
            { print >log_file }
            /^ *\[[1-9][0-9]*\/[0-9]+\]/ {
                match($0, /\[[0-9]+\/[0-9]+\]/)
                count = substr($0, RSTART + 1, RLENGTH - 2)
                split(count, of, "/")
                if (terminal) { printf "\r  %s kernels built", count; shown = 1; fflush() }
                else if (of[1] % 20 == 0 || of[1] == of[2]) { print "  " count " kernels built"; fflush() }
            }
            /^ *Downloading .*\([0-9.]+ [kMG]B\)/ && terminal { printf "\r\033[K%.100s", $0; shown = 1; fflush() }
            END { if (shown) printf "\r\033[K"; exit $0 == "pip failed" }' || status=$?
    [ "$status" = 0 ] && return
    if grep -Eq 'NewConnectionError|NameResolution|Max retries exceeded|No matching distribution found' "$log"; then
        fail "the package index cannot be reached, or lacks a library (log: $log): run the same command again with a" \
            "network, or with PIP_INDEX_URL or PIP_FIND_LINKS set"
    fi
    grep -E 'error|Error|FAILED' "$log" | head -20 >&2
    fail "the installation failed; all of its output is in $log"
}

# The tools of pyproject.toml's build-system, and what they run.
needed=$(python - <<'PYTHON'
import shutil, subprocess, sys, re
from importlib import metadata
import tomllib

def is_missing(requirement):
    name, _, version = requirement.partition(">=")
    try:
        have = metadata.version(name)
    except metadata.PackageNotFoundError:
        return True
    number = lambda text: [int(part) for part in re.findall(r"\d+", text)[:2]]
    return number(have) < number(version)

wanted = tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"] + ["ninja>=1.11"]
cmake = shutil.which("cmake")
found = cmake and re.search(r"(\d+)\.(\d+)", subprocess.run([cmake, "--version"], capture_output=True, text=True).stdout)
if not found or (int(found[1]), int(found[2])) < (3, 20):
    wanted.append("cmake>=3.20")
print(" ".join(requirement for requirement in wanted if is_missing(requirement)))
PYTHON
)
if [ -n "$needed" ]; then
    echo "lance-sql: installing build tools into $venv: $needed"
    # shellcheck disable=SC2086  # a list of words
    pip_install $needed
fi

build=$(cd "$venv" && pwd)/build
if [ ! -f "$venv/installed.stamp" ] || [ ! -f "$build/build.ninja" ] || [ -n "$(find pyproject.toml CMakeLists.txt -newer "$venv/installed.stamp")" ]; then
    echo "lance-sql: building the kernels and installing this checkout into $venv"
    pip_install --no-build-isolation --no-deps --config-settings=build-dir="$build" --editable .
    touch "$venv/installed.stamp"
else
    NINJA_STATUS='  %f/%t kernels built: ' cmake --build "$build"
    cmake --install "$build" --prefix "$(python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')" >"$log" ||
        fail "the kernels cannot be installed; all output is in $log"
fi
# Where clangd looks for it.
mkdir -p build && ln -sf "$build/compile_commands.json" build/compile_commands.json

extras=lance-sql${extra:+[$extra]}
if ! grep -qxF "$extras" "$venv/libraries" 2>/dev/null || [ pyproject.toml -nt "$venv/libraries" ]; then
    echo "lance-sql: installing the libraries of $extras into $venv"
    # The installed checkout is what this name means: nothing else of that name is looked for.
    pip_install "$extras"
    [ pyproject.toml -nt "$venv/libraries" ] && rm -f "$venv/libraries"
    echo "$extras" >>"$venv/libraries"
fi
