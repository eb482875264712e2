"""Commits whose requests fail on the way, and readers that have looked before."""

from __future__ import annotations

import threading

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.dataset import Dataset
from lance_sql.errors import CommitConflict
from tests.object_stores.places import Place
from tests.object_stores.proxy import Fault, Inject, Request


def rows(*keys: int) -> pa.Table:
    return pa.table({"k": pa.array(keys, pa.int64()), "v": pa.array([f"value {key}" for key in keys], pa.string())})


@pytest.fixture
def uri(place: Place) -> str:
    uri = place.new_uri()
    lance_sql.write(rows(1, 2, 3), uri, storage_options=place.options)
    return uri


def on_manifest(fault: Fault) -> Inject:
    """Makes the first request that creates a manifest fail."""
    left = [fault]
    lock = threading.Lock()

    def inject(request: Request) -> Fault | None:
        with lock:
            return left.pop() if left and request.is_conditional and "/_versions/" in request.key else None

    return inject


def keys(place: Place, uri: str) -> list[int]:
    found = lance_sql.open(uri, storage_options=place.options).scan(["k"]).to_table()["k"].to_pylist()
    theirs = lance.dataset(uri, storage_options=place.options).to_table()["k"].to_pylist()
    assert sorted(found) == sorted(theirs)
    return sorted(found)


@pytest.mark.parametrize("fault", Fault)
def test_an_append_whose_answer_is_lost_is_committed_once(place: Place, uri: str, fault: Fault) -> None:
    with place.proxy.injecting(on_manifest(fault)):
        made = lance_sql.write(rows(4), uri, mode="append", storage_options=place.options)
    assert made.version == 2
    assert keys(place, uri) == [1, 2, 3, 4]
    assert lance_sql.open(uri, storage_options=place.options).version == 2


@pytest.mark.parametrize("fault", [Fault.LOST, Fault.LOST_AND_BUSY])
def test_an_update_whose_answer_is_lost_keeps_its_files(place: Place, uri: str, fault: Fault) -> None:
    table = lance_sql.open(uri, storage_options=place.options)
    # listings of these folders were once what the question for the own version was answered from
    list(place.store(uri).files("data"))
    with place.proxy.injecting(on_manifest(fault)):
        made = table.update({"v": "'new'"}, "k = 2")
    assert made.version == 2
    values = lance_sql.open(uri, storage_options=place.options).scan(["v"], "k = 2").to_table()["v"].to_pylist()
    assert values == ["new"]
    assert keys(place, uri) == [1, 2, 3]
    assert lance_sql.verify(uri, deep=True, storage_options=place.options).is_healthy


def test_a_created_table_whose_answer_is_lost_is_there_once(place: Place) -> None:
    uri = place.new_uri()
    with place.proxy.injecting(on_manifest(Fault.LOST)):
        assert lance_sql.write(rows(1), uri, storage_options=place.options).version == 1
    assert keys(place, uri) == [1]


def test_a_version_that_another_has_taken_is_a_conflict_all_the_same(place: Place, uri: str) -> None:
    begun = lance_sql.begin_write(rows().schema, uri, mode="overwrite", storage_options=place.options)
    written = begun.write_fragments(rows(7))
    lance_sql.write(rows(8), uri, mode="overwrite", storage_options=place.options)
    with place.proxy.injecting(on_manifest(Fault.LOST)), pytest.raises(CommitConflict):
        begun.commit(written)
    begun.abort()
    assert keys(place, uri) == [8]
    assert lance_sql.verify(uri, deep=True, storage_options=place.options).is_healthy


def test_files_that_others_add_are_not_missing(place: Place, uri: str) -> None:
    table = lance_sql.open(uri, storage_options=place.options)
    assert len(list(table.snapshot.store.files("data"))) == 1
    assert table.scan(["k"]).to_table().num_rows == 3
    lance.write_dataset(rows(4, 5), uri, mode="append", storage_options=place.options)
    lance_sql.write(rows(6), uri, mode="append", storage_options=place.options)
    assert sorted(Dataset(table.snapshot.latest()).scan(["k"]).to_table()["k"].to_pylist()) == [1, 2, 3, 4, 5, 6]


def test_a_job_in_two_steps(place: Place, uri: str) -> None:
    begun = lance_sql.begin_write(rows().schema, uri, mode="append", storage_options=place.options)
    kept = begun.write_fragments(rows(10))
    begun.write_fragments(rows(11))
    with place.proxy.injecting(on_manifest(Fault.LOST_AND_BUSY)):
        begun.commit(kept)
    assert keys(place, uri) == [1, 2, 3, 10]
    assert len(list(place.store(uri).files("data"))) == 2
    begun.abort()
    assert keys(place, uri) == [1, 2, 3, 10]
    other = lance_sql.begin_write(rows().schema, uri, mode="append", storage_options=place.options)
    other.write_fragments(rows(12))
    other.abort()
    assert len(list(place.store(uri).files("data"))) == 2
