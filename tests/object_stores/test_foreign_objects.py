"""Objects of other tools in the folders of a table: markers of folders, notes, backups."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Final

import pytest

import lance_sql
from lance_sql.errors import UnsupportedFeature
from tests.object_stores.bucket import Object
from tests.object_stores.places import Place

FOLDERS: Final = (
    "data",
    "_deletions",
    "_transactions",
    "_indices",
    "_versions",
    "_refs",
    "_refs/tags",
    "_refs/branches",
    "_cursors",
    "_cursors/w",
    "_applied",
    "_checksums",
    "tree",
    "tree/dev",
    "tree/dev/data",
)
FOREIGN: Final = {
    "marker": "{}/",
    "marker inside": "{}/2024/",
    "two markers": "{}/2024/10/",
    "marker of a table": "",
    "S3A": "{}_$folder$",
    "note": "{}/read me.txt",
    "percent": "{}/100%25 & more+x.txt",
    "Finder": "{}/.DS_Store",
    "AppleDouble": "{}/._v1.json",
    "NAS": "{}/@eaDir/x",
    "long name": "{}/" + "x" * 900,
}


def put(place: Place, uri: str, name: str, age: float) -> None:
    content = b"" if name.endswith("/") or not name else b"mine"
    place.bucket.objects[place.prefix(uri) + name] = Object(content, time.time() - age)


def use(uri: str, options: dict[str, str] | None) -> None:
    """Uses every verb that lists folders."""
    table = lance_sql.write({"id": [4]}, uri, mode="append", storage_options=options)
    table.maintenance.compact()
    table = lance_sql.open(uri, storage_options=options)
    table.maintenance.cleanup(retain_versions=1)
    table.maintenance.maintain()
    assert table.latest().count_rows() == 4
    assert set(table.tags.list()) == {"v1"}
    assert set(table.branches.list()) == {"dev"}
    assert set(table.cursors.list()) == {"w"}
    assert lance_sql.verify(uri, deep=True, storage_options=options).is_healthy


def made(uri: str, options: dict[str, str] | None) -> None:
    table = lance_sql.write({"id": [1, 2, 3]}, uri, storage_options=options)
    table.tags.create("v1")
    table.cursors.open("w")
    table.branches.create("dev").delete("id = 1")
    table.indices.create("id", "btree")


@pytest.mark.parametrize("age", [0, 30 * 86400])
@pytest.mark.parametrize("name", FOREIGN)
def test_they_stop_no_verb(place: Place, name: str, age: float) -> None:
    uri = place.new_uri()
    made(uri, place.options)
    for folder in FOLDERS:
        if not (name in ("marker inside", "two markers", "NAS") and folder in ("tree", "tree/dev")):
            put(place, uri, FOREIGN[name].format(folder), age)
    use(uri, place.options)


@pytest.mark.parametrize("name", [".DS_Store", "._v1.json", "@eaDir/x", "read me.txt"])
def test_they_stop_no_verb_on_a_disk(tmp_path: Path, name: str) -> None:
    uri = str(tmp_path / "t.lance")
    made(uri, None)
    for folder in FOLDERS:
        path = Path(uri, folder, name)
        if Path(uri, folder).is_dir():
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(b"mine")
    use(uri, None)


def test_a_name_that_the_client_does_not_list_is_named(place: Place) -> None:
    uri = place.new_uri()
    made(uri, place.options)
    put(place, uri, "data//x", 0)
    with pytest.raises(UnsupportedFeature, match=r"name that the client cannot list.*data//x"):
        lance_sql.open(uri, storage_options=place.options).maintenance.cleanup(retain_versions=1)
