#!/bin/sh
# Tries wheels in bare Debian systems without compiler and network, and prints how long the installation takes.
#
#   scripts/try_wheel_in_debian.sh DIST FOLDER [PROCESSOR ...]   for example: scripts/try_wheel_in_debian.sh dist /tmp/debian
#
# Debian 12 has Python 3.11, and Debian 13 has 3.13, which takes the wheel for 3.12 and later. Processors are x86_64 and
# aarch64 by default. FOLDER keeps the systems, about 250 MB each. Needs root and debootstrap; for a processor that this
# machine is not, qemu-user-static as well, which then takes many times as long.
set -eu

dist=$1
folder=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$folder"
[ -d "$folder/pip" ] || python3 -m venv "$folder/pip"

# Runs a command in the system. No shell in there: under qemu, that of Debian 13 waits forever for a process that ended.
run() {
    env -i PATH="$PATH" unshare --net --mount-proc="$system/proc" chroot "$system" "$@"
}

try() {
    suite=$1
    version=$2
    processor=$3
    wheel=$(echo "$dist"/lance_sql-*-"$4"-*_"$processor".whl)
    [ -e "$wheel" ] || { echo "lance-sql: no wheel for Python $version on $processor in $dist: make wheel" >&2; exit 1; }
    system=$folder/$suite-$processor
    if [ ! -e "$system.made" ]; then
        arch=$(echo "$processor" | sed 's/x86_64/amd64/; s/aarch64/arm64/')
        rm -rf "$system"
        debootstrap --arch="$arch" --variant=minbase --include=python3,python3-venv "$suite" "$system" >"$system.log" ||
            { tail -5 "$system.log" >&2; exit 1; }
        touch "$system.made"
    fi
    rm -rf "$system/try"
    mkdir -p "$system/try/wheels"
    cp "$here/try_wheel.py" "$system/try"
    # shellcheck disable=SC2046  # lists of words
    "$folder/pip/bin/pip" download --quiet --disable-pip-version-check --dest "$system/try/wheels" \
        --only-binary :all: --python-version "$version" --abi "cp$(echo "$version" | tr -d .)" --abi abi3 --abi none \
        --platform "manylinux2014_$processor" $(seq -f "--platform manylinux_2_%g_$processor" 17 36) "$wheel[duckdb]"
    echo "$suite, $processor:"
    run python3 -m venv /try/venv
    run python3 -c '
import resource, subprocess, time
start = time.monotonic()
options = ["--quiet", "--disable-pip-version-check", "--no-index", "--find-links", "/try/wheels"]
subprocess.run(["/try/venv/bin/pip", "install", *options, "lance-sql[duckdb]"], check=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
processor = used.ru_utime + used.ru_stime
print(f"installed in {time.monotonic() - start:.0f} s, {processor:.0f} s of processor time")'
    run /try/venv/bin/python /try/try_wheel.py
}

for processor in ${@:-x86_64 aarch64}; do
    try bookworm 3.11 "$processor" cp311
    # processes of Debian 13 hang in qemu 7.2
    if [ "$processor" = "$(uname -m)" ]; then try trixie 3.13 "$processor" cp312; fi
done
