"""One table on s3+ddb:// for two libraries."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import lance
import pyarrow as pa
import pytest

import lance_sql
from lance_sql.errors import MissingDependency
from lance_sql.store import DynamoDbManifestStore, ManifestStore, open_store
from lance_sql.store.access import Access
from lance_sql.testing.manifest_stores import ManifestStoreContract
from tests.object_stores.places import BUCKET, Place
from tests.object_stores.proxy import Fault, Inject, Request
from tests.object_stores.test_rivals import breaking_off, losing_answers
from tests.rivals.test_rivals import check, run

_numbers = itertools.count(1)


def new_table(place: Place) -> str:
    """A new table of DynamoDB."""
    name = f"T{next(_numbers)}"
    place.client("dynamodb").create_table(
        TableName=name,
        KeySchema=[
            {"AttributeName": "base_uri", "KeyType": "HASH"},
            {"AttributeName": "version", "KeyType": "RANGE"},
        ],
        AttributeDefinitions=[
            {"AttributeName": "base_uri", "AttributeType": "S"},
            {"AttributeName": "version", "AttributeType": "N"},
        ],
        BillingMode="PAY_PER_REQUEST",
    )
    return name


@pytest.fixture
def uri(place: Place) -> str:
    return f"s3+ddb://{BUCKET}/ddb/{next(_numbers)}/t.lance?ddbTableName={new_table(place)}"


class TestDynamoDb(ManifestStoreContract):
    @pytest.fixture
    def manifests(self, place: Place) -> ManifestStore:
        return DynamoDbManifestStore(new_table(place), place.options)


def rows(*keys: int) -> pa.Table:
    return pa.table({"k": pa.array(keys, pa.int64()), "v": pa.array(keys, pa.int64())})


def keys(place: Place, uri: str) -> list[int]:
    """What both libraries find."""
    ours = sorted(lance_sql.open(uri, storage_options=place.options).scan(["k"]).to_table()["k"].to_pylist())
    theirs = sorted(lance.dataset(uri, storage_options=place.options).to_table()["k"].to_pylist())
    assert ours == theirs
    return ours


def entries(place: Place, uri: str) -> Iterator[dict[str, Any]]:
    name = uri.partition("ddbTableName=")[2]
    for item in place.client("dynamodb").scan(TableName=name)["Items"]:
        yield {key: next(iter(value.values())) for key, value in item.items()}


def test_both_libraries_write_to_one_table(place: Place, uri: str) -> None:
    options = place.options
    lance_sql.write(rows(1, 2), uri, storage_options=options)
    lance.write_dataset(rows(3), uri, mode="append", storage_options=options)
    lance_sql.write(rows(4), uri, mode="append", storage_options=options)
    lance_sql.open(uri, storage_options=options).update({"v": "v + 1"}, "k = 3")
    lance.dataset(uri, storage_options=options).delete("k = 1")
    assert keys(place, uri) == [2, 3, 4]
    assert lance_sql.open(uri, version=1, storage_options=options).count_rows() == 2
    found = sorted(entries(place, uri), key=lambda entry: int(entry["version"]))
    assert [int(entry["version"]) for entry in found] == [1, 2, 3, 4, 5]
    place_of = uri.removeprefix(f"s3+ddb://{BUCKET}/").partition("?")[0]
    store = open_store(f"s3://{BUCKET}/{place_of}", Access.of(storage_options=options))
    sizes = {info.path: info.size for info in store.files("_versions")}
    assert len(sizes) == 5
    for entry in found:
        assert entry["base_uri"] == place_of
        assert int(entry["size"]) == sizes[entry["path"].removeprefix(f"{place_of}/")]
    assert lance_sql.verify(uri, deep=True, storage_options=options).is_healthy


def test_a_table_that_pylance_made(place: Place, uri: str) -> None:
    lance.write_dataset(rows(1), uri, storage_options=place.options)
    stale = lance_sql.open(uri, storage_options=place.options)
    lance.write_dataset(rows(2), uri, mode="append", storage_options=place.options)
    stale.delete("k = 1")
    lance_sql.open(uri, storage_options=place.options).maintenance.cleanup(retain_versions=1)
    assert keys(place, uri) == [2]
    assert len(list(entries(place, uri))) == 1


def failing(kind: str, word: str = "") -> Inject:
    """Makes all requests of a kind fail for keys with a word in them."""

    def inject(request: Request) -> Fault | None:
        return Fault.UNAVAILABLE if request.kind == kind and word in request.key else None

    return inject


@pytest.mark.parametrize("mender", ["lance_sql", "pylance"])
def test_a_version_that_we_only_staged_is_mended(place: Place, uri: str, mender: str) -> None:
    lance_sql.write(rows(1), uri, storage_options=place.options)
    quick = {**place.options, "client_max_retries": "0"}

    def final(request: Request) -> Fault | None:
        is_final = request.key.endswith("613.manifest") and request.kind == "PUT"
        return Fault.UNAVAILABLE if is_final else None

    with place.proxy.injecting(final):
        assert lance_sql.write(rows(2), uri, mode="append", storage_options=quick).version == 2
    assert any(".manifest-" in entry["path"] for entry in entries(place, uri))
    if mender == "lance_sql":
        assert lance_sql.open(uri, storage_options=place.options).count_rows() == 2
    else:
        assert lance.dataset(uri, storage_options=place.options).count_rows() == 2
    assert not any(".manifest-" in entry["path"] for entry in entries(place, uri))
    assert keys(place, uri) == [1, 2]


@pytest.mark.parametrize("mender", ["reader", "writer"])
def test_a_version_that_pylance_only_staged_is_mended(place: Place, uri: str, mender: str) -> None:
    lance_sql.write(rows(1), uri, storage_options=place.options)
    quick = {**place.options, "client_max_retries": "0", "client_retry_timeout": "1"}
    # whether it says that this failed is its own affair
    with place.proxy.injecting(failing("COPY")), suppress(OSError, RuntimeError):
        lance.write_dataset(rows(2), uri, mode="append", storage_options=quick)
    assert any(".manifest-" in entry["path"] for entry in entries(place, uri))
    if mender == "writer":
        lance_sql.write(rows(3), uri, mode="append", storage_options=place.options)
    assert keys(place, uri) == ([1, 2, 3] if mender == "writer" else [1, 2])
    assert not any(".manifest-" in entry["path"] for entry in entries(place, uri))


@pytest.mark.parametrize("fault", [Fault.LOST, Fault.LOST_AND_BUSY])
def test_an_entry_whose_answer_is_lost_is_ours(place: Place, uri: str, fault: Fault) -> None:
    """The client of DynamoDB sends requests again as well."""
    lance_sql.write(rows(1), uri, storage_options=place.options)
    left = [fault]

    def inject(request: Request) -> Fault | None:
        return left.pop() if left and request.kind == "PutItem" else None

    with place.proxy.injecting(inject):
        assert lance_sql.write(rows(2), uri, mode="append", storage_options=place.options).version == 2
    assert keys(place, uri) == [1, 2]


def test_branches_have_entries_of_their_own(place: Place, uri: str) -> None:
    made = lance_sql.write(rows(1), uri, storage_options=place.options)
    made.branches.create("dev")
    lance_sql.write(rows(2), uri, mode="append", branch="dev", storage_options=place.options)
    assert lance_sql.open(uri, branch="dev", storage_options=place.options).count_rows() == 2
    assert keys(place, uri) == [1]


def test_a_table_of_dynamodb_that_is_not_there_is_named(place: Place) -> None:
    with pytest.raises(OSError, match="NoSuch"):
        lance_sql.open(f"s3+ddb://{BUCKET}/x.lance?ddbTableName=NoSuch", storage_options=place.options)


def test_a_missing_package_is_named(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "botocore.exceptions", None)
    with pytest.raises(MissingDependency, match=r"pip install 'boto3>=.*' 'obstore>=.*'"):
        open_store(f"s3+ddb://{BUCKET}/x.lance?ddbTableName=T", Access.of(storage_options=place.options))


MIXED = ["lance_sql", "lance_sql", "pylance"]


@pytest.mark.parametrize(
    ("libraries", "inject", "commits"),
    [
        pytest.param(MIXED, None, 4, id="nothing fails"),
        pytest.param(["lance_sql"] * 3, losing_answers(0.2, 5), 20, id="lost answers", marks=pytest.mark.slow),
        pytest.param(MIXED, breaking_off(0.05, 6), 20, id="503 and cut bodies", marks=pytest.mark.slow),
    ],
)
def test_rivals(tmp_path: Path, place: Place, uri: str, libraries: list[str], inject: Inject, commits: int) -> None:
    place.proxy.inject = inject
    results = run(tmp_path, libraries, commits, uri=uri, options=place.options)
    place.proxy.inject = None
    check(results, uri, place.options)
