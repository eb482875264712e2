#!/bin/sh
# Makes a release of this checkout: a commit with its version, wheels that were tried, and a tag.
#
#   scripts/release.sh 0.2.0              everything
#   scripts/release.sh 0.2.0 --prepare    the version and the changelog alone, not committed
#
# Nothing is sent anywhere. docs/release.md says what the owner of the package does with the result.
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
entries=$(sed -n '/^## Unreleased/,/^## [0-9]/p' CHANGELOG.md | grep -c '^- ') || true
[ "$entries" -gt 0 ] || fail "CHANGELOG.md says nothing under Unreleased"

sed -i.old "s/^version = \"$before\"/version = \"$version\"/" pyproject.toml
sed -i.old "s/^## Unreleased.*/## $version, $(date -u +%Y-%m-%d)/" CHANGELOG.md
rm -f pyproject.toml.old CHANGELOG.md.old
echo "lance-sql: $version has $entries entries in CHANGELOG.md"
[ "$only" = --prepare ] && exit 0

make test
make wheel
git commit --quiet --all --message "Release $version"
git tag --annotate "v$version" --message "lance-sql $version"
echo "lance-sql: tagged v$version; the wheels are in dist/"
