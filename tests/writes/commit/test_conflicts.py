"""The matrix of conflicts, as measured with pylance, and the conditions on its entries."""

from __future__ import annotations

import dataclasses
from contextlib import suppress
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql.errors import CorruptFile
from lance_sql.format.proto import transaction_pb2
from lance_sql.format.schema import Field, Schema
from lance_sql.table.fragment import DataFile, DeletionFile, DeletionFileType, Fragment
from lance_sql.table.indices import IndexSegment
from lance_sql.table.paths import BasePath
from lance_sql.writes.commit import transactions
from lance_sql.writes.commit.conflicts import Outcome, judge
from lance_sql.writes.commit.operations import (
    Append,
    Clone,
    CreateIndex,
    DataReplacement,
    Delete,
    Merge,
    Operation,
    Other,
    Overwrite,
    Project,
    Replacement,
    ReserveFragments,
    Restore,
    Rewrite,
    RewriteGroup,
    Update,
    UpdateBases,
    UpdateConfig,
    UpdateMap,
    UpdateMode,
)
from lance_sql.writes.commit.transactions import Transaction

FILE = DataFile("a.lance", (0, 1), (0, 1), (2, 2), 100)
SCHEMA = Schema((Field("k", 0, -1, "int64"), Field("v", 1, -1, "string")))


def fragment(number: int, *, deleted: bool = False) -> Fragment:
    file = DeletionFile(DeletionFileType.ARROW, 1, 5, 1) if deleted else None
    return Fragment(number, (FILE,), file, 10)


def column(field_id: int) -> DataFile:
    return dataclasses.replace(FILE, fields=(field_id,), column_indices=(0,))


def index(covered: frozenset[int] | None, field: int = 0) -> CreateIndex:
    return CreateIndex((IndexSegment("i", UUID(int=1), (field,), 1, "BTreeIndexDetails", covered),), ())


def operations(number: int) -> dict[str, Operation]:
    """One of each kind; those that concern a fragment concern this one."""
    return {
        "append": Append((fragment(0),)),
        "delete": Delete((fragment(number, deleted=True),)),
        "update": Update(updated_fragments=(fragment(number, deleted=True),), new_fragments=(fragment(0),)),
        "columns": Update(updated_fragments=(fragment(number),), fields_modified=(1,), mode=UpdateMode.REWRITE_COLUMNS),
        "overwrite": Overwrite((fragment(0),), SCHEMA),
        "create_index": index(frozenset({number})),
        "rewrite": Rewrite((RewriteGroup((fragment(number),), (fragment(9),)),)),
        "merge": Merge((fragment(0), fragment(1)), SCHEMA),
        "project": Project(SCHEMA),
        "restore": Restore(1),
        "reserve": ReserveFragments(1),
        "config": UpdateConfig(UpdateMap({f"k{number}": "v"})),
        "replace": DataReplacement((Replacement(number, column(1)),)),
        "bases": UpdateBases((BasePath(7, None, True, "/x"),)),
        "mem_wal": Other("update_mem_wal_state"),
        "overlay": Other("data_overlay"),
    }


# fmt: off
COLUMNS = list(operations(0))
# Both concern the same fragment; upper case also when they concern different ones.
MEASURED = {
    #            app del upd cols ovw idx rewr merge proj rest resv cfg repl bases wal overlay
    "append":    ".  .   .   .    X   .   .    R     R    X    .    .   .    .     X   .",
    "delete":    ".  .   .   r    X   .   r    R     .    X    .    .   r    .     X   .",
    "update":    ".  .   .   r    X   .   r    R     R    X    .    .   r    .     R   R",
    "columns":   ".  r   r   r    X   .   r    R     R    X    .    .   r    .     R   R",
    "overwrite": ".  .   .   .    R   .   .    .     .    .    .    .   .    .     X   .",
    "rewrite":   ".  r   r   r    X   r   r    R     .    X    .    .   r    .     .   R",
    "merge":     "R  R   R   R    X   .   R    R     X    X    .    .   R    .     X   R",
    "project":   "R  .   R   R    X   .   .    R     R    X    .    .   R    .     X   R",
    "restore":   ".  .   .   .    .   .   .    .     .    .    .    .   .    .     X   .",
    "reserve":   ".  .   .   .    X   .   .    .     .    X    .    .   .    .     .   .",
    "config":    ".  .   .   .    .   .   .    .     .    .    .    x   .    .     .   .",
    "create_index": ". . .  .    X   R   r    .     .    X    .    .   .    .     X   R",
    "replace":   ".  .   r   r    X   .   r    R     .    X    .    .   r    .     X   .",
}
# fmt: on


