"""A proxy between a client and an object store: it counts requests, and makes some of them fail.

    with Proxy("127.0.0.1", 5000) as proxy, proxy.counted() as seen:
        ...
    assert kinds(seen) == {"LIST": 1, "GET": 3}

Behind it is a bucket of this process, or another server. For a server it makes up for what a test server lacks:
requests that change one key are carried out one after the other, so that of several conditional ones only one succeeds.
"""

from __future__ import annotations

import http.client
import re
import socket
import struct
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from enum import Enum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from tests.object_stores.answers import Wrong, wrong
from tests.object_stores.bucket import Answer, Bucket, error

_HOP_BY_HOP: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "date", "server", "content-length"})


@dataclass(frozen=True, slots=True)
class Request:
    """A request as it came.

    kind: LIST, GET, HEAD, PUT, POST, DELETE or COPY for objects; the name of the action for DynamoDB
    key: of the object, without its bucket; the prefix of a listing
    is_conditional: it creates the object if it is not there
    key_id: name of the keys that sign it
    """

    kind: str
    key: str
    query: tuple[tuple[str, str], ...] = ()
    is_conditional: bool = False
    key_id: str | None = None


class Fault(Enum):
    """What goes wrong.

    UNAVAILABLE: 503, and nothing is carried out
    LOST: carried out, and the connection ends without an answer
    LOST_AND_BUSY: carried out, and the answer is 503, as from a server in between that gave up waiting
    CUT: the body of the answer ends in the middle
    SLOW: the answer takes a while
    """

    UNAVAILABLE = 1
    LOST = 2
    LOST_AND_BUSY = 3
    CUT = 4
    SLOW = 5


Inject = Callable[[Request], "Fault | Wrong | None"]


def kinds(requests: Iterable[Request]) -> dict[str, int]:
    """How many requests there were of each kind."""
    return dict(Counter(request.kind for request in requests))


