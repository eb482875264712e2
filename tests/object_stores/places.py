"""Fixtures for object stores: a bucket behind a proxy, and the options of both libraries."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import Any

from lance_sql.store import ObjectStore
from tests.object_stores.bucket import Bucket
from tests.object_stores.proxy import Proxy

BUCKET = "bucket"


@dataclass
class Place:
    """An object store.

    options: storage options that both libraries take
    """

    proxy: Proxy
    bucket: Bucket
    _numbers: itertools.count[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def options(self) -> dict[str, str]:
        return {
            "aws_endpoint": self.proxy.endpoint,
            "aws_access_key_id": "key",
            "aws_secret_access_key": "secret",
            "aws_region": "us-east-1",
            "allow_http": "true",
            "dynamodb_endpoint": self.proxy.endpoint,
        }

    def new_uri(self) -> str:
        """Where nothing is yet."""
        return f"s3://{BUCKET}/{next(self._numbers)}/t.lance"

    def prefix(self, uri: str) -> str:
        """The keys of a table begin with this."""
        return f"{uri.removeprefix(f's3://{BUCKET}/')}/"

    def store(self, uri: str) -> ObjectStore:
        return ObjectStore(uri, self.options)

    def client(self, service: str) -> Any:
        """A client of Amazon's own library."""
        import boto3

        return boto3.client(
            service,
            endpoint_url=self.proxy.endpoint,
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
        )
