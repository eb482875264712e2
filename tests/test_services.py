"""The services of docs/services.md answer requests of many threads while a writer changes the table."""

from __future__ import annotations

import http.client
import json
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import lance_sql

ROOT = Path(__file__).parent.parent


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], int, Path]]:
    """The service over a copy of the table."""
    shutil.copytree(ROOT / "examples" / "orders.lance", tmp_path / "examples" / "orders.lance")
    command = [sys.executable, str(ROOT / "examples" / "service.py"), "0"]
    with subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield process, int(process.stdout.readline().split()[-1]), tmp_path / "examples" / "orders.lance"
        finally:
            process.kill()


def get(port: int, path: str) -> Any:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=60) as answer:
        return json.load(answer)


def test_the_service_of_the_standard_library(server: tuple[subprocess.Popen[str], int, Path]) -> None:
    process, port, table = server
    expected = lance_sql.open(table).count_rows("status = 'open'")
    with ThreadPoolExecutor(8) as pool:
        counts = [len(found) for found in pool.map(lambda _: get(port, "/orders?status=open"), range(40))]
    assert counts == [expected] * 40
    version = lance_sql.open(table).delete("status = 'open' AND id < 100").version
    assert get(port, "/health") == {"version": version}
    assert len(get(port, "/orders?status=open")) == lance_sql.open(table).count_rows("status = 'open'") < expected
    with pytest.raises(urllib.error.HTTPError, match="400"):
        get(port, "/orders")
    process.send_signal(signal.SIGTERM)
    assert process.wait(30) == 0
    with pytest.raises((urllib.error.URLError, http.client.HTTPException, ConnectionError)):
        get(port, "/health")


@pytest.mark.filterwarnings("ignore:Using .httpx")
def test_the_service_of_fastapi(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("fastapi", reason="fastapi is not installed")
    client_of = pytest.importorskip("fastapi.testclient").TestClient
    monkeypatch.chdir(ROOT)
    monkeypatch.syspath_prepend(str(ROOT / "examples"))
    client = client_of(__import__("service_fastapi").app)
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.get("/orders", params={"status": "open"}).json(), range(16)))
    assert {len(answer) for answer in answers} == {104}
    assert client.get("/health").json() == {"version": 9}
    assert client.get("/orders").status_code == 422


def test_the_page_has_the_example() -> None:
    page = (ROOT / "docs" / "services.md").read_text()
    example = (ROOT / "examples" / "service_fastapi.py").read_text().partition('"""\n\n')[2]
    assert f"```text\n{example}```" in page
