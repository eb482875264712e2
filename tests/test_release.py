"""The script that makes a release, on a copy of what it changes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CHANGELOG = "# Changelog\n\n## Unreleased\n\nAdded:\n\n- One thing.\n- Another.\n\n## 0.1.0\n\nThe first release.\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "scripts").mkdir()
    script = tmp_path / "scripts" / "release.sh"
    script.write_text((ROOT / "scripts" / "release.sh").read_text())
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
    return subprocess.run(command, cwd=checkout, capture_output=True, text=True, env={"PATH": "/usr/bin:/bin", **names})


def test_it_ends_with_a_commit_and_a_tag(checkout: Path) -> None:
    done = release(checkout, "0.2.0")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[:3] == ["lance-sql: 0.2.0 has 2 entries in CHANGELOG.md", "tested", "wheels"]
    assert git(checkout, "tag").split() == ["v0.2.0"]
    assert git(checkout, "status", "--porcelain") == ""
    assert 'version = "0.2.0"' in (checkout / "pyproject.toml").read_text()
    assert "## 0.2.0, 2" in (checkout / "CHANGELOG.md").read_text()


def test_it_prepares_alone(checkout: Path) -> None:
    assert release(checkout, "0.1.1", "--prepare").returncode == 0
    changed = {line.split()[1] for line in git(checkout, "status", "--porcelain").splitlines()}
    assert changed == {"CHANGELOG.md", "pyproject.toml"}


@pytest.mark.parametrize(
    ("version", "error"),
    [("0.2", "three numbers"), ("0.1.0", "does not come after"), ("0.0.9", "does not come after 0.1.0")],
)
def test_versions_that_make_no_sense(checkout: Path, version: str, error: str) -> None:
    done = release(checkout, version)
    assert (done.returncode, error in done.stderr) == (1, True)
    assert git(checkout, "status", "--porcelain") == ""


def test_what_has_to_be_done_first(checkout: Path) -> None:
    git(checkout, "tag", "v0.2.0")
    assert "a tag v0.2.0 already" in release(checkout, "0.2.0").stderr
    (checkout / "more").write_text("")
    assert "not committed" in release(checkout, "0.3.0").stderr
    (checkout / "more").unlink()
    (checkout / "CHANGELOG.md").write_text("# Changelog\n\n## Unreleased\n\n## 0.1.0\n")
    git(checkout, "commit", "-am", "Say nothing")
    assert "nothing under Unreleased" in release(checkout, "0.3.0").stderr
