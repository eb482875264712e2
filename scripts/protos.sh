#!/bin/sh
# Writes lance_sql/format/proto/*_pb2.py and *_pb2.pyi from protos/*.proto.
#
#   scripts/protos.sh [OUTPUT_DIR]      OUTPUT_DIR receives lance_sql/format/proto/...; default: the root of the checkout
#
# The compiler is one of the 21 line, installed into a throwaway environment: its output runs on protobuf 4.21 to 7,
# while that of later compilers asks for the runtime of its own year.
# It has wheels for CPython 3.7 to 3.11. PROTOC_PYTHON may name a python that has grpcio-tools 1.51.3 already.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
out=$(cd "${1:-$root}" && pwd)
python=${PROTOC_PYTHON:-}
if [ -z "$python" ]; then
    venv=$(mktemp -d)
    trap 'rm -rf "$venv"' EXIT
    "$("$root/scripts/find_python.sh" 3.11 || command -v python3)" -m venv "$venv"
    # 1.51.3 still imports pkg_resources, which later setuptools lack.
    "$venv/bin/pip" install --quiet 'grpcio-tools==1.51.3' 'setuptools<81'
    python=$venv/bin/python
fi

cd "$root"
names=$(cd protos && ls ./*.proto | sed 's|^\./|lance_sql/format/proto/|')
include=$("$python" -c 'import os, grpc_tools; print(os.path.join(os.path.dirname(grpc_tools.__file__), "_proto"))')
# The virtual folder makes the imports between modules those of the package.
# shellcheck disable=SC2086  # a list of words
"$python" -m grpc_tools.protoc -Ilance_sql/format/proto=protos "-I$include" "--python_out=$out" "--pyi_out=$out" $names
