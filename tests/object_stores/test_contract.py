"""The contract of a store on S3, and special cases of object stores."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable
from datetime import timedelta

import pyarrow as pa
import pytest

from lance_sql.errors import CorruptFile, InvalidArgument, UnsupportedFeature
from lance_sql.store import ByteRange, ObjectStore, Store, concurrently, uploads
from lance_sql.store.options import to_object_store
from lance_sql.testing.stores import CONTENT, FILES, StoreContract
from tests.object_stores.places import Place
from tests.object_stores.proxy import Fault, Inject, Request, kinds


class TestObjectStore(StoreContract):
    @pytest.fixture
    def store(self, place: Place) -> Store:
        store = place.store(place.new_uri())
        for path, content in FILES.items():
            store.put(path, content, mode="overwrite")
        return store


@pytest.fixture
def store(place: Place) -> ObjectStore:
    store = place.store(place.new_uri())
    store.put("data/a.lance", CONTENT, mode="overwrite")
    return store


def first(fault: Fault, kind: str) -> Inject:
    """Makes the first request of a kind fail."""
    left = [fault]
    lock = threading.Lock()

    def inject(request: Request) -> Fault | None:
        with lock:
            return left.pop() if left and request.kind == kind else None

    return inject


@pytest.mark.parametrize("fault", Fault)
def test_reads_are_asked_again(place: Place, store: ObjectStore, fault: Fault) -> None:
    reads: dict[str, Callable[[], bool]] = {
        "GET": lambda: store.tail("data/a.lance", 10)[1].to_pybytes() == CONTENT[-10:],
        "HEAD": lambda: store.tail("data/a.lance", 0)[0] == 2048,
        "LIST": lambda: [info.path for info in store.files("data")] == ["data/a.lance"],
    }
    for kind, read in reads.items():
        with place.proxy.injecting(first(fault, kind)):
            assert read()
    with place.proxy.injecting(first(fault, "GET")):
        assert store.get_ranges("data/a.lance", [ByteRange(5, 9)])[0] == CONTENT[5:9]


def test_an_answer_that_never_comes_whole_is_an_error(place: Place, store: ObjectStore) -> None:
    fast = ObjectStore(store.uri, {**place.options, "client_max_retries": 0})
    with place.proxy.injecting(lambda request: Fault.CUT), pytest.raises(OSError, match="s3://bucket/"):
        fast.get_ranges("data/a.lance", [ByteRange(0, 2000)])


@pytest.mark.parametrize("fault", Fault)
def test_an_object_is_overwritten_whatever_happens_to_the_answer(
    place: Place, store: ObjectStore, fault: Fault
) -> None:
    with place.proxy.injecting(first(fault, "PUT")):
        store.put("x", b"new", mode="overwrite")
    assert store.tail("x", 9)[1] == b"new"


@pytest.mark.parametrize("fault", [Fault.LOST, Fault.LOST_AND_BUSY])
def test_a_created_object_is_there_although_its_answer_was_lost(place: Place, store: ObjectStore, fault: Fault) -> None:
    # The client sends the request again, and is told that the object is there.
    with place.proxy.injecting(first(fault, "PUT")), pytest.raises(FileExistsError):
        store.put("x", b"new", mode="create")
    assert store.tail("x", 9)[1] == b"new"


def test_requests_are_few(place: Place, store: ObjectStore) -> None:
    def seen() -> dict[str, int]:
        return kinds(requests)

    with place.proxy.counted() as requests:
        store.tail("data/a.lance", 100)
    assert seen() == {"GET": 1}
    with place.proxy.counted() as requests:
        store.tail("data/a.lance", 2**62)
    assert seen() == {"GET": 1}
    with place.proxy.counted() as requests:
        store.get_ranges("data/a.lance", [ByteRange(0, 10), ByteRange(100, 200), ByteRange(2000, 2048)])
    assert seen() == {"GET": 1}
    with place.proxy.counted() as requests:
        sink = store.create("data/b.lance")
        for _ in range(100):
            sink.write(b"abc")
        sink.close()
    assert seen() == {"PUT": 1}


@pytest.mark.slow
def test_a_listing_is_taken_page_by_page(place: Place, store: ObjectStore) -> None:
    paths = [f"names/{number:05}" for number in range(1100)]
    concurrently([lambda path=path: store.put(path, b"", mode="overwrite") for path in paths], 16)  # type: ignore[misc]  # bound to this value
    with place.proxy.counted() as requests:
        found = store.files("names")
        assert next(found).path == paths[0]
    assert kinds(requests) == {"LIST": 1}
    with place.proxy.counted() as requests:
        assert [info.path for info in store.files("names")] == paths
    assert kinds(requests) == {"LIST": 2}


def test_a_listing_that_breaks_off_goes_on_where_it_was(place: Place, store: ObjectStore) -> None:
    for number in range(5):
        store.put(f"few/{number}", b"", mode="overwrite")
    found = store.files("few")
    with place.proxy.injecting(first(Fault.CUT, "LIST")):
        assert [info.path for info in found] == [f"few/{number}" for number in range(5)]


def test_a_long_object_is_uploaded_in_parts(place: Place, store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    content = os.urandom(2**20) * 23
    with place.proxy.counted() as requests:
        sink = store.create("data/long.lance")
        for start in range(0, len(content), 2**20):
            sink.write(pa.py_buffer(content[start : start + 2**20]))
        assert sink.tell() == len(content)
        sink.close()
    assert kinds(requests) == {"POST": 2, "PUT": 3}
    size, found = store.tail("data/long.lance", 2**62)
    assert size == len(content)
    assert found == content


def test_an_upload_that_is_aborted_leaves_nothing(place: Place, store: ObjectStore) -> None:
    sink = store.create("data/long.lance")
    for _ in range(25):
        sink.write(bytes(2**20))
    sink.abort()
    assert [info.path for info in store.files("data")] == ["data/a.lance"]
    assert not place.client("s3").list_multipart_uploads(Bucket="bucket").get("Uploads")


def test_failed_uploads_raise(place: Place, store: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(uploads, "PART_BYTES", 1000)
    fast = ObjectStore(store.uri, {**place.options, "client_max_retries": 0})

    def write() -> None:
        for _ in range(1000):
            sink.write(bytes(600))
        sink.close()

    with place.proxy.injecting(lambda request: Fault.UNAVAILABLE if request.kind != "DELETE" else None):
        sink = fast.create("data/long.lance")
        with pytest.raises(OSError, match="503"):
            write()
        sink.abort()
    assert [info.path for info in store.files("data")] == ["data/a.lance"]


def test_objects_of_other_writers_are_listed(place: Place, store: ObjectStore) -> None:
    assert [info.path for info in store.files("data")] == ["data/a.lance"]
    place.store(store.uri).put("data/b.lance", b"later", mode="create")
    assert store.tail("data/b.lance", 9) == (5, pa.py_buffer(b"later"))
    assert store.get_ranges("data/b.lance", [ByteRange(0, 5)])[0] == b"later"
    place.store(store.uri).put("data/b.lance", b"even later", mode="overwrite")
    assert store.tail("data/b.lance", 0)[0] == 10
    place.store(store.uri).delete("data/b.lance")
    with pytest.raises(FileNotFoundError):
        store.tail("data/b.lance", 4)


def _read_in_child(uri: str, options: dict[str, str], store: ObjectStore | None, answers: object) -> None:
    try:
        found = (store or ObjectStore(uri, options)).tail("data/a.lance", 4)[1].to_pybytes()
        answers.put(found)  # type: ignore[attr-defined]  # a queue of processes
    except Exception as error:
        answers.put(f"{type(error).__name__}: {error}")  # type: ignore[attr-defined]  # a queue of processes


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
# the other library warns of forks on its own
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_forked_process_gets_an_error(place: Place, store: ObjectStore) -> None:
    store.tail("data/a.lance", 4)
    context = multiprocessing.get_context("fork")
    answers = context.Queue()
    child = context.Process(target=_read_in_child, args=(store.uri, place.options, store, answers))
    child.start()
    assert "UnsupportedFeature" in answers.get(timeout=30)
    child.join(30)


def test_a_process_that_was_spawned_has_a_client_of_its_own(place: Place, store: ObjectStore) -> None:
    context = multiprocessing.get_context("spawn")
    answers = context.Queue()
    child = context.Process(target=_read_in_child, args=(store.uri, place.options, store, answers))
    child.start()
    assert answers.get(timeout=60) == CONTENT[-4:]
    child.join(30)


def test_a_bucket_that_is_not_there(place: Place) -> None:
    store = place.store("s3://no-such-bucket/t.lance")
    for call in (
        lambda: list(store.files("_versions")),
        lambda: store.tail("x", 4),
        lambda: store.put("x", b"", mode="create"),
    ):
        with pytest.raises(OSError, match="no such bucket"):
            call()


def test_a_wrong_size_is_damage(store: ObjectStore) -> None:
    with pytest.raises(CorruptFile, match=r"data/a\.lance"):
        store.get_ranges("data/a.lance", [ByteRange(5000, 5001)])


def test_options_are_named_as_in_object_store_or_as_in_fsspec() -> None:
    ours = to_object_store(
        "s3",
        "bucket",
        {
            "aws_access_key_id": "A",
            "AWS_SECRET_ACCESS_KEY": "B",
            "region": "eu-central-1",
            "endpoint": "http://localhost:9000",
            "timeout": "60s",
            "client_max_retries": "3",
            "client_retry_timeout": 20,
        },
    )
    theirs = to_object_store(
        "s3",
        "bucket",
        {
            "key": "A",
            "secret": "B",
            "client_kwargs": {"region_name": "eu-central-1"},
            "endpoint_url": "http://localhost:9000",
        },
    )
    assert ours.config == theirs.config
    assert ours.client == {"allow_http": True, "timeout": "60s"}
    assert theirs.client == {"allow_http": True}
    assert ours.retry == {"max_retries": 3, "retry_timeout": timedelta(seconds=20)}
    assert to_object_store("gs", "b", {"token": "key.json"}).config == {"service_account": "key.json"}
    assert to_object_store("gs", "b", {"token": "anon"}).config == {"skip_signature": True}
    assert to_object_store("az", "b", {"azure_storage_account_name": "x"}).config == {"account_name": "x"}
    assert to_object_store("abfss", "c@x.dfs.core.windows.net", {"account_key": "k"}).config == {
        "access_key": "k",
        "account_name": "x",
    }


def test_an_option_that_is_not_known_is_refused_by_name() -> None:
    with pytest.raises(InvalidArgument, match="acess_key"):
        ObjectStore("s3://bucket/t.lance", {"acess_key": "A"})
    with pytest.raises(InvalidArgument, match="names no bucket"):
        ObjectStore("s3://", {})


@pytest.mark.parametrize(
    ("uri", "options"),
    [
        ("s3a://bucket/t.lance", {"anon": True}),
        ("gs://bucket/t.lance", {"token": "anon"}),
        ("gcs://bucket/t.lance", {"token": "anon"}),
        ("az://container/t.lance", {"account_name": "a", "account_key": "a2V5"}),
        ("abfss://container@account.dfs.core.windows.net/t.lance", {"account_key": "a2V5"}),
    ],
)
def test_each_scheme_has_a_client(uri: str, options: dict[str, object]) -> None:
    assert ObjectStore(uri, options).uri == uri


def test_a_store_without_conditional_requests_is_refused(place: Place, store: ObjectStore) -> None:
    other = ObjectStore(store.uri, {**place.options, "conditional_put": "disabled"})
    with pytest.raises(UnsupportedFeature, match="only if it does not exist"):
        other.put("x", b"", mode="create")
