"""Lists of a REST namespace whose pages or answers are wrong or late: whole, or an error."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

import lance_sql
from lance_sql.catalogs import rest
from lance_sql.errors import LanceError

Answer = Callable[[str | None, int], tuple[int, dict[str, str], dict[str, Any]] | None]
"""Of a page token and the number of the request: status, headers and body, or None for silence."""


@contextmanager
def serving(answer: Answer) -> Iterator[tuple[str, list[str | None]]]:
    seen: list[str | None] = []
    done = Event()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: Any) -> None:
            return

        def do_GET(self) -> None:
            token = parse_qs(urlsplit(self.path).query).get("page_token", [None])[0]
            seen.append(token)
            given = answer(token, len(seen))
            if given is None:
                done.wait(10)
                return
            status, headers, body = given
            content = json.dumps(body).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Type": "application/json"}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def do_POST(self) -> None:
            self.do_GET()

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", seen
    finally:
        done.set()
        server.shutdown()
        server.server_close()


def page(names: list[str], token: str | None) -> tuple[int, dict[str, str], dict[str, Any]]:
    return 200, {}, {"tables": names, "namespaces": names, **({"page_token": token} if token is not None else {})}


WITHOUT_END: dict[str, Answer] = {
    "the same token": lambda token, number: page([f"t{number}"], "p1"),
    "two tokens in turn": lambda token, number: page([f"t{number}"], "B" if token == "A" else "A"),
    "empty pages": lambda token, number: page([], f"p{number}"),
    "empty pages with one token": lambda token, number: page([], "p"),
}


@pytest.mark.parametrize("kind", ["tables", "namespaces"])
@pytest.mark.parametrize("how", WITHOUT_END)
def test_a_list_without_an_end_is_an_error(how: str, kind: str) -> None:
    with serving(WITHOUT_END[how]) as (address, seen):
        with pytest.raises(LanceError, match=f"its list of {kind} has no end"):
            getattr(lance_sql.catalog(address), kind)()
        assert len(seen) <= 110


WHOLE: dict[str, Answer] = {
    "a page without names": lambda token, number: page([["a"], [], ["b"]][number - 1], ["x", "y", None][number - 1]),
    "an empty token": lambda token, number: page([["a"], ["b"]][number - 1], ["x", ""][number - 1]),
    "names twice": lambda token, number: page([["a", "b"], ["b"]][number - 1], ["x", None][number - 1]),
    "too many requests, once": lambda token, number: (
        (429, {"Retry-After": "0"}, {})
        if number == 2
        else page(["a"] if number == 1 else ["b"], "x" if number == 1 else None)
    ),
}


@pytest.mark.parametrize("how", WHOLE)
def test_a_list_is_whole(how: str) -> None:
    with serving(WHOLE[how]) as (address, _):
        assert lance_sql.catalog(address).tables() == ["a", "b"]


def test_a_long_wait_is_an_error() -> None:
    with serving(lambda token, number: (429, {"Retry-After": "3600"}, {})) as (address, seen):
        start = time.monotonic()
        with pytest.raises(LanceError, match="returned 429, and asks to wait 3600 s"):
            lance_sql.catalog(address).tables()
        assert (len(seen), time.monotonic() - start < 5) == (1, True)


@pytest.mark.parametrize("verb", ["tables", "open"])
def test_a_silent_server_is_an_error(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rest, "SECONDS", (0.5, 0.5))
    with serving(lambda token, number: None) as (address, seen):
        catalog = lance_sql.catalog(address)
        with pytest.raises(LanceError, match="does not respond"):
            catalog.tables() if verb == "tables" else catalog.open("orders")
        assert len(seen) == 1
