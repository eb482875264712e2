"""Compaction that copies the bytes of pages: values read afterwards by both libraries, and pages that are decoded
instead.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import lance
import numpy as np
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import CorruptFile
from lance_sql.format.file import pages_to_write
from lance_sql.format.schema import Field
from lance_sql.writes.statements import copying
from tests.strategies import RandomArrow

NUM_ROWS = 700


@pytest.fixture
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pages of any size are copied."""
    monkeypatch.setattr(copying, "LEAST_BYTES", 0)


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The columns of which a page was encoded since."""
    names: list[str] = []

    class Watched(pages_to_write.PageJob):
        def encode(self) -> Any:
            names.append(self.name)
            return super().encode()

    for module in ("lance_sql.format.file.leaf_writer", "lance_sql.format.old_files.path_writer"):
        monkeypatch.setattr(f"{module}.PageJob", Watched)
    return names


def _leaf_fields(path: Path) -> list[Field]:
    """The fields that have columns, by their ids."""
    snapshot = lance_sql.open(path).snapshot
    assert snapshot is not None
    opened = snapshot.open(snapshot.manifest.fragments[0])
    fields = snapshot.manifest.schema.by_id
    return [fields[number] for number in sorted(fields) if opened.stored(fields[number]) is not None]


def _contents(path: Path) -> list[list[tuple[int, object, list[bytes]]]]:
    """The same with what they hold."""
    snapshot = lance_sql.open(path).snapshot
    assert snapshot is not None
    columns: dict[int, list[tuple[int, object, list[bytes]]]] = {}
    for fragment in snapshot.manifest.fragments:
        for field in snapshot.manifest.schema.by_id.values():
            stored = snapshot.open(fragment).stored(field)
            for page in () if stored is None else stored[1].pages:
                content = [buffer.to_pybytes() for buffer in stored[0].bytes.fetch(page.buffers)]  # type: ignore[index]  # not None here
                columns.setdefault(field.id, []).append((page.num_rows, page.encoding, content))
    return [columns[number] for number in sorted(columns)]


def _values(path: Path) -> list[str]:
    """All rows with their ids, as text: NaN is equal to itself."""
    return list(map(repr, lance.dataset(path).to_table(with_row_id=True).to_pylist()))


def _random_rows(seed: int, file_version: str) -> pa.Table:
    draw = RandomArrow(seed, file_version=file_version)
    types = [draw.type(2) for _ in range(4)]
    columns = {f"c{i}": draw.array(type, NUM_ROWS) for i, type in enumerate(types)}
    return pa.table({"id": np.arange(NUM_ROWS), **columns})


def _ours(rows: pa.Table, path: Path, file_version: str) -> None:
    mode = "append" if path.exists() else "create"
    lance_sql.write(rows, path, mode=mode, **({} if mode == "append" else {"file_version": file_version}))  # type: ignore[arg-type]  # one of the texts


def _theirs(rows: pa.Table, path: Path, file_version: Any) -> None:
    mode = "append" if path.exists() else "create"
    lance.write_dataset(rows, path, mode=mode, data_storage_version=file_version, enable_stable_row_ids=True)


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("write", [_ours, _theirs])
@pytest.mark.parametrize("file_version", ["2.1", "2.2"])
@pytest.mark.parametrize("seed", [*range(8), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(8, 150))])
def test_rows_row_ids_and_pages_stay(
    tmp_path: Path, seed: int, file_version: str, write: Callable[[pa.Table, Path, str], None], encoded: list[str]
) -> None:
    rows = _random_rows(seed, file_version)
    path = tmp_path / "t.lance"
    cuts = sorted(np.random.default_rng(seed).choice(np.arange(1, NUM_ROWS), 4, replace=False).tolist())
    try:
        for start, end in zip([0, *cuts], [*cuts, NUM_ROWS], strict=True):
            write(rows.slice(start, end - start), path, file_version)
    except BaseException as error:
        if write is _theirs:
            pytest.skip(f"pylance does not write this: {error}")
        raise
    expected = _values(path)
    pages = _contents(path)
    encoded.clear()
    made = lance_sql.open(path).maintenance.compact()
    assert made.last_change is not None
    assert made.last_change.files_written == 1
    kept = _contents(path)
    for number, (before, after) in enumerate(zip(pages, kept, strict=True)):
        field = _leaf_fields(path)[number]
        assert after == before or (field.name in encoded and field.parent_id != -1)
    compacted = lance.dataset(path)
    assert len(compacted.get_fragments()) == 1
    compacted.validate()  # type: ignore[no-untyped-call]  # pylance has no types here
    assert _values(path) == expected
    assert list(map(repr, made.scan([*rows.column_names, "_rowid"]).to_table().to_pylist())) == expected
    some = [3, 11, NUM_ROWS // 2, NUM_ROWS - 1]
    assert list(map(repr, compacted._take_rows(some, [*rows.column_names]).to_pylist())) == [
        repr(row) for row in lance_sql.open(path).scan().to_table().take(some).to_pylist()
    ]
    # pages that were copied are copied once more, and read by pylance's own compaction
    write(rows.slice(0, 5), path, file_version)
    lance_sql.open(path).maintenance.compact()
    assert [row.partition("'_rowid'")[0] for row in _values(path)[NUM_ROWS:]] == [
        row.partition("'_rowid'")[0] for row in expected[:5]
    ]
    lance.dataset(path).delete("id = 7")
    lance.dataset(path).optimize.compact_files(materialize_deletions_threshold=0.0)
    assert lance.dataset(path).count_rows() == NUM_ROWS + 5 - 1


@pytest.mark.usefixtures("any_size")
def test_columns_that_differ_between_fragments_are_encoded(tmp_path: Path, encoded: list[str]) -> None:
    table = lance_sql.write({"id": [1, 2, 3], "a": [1.0, 2.0, 3.0]}, tmp_path / "t.lance")
    table = table.add_columns({"b": "id * 2"})
    lance_sql.write({"id": [4], "a": [4.0]}, tmp_path / "t.lance", mode="append")
    encoded.clear()
    made = lance_sql.open(tmp_path / "t.lance").maintenance.compact()
    assert set(encoded) == {"b"}
    expected = {"id": [1, 2, 3, 4], "a": [1.0, 2.0, 3.0, 4.0], "b": [2, 4, 6, None]}
    assert made.scan().to_table().to_pydict() == expected
    assert lance.dataset(tmp_path / "t.lance").to_table().to_pydict() == expected
    assert sum(len(fragment.files) for fragment in made.snapshot.manifest.fragments) == 1


@pytest.mark.usefixtures("any_size")
def test_deleted_rows_are_left_out(tmp_path: Path, encoded: list[str]) -> None:
    path = tmp_path / "t.lance"
    for start in (0, 10):
        rows = {"id": list(range(start, start + 10)), "s": ["text"] * 10}
        lance_sql.write(rows, path, mode="append" if start else "create")
    lance_sql.open(path).delete("id = 3")
    encoded.clear()
    made = lance_sql.open(path).maintenance.compact()
    assert encoded
    assert sorted(made.scan().to_table()["id"].to_pylist()) == [*range(3), *range(4, 20)]


@pytest.mark.usefixtures("any_size")
def test_a_new_way_of_compressing_is_followed(tmp_path: Path, encoded: list[str]) -> None:
    path = tmp_path / "t.lance"
    for start in (0, 10):
        lance_sql.write({"id": [start], "s": ["a"]}, path, mode="append" if start else "create")
    lance.dataset(path).update_field_metadata({"s": {"lance-encoding:compression": "zstd"}}, replace=True)
    encoded.clear()
    made = lance_sql.open(path).maintenance.compact()
    assert set(encoded) == {"s"}
    assert made.scan().to_table().to_pydict() == {"id": [0, 10], "s": ["a", "a"]}


def test_short_pages_are_joined(tmp_path: Path, encoded: list[str]) -> None:
    path = tmp_path / "t.lance"
    count = copying.LEAST_BYTES // 4
    for start in (0, count, 2 * count):
        rows = {"a": np.random.default_rng(start).random(count), "b": np.arange(count, dtype=np.int8) // 100}
        lance_sql.write(rows, path, mode="append" if start else "create")
    expected = lance.dataset(path).to_table()
    encoded.clear()
    lance_sql.open(path).maintenance.compact()
    assert set(encoded) == {"b"}
    assert [len(column) for column in _contents(path)] == [3, 1]
    assert lance.dataset(path).to_table() == expected


@pytest.mark.usefixtures("any_size")
def test_files_of_which_rows_are_missing_are_not_taken_over(tmp_path: Path) -> None:
    path = tmp_path / "t.lance"
    for start in (0, 10):
        lance_sql.write({"id": [start]}, path, mode="append" if start else "create")
    file = next((path / "data").iterdir())
    content = file.read_bytes()
    file.write_bytes(content[:-1] + b"X")
    before = sorted(each.name for each in (path / "data").iterdir())
    with pytest.raises(CorruptFile, match=file.name):
        lance_sql.open(path).maintenance.compact()
    assert sorted(each.name for each in (path / "data").iterdir()) == before
