"""A query service with the standard library: a thread and a cursor for each request, a limit of time, a health check.

python examples/service.py 8000        then: curl 'localhost:8000/orders?status=open', curl localhost:8000/health
"""

from __future__ import annotations

import json
import signal
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, urlsplit

import lance_sql

SECONDS = 30.0
CONNECTION = lance_sql.connect()
CONNECTION.execute("SET memory_limit = '4GB'; SET threads = 4")
PLACES = threading.Semaphore(8)


def rows(text: str, values: list[object], seconds: float = SECONDS) -> list[dict[str, object]]:
    """Runs a query, and interrupts it when its time is over."""
    with PLACES, CONNECTION.cursor() as cursor:
        clock = threading.Timer(seconds, cursor.interrupt)
        clock.start()
        try:
            found: list[dict[str, object]] = cursor.execute(text, values).to_arrow_table().to_pylist()
        finally:
            clock.cancel()
    return found


class Handler(BaseHTTPRequestHandler):
    """Answers /orders?status=.. and /health in JSON."""

    def do_GET(self) -> None:
        """Answers a request."""
        url = urlsplit(self.path)
        try:
            if url.path == "/health":
                answer: object = {"version": lance_sql.open("examples/orders.lance").version}
            else:
                status = parse_qs(url.query)["status"][0]
                answer = rows("SELECT id, status FROM 'examples/orders.lance' WHERE status = ? ORDER BY id", [status])
            code = 200
        except KeyError as error:
            code, answer = 400, f"parameter {error} is missing"
        except Exception as error:
            code, answer = 503, str(error).partition("\n")[0]
        content = json.dumps(answer, default=str).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)


def main() -> None:
    """Serves until SIGTERM or Ctrl-C; requests that have begun are answered."""
    server = ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler)
    server.daemon_threads = False
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: threading.Thread(target=server.shutdown).start())
    print(f"serving on port {server.server_port}", flush=True)
    server.serve_forever()
    server.server_close()


if __name__ == "__main__":
    main()
