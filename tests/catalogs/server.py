"""A small REST namespace over a folder, as the specification has it, in a thread of the tests."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from lance_sql.catalogs.directory import DirectoryCatalog
from lance_sql.errors import InvalidArgument, LanceError, TableExists, TableNotFound

TOKEN = "secret"
PAGE = 2
"""So many names are on a page of a list."""


class _Handler(BaseHTTPRequestHandler):
    catalog: DirectoryCatalog

    def log_message(self, *_: Any) -> None:
        return

    def do_GET(self) -> None:
        self._answer({})

    def do_POST(self) -> None:
        self._answer(json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}"))

    def _answer(self, body: dict[str, Any]) -> None:
        status, found = 200, {}
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            status = 401
        else:
            try:
                found = self._found(body)
            except TableNotFound:
                status = 404
            except TableExists:
                status = 409
            except InvalidArgument:
                status = 400
            except LanceError:
                status = 501
        answer = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def _found(self, body: dict[str, Any]) -> dict[str, Any]:
        address = urlsplit(self.path)
        _, kind, id, *verbs = unquote(address.path).strip("/").split("/")
        name = tuple(part for part in id.split("$") if part)
        token = int(parse_qs(address.query).get("page_token", ["0"])[0])
        match kind, "/".join(verbs):
            case "namespace", "list":
                return self._page("namespaces", self.catalog.namespaces(name), token)
            case "namespace", "table/list":
                return self._page("tables", self.catalog.tables(name), token)
            case "namespace", "create":
                self.catalog.create_namespace(name, body.get("properties"))
            case "namespace", "drop":
                self.catalog.drop_namespace(name)
            case "namespace", "describe":
                return {"properties": self.catalog.properties(name)}
            case "table", ("describe" | "declare") as verb:
                entry = (
                    self.catalog.describe(name)
                    if verb == "describe"
                    else self.catalog.declare(name, body.get("properties"))
                )
                return {"location": f"file://{entry.path}", "properties": dict(entry.properties)}
            case "table", "drop":
                # the server of a namespace knows no views
                self.catalog._drop(name)
            case "table", "deregister":
                self.catalog.forget(name)
            case "table", "rename":
                self.catalog.rename_table(name, (*body.get("new_namespace_id", name[:-1]), body["new_table_name"]))
            case _:
                raise LanceError("not here")
        return {}

    def _page(self, what: str, names: list[str], start: int) -> dict[str, Any]:
        more = {"page_token": str(start + PAGE)} if start + PAGE < len(names) else {}
        return {what: names[start : start + PAGE], **more}


@contextmanager
def serving(folder: str) -> Iterator[str]:
    """The address of a server over a folder."""
    handler = type("Handler", (_Handler,), {"catalog": DirectoryCatalog(folder)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
