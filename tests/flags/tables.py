"""Tables of pylance with a feature flag each, and the same change of them by both libraries."""

from __future__ import annotations

import struct
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import lance
import numpy as np
import pyarrow as pa
from lance.dataset import Index

import lance_sql
from lance_sql.format.proto import table_pb2
from lance_sql.table import manifest_file
from lance_sql.table.indices import read_bytes

COVERING: Final = 128
MIXED: Final = 256
TAGGED: Final = 1024
SPILLED: Final = 2048

STICKY: Final = MIXED | TAGGED


def rows(first: int, count: int, *, changed: int = 0) -> pa.Table:
    """Rows with the keys first .. first + count - 1."""
    keys = np.arange(first, first + count)
    vectors = np.random.default_rng(first + 1000 * changed).random(4 * count).astype("f4")
    return pa.table(
        {
            "k": pa.array(keys, pa.int64()),
            "a": pa.array((keys * 7 + changed) % 11, pa.int32()),
            "s": [f"text {key % 13 + changed}" for key in keys.tolist()],
            "v": pa.FixedSizeListArray.from_arrays(pa.array(vectors), 4),
        }
    )


@dataclass(frozen=True)
class Kind:
    """A kind of table.

    flag: that its manifests have
    """

    flag: int
    is_stable: bool

    def make(self, path: Path) -> None:
        """Writes one, with a BTREE on k, a zone map on k and a BITMAP on a."""
        uri = str(path)
        for i in range(4):
            version: Any = "2.1" if self.flag == MIXED and i == 2 else "2.2"
            lance.write_dataset(
                rows(30 * i, 30),
                uri,
                mode="append" if i else "create",
                data_storage_version=version,
                enable_stable_row_ids=self.is_stable,
            )
        dataset = lance.dataset(uri)
        dataset.create_scalar_index("k", "BTREE")
        dataset.create_scalar_index("k", "ZONEMAP", name="k_zones")
        dataset.create_scalar_index("a", "BITMAP")
        dataset.delete("k % 10 = 3")
        match self.flag:
            case 128:
                cover(uri)
            case 1024:
                dataset.optimize.compact_files(target_rows_per_fragment=60, defer_index_remap=True)
                tag(path)
            case 2048:
                dataset.update_config({"lance.row_lineage.spill": "true", "lance.row_lineage.inline_max_bytes": "1"})
                dataset.update({"s": "'first'"}, where="k % 7 = 1")
                dataset.optimize.compact_files(target_rows_per_fragment=60)
                dataset.update({"s": "'second'"}, where="k % 9 = 1")
        lance.write_dataset(rows(120, 20), uri, mode="append")
        assert lance_sql.open(uri).snapshot.manifest.reader_flags & self.flag


def cover(uri: str) -> None:
    """Declares that a vector index keeps the values of the column s, as no builder of a release does yet."""
    dataset = lance.dataset(uri)
    dataset.create_index("v", "IVF_FLAT", num_partitions=2)
    dataset = lance.dataset(uri)
    (segment,) = [each for each in lance_sql.open(uri).snapshot.indices() if each.name == "v_idx"]
    url = "/lance.index.pb.VectorIndexDetails"

    def index(fields: list[int], covering: list[int]) -> Index:
        assert segment.fragment_ids is not None
        return Index(
            str(segment.uuid),
            segment.name,
            fields,
            segment.dataset_version,
            lance.lance.Bitmap(sorted(segment.fragment_ids)),
            segment.index_version,
            covering_fields=covering,
            index_details=(url, segment.details),
        )

    keyed = list(segment.field_ids)
    operation = lance.LanceOperation.CreateIndex([index([*keyed, 2], [2])], [index(keyed, [])])
    lance.LanceDataset.commit(uri, operation, read_version=dataset.version)


def tag(path: Path) -> None:
    """Makes the history of moved rows one of tagged transitions, which pylance keeps up and does not begin."""
    snapshot = lance_sql.open(path).snapshot
    section = table_pb2.IndexSection.FromString(read_bytes(snapshot.store, snapshot.manifest_path, snapshot.manifest))
    (index,) = [each for each in section.indices if each.name == "__lance_frag_reuse"]
    old = table_pb2.FragmentReuseIndexDetails.FromString(index.index_details.value).inline
    new = table_pb2.FragmentReuseIndexDetails()
    for group in [group for version in old.versions for group in version.groups]:
        made = new.inline.transitions.add()
        made.ordered_compaction.changed_row_addrs = group.changed_row_addrs
        made.sources.extend(group.old_fragments)
        made.destinations.extend(group.new_fragments)
    index.index_details.value = new.SerializeToString()
    index.index_version = 1
    file = path / snapshot.manifest_path
    content = file.read_bytes()
    (position,) = struct.unpack("<q", content[-16:-8])
    message = table_pb2.Manifest.FromString(content[position + 4 : -16])
    message.reader_feature_flags |= TAGGED
    message.writer_feature_flags |= TAGGED
    transaction = manifest_file.read_section(
        snapshot.store, snapshot.manifest_path, snapshot.manifest.transaction_section or 0
    )
    parts = [section.SerializeToString(), transaction]
    message.index_section = 0
    message.transaction_section = 4 + len(parts[0])
    head = b"".join(struct.pack("<I", len(part)) + part for part in parts)
    body = message.SerializeToString()
    file.write_bytes(head + struct.pack("<I", len(body)) + body + struct.pack("<qHH", len(head), 0, 2) + b"LANC")
    assert uuid.UUID(bytes=index.uuid.uuid)


