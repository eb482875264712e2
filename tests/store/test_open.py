"""From a path or URI to a store."""

from __future__ import annotations

from pathlib import Path

import pytest

from lance_sql.errors import InvalidArgument
from lance_sql.store import FsspecStore, LocalStore, open_store
from lance_sql.store.options import to_fsspec


@pytest.mark.parametrize("prefix", ["", "file://", "file://localhost"])
def test_plain_paths_and_file_uris_are_local(tmp_path: Path, prefix: str) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    store = open_store(f"{prefix}{tmp_path}")
    assert isinstance(store, LocalStore)
    assert store.tail("a", 3)[0] == 3


def test_other_schemes_are_file_systems_of_fsspec() -> None:
    assert isinstance(open_store("memory://somewhere/t.lance"), FsspecStore)


def test_an_unknown_scheme_is_the_callers_mistake() -> None:
    with pytest.raises(InvalidArgument, match="nosuch://bucket"):
        open_store("nosuch://bucket/t.lance")


def test_options_of_object_store_are_translated() -> None:
    options = {
        "aws_access_key_id": "A",
        "AWS_SECRET_ACCESS_KEY": "B",
        "region": "eu-central-1",
        "endpoint": "http://localhost:9000",
        "aws_skip_signature": "true",
        "allow_http": "true",
        "use_ssl": False,
    }
    assert to_fsspec("s3", options) == {
        "key": "A",
        "secret": "B",
        "client_kwargs": {"region_name": "eu-central-1"},
        "endpoint_url": "http://localhost:9000",
        "anon": True,
        "use_ssl": False,
    }
    assert to_fsspec("gs", {"google_service_account": "key.json"}) == {"token": "key.json"}
    assert to_fsspec("az", {"azure_storage_account_name": "x"}) == {"account_name": "x"}
    assert to_fsspec("memory", {"region": "x"}) == {"region": "x"}