class Proxy:
    """Listens on a port of its own once it is entered.

    target: the bucket, or host and port of a server
    dynamodb: host and port of the server for requests to DynamoDB
    inject: asked for every request; called from several threads
    most_at_once: how many requests were under way at the same time, since it was set
    """

    slow_seconds = 0.3
    silent_seconds = 1.5

    def __init__(self, target: Bucket | tuple[str, int], dynamodb: Callable[[], tuple[str, int]] | None = None) -> None:
        self.target = target
        self.dynamodb = dynamodb
        self.inject: Inject | None = None
        self.most_at_once = 0
        self._under_way = 0
        self._requests: list[Request] = []
        self._lock = threading.Lock()
        self._changing: dict[str, threading.Lock] = defaultdict(threading.Lock)
        handler = type("BoundHandler", (_Handler,), {"proxy": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), name="proxy", daemon=True)

    @property
    def endpoint(self) -> str:
        host, port = self._server.server_address[:2]
        return f"http://{host!s}:{port}"

    def __enter__(self) -> Proxy:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    @contextmanager
    def counted(self) -> Iterator[list[Request]]:
        """The requests inside of the block, in the order they came; to be read after it."""
        with self._lock:
            start = len(self._requests)
        seen: list[Request] = []
        yield seen
        with self._lock:
            seen.extend(self._requests[start:])

    @contextmanager
    def injecting(self, inject: Inject) -> Iterator[None]:
        """Makes requests inside of the block fail as `inject` says."""
        self.inject = inject
        try:
            yield
        finally:
            self.inject = None

    def begin(self, request: Request) -> Fault | Wrong | None:
        with self._lock:
            self._requests.append(request)
            self._under_way += 1
            self.most_at_once = max(self.most_at_once, self._under_way)
        return self.inject(request) if self.inject is not None else None

    def end(self) -> None:
        with self._lock:
            self._under_way -= 1

    def changing(self, request: Request) -> threading.Lock:
        """Held while a request changes a key. DynamoDB's conditions are checked one after the other."""
        with self._lock:
            return self._changing[request.key]


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    # more clients connect at once than the usual five
    request_queue_size = 128

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignores clients that go away."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    # else the body of an answer waits 40 ms, until the client has acknowledged the head
    disable_nagle_algorithm = True
    proxy: Proxy
    _upstream: http.client.HTTPConnection | None = None

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""

    def setup(self) -> None:
        super().setup()
        self.connection.settimeout(120)

    def finish(self) -> None:
        with suppress(OSError):
            super().finish()
        if self._upstream is not None:
            self._upstream.close()

    def _serve(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        request = _parse(self.command, self.path, self.headers)
        try:
            self._carry_out(request, body, self.proxy.begin(request))
        finally:
            self.proxy.end()

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _serve  # noqa: N815 - names of the standard library

    def _carry_out(self, request: Request, body: bytes, fault: Fault | Wrong | None) -> None:
        if isinstance(fault, Wrong):
            answer = wrong(fault, lambda: self._forward(request, body))
            if answer is not None:
                self._answer(answer)
                return
            self.close_connection = True
            if fault is Wrong.SILENT:
                time.sleep(self.proxy.silent_seconds)
            else:
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        if fault is Fault.UNAVAILABLE:
            self._answer(error(503, "SlowDown"))
            return
        if fault is Fault.SLOW:
            time.sleep(self.proxy.slow_seconds)
        answer = self._forward(request, body)
        if fault is Fault.LOST:
            self.close_connection = True
        elif fault is Fault.LOST_AND_BUSY:
            self._answer(error(503, "SlowDown"))
        elif fault is Fault.CUT and answer.content:
            answer.sent = len(answer.content) // 2
            self._answer(answer)
            self.close_connection = True
        else:
            self._answer(answer)

    def _forward(self, request: Request, body: bytes) -> Answer:
        target = self.proxy.target
        if self.headers.get("X-Amz-Target") and self.proxy.dynamodb is not None:
            target = self.proxy.dynamodb()
        if isinstance(target, Bucket):
            return target.answer(self.command, self.path, self.headers, body)
        if self.command in ("GET", "HEAD"):
            return self._ask(target, body)
        with self.proxy.changing(request):
            return self._ask(target, body)

    def _ask(self, target: tuple[str, int], body: bytes) -> Answer:
        headers = {name: value for name, value in self.headers.items() if name.lower() not in _HOP_BY_HOP}
        headers["Content-Length"] = str(len(body))
        for is_last in (False, True):
            if self._upstream is None:
                self._upstream = http.client.HTTPConnection(*target, timeout=120)
            try:
                self._upstream.request(self.command, self.path, body, headers)
                answer = self._upstream.getresponse()
            except http.client.RemoteDisconnected:
                # the server closes connections that were idle, before it has read the request
                self._upstream.close()
                self._upstream = None
                if is_last:
                    raise
                continue
            content = answer.read()
            kept = [(name, value) for name, value in answer.getheaders() if name.lower() not in _HOP_BY_HOP]
            if self.command == "HEAD":
                kept.append(("Content-Length", answer.getheader("Content-Length") or "0"))
            if answer.will_close:
                self._upstream.close()
                self._upstream = None
            return Answer(answer.status, kept, content)
        raise AssertionError

    def _answer(self, answer: Answer) -> None:
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        if not (self.command == "HEAD" and any(name == "Content-Length" for name, _ in answer.headers)):
            self.send_header("Content-Length", str(len(answer.content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.content[: answer.sent])


def _parse(command: str, path: str, headers: Any) -> Request:
    action = headers.get("X-Amz-Target")
    if action:
        return Request(str(action).rpartition(".")[2], "")
    split = urlsplit(path)
    _, _, key = unquote(split.path).lstrip("/").partition("/")
    query = tuple(parse_qsl(split.query, keep_blank_values=True))
    names = dict(query)
    kind = command
    if command == "GET" and "list-type" in names:
        kind, key = "LIST", names.get("prefix", "")
    elif command == "PUT" and headers.get("x-amz-copy-source"):
        kind = "COPY"
    signed = re.search(r"Credential=([^/]+)/", headers.get("Authorization") or "")
    return Request(kind, key, query, headers.get("If-None-Match") == "*", signed[1] if signed else None)