@pytest.mark.parametrize("ours", MEASURED)
@pytest.mark.parametrize("theirs", COLUMNS)
def test_the_matrix_is_the_measured_one(ours: str, theirs: str) -> None:
    entry = MEASURED[ours].split()[COLUMNS.index(theirs)]
    assert judge(operations(1)[ours], operations(1)[theirs]).value == entry.upper()
    assert judge(operations(1)[ours], operations(2)[theirs]).value == ("." if entry.islower() else entry)


@pytest.mark.parametrize("ours", MEASURED)
@pytest.mark.parametrize("theirs", [Other(None), Other("append_fragment_reuse_transitions"), Clone(1, "/x")], ids=str)
def test_nothing_goes_together_with_what_is_not_known(ours: str, theirs: Operation) -> None:
    assert judge(operations(1)[ours], theirs) is Outcome.INCOMPATIBLE


@pytest.mark.parametrize(
    ("ours", "theirs", "outcome"),
    [
        # Rows of a fragment that went as a whole cannot be compared.
        (Delete((fragment(1),)), Delete((), (1,)), "R"),
        (Delete((), (1,)), Delete((fragment(1),)), "R"),
        (Delete((), (1,)), Delete((), (1,)), "R"),
        (Delete((), (1,)), Delete((), (2,)), "."),
        (Update((1,)), Delete((fragment(1),)), "R"),
        (Delete((fragment(1),)), Update((1,)), "R"),
        (Update((1,)), Update((2,)), "."),
        # Rows may lack a column that allows it.
        (Append(()), Merge((), SCHEMA, preserves_nullability=True), "."),
        (Append(()), Project(SCHEMA, preserves_nullability=True), "."),
        (Project(SCHEMA, preserves_nullability=True), Append(()), "."),
        (Project(SCHEMA, preserves_nullability=True), Other("data_overlay"), "."),
        (Update(), Project(SCHEMA, preserves_nullability=True), "."),
        # An update in place is one by what it changes, too.
        (Delete((fragment(1),)), Update((), (fragment(1),), fields_modified=(1,)), "R"),
        (Overwrite((), SCHEMA, {"a": "1"}), Overwrite((), SCHEMA, {"b": "1"}), "R"),
        (Overwrite((), SCHEMA, {"a": "1"}), Overwrite((), SCHEMA, {"a": "1"}), "X"),
        (Overwrite((), SCHEMA, {"a": "1"}), UpdateConfig(UpdateMap({"a": None})), "X"),
        (Overwrite((), SCHEMA, {"a": "1"}), UpdateConfig(UpdateMap({"b": None})), "."),
        (Overwrite((), SCHEMA, {"a": "1"}), UpdateConfig(UpdateMap({"b": None}, replace=True)), "X"),
        (UpdateConfig(UpdateMap({"a": "1"})), Overwrite((), SCHEMA, {"a": "1"}), "X"),
        (UpdateConfig(schema_metadata=UpdateMap({"a": "1"})), Overwrite((), SCHEMA), "X"),
        (UpdateConfig(field_metadata={1: UpdateMap({"a": "1"})}), Overwrite((), SCHEMA), "X"),
        (UpdateConfig(table_metadata=UpdateMap({"a": "1"})), Overwrite((), SCHEMA), "."),
        (UpdateConfig(UpdateMap({}, replace=True)), UpdateConfig(UpdateMap({"b": "1"})), "X"),
        (UpdateConfig(UpdateMap({"a": "1"})), UpdateConfig(UpdateMap({"b": "1"})), "."),
        (UpdateConfig(UpdateMap({"a": "1"})), UpdateConfig(table_metadata=UpdateMap({"a": "1"})), "."),
        (UpdateConfig(table_metadata=UpdateMap({"a": "1"})), UpdateConfig(table_metadata=UpdateMap({"b": "1"})), "X"),
        (UpdateConfig(schema_metadata=UpdateMap({})), UpdateConfig(schema_metadata=UpdateMap({})), "X"),
        (UpdateConfig(field_metadata={1: UpdateMap({})}), UpdateConfig(field_metadata={1: UpdateMap({})}), "X"),
        (UpdateConfig(field_metadata={1: UpdateMap({})}), UpdateConfig(field_metadata={2: UpdateMap({})}), "."),
        (Merge((), SCHEMA), UpdateConfig(field_metadata={1: UpdateMap({})}), "R"),
        (Merge((), SCHEMA), UpdateConfig(schema_metadata=UpdateMap({})), "R"),
        (UpdateConfig(schema_metadata=UpdateMap({})), Merge((), SCHEMA), "R"),
        (UpdateConfig(table_metadata=UpdateMap({})), Merge((), SCHEMA), "."),
        (operations(1)["rewrite"], index(None), "R"),
        (operations(1)["replace"], index(None, field=1), "R"),
        (operations(1)["replace"], index(None, field=0), "."),
        (operations(1)["replace"], Delete((), (1,)), "X"),
        (operations(1)["replace"], Update((1,)), "X"),
        (operations(1)["replace"], Update((), (fragment(1),), fields_modified=(0,)), "."),
        (operations(1)["replace"], Project(Schema(SCHEMA.fields[:1])), "X"),
        (
            operations(1)["replace"],
            DataReplacement((Replacement(1, column(0)),)),
            ".",
        ),
    ],
)
def test_conditions(ours: Operation, theirs: Operation, outcome: str) -> None:
    assert judge(ours, theirs).value == outcome


