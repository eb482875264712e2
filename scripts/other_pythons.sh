#!/bin/sh
# Prints the interpreters that the tests run with beside the one of a virtual environment, one a line: 3.13=/path/python3.13
#
#   scripts/other_pythons.sh VENV
#
# One that is not installed is said in a line on stderr.
set -eu

own=$("$1/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')

for version in 3.11 3.13; do
    [ "$version" != "$own" ] || continue
    if python=$("$(dirname "$0")/find_python.sh" "$version"); then
        echo "$version=$python"
    else
        echo "lance-sql: no tests with Python $version, which is not installed" >&2
    fi
done
