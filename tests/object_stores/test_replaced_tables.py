"""A handle on a table of an object store whose place another table takes reads its own rows, or raises.

Both tables have as many rows, files and versions, and an index on the same column.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from typing import Any

import fsspec
import pytest

import lance_sql
from lance_sql import Dataset, VersionNotFound
from tests.object_stores.places import BUCKET, Place

ROWS = 4000
WHERE = "k BETWEEN 100 AND 120"

READS: dict[str, Callable[[Dataset], object]] = {
    "filter": lambda table: sorted(table.scan(["id"], WHERE).to_table()["id"].to_pylist()),
    "count": lambda table: table.count_rows(WHERE),
    "transaction": lambda table: table.versions() and table.snapshot.transaction(),
    "indices": lambda table: [str(each.uuid) for each in table.snapshot.indices()],
    "changes": lambda table: table.changes().count_rows(),
    "create_tag": lambda table: table.tags.create("mine"),
    "restore": lambda table: table.restore(),
}
ACTIONS = ("create_tag", "restore")


class Remote:
    """A place for one table."""

    def __init__(self, uri: str, options: dict[str, str] | None, remove: Callable[[], None]) -> None:
        self.uri, self.options, self.remove = uri, options, remove

    def write(self, generation: int) -> Dataset:
        keys = [(number * 7 + generation * 1000) % 5000 for number in range(ROWS)]
        lance_sql.write({"id": range(ROWS), "k": keys}, self.uri, storage_options=self.options)
        return self.open().indices.create("k", "btree")

    def open(self, **version: Any) -> Dataset:
        return lance_sql.open(self.uri, storage_options=self.options, **version)


@pytest.fixture(params=["s3", "memory"])
def remote(request: pytest.FixtureRequest) -> Iterator[Remote]:
    if request.param == "memory":
        fs = fsspec.filesystem("memory")
        yield Remote("memory://replaced/t.lance", None, lambda: fs.rm("/replaced", recursive=True))
        fs.rm("/replaced", recursive=True)
        return
    place: Place = request.getfixturevalue("place")
    uri = place.new_uri()
    client = place.client("s3")

    def remove() -> None:
        prefix = uri.removeprefix(f"s3://{BUCKET}/")
        for each in client.list_objects_v2(Bucket=BUCKET, Prefix=prefix)["Contents"]:
            client.delete_object(Bucket=BUCKET, Key=each["Key"])

    yield Remote(uri, place.options, remove)


@pytest.mark.parametrize("how", ["latest", "by version", "pickled"])
@pytest.mark.parametrize("what", READS)
def test_a_handle_on_a_table_that_was_replaced(remote: Remote, what: str, how: str) -> None:
    remote.write(1)
    old = remote.open(version=2) if how == "by version" else remote.open()
    _ = old.snapshot.manifest
    expected = READS[what](old) if what not in ACTIONS else None
    old = remote.open(version=2) if how == "by version" else remote.open()
    _ = old.snapshot.manifest
    if how == "pickled":
        old = pickle.loads(pickle.dumps(old))
    remote.remove()
    remote.write(2)
    if what in ACTIONS:
        with pytest.raises(VersionNotFound, match="is another commit than"):
            READS[what](old)
        assert not remote.open().tags.list()
        assert remote.open().version == 2
        return
    try:
        read = READS[what](old)
    except VersionNotFound as error:
        said = str(error)
        assert "is another commit than" in said or "is gone" in said
    else:
        assert read == expected
