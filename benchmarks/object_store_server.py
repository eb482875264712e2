"""A store that speaks as much of S3 as readers need, over a folder of this machine: every request waits, and every
connection has a bandwidth.

    with StoreServer(folder) as server:
        lance_sql.open(f"s3://{BUCKET}/t.lance", storage_options=server.options)
        server.take_count()

It runs in its own process, so that it shares no interpreter with the measured code; it shares the processors.
"""

from __future__ import annotations

import argparse
import asyncio
import email.utils
import mmap
import os
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "bucket"
SECONDS = 0.020
BYTES_PER_SECOND = 90_000_000
_PIECE = 256 * 1024
_COUNT = "/-/count"


@dataclass(frozen=True, slots=True)
class Count:
    """Requests, and the bytes of their answers."""

    requests: int
    num_bytes: int


class StoreServer:
    """Serves a folder as the bucket `BUCKET` while it is entered, on a port of the loopback interface."""

    def __init__(self, folder: Path, *, seconds: float = SECONDS, bytes_per_second: float = BYTES_PER_SECOND) -> None:
        """
        seconds: that every request waits
        bytes_per_second: of every connection
        """
        self._command = [sys.executable, "-m", __name__, str(folder), str(seconds), str(bytes_per_second)]

    def __enter__(self) -> StoreServer:
        root = Path(__file__).parent.parent
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root
        )
        assert self._process.stdout is not None
        self.address = f"127.0.0.1:{int(self._process.stdout.readline())}"
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(30)
        self._process.stdout.close()

    @property
    def options(self) -> dict[str, str]:
        """Storage options, as every Lance library takes them."""
        return {
            "aws_endpoint": f"http://{self.address}",
            "aws_access_key_id": "key",
            "aws_secret_access_key": "secret",
            "aws_region": "us-east-1",
            "allow_http": "true",
        }

    def take_count(self) -> Count:
        """Returns the requests since the last call."""
        with urllib.request.urlopen(f"http://{self.address}{_COUNT}") as answer:
            requests, num_bytes = answer.read().split()
        return Count(int(requests), int(num_bytes))


