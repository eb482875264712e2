"""The scripts that make a release and its changelog, on a copy of the files that they change."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CHANGELOG = """# Changelog

## Unreleased

### Added
- One thing.
- Another,
  in two lines.

### Fixed
- A fault.

## 0.1.0

The first release.
"""
MERGED = """# Changelog

## 0.2.0, DAY

### Breaking
- A name.

### Added
- One thing.
- Another,
  in two lines.
- A third,
  also in two lines.
- Ünïcode.

### Changed
- A default.

### Fixed
- A fault.

## 0.1.0

The first release.
"""
FRAGMENTS = {
    "a-default.changed.md": "A default.\n",
    "b.added.md": "A third,\nalso in two lines.\n",
    "c.added.md": "\n  Ünïcode.",
    "with.dots.breaking.md": "A name.\n",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    for name in ("release.sh", "changelog.py"):
        (tmp_path / "scripts" / name).write_text((ROOT / "scripts" / name).read_text())
    (tmp_path / "changelog.d").mkdir()
    (tmp_path / "changelog.d" / "README.md").write_text("How to add a fragment\n")
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "lance-sql"\nversion = "0.1.0"\n')
    (tmp_path / "CHANGELOG.md").write_text(CHANGELOG)
    (tmp_path / "Makefile").write_text("test:\n\t@echo tested\nwheel:\n\t@echo wheels\n")
    for command in (["init"], ["add", "-A"], ["commit", "-m", "Begin"]):
        git(tmp_path, *command)
    return tmp_path


def git(checkout: Path, *arguments: str) -> str:
    names = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"]
    return subprocess.run(["git", *names, *arguments], cwd=checkout, check=True, capture_output=True, text=True).stdout


def release(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    names = {f"GIT_{who}_{what}": "a@example.org" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
    command = ["sh", "scripts/release.sh", *arguments]
    environment = {"PATH": "/usr/bin:/bin", "PYTHON": sys.executable, **names}
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, env=environment)


def changelog(checkout: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(checkout / "scripts" / "changelog.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True)


def add_fragments(checkout: Path, fragments: dict[str, str]) -> None:
    for name, text in fragments.items():
        (checkout / "changelog.d" / name).write_text(text, encoding="utf-8")
    git(checkout, "add", "-A")
    git(checkout, "commit", "-m", "Add fragments")


def without_day(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d", "DAY", text)


def test_it_ends_with_a_commit_and_a_tag(checkout: Path) -> None:
    done = release(checkout, "0.2.0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:3] == ["lance-sql: 0.2.0 has 3 entries in CHANGELOG.md", "tested", "wheels"]
    assert git(checkout, "tag").split() == ["v0.2.0"]
    assert git(checkout, "status", "--porcelain") == ""
    assert 'version = "0.2.0"' in (checkout / "pyproject.toml").read_text()
    assert "## 0.2.0, 2" in (checkout / "CHANGELOG.md").read_text()


def test_it_prepares_alone(checkout: Path) -> None:
    assert release(checkout, "0.1.1", "--prepare").returncode == 0
    changed = {line.split()[1] for line in git(checkout, "status", "--porcelain").splitlines()}
    assert changed == {"CHANGELOG.md", "pyproject.toml"}


def test_a_release_contains_the_fragments(checkout: Path) -> None:
    add_fragments(checkout, FRAGMENTS)
    done = release(checkout, "0.2.0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("lance-sql: 0.2.0 has 7 entries in CHANGELOG.md\n")
    assert without_day((checkout / "CHANGELOG.md").read_text(encoding="utf-8")) == MERGED
    assert git(checkout, "ls-files", "changelog.d").split() == ["changelog.d/README.md"]
    assert git(checkout, "status", "--porcelain") == ""


def test_fragments_alone_are_enough(checkout: Path) -> None:
    (checkout / "CHANGELOG.md").write_text("# Changelog\n\n## 0.1.0\n\nThe first release.\n")
    add_fragments(checkout, {"one.fixed.md": "A fault."})
    assert release(checkout, "0.2.0").returncode == 0
    section = "## 0.2.0, DAY\n\n### Fixed\n- A fault.\n"
    expected = f"# Changelog\n\n{section}\n## 0.1.0\n\nThe first release.\n"
    assert without_day((checkout / "CHANGELOG.md").read_text()) == expected
    add_fragments(checkout, {"two.fixed.md": "Another."})
    assert release(checkout, "0.3.0").returncode == 0
    expected = expected.replace("## 0.2.0", "## 0.3.0, DAY\n\n### Fixed\n- Another.\n\n## 0.2.0", 1)
    assert without_day((checkout / "CHANGELOG.md").read_text()) == expected


def test_the_next_section_is_printed_and_nothing_changed(checkout: Path) -> None:
    add_fragments(checkout, FRAGMENTS)
    section = MERGED.partition("## 0.2.0, DAY\n\n")[2].partition("\n## 0.1.0")[0]
    assert changelog(checkout).stdout == section
    assert git(checkout, "status", "--porcelain") == ""


@pytest.mark.parametrize(
    ("name", "text", "error"),
    [
        (
            "a.broken.md",
            "A fault.",
            "a.broken.md: name it <slug>.<kind>.md; the kind is breaking, added, changed or fixed",
        ),
        ("fixed.md", "A fault.", "fixed.md: name it"),
        ("a.fixed.txt", "A fault.", "a.fixed.txt: name it"),
        ("a.fixed.md", " \n", "a.fixed.md: the file is empty"),
        ("a.fixed.md", "- A fault.", "a.fixed.md: remove '-' from the start of '- A fault.'"),
        ("a.fixed.md", "### Fixed\nA fault.", "a.fixed.md: remove '#'"),
    ],
)
def test_fragments_of_another_form_are_refused(checkout: Path, name: str, text: str, error: str) -> None:
    add_fragments(checkout, {name: text})
    for done in (changelog(checkout), release(checkout, "0.2.0")):
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(f"lance-sql: changelog.d/{error}"), done.stderr
        assert done.stderr.count("\n") == 1
    assert git(checkout, "status", "--porcelain") == ""


def test_unknown_headings_are_refused(checkout: Path) -> None:
    (checkout / "CHANGELOG.md").write_text(CHANGELOG.replace("### Fixed", "### Mended"))
    done = changelog(checkout)
    assert done.returncode == 1
    assert done.stderr.startswith(
        "lance-sql: CHANGELOG.md: unknown heading '### Mended' under Unreleased; use breaking"
    )


def test_the_fragments_of_this_checkout_have_the_expected_form() -> None:
    done = changelog(ROOT)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("version", "error"),
    [("0.2", "three numbers"), ("0.1.0", "does not come after"), ("0.0.9", "does not come after 0.1.0")],
)
def test_versions_that_make_no_sense(checkout: Path, version: str, error: str) -> None:
    done = release(checkout, version)
    assert (done.returncode, error in done.stderr) == (1, True)
    assert git(checkout, "status", "--porcelain") == ""


def test_preconditions_of_a_release(checkout: Path) -> None:
    git(checkout, "tag", "v0.2.0")
    assert "a tag v0.2.0 already" in release(checkout, "0.2.0").stderr
    (checkout / "more").write_text("")
    assert "not committed" in release(checkout, "0.3.0").stderr
    (checkout / "more").unlink()
    (checkout / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n## 0.1.0\n")
    git(checkout, "commit", "-am", "Remove the entries")
    done = release(checkout, "0.3.0")
    assert (done.returncode, "nothing to release" in done.stderr) == (1, True)
    assert git(checkout, "status", "--porcelain") == ""
