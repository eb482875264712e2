"""Processes that begin with the library imported: most of a command's time is imports.

`Forks` starts one process, which imports the library and forks for each command. Where a test is about how a command
begins, as its first imports or its environment, it starts a process of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import pkgutil
import runpy
import signal
import socket
import subprocess
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

ROOT = Path(__file__).parents[1]
_LONGEST_REQUEST = 1 << 20


class Forks:
    """Runs modules and programs in forked processes while it is entered."""

    def __enter__(self) -> Forks:
        ours, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        command = [sys.executable, "-m", __name__, str(its.fileno())]
        # BLAS would have threads, which a fork does not
        environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
        self._process = subprocess.Popen(command, cwd=ROOT, env=environment, pass_fds=[its.fileno()])
        its.close()
        self._socket = ours
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._socket.close()
        self._process.wait(30)

    def start(self, arguments: Sequence[str], *, cwd: str | Path = ROOT, stdout: int, stderr: int = 2) -> Fork:
        """Begins `python` with arguments: `-m`, a module and its arguments, or `-c`, a program and its arguments.

        stdout, stderr: descriptors
        """
        ours, its = socket.socketpair()
        request = json.dumps({"arguments": list(arguments), "cwd": str(cwd)}).encode()
        socket.send_fds(self._socket, [request], [its.fileno(), stdout, stderr])
        its.close()
        return Fork(ours)

    def run(self, arguments: Sequence[str], *, cwd: str | Path = ROOT) -> subprocess.CompletedProcess[str]:
        """As `subprocess.run(.., capture_output=True, text=True)`."""
        with open(os.memfd_create("stdout"), "w+b") as out, open(os.memfd_create("stderr"), "w+b") as err:
            code = self.start(arguments, cwd=cwd, stdout=out.fileno(), stderr=err.fileno()).wait()
            texts = [os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0).decode() for file in (out, err)]
        return subprocess.CompletedProcess(list(arguments), code, *texts)


class Fork:
    """A process that was forked.

    pid: of the process
    """

    def __init__(self, answers: socket.socket) -> None:
        self._answers = answers
        self.pid = int(self._line())

    def kill(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, signal.SIGKILL)

    def wait(self) -> int:
        """The code that it ended with; negative for a signal."""
        code = int(self._line())
        self._answers.close()
        return code

    def _line(self) -> str:
        found = b""
        while not found.endswith(b"\n"):
            more = self._answers.recv(1)
            assert more, "the process that forks has ended"
            found += more
        return found.decode()


def _serve(requests: socket.socket) -> None:
    for module in _modules():
        with contextlib.suppress(ImportError):
            __import__(module)
    while True:
        content, descriptors, *_ = socket.recv_fds(requests, _LONGEST_REQUEST, 3)
        if not content:
            return
        answers, *outputs = descriptors
        # a process for each, which tells how its child ends
        if os.fork() == 0:
            requests.close()
            child = os.fork()
            if child == 0:
                os.close(answers)
                _run(json.loads(content), outputs)
            os.write(answers, f"{child}\n".encode())
            for each in outputs:
                os.close(each)
            _, status = os.waitpid(child, 0)
            os.write(answers, f"{os.waitstatus_to_exitcode(status)}\n".encode())
            os._exit(0)
        for each in descriptors:
            os.close(each)
        # those that have told how their child ended
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


def _modules() -> list[str]:
    import lance_sql

    own = {path.stem for path in (ROOT / "lance_sql").iterdir()} | {"providers"}
    found = (each.name for each in pkgutil.walk_packages(lance_sql.__path__, "lance_sql."))
    return [
        "pytest",
        "duckdb",
        "sqlglot",
        "pyarrow.dataset",
        *(
            name
            for name in found
            if name.split(".")[1] in own
            and not {"__main__", "spark", "dbt", "harlequin", "object_store"} & set(name.split("."))
        ),
    ]


def _run(request: dict[str, Any], outputs: list[int]) -> None:
    code: Any = 1
    try:
        for descriptor, given in zip((1, 2), outputs, strict=True):
            os.dup2(given, descriptor)
            os.close(given)
        os.chdir(request["cwd"])
        kind, name, *arguments = request["arguments"]
        sys.argv = [name if kind == "-m" else kind, *arguments]
        try:
            if kind == "-m":
                runpy.run_module(name, run_name="__main__", alter_sys=True)
            else:
                exec(compile(name, "<string>", "exec"), {"__name__": "__main__"})
            code = 0
        except SystemExit as ended:
            code = ended.code
            if isinstance(code, str):
                print(code, file=sys.stderr)
                code = 1
    except BaseException:
        traceback.print_exc()
    finally:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(OSError, ValueError):
                stream.flush()
        os._exit(code or 0)


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])))