@pytest.mark.parametrize("name", [name for name in COLUMNS if name != "bases"] + ["clone"])
def test_written_operations_are_read_back(name: str) -> None:
    written = {
        **operations(3),
        "update": Update((1, 2), (fragment(3, deleted=True),), (fragment(0),), (), (1, 5), UpdateMode.REWRITE_ROWS),
        "config": UpdateConfig(
            UpdateMap({"a": None, "b": "1"}),
            UpdateMap({}, replace=True),
            UpdateMap({"c": ""}),
            {3: UpdateMap({"d": "2"})},
        ),
        "clone": Clone(4, "/x", None, "dev"),
    }
    operation = written[name]
    if isinstance(operation, Other):
        return
    transaction = Transaction(41, "0123", operation, {"message": "by hand"})
    assert transactions.parse(transactions.serialize(transaction)) == transaction
    assert transaction.file_name == "41-0123.txn"


def test_offsets_of_an_update_are_read_again() -> None:
    operation = Update(mode=UpdateMode.REWRITE_COLUMNS, updated_offsets={7: np.array([1, 70_000], np.uint32)})
    again = transactions.parse(transactions.serialize(Transaction(1, "u", operation))).operation
    assert isinstance(again, Update)
    assert again.updated_offsets[7].tolist() == [1, 70_000]


def test_operations_of_which_a_part_is_not_known_are_not_judged() -> None:
    update = transaction_pb2.Transaction.Update(removed_fragment_ids=[1]).SerializeToString()
    for number, known in ((8, True), (9, True), (5, False), (77, False)):
        more = bytes(
            [(number << 3 | 2) & 127 | (128 if number > 15 else 0), *([number >> 4] if number > 15 else []), 0]
        )
        body = update + more
        data = b"\xe2\x06" + bytes([len(body)]) + body
        assert transactions.parse(data).operation == (Update((1,)) if known else Other("update"))


def test_configurations_of_earlier_releases_are_read() -> None:
    message = transaction_pb2.Transaction()
    message.update_config.upsert_values["a"] = "1"
    message.update_config.delete_keys.append("b")
    message.update_config.schema_metadata["c"] = "2"
    operation = transactions.parse(message.SerializeToString()).operation
    assert operation == UpdateConfig(
        config=UpdateMap({"a": "1", "b": None}), schema_metadata=UpdateMap({"c": "2"}, replace=True)
    )


def test_damaged_operations_are_not_judged() -> None:
    message = transaction_pb2.Transaction()
    message.merge.schema.add(id=-5)
    assert transactions.parse(message.SerializeToString()).operation == Other("merge")


@given(
    st.sampled_from([name for name in COLUMNS if name not in ("create_index", "bases", "mem_wal", "overlay")]),
    st.data(),
)
def test_damaged_transactions_are_errors_or_other_transactions(name: str, data: st.DataObject) -> None:
    content = bytearray(transactions.serialize(Transaction(41, "0123", operations(3)[name])))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with suppress(CorruptFile):
        found = transactions.parse(bytes(content)).operation
        for ours in MEASURED:
            assert isinstance(judge(operations(1)[ours], found), Outcome)
