"""Every verb over one kind of table, each in a process of its own with little memory and time.

    python -m tests.hostile.worker BASE KIND [VERB]

Prints a line of JSON for each verb: what came of it, how long it took, and the most memory that it had.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

from lance_sql.errors import LanceError
from tests.hostile import tables, verbs

ADDRESS_SPACE = 2 << 30
SECONDS = 10


def outcome(verb: verbs.Verb, path: str) -> dict[str, Any]:
    """Returns the outcome of a verb: "done", "refused" with a line, or "wrong" with what is wrong."""
    try:
        verb(path)
    except (LanceError, OSError) as error:
        text = str(error)
        if not text or not text.isprintable() or len(text) > 4000:
            return {"came": "wrong", "said": f"not one line: {text[:500]!r}"}
        return {"came": "refused", "said": f"{type(error).__name__}: {text}"}
    except BaseException as error:
        # an engine wraps what a table reports
        text = str(error)
        if type(error).__module__.startswith(("duckdb", "_duckdb")) and (
            text.partition("\n\nLINE ")[0].isprintable() or "lance_sql.errors." in text
        ):
            return {"came": "refused", "said": text}
        return {"came": "wrong", "said": "".join(traceback.format_exception(error))[-3000:]}
    return {"came": "done", "said": ""}


def child(base: Path, kind: str, verb: str, write: int) -> None:
    folder = Path(tempfile.mkdtemp(prefix="hostile-"))
    try:
        root = folder / "t.lance"
        shutil.copytree(base, root)
        tables.KINDS[kind](root)
        os.environ["LANCE_SQL_STATISTICS_CACHE"] = str(folder / "statistics")
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
        signal.alarm(SECONDS)
        started = time.monotonic()
        found = outcome(verbs.VERBS[verb], str(root))
        found["seconds"] = round(time.monotonic() - started, 2)
        found["peak_kb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        os.write(write, json.dumps(found).encode())
    finally:
        signal.alarm(0)
        shutil.rmtree(folder, ignore_errors=True)


def run(base: Path, kind: str, verb: str) -> dict[str, Any]:
    read, write = os.pipe()
    process = os.fork()
    if process == 0:
        code = 1
        try:
            os.close(read)
            child(base, kind, verb, write)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(write)
    with os.fdopen(read, "rb") as stream:
        said = stream.read()
    _, status = os.waitpid(process, 0)
    if not said:
        ended = os.waitstatus_to_exitcode(status)
        reason = f"took longer than {SECONDS} seconds" if ended == -signal.SIGALRM else f"ended with {ended}"
        return {"came": "wrong", "said": reason}
    found: dict[str, Any] = json.loads(said)
    return found


def main() -> None:
    base, kind, *chosen = sys.argv[1:]
    for verb in chosen or verbs.VERBS:
        print(json.dumps({"kind": kind, "verb": verb, **run(Path(base), kind, verb)}), flush=True)


if __name__ == "__main__":
    # what a child would import otherwise, each anew
    import duckdb  # noqa: F401
    import pandas  # noqa: F401

    sources = Path(__file__).parents[2] / "lance_sql"
    for source in sorted(sources.rglob("[a-z]*.py")):
        with contextlib.suppress(ImportError):
            importlib.import_module(".".join(("lance_sql", *source.relative_to(sources).with_suffix("").parts)))
    main()
