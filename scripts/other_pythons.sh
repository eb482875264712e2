#!/bin/sh
# Prints the interpreters that the tests run with beside the one of a virtual environment, one a line: 3.13=/path/python3.13
#
#   scripts/other_pythons.sh VENV
#
# One that is not installed is said in a line on stderr.
set -eu

own=$("$1/bin/python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')

find_python() {
    # the second as pyenv keeps them, whose own command runs only versions that were chosen
    for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/"python$1"; do
        if "$candidate" -c 'import venv' 2>/dev/null; then
            command -v "$candidate"
            return
        fi
    done
    return 1
}

for version in 3.11 3.13; do
    [ "$version" != "$own" ] || continue
    if python=$(find_python "$version"); then
        echo "$version=$python"
    else
        echo "lance-sql: no tests with Python $version, which is not installed" >&2
    fi
done
