"""A server that speaks DynamoDB, on this machine only.

python server.py          prints its port, and ends when its input does
"""

from __future__ import annotations

import logging
import sys


def main() -> None:
    from moto.server import ThreadedMotoServer
    from werkzeug.serving import WSGIRequestHandler

    # else the body of an answer waits 40 ms, until the client has acknowledged the head
    WSGIRequestHandler.disable_nagle_algorithm = True
    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    print(port, flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
