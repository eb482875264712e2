"""One bucket for all tests of a session; each test has a place of its own in it."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path

import pytest

from tests.object_stores.bucket import Bucket
from tests.object_stores.places import BUCKET, Place
from tests.object_stores.proxy import Proxy

NEEDED = ("moto", "flask", "flask_cors", "boto3", "obstore")


@contextmanager
def _dynamodb() -> Iterator[tuple[str, int]]:
    """Starts a server for DynamoDB in a process of its own."""
    command = [sys.executable, str(Path(__file__).parent / "server.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield "127.0.0.1", int(process.stdout.readline())
        finally:
            process.stdin.close()
            process.wait(30)


@pytest.fixture(scope="session")
def _place() -> Iterator[Place]:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        reason = f"no test server: {', '.join(missing)} not installed (pip install 'lance-sql[test]')"
        if os.environ.get("CI", "").lower() in ("true", "1"):
            pytest.fail(reason)
        pytest.skip(reason)
    bucket = Bucket(BUCKET)
    with ExitStack() as stack:
        dynamodb = cache(lambda: stack.enter_context(_dynamodb()))
        yield Place(stack.enter_context(Proxy(bucket, dynamodb)), bucket)


@pytest.fixture
def place(_place: Place) -> Iterator[Place]:
    """The object store; requests succeed unless the test says otherwise."""
    _place.proxy.inject = None
    _place.bucket.honors, _place.bucket.denied = True, None
    yield _place
    _place.proxy.inject = None
