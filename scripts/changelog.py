"""Collects the fragments of changelog.d in CHANGELOG.md.

python3 scripts/changelog.py            prints what the next release contains
python3 scripts/changelog.py 0.3.0      moves it under a heading with version and date, and deletes the fragments
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

KINDS = ("breaking", "added", "changed", "fixed")
ROOT = Path(__file__).resolve().parents[1]

_UNRELEASED = re.compile(r"^## Unreleased[^\n]*\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
_RELEASE = re.compile(r"^## ", re.MULTILINE)
_KIND = re.compile(r"^### (.*)\n", re.MULTILINE)
_ENTRY = re.compile(r"^- ", re.MULTILINE)
_NAME = re.compile(rf".+\.({'|'.join(KINDS)})\.md")


class ChangelogError(Exception):
    """The changelog or a fragment does not have the expected form."""


def main(arguments: Sequence[str]) -> int:
    """Returns the exit code: 1 for an error, which goes to stderr, 2 for wrong usage."""
    if len(arguments) > 1 or any(argument.startswith("-") for argument in arguments):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        if arguments:
            release(ROOT, arguments[0])
        else:
            print(unreleased(ROOT), end="")
    except ChangelogError as error:
        print(f"lance-sql: {error}", file=sys.stderr)
        return 1
    return 0


def release(root: Path, version: str) -> None:
    """Turns `## Unreleased` and the fragments into the section of a version. The fragments are deleted.

    raises: ChangelogError where there is no entry; nothing is changed then
    """
    body = unreleased(root)
    count = len(_ENTRY.findall(body))
    if not count:
        raise ChangelogError("nothing to release: add a fragment to changelog.d, see changelog.d/README.md")
    changelog = root / "CHANGELOG.md"
    before, _, after = _split(changelog.read_text(encoding="utf-8"))
    heading = f"## {version}, {datetime.now(UTC):%Y-%m-%d}"
    changelog.write_text(f"{before}{heading}\n\n{body}" + (f"\n{after}" if after else ""), encoding="utf-8")
    for path in _fragments(root):
        path.unlink()
    print(f"lance-sql: {version} has {count} {'entry' if count == 1 else 'entries'} in CHANGELOG.md")


def unreleased(root: Path) -> str:
    """Returns what stands under `## Unreleased`, with the fragments merged in by kind; "" where there is neither."""
    _, body, _ = _split((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    introduction, entries = _by_kind(body)
    for path in _fragments(root):
        entries[_kind(path)].append(_entry(path))
    parts = [introduction] if introduction else []
    parts += [f"### {kind.capitalize()}\n" + "\n".join(lines) for kind, lines in entries.items() if lines]
    return "\n\n".join(parts) + "\n" if parts else ""


def _split(text: str) -> tuple[str, str, str]:
    """Returns the text before the unreleased section, its body, and the text after it."""
    if found := _UNRELEASED.search(text):
        return text[: found.start()], found.group(1), text[found.end() :]
    newest = _RELEASE.search(text)
    start = newest.start() if newest else len(text)
    return text[:start].rstrip() + "\n\n", "", text[start:]


def _by_kind(body: str) -> tuple[str, dict[str, list[str]]]:
    """Returns the text before the first heading, and for each kind the text under its heading."""
    introduction, *rest = _KIND.split(body)
    entries: dict[str, list[str]] = {kind: [] for kind in KINDS}
    for heading, text in zip(rest[::2], rest[1::2], strict=True):
        kind = heading.strip().lower()
        if kind not in entries:
            raise ChangelogError(f"CHANGELOG.md: unknown heading '### {heading}' under Unreleased; use {_kinds()}")
        if text.strip():
            entries[kind].append(text.strip())
    return introduction.strip(), entries


def _fragments(root: Path) -> Iterator[Path]:
    """Yields the fragments in the order of their names."""
    folder = root / "changelog.d"
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.name != "README.md" and not path.name.startswith("."):
            yield path


def _kind(path: Path) -> str:
    found = _NAME.fullmatch(path.name)
    if found is None:
        raise ChangelogError(f"changelog.d/{path.name}: name it <slug>.<kind>.md; the kind is {_kinds()}")
    return found.group(1)


def _entry(path: Path) -> str:
    """Returns the list item of a fragment."""
    lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    if not lines:
        raise ChangelogError(f"changelog.d/{path.name}: the file is empty; describe the change")
    for line in lines:
        if line.startswith(("- ", "* ", "#")):
            raise ChangelogError(f"changelog.d/{path.name}: remove {line[0]!r} from the start of {line!r}")
    return "- " + "\n  ".join(lines)


def _kinds() -> str:
    return f"{', '.join(KINDS[:-1])} or {KINDS[-1]}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
