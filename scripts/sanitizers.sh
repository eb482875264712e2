#!/bin/sh
# Prints what LD_PRELOAD has to hold for kernels that were built with sanitizers; says in one line what is missing.
set -eu

fail() {
    echo "lance-sql: make fuzz needs $*" >&2
    exit 1
}

[ "$(uname -s)" = Linux ] || fail "Linux: the sanitized kernels are loaded with LD_PRELOAD"
command -v g++ >/dev/null || fail "g++: install it with 'apt-get install g++'"
asan=$(g++ -print-file-name=libasan.so)
ubsan=$(g++ -print-file-name=libubsan.so)
for library in "$asan" "$ubsan"; do
    # a bare name is returned for what is not there
    [ -e "$library" ] || fail "$(basename "$library"), the sanitizer runtime of g++: install it with" \
        "'apt-get install libgcc-$(g++ -dumpversion | cut -d. -f1)-dev'"
done
# libstdc++ as well: AddressSanitizer wants to see exceptions thrown from the start
echo "$asan:$(g++ -print-file-name=libstdc++.so.6)"
