"""Reads tables named on standard input, and answers each with a line of JSON; run in a process of its own.

in:  {"table": path, "version": number or null, "columns": names or null}
out: {"rows": number} or {"error": class, "lance": whether it is a LanceError, "message": text}, and "peak_bytes"
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import lance_sql


def read(request: dict[str, Any]) -> dict[str, Any]:
    try:
        dataset = lance_sql.open(request["table"], version=request["version"])
        table = dataset.scan(request["columns"]).to_table()
        table.validate(full=True)
        return {"rows": table.num_rows}
    except Exception as error:
        is_lance = isinstance(error, lance_sql.LanceError)
        return {"error": type(error).__name__, "lance": is_lance, "message": str(error)}


def peak_bytes() -> int | None:
    """Returns the peak memory of this process; None if unknown. Not ru_maxrss, which begins with the memory of the
    parent.
    """
    status = Path("/proc/self/status")
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status.read_text(), re.MULTILINE) if status.exists() else None
    return int(found[1]) * 1024 if found else None


if __name__ == "__main__":
    for line in sys.stdin:
        answer = read(json.loads(line))
        print(json.dumps({**answer, "peak_bytes": peak_bytes()}), flush=True)
