#!/bin/sh
# Prints what LD_PRELOAD has to hold for kernels that were built with sanitizers; says in one line what is missing.
#
#   scripts/sanitizers.sh            for LANCE_SQL_SANITIZE=ON: addresses and undefined behaviour
#   scripts/sanitizers.sh thread     for LANCE_SQL_SANITIZE=thread
set -eu

target=fuzz
[ "${1:-}" = thread ] && target=races

fail() {
    echo "lance-sql: make $target needs $*" >&2
    exit 1
}

[ "$(uname -s)" = Linux ] || fail "Linux: the sanitized kernels are loaded with LD_PRELOAD"
command -v g++ >/dev/null || fail "g++: install it with 'apt-get install g++'"
if [ "$target" = races ]; then
    first=$(g++ -print-file-name=libtsan.so)
    libraries=$first
else
    first=$(g++ -print-file-name=libasan.so)
    libraries="$first $(g++ -print-file-name=libubsan.so)"
fi
for library in $libraries; do
    # a bare name is returned for what is not there
    [ -e "$library" ] || fail "$(basename "$library"), the sanitizer runtime of g++: install it with" \
        "'apt-get install libgcc-$(g++ -dumpversion | cut -d. -f1)-dev'"
done
# libstdc++ as well: the sanitizers want to see exceptions thrown from the start
echo "$first:$(g++ -print-file-name=libstdc++.so.6)"
