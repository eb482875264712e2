#!/bin/sh
# Prints the path of an interpreter, and fails where it is not installed.
#
#   scripts/find_python.sh VERSION        for example: scripts/find_python.sh 3.13
set -eu

# the second as pyenv keeps them, whose own command runs only versions that were chosen
for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/"python$1"; do
    if "$candidate" -c 'import venv' 2>/dev/null; then
        command -v "$candidate"
        exit
    fi
done
exit 1