class _Server:
    def __init__(self, folder: Path, seconds: float, bytes_per_second: float) -> None:
        self._folder = folder
        self._seconds = seconds
        self._bytes_per_second = bytes_per_second
        self._files: dict[Path, mmap.mmap] = {}
        self._num_requests = self._num_bytes = 0

    async def serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        listener = socket.create_server(("127.0.0.1", 0), backlog=256)
        listener.setblocking(False)
        print(listener.getsockname()[1], flush=True)
        accepting = asyncio.create_task(self._accept(listener))
        # ends when its parent closes the pipe
        await self._loop.run_in_executor(None, sys.stdin.read)
        accepting.cancel()

    async def _accept(self, listener: socket.socket) -> None:
        connections = set()
        while True:
            client, _ = await self._loop.sock_accept(listener)
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            connection = asyncio.create_task(self._connection(client))
            connections.add(connection)
            connection.add_done_callback(connections.discard)

    async def _connection(self, client: socket.socket) -> None:
        with client, suppress(ConnectionError):
            received = b""
            while True:
                while b"\r\n\r\n" not in received:
                    more = await self._loop.sock_recv(client, 1 << 16)
                    if not more:
                        return
                    received += more
                text, _, received = received.partition(b"\r\n\r\n")
                head = text.decode("latin-1").split("\r\n")
                command, target, _ = head[0].split(" ")
                headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in head[1:])}
                if target == _COUNT:
                    answer = f"{self._num_requests} {self._num_bytes}".encode()
                    self._num_requests = self._num_bytes = 0
                    await self._loop.sock_sendall(client, _head(200, len(answer)) + answer)
                    continue
                self._num_requests += 1
                await asyncio.sleep(self._seconds)
                await self._answer(command, target, headers, client)

    async def _answer(self, command: str, target: str, headers: dict[str, str], client: socket.socket) -> None:
        split = urlsplit(target)
        query = parse_qs(split.query, keep_blank_values=True)
        bucket, _, key = unquote(split.path).lstrip("/").partition("/")
        if command not in ("GET", "HEAD") or bucket != BUCKET:
            await self._loop.sock_sendall(client, _head(501, 0))
            return
        if "list-type" in query:
            listing = self._listing(query).encode()
            self._num_bytes += len(listing)
            await self._loop.sock_sendall(client, _head(200, len(listing), type="application/xml") + listing)
            return
        path = self._folder / key
        if not path.is_file():
            await self._loop.sock_sendall(client, _head(404, 0))
            return
        content = self._content(path)
        total = len(content)
        start, end = _range(headers.get("range"), total)
        is_part = "range" in headers
        if start >= end and is_part:
            await self._loop.sock_sendall(client, _head(416, 0))
            return
        extra = [f"Content-Range: bytes {start}-{end - 1}/{total}"] if is_part else []
        stat = path.stat()
        extra += [
            f'ETag: "{stat.st_mtime_ns:x}-{total:x}"',
            f"Last-Modified: {email.utils.formatdate(stat.st_mtime, usegmt=True)}",
            "Accept-Ranges: bytes",
        ]
        await self._loop.sock_sendall(client, _head(206 if is_part else 200, end - start, *extra))
        if command == "GET":
            self._num_bytes += end - start
            await self._send(content[start:end], client)

    async def _send(self, content: memoryview, client: socket.socket) -> None:
        begun = time.monotonic()
        for first in range(0, len(content), _PIECE):
            await self._loop.sock_sendall(client, content[first : first + _PIECE])
            early = begun + min(first + _PIECE, len(content)) / self._bytes_per_second - time.monotonic()
            if early > 0:
                await asyncio.sleep(early)

    def _content(self, path: Path) -> memoryview:
        if os.path.getsize(path) == 0:
            return memoryview(b"")
        if path not in self._files:
            with path.open("rb") as file:
                self._files[path] = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return memoryview(self._files[path])

    def _listing(self, query: dict[str, list[str]]) -> str:
        """All keys below a prefix, in order; in one answer."""
        prefix = query.get("prefix", [""])[0]
        after = query.get("start-after", [""])[0]
        has_folders = query.get("delimiter") == ["/"]
        above = self._folder / prefix.rpartition("/")[0]
        objects, folders = [], set()
        found = above.iterdir() if has_folders else above.rglob("*")
        for path in found if above.is_dir() else ():
            key = path.relative_to(self._folder).as_posix()
            if path.is_dir():
                folders.add(f"{key}/")
            elif key.startswith(prefix) and key > after:
                objects.append((key, path.stat()))
        parts = [
            f"<Contents><Key>{escape(key)}</Key><Size>{stat.st_size}</Size>"
            f'<ETag>"{stat.st_mtime_ns:x}-{stat.st_size:x}"</ETag>'
            f"<LastModified>{time.strftime('%Y-%m-%dT%H:%M:%S.000Z', time.gmtime(stat.st_mtime))}</LastModified>"
            "<StorageClass>STANDARD</StorageClass></Contents>"
            for key, stat in sorted(objects)
        ]
        if has_folders:
            parts += [
                f"<CommonPrefixes><Prefix>{escape(folder)}</Prefix></CommonPrefixes>"
                for folder in sorted(folders)
                if folder.startswith(prefix)
            ]
        return (
            '<?xml version="1.0" encoding="UTF-8"?><ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">'
            f"<Name>{BUCKET}</Name><Prefix>{escape(prefix)}</Prefix><KeyCount>{len(parts)}</KeyCount>"
            f"<MaxKeys>1000000</MaxKeys><IsTruncated>false</IsTruncated>{''.join(parts)}</ListBucketResult>"
        )


_REASONS = {200: "OK", 206: "Partial Content", 404: "Not Found", 416: "Range Not Satisfiable", 501: "Not Implemented"}


def _head(status: int, length: int, *extra: str, type: str = "application/octet-stream") -> bytes:
    lines = [
        f"HTTP/1.1 {status} {_REASONS[status]}",
        f"Content-Length: {length}",
        f"Content-Type: {type}",
        f"Date: {email.utils.formatdate(usegmt=True)}",
        *extra,
    ]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _range(text: str | None, total: int) -> tuple[int, int]:
    """Returns the bytes that a header requests: "bytes=5-9", "bytes=5-" or "bytes=-5"; all without one."""
    if text is None:
        return 0, total
    first, _, last = text.removeprefix("bytes=").partition("-")
    if not first:
        return max(total - int(last), 0), total
    return int(first), min(int(last) + 1, total) if last else total


def _main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("folder", type=Path)
    arguments.add_argument("seconds", type=float)
    arguments.add_argument("bytes_per_second", type=float)
    given = arguments.parse_args()
    asyncio.run(_Server(given.folder, given.seconds, given.bytes_per_second).serve())


if __name__ == "__main__":
    _main()
