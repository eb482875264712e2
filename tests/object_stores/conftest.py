"""One server for all tests of a session; each test has a place of its own in its bucket."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.object_stores.places import BUCKET, Place
from tests.object_stores.proxy import Proxy

NEEDED = ("moto", "flask", "flask_cors", "boto3", "obstore")


@pytest.fixture(scope="session")
def _server() -> Iterator[tuple[str, int]]:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        reason = f"no test server of S3: {', '.join(missing)} not installed (pip install 'lance-sql[test]')"
        if os.environ.get("CI", "").lower() in ("true", "1"):
            pytest.fail(reason)
        pytest.skip(reason)
    # its own process, so that it does not share the interpreter's lock with what is tested
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
def _place(_server: tuple[str, int]) -> Iterator[Place]:
    with Proxy(*_server) as proxy:
        place = Place(proxy)
        place.client("s3").create_bucket(Bucket=BUCKET)
        yield place


@pytest.fixture
def place(_place: Place) -> Iterator[Place]:
    """The object store; requests succeed unless the test says otherwise."""
    _place.proxy.inject = None
    yield _place
    _place.proxy.inject = None
