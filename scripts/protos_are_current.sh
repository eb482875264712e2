#!/bin/sh
# Fails when lance_sql/format/proto is not what scripts/protos.sh makes of protos/.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
made=$(mktemp -d)
trap 'rm -rf "$made"' EXIT
echo "lance-sql: generated code"
"$root/scripts/protos.sh" "$made"
for file in "$made"/lance_sql/format/proto/*; do
    if ! cmp -s "$file" "$root/lance_sql/format/proto/$(basename "$file")"; then
        echo "lance_sql/format/proto/$(basename "$file") is not what protos/ says: run 'make protos'" >&2
        exit 1
    fi
done
