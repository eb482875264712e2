"""Errors of a store in one line, with its reason."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import lance_sql
from lance_sql.store.object_store import ObjectStore

XML = """<?xml version="1.0" encoding="utf-8" standalone="yes"?>
<Error>
  <Code>{code}</Code>
  <Message>{message}
RequestId:1f1b
Time:2026-11-24T10:00:00Z</Message>
</Error>"""


class Answering(http.server.BaseHTTPRequestHandler):
    """Gives the same answer to everything."""

    status = 403
    body = ""
    asked: list[str] = []  # noqa: RUF012 - one server for the module

    def do_GET(self) -> None:
        self.asked.append(self.path)
        content = self.body.encode()
        self.send_response(self.status)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else content)

    do_HEAD = do_PUT = do_POST = do_DELETE = do_GET  # noqa: N815 - as the server calls them

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    Answering.asked.clear()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def azure(endpoint: str) -> dict[str, Any]:
    key = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
    return {"account_name": "devaccount", "account_key": key, "endpoint": f"{endpoint}/devaccount", "max_retries": 0}


@pytest.mark.parametrize(
    ("status", "code", "message", "kind"),
    [
        (403, "AuthenticationFailed", "Server failed to authenticate the request.", PermissionError),
        (403, "AuthorizationFailure", "This request is not authorized.", PermissionError),
        (409, "AccountBeingCreated", "The account is being created.", OSError),
    ],
)
def test_azure_errors_have_their_reason(
    endpoint: str, status: int, code: str, message: str, kind: type[OSError]
) -> None:
    Answering.status, Answering.body = status, XML.format(code=code, message=message)
    with pytest.raises(kind) as raised:
        lance_sql.open("az://box/t.lance", storage_options=azure(endpoint))
    text = str(raised.value)
    assert text.startswith("az://box/t.lance: ")
    assert f"{code}: {message}" in text
    assert len(text.splitlines()) == 1
    assert "<" not in text
    assert "RequestId" not in text


def test_a_container_that_is_not_there(endpoint: str) -> None:
    Answering.status = 404
    Answering.body = XML.format(code="ContainerNotFound", message="The specified container does not exist.")
    with pytest.raises(OSError, match="no such container"):
        list(ObjectStore("az://box/t.lance", azure(endpoint)).files("data"))


def test_another_server_is_an_endpoint_for_google_as_well(endpoint: str) -> None:
    Answering.status, Answering.body = 403, XML.format(code="AccessDenied", message="Access denied.")
    options = {"endpoint": endpoint, "skip_signature": "true", "max_retries": 0}
    with pytest.raises(PermissionError, match="AccessDenied: Access denied"):
        lance_sql.open("gs://bucket/t.lance", storage_options=options)
    assert Answering.asked
