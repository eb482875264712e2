"""Changes of damaged tables, and concurrent with versions whose transactions are wrong. The invariants are in
`fuzz.changes`, which `make fuzz` runs for longer.
"""

from __future__ import annotations

import json

import numpy as np
import pytest

from fuzz import changes, seeds, tables
from fuzz.inputs import Values
from lance_sql.errors import CommitConflict, CorruptFile, LanceError
from lance_sql.format.proto import table_pb2, transaction_pb2
from lance_sql.store import MemoryStore
from lance_sql.table import refs
from lance_sql.table.paths import BRANCHES
from tests.damaged import messages
from tests.damaged.tables import manifest_file

ROUNDS = 12
WHAT = ("append", "update", "compact", "add", "drop")
_Message = transaction_pb2.Transaction


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> list[Values]:
    """Tables with two versions of interest, made by both libraries."""
    return list(seeds.races(tmp_path_factory.mktemp("pairs"), WHAT))


def outcome(run: object, values: Values) -> LanceError | None:
    assert callable(run)
    try:
        run(values)
    except LanceError as error:
        return error
    return None


@pytest.mark.parametrize("change", changes.CHANGES)
def test_a_change_of_a_damaged_table_ends_in_an_error_or_in_the_right_rows(pairs: list[Values], change: str) -> None:
    rng = np.random.default_rng(sorted(changes.CHANGES).index(change))
    for number in range(ROUNDS):
        values = {**changes.damage_anything(rng, pairs[number % len(pairs)]), "change": change}
        outcome(changes.change_damaged, values)


@pytest.mark.parametrize("change", changes.CHANGES)
def test_a_damaged_transaction_lets_no_change_disappear(pairs: list[Values], change: str) -> None:
    rng = np.random.default_rng(100 + sorted(changes.CHANGES).index(change))
    for number in range(ROUNDS // 2):
        values = {**changes.damage_other(rng, pairs[number % len(pairs)]), "change": change}
        outcome(changes.change_beside, values)


LIES: dict[str, _Message] = {
    "reserved ids": _Message(reserve_fragments=_Message.ReserveFragments(num_fragments=1)),
    "set a key": _Message(update_config=_Message.UpdateConfig(upsert_values={"x": "y"})),
    "appended": _Message(append=_Message.Append()),
}


@pytest.mark.parametrize("lie", LIES)
@pytest.mark.parametrize("change", changes.CHANGES)
def test_wrong_transactions_hide_no_change(pairs: list[Values], change: str, lie: str) -> None:
    for values in pairs:
        manifest, name, _ = tables.transaction_of(values)
        said = {**manifest, name: LIES[lie].SerializeToString()}
        outcome(changes.change_beside, {**values, **said, "change": change})


@pytest.mark.parametrize("change", [name for name in changes.CHANGES if name != "restore"])
def test_unreadable_transactions_are_conflicts(pairs: list[Values], change: str) -> None:
    (appended, *_) = (values for values in pairs if not tables.dataset_of(values).snapshot.indices())
    for content in (b"", b"\xba\x3e\x00", _Message(uuid="x").SerializeToString()):
        manifest, name, _ = tables.transaction_of(appended)
        found = outcome(changes.change_beside, {**appended, **manifest, name: content, "change": change})
        # a change that is computed once more begins with the newest version, and passes over nothing
        assert found is None or isinstance(found, CommitConflict)


def test_a_transaction_that_is_no_message_is_an_error(pairs: list[Values]) -> None:
    manifest, name, content = tables.transaction_of(pairs[0])
    values = {**pairs[0], **manifest, name: content[:-3], "change": "append"}
    assert isinstance(outcome(changes.change_beside, values), CorruptFile)


def claims(values: Values, field: str, number: int) -> Values:
    """The table whose last fragment, or whose manifest, claims another number."""
    files = {name: content for name, content in values.items() if isinstance(content, bytes)}
    path = manifest_file(files)

    def change(message: table_pb2.Manifest) -> None:
        setattr(message if field in message.DESCRIPTOR.fields_by_name else message.fragments[-1], field, number)

    return {**values, path: messages.with_manifest(files[path], change)}


@pytest.mark.parametrize(
    ("field", "number", "change", "text"),
    [
        ("physical_rows", 2**32, "delete all", "its fragment"),
        ("physical_rows", 2**32, "add", "its fragment"),
        ("next_row_id", 0, "append", "next row id"),
        ("next_row_id", 2**64 - 2, "append", "row ids above"),
        ("id", 2**40, "config", "id 1099511627776"),
    ],
)
def test_claims_of_a_manifest_are_not_built_on(
    pairs: list[Values], field: str, number: int, change: str, text: str
) -> None:
    stable = next(values for values in pairs if tables.dataset_of(values).snapshot.manifest.has_stable_row_ids)
    found = outcome(changes.change_damaged, {**claims(stable, field, number), "change": change})
    assert found is not None
    assert text in str(found)


@pytest.mark.parametrize("identifier", [5, "x", [1], {"version_mapping": 7}, {"version_mapping": "abc"}])
def test_a_branch_of_a_damaged_branch_is_refused(identifier: object) -> None:
    content = json.dumps({"parentVersion": 1, "identifier": identifier}).encode()
    store = MemoryStore({f"{BRANCHES}/parent.json": content})
    with pytest.raises(CorruptFile, match="identifier"):
        refs.add_branch(store, "child", 1, parent="parent", manifest_size=1)
    assert len(list(store.files(BRANCHES))) == 1
