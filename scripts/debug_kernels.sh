#!/bin/sh
# Builds kernels for a debugger and installs them into an environment in place of the fast ones: -Og, with symbols, with the
# assertions of the C++ library (each index of a vector, span or array), and without precompiled headers, so that a file
# that lacks an include fails.
#
#   scripts/debug_kernels.sh VENV
set -eu

venv=$1
cmake -S . -B "$venv/debug" -G Ninja -DCMAKE_BUILD_TYPE=Debug \
    -DCMAKE_CXX_FLAGS_DEBUG="-Og -g -D_GLIBCXX_ASSERTIONS" -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON \
    -DPython_EXECUTABLE="$(command -v python)" \
    -DSKBUILD_PROJECT_VERSION="$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)" >"$venv/debug.log"
NINJA_STATUS='  %f/%t kernels built: ' cmake --build "$venv/debug"
cmake --install "$venv/debug" --prefix "$(python -c 'import sysconfig; print(sysconfig.get_path("platlib"))')" \
    >>"$venv/debug.log"
echo "lance-sql: $venv has kernels for a debugger: gdb --args $venv/bin/python ..."
