"""The pictures of pages in docs/pictures show the pages as they are now."""

from __future__ import annotations

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def pictures() -> ModuleType:
    spec = importlib.util.spec_from_file_location("pictures", ROOT / "scripts" / "pictures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_pictures_show_the_pages_of_now(pictures: ModuleType, tmp_path: Path) -> None:
    now = pictures.hashes(tmp_path, pictures.make_pages(tmp_path))
    taken = json.loads(pictures.HASHES.read_text())
    old = [name for name in now if taken.get(name) != now[name]]
    assert not old, f"the pictures of {', '.join(old)} are old: run 'make pictures'"
    assert set(taken) == set(now)


def test_a_hash_changes_with_the_page_and_not_with_the_hour(pictures: ModuleType, tmp_path: Path) -> None:
    pages = [f"<p>Made 2026-11-{day} 10:00:0{day % 10}Z by {user}@host</p>" for day, user in ((10, "a"), (27, "b"))]
    first, second = (pictures.hashes(tmp_path, {"page": page})["page"] for page in pages)
    assert first == second
    assert pictures.hashes(tmp_path, {"page": pages[0].replace("Made", "Written")})["page"] != first


def test_every_picture_of_the_documents_is_there() -> None:
    for document in (ROOT / "README.md", *(ROOT / "docs").glob("*.md")):
        for name in re.findall(r"!\[[^]]*\]\((?:docs/)?(pictures/[^)]+)\)", document.read_text()):
            assert (ROOT / "docs" / name).is_file(), f"{document.name}: {name}"
