#!/bin/sh
# Makes a release of this checkout: a commit with the version and the changelog, tested wheels, and a tag.
#
#   scripts/release.sh 0.2.0              everything
#   scripts/release.sh 0.2.0 --prepare    only the version and the changelog, not committed
#
# Nothing is published. docs/release.md describes how to publish the result. PYTHON is the interpreter for
# scripts/changelog.py: python3 by default, 3.11 or later.
set -eu

version=${1:?"usage: scripts/release.sh VERSION [--prepare]"}
only=${2:-}
root=$(cd "$(dirname "$0")/.." && pwd)
cd "$root"

fail() {
    echo "lance-sql: $*" >&2
    exit 1
}

echo "$version" | grep -Eqx '[0-9]+\.[0-9]+\.[0-9]+' || fail "a version is three numbers, such as 0.2.0, not '$version'"
before=$(sed -n 's/^version = "\(.*\)"/\1/p' pyproject.toml)
newest=$(printf '%s\n%s\n' "$before" "$version" | sort -V | tail -1)
[ "$version" != "$before" ] && [ "$newest" = "$version" ] || fail "$version does not come after $before"
[ -z "$(git status --porcelain)" ] || fail "there are changes that are not committed: git status"
git rev-parse --verify --quiet "refs/tags/v$version" >/dev/null && fail "there is a tag v$version already"

"${PYTHON:-python3}" scripts/changelog.py "$version" || exit 1
sed -i.old "s/^version = \"$before\"/version = \"$version\"/" pyproject.toml
rm -f pyproject.toml.old
[ "$only" = --prepare ] && exit 0

make test
make wheel
git commit --quiet --all --message "Release $version"
git tag --annotate "v$version" --message "lance-sql $version"
echo "lance-sql: tagged v$version; the wheels are in dist/"
