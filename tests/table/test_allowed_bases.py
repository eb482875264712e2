"""A table reads files from its own place and from allowed places only."""

from __future__ import annotations

import http.server
import pickle
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import lance_sql
from lance_sql.errors import ForeignBase
from lance_sql.store.access import ALLOW_BASES, Access
from lance_sql.store.allowed_bases import check
from tests.writes.commit.test_early_releases import edit_manifest, newest_manifest


class Asked(http.server.BaseHTTPRequestHandler):
    """Notes every request, and has nothing."""

    paths: list[str] = []  # noqa: RUF012 - one server for the module

    def do_GET(self) -> None:
        self.paths.append(self.path)
        self.send_error(404)

    do_HEAD = do_GET  # noqa: N815 - as the server calls it

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def host() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Asked)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    Asked.paths.clear()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def table(tmp_path: Path, base: str) -> Path:
    root = tmp_path / "t.lance"
    lance_sql.write({"id": [1, 2, 3]}, root)

    def edit(manifest: Any) -> None:
        manifest.base_paths.add(id=9, path=base, is_dataset_root=True)
        manifest.fragments[0].files[0].base_id = 9
        manifest.reader_feature_flags |= 16
        manifest.writer_feature_flags |= 16

    edit_manifest(newest_manifest(root), edit)
    return root


def test_no_other_host_is_asked(tmp_path: Path, host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ENDPOINT_URL", host), ("SKIP_SIGNATURE", "true"), ("ALLOW_HTTP", "true"), ("REGION", "r")):
        monkeypatch.setenv(f"AWS_{name}", value)
    root = table(tmp_path, "s3://foreign/t.lance")
    opened = lance_sql.open(root)
    assert opened.count_rows() == 3
    reads: list[Callable[[], object]] = [
        lambda: opened.scan().to_table(),
        lambda: opened.delete("id = 1"),
        lambda: lance_sql.connect().execute(f"SELECT max(id) FROM '{root}'").fetchall(),
        lambda: lance_sql.open(root, allow_bases="s3://another/").scan().to_table(),
    ]
    for read in reads:
        with pytest.raises(Exception, match="outside its own place") as raised:
            read()
        assert "allow_bases=['s3://foreign/']" in str(raised.value)
        assert "t.lance version 1" in str(raised.value)
    assert not lance_sql.verify(root, deep=True).is_healthy
    assert Asked.paths == []
    place = "s3://foreign/"
    allowed: list[Callable[[], object]] = [
        lambda: lance_sql.open(root, allow_bases=[place]).scan().to_table(),
        lambda: pickle.loads(pickle.dumps(lance_sql.open(root, allow_bases=place))).scan().to_table(),
        lambda: lance_sql.connect(allow_bases=[place]).execute(f"SELECT max(id) FROM '{root}'").fetchall(),
        lambda: lance_sql.open(root, storage_options={"allow_bases": place}).scan().to_table(),
    ]
    for read in allowed:
        Asked.paths.clear()
        with pytest.raises(Exception, match=r"missing|404"):
            read()
        assert Asked.paths
    monkeypatch.setenv(ALLOW_BASES, f"gs://x/ {place}")
    Asked.paths.clear()
    assert not lance_sql.verify(root).is_healthy
    assert Asked.paths


@pytest.mark.parametrize(
    ("base", "own", "allowed", "is_asked"),
    [
        ("/archive/x", "/data/t.lance", "", True),
        ("file:///archive/x", "t.lance", "", True),
        ("s3://a/x", "s3://a/t.lance", "", True),
        ("s3a://a/x", "s3://a/t.lance", "", True),
        ("s3://a/x", "s3+ddb://a/t.lance?ddbTableName=T", "", True),
        ("s3://b/x", "s3://a/t.lance", "", False),
        ("gs://a/x", "s3://a/t.lance", "", False),
        ("/etc/x", "s3://a/t.lance", "", False),
        ("s3://a/x", "/data/t.lance", "", False),
        ("s3://b/x", "s3://a/t.lance", "s3://b", True),
        ("s3://b/x", "s3://a/t.lance", "gs://c,s3://b/x/", True),
        ("s3://bb/x", "s3://a/t.lance", "s3://b", False),
        ("/etc/x", "s3://a/t.lance", "/etc", True),
        ("http://a@b/x", "http://a/t.lance", "", False),
    ],
)
def test_requests_of_allowed_bases(base: str, own: str, allowed: str, is_asked: bool) -> None:
    if is_asked:
        check(base, own, Access.of(allow_bases=allowed).allow_bases)
        return
    with pytest.raises(ForeignBase):
        check(base, own, Access.of(allow_bases=allowed).allow_bases)
    assert isinstance(ForeignBase("x"), PermissionError)


def test_a_clone_reads_the_files_that_it_was_made_of(tmp_path: Path) -> None:
    made = lance_sql.write({"id": [1, 2]}, "memory://clones/t.lance")
    clone = made.branches.shallow_clone(tmp_path / "c.lance")
    assert clone.scan().to_table().num_rows == 2
    assert clone.delete("id = 1").count_rows() == 1
    with pytest.raises(ForeignBase):
        lance_sql.open(tmp_path / "c.lance").scan().to_table()
    assert lance_sql.open(tmp_path / "c.lance", allow_bases="memory://clones/").count_rows("id = 2") == 1