KINDS: Final = {
    "covering": Kind(COVERING, is_stable=False),
    "covering, stable": Kind(COVERING, is_stable=True),
    "mixed": Kind(MIXED, is_stable=False),
    "mixed, stable": Kind(MIXED, is_stable=True),
    "tagged": Kind(TAGGED, is_stable=False),
    "spilled": Kind(SPILLED, is_stable=True),
}

Verb = tuple[Callable[[str], object], Callable[[str], object]]


def _theirs(path: str, version: int | None = None) -> Any:
    return lance.dataset(path, version=version)


def fit(path: str, table: pa.Table) -> pa.Table:
    """The rows with the columns that the table has by now."""
    wanted = lance_sql.open(path).schema
    table = table.rename_columns([name if name in wanted.names else "t" for name in table.column_names])
    columns = [
        table[field.name].cast(field.type) if field.name in table.column_names else pa.nulls(len(table), field.type)
        for field in wanted
    ]
    return pa.Table.from_arrays(columns, schema=wanted)


def _changed(path: str) -> dict[str, str]:
    texts = [name for name in ("s", "t") if name in lance_sql.open(path).schema.names]
    return {"a": "99", **dict.fromkeys(texts, "'updated'")}


def _merge(path: str, given: pa.Table) -> Any:
    return _theirs(path).merge_insert("k").when_matched_update_all().when_not_matched_insert_all().execute(given)


def _append_columns(path: str) -> None:
    _theirs(path).add_columns(pa.field("new", pa.int32()))
    lance.write_dataset(_wider(), path, mode="append")


def _wider() -> pa.Table:
    return rows(300, 5).append_column("new", pa.array([1, 2, 3, 4, 5], pa.int32()))


def _compact(path: str) -> None:
    tagged = bool(lance_sql.open(path).snapshot.manifest.reader_flags & TAGGED)
    _theirs(path).optimize.compact_files(defer_index_remap=tagged)


VERBS: Final[dict[str, Verb]] = {
    "append": (
        lambda path: lance_sql.write(fit(path, rows(200, 15)), path, mode="append"),
        lambda path: lance.write_dataset(fit(path, rows(200, 15)), path, mode="append"),
    ),
    "append columns": (
        lambda path: lance_sql.write(_wider(), path, mode="append", merge_schema=True),
        _append_columns,
    ),
    "overwrite": (
        lambda path: lance_sql.write(rows(0, 25), path, mode="overwrite"),
        lambda path: lance.write_dataset(rows(0, 25), path, mode="overwrite"),
    ),
    "delete": (
        lambda path: lance_sql.open(path).delete("k % 4 = 1"),
        lambda path: _theirs(path).delete("k % 4 = 1"),
    ),
    "delete a fragment": (
        lambda path: lance_sql.open(path).delete("k < 60"),
        lambda path: _theirs(path).delete("k < 60"),
    ),
    "update": (
        lambda path: lance_sql.open(path).update(_changed(path), "k % 5 = 2"),
        lambda path: _theirs(path).update(_changed(path), where="k % 5 = 2"),
    ),
    "merge": (
        lambda path: lance_sql.open(path).merge(fit(path, rows(126, 15, changed=1)), on="k"),
        lambda path: _merge(path, fit(path, rows(126, 15, changed=1))),
    ),
    "merge some columns": (
        lambda path: lance_sql.open(path).merge(rows(40, 30, changed=2).select(["k", "a"]), on="k"),
        lambda path: _merge(path, rows(40, 30, changed=2).select(["k", "a"])),
    ),
    "add values": (
        lambda path: lance_sql.open(path).add_columns({"c": "k * 2"}),
        lambda path: _theirs(path).add_columns({"c": "k * 2"}),
    ),
    "add nulls": (
        lambda path: lance_sql.open(path).add_columns([pa.field("n", pa.float64())]),
        lambda path: _theirs(path).add_columns(pa.field("n", pa.float64())),
    ),
    "drop columns": (
        lambda path: lance_sql.open(path).drop_columns(["s"]),
        lambda path: _theirs(path).drop_columns(["s"]),
    ),
    "rename columns": (
        lambda path: lance_sql.open(path).rename_columns({"s": "t"}),
        lambda path: _theirs(path).alter_columns({"path": "s", "name": "t"}),
    ),
    "alter a type": (
        # of a column that no index is on, which pylance refuses
        lambda path: lance_sql.open(path).indices.drop("a_idx").alter_column("a", type=pa.int64()),
        lambda path: (
            _theirs(path).drop_index("a_idx"),
            _theirs(path).alter_columns({"path": "a", "data_type": pa.int64()}),
        ),
    ),
    "compact": (lambda path: lance_sql.open(path).maintenance.compact(), _compact),
    "create an index": (
        lambda path: lance_sql.open(path).indices.create("s", "btree"),
        lambda path: _theirs(path).create_scalar_index("s", "BTREE"),
    ),
    "optimize indices": (
        lambda path: lance_sql.open(path).indices.optimize(),
        lambda path: _theirs(path).optimize.optimize_indices(num_indices_to_merge=0),
    ),
    "drop an index": (
        lambda path: lance_sql.open(path).indices.drop("k_idx"),
        lambda path: _theirs(path).drop_index("k_idx"),
    ),
    "restore": (
        lambda path: lance_sql.open(path).restore(3),
        lambda path: _theirs(path, version=3).restore(),
    ),
    "configure": (
        lambda path: lance_sql.open(path).config.update({"owner": "x"}),
        lambda path: _theirs(path).update_config({"owner": "x"}),
    ),
}
