"""The client of object stores, which is the package obstore, and the processes that can use it."""

from __future__ import annotations

import os
from typing import Any, Final

from lance_sql.errors import InvalidArgument, UnsupportedFeature, missing_package
from lance_sql.store.client_errors import first_line
from lance_sql.store.options import ClientSettings

# each handle has connections of its own, and many systems give a process 1,024 descriptors
_IDLE_CONNECTION: Final = "15s"


class _Process:
    """Whether the client may be used here. A process forked after its first use lacks its threads."""

    is_used = False
    is_forked = False

    @classmethod
    def forked(cls) -> None:
        cls.is_forked = cls.is_used


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_Process.forked)


def load(scheme: str) -> Any:
    """Imports the package, which only users of object stores pay for.

    raises: MissingDependency
    """
    try:
        import obstore
        import obstore.store
    except ImportError as error:
        raise missing_package(f"{scheme}:// needs the package obstore", "object-stores") from error
    return obstore


def connect(obstore: Any, scheme: str, bucket: str, prefix: str, settings: ClientSettings) -> Any:
    """Returns a client for the objects below a prefix of a bucket. Nothing is requested yet.

    raises: InvalidArgument for settings that it rejects
    """
    prefix_option: dict[str, Any] = {"prefix": prefix or None}
    options = {
        "config": settings.config,
        "client_options": {"pool_idle_timeout": _IDLE_CONNECTION, **settings.client},
        "retry_config": settings.retry or None,
        "credential_provider": settings.credentials,
    }
    try:
        if scheme in ("s3", "s3a"):
            return obstore.store.S3Store(bucket, **prefix_option, **options)
        if scheme in ("gs", "gcs"):
            return obstore.store.GCSStore(bucket, **prefix_option, **options)
        return obstore.store.AzureStore(bucket.partition("@")[0], **prefix_option, **options)
    except (obstore.exceptions.BaseError, ValueError, TypeError) as error:
        raise InvalidArgument(f"Cannot open {scheme}://{bucket}: {first_line(error)}") from error


def check_process(uri: str) -> None:
    """Makes sure, before each request, that the client has its threads in this process.

    raises: UnsupportedFeature in a process that was forked from one that used an object store
    """
    if _Process.is_forked:
        raise UnsupportedFeature(
            f"{uri}: this process was forked from one that used an object store, and lacks its connections: start"
            " processes with multiprocessing.get_context('spawn')"
        )
    _Process.is_used = True
