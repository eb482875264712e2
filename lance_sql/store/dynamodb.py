"""Manifest store in a table of DynamoDB, in the format of other Lance libraries.

    s3+ddb://bucket/path/t.lance?ddbTableName=T

    base_uri (S, partition key)    path/t.lance
    version (N, sort key)          8
    path (S)                       path/t.lance/_versions/1844....manifest
    size (N, optional)             4711
    committer (S)                  lance-sql

Source: table format, external manifest store; items that pylance 14 writes.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Lock
from typing import Any, Final

from lance_sql.errors import missing_package
from lance_sql.runtime import observing
from lance_sql.store.manifest_store import ManifestEntry
from lance_sql.store.options import bare_name

_COMMITTER: Final = "lance-sql"
_TAKEN: Final = "ConditionalCheckFailedException"


class DynamoDbManifestStore:
    """Entries in one table of DynamoDB.

    table: name of the DynamoDB table
    storage_options: credentials and region as for S3; `dynamodb_endpoint` or $DYNAMODB_ENDPOINT for another server
    """

    def __init__(self, table: str, storage_options: Mapping[str, Any] | None = None) -> None:
        self._table = table
        self._options = dict(storage_options or {})
        self._lock = Lock()
        self._connected: tuple[int, Any] | None = None
        _import()

    def __reduce__(self) -> tuple[type[DynamoDbManifestStore], tuple[str, dict[str, Any]]]:
        return DynamoDbManifestStore, (self._table, self._options)

    def key(self, uri: str) -> str:
        # Without the bucket, as in other libraries: tables of two buckets need two tables of DynamoDB.
        return uri.partition("://")[2].partition("/")[2].strip("/")

    def get(self, table: str, version: int) -> ManifestEntry | None:
        item = self._call("get_item", Key=_key(table, version), ConsistentRead=True).get("Item")
        return _entry(item) if item else None

    def latest(self, table: str) -> ManifestEntry | None:
        items = self._call(
            "query",
            KeyConditionExpression="base_uri = :table",
            ExpressionAttributeValues={":table": {"S": table}},
            ScanIndexForward=False,
            Limit=1,
            ConsistentRead=True,
        )["Items"]
        return _entry(items[0]) if items else None

    def put_if_absent(self, table: str, entry: ManifestEntry) -> bool:
        return self._put(table, entry, "attribute_not_exists(base_uri) AND attribute_not_exists(version)")

    def replace(self, table: str, entry: ManifestEntry) -> None:
        self._put(table, entry, "attribute_exists(base_uri) AND attribute_exists(version)")

    def delete(self, table: str, version: int) -> None:
        self._call("delete_item", Key=_key(table, version))

    def _put(self, table: str, entry: ManifestEntry, condition: str) -> bool:
        item = {**_key(table, entry.version), "path": {"S": entry.path}, "committer": {"S": _COMMITTER}}
        if entry.size is not None:
            item["size"] = {"N": str(entry.size)}
        answer = self._call("put_item", Item=item, ConditionExpression=condition)
        return "Error" not in answer

    def _call(self, operation: str, **arguments: Any) -> Mapping[str, Any]:
        botocore = _import()
        with self._errors(botocore), observing.recorded("request", store=f"dynamodb:{self._table}", verb=operation):
            try:
                answer: Mapping[str, Any] = getattr(self._client(), operation)(TableName=self._table, **arguments)
            except botocore.ClientError as error:
                if error.response.get("Error", {}).get("Code") != _TAKEN:
                    raise
                return dict(error.response)
            return answer

    @contextmanager
    def _errors(self, botocore: Any) -> Iterator[None]:
        try:
            yield
        except (botocore.ClientError, botocore.BotoCoreError) as error:
            raise OSError(f"DynamoDB table {self._table!r}: {error}") from error

    def _client(self) -> Any:
        with self._lock:
            # Connections belong to the process that opened them.
            if self._connected is None or self._connected[0] != os.getpid():
                self._connected = os.getpid(), _connect(self._options)
            return self._connected[1]


def _import() -> Any:
    try:
        import botocore.exceptions
    except ImportError as error:
        raise missing_package("s3+ddb:// needs the package boto3", "object-stores") from error
    return botocore.exceptions


def _connect(options: Mapping[str, Any]) -> Any:
    import boto3

    settings = {bare_name("s3", name): value for name, value in options.items()}
    inner = settings.get("client_kwargs") or {}

    def first(*names: str) -> Any:
        return next((settings[name] for name in names if settings.get(name) is not None), None)

    arguments = {
        "endpoint_url": first("dynamodb_endpoint") or os.environ.get("DYNAMODB_ENDPOINT"),
        "region_name": first("region", "default_region", "region_name") or inner.get("region_name"),
        "aws_access_key_id": first("access_key_id", "key"),
        "aws_secret_access_key": first("secret_access_key", "secret"),
        "aws_session_token": first("session_token", "token"),
    }
    session = boto3.Session(profile_name=first("profile"))
    return session.client("dynamodb", **{name: value for name, value in arguments.items() if value is not None})


def _key(table: str, version: int) -> dict[str, dict[str, str]]:
    return {"base_uri": {"S": table}, "version": {"N": str(version)}}


def _entry(item: Mapping[str, Mapping[str, str]]) -> ManifestEntry:
    size = item.get("size", {}).get("N")
    return ManifestEntry(int(item["version"]["N"]), item["path"]["S"], int(size) if size is not None else None)
