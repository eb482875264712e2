"""Reads tables named on standard input, and answers each with a line of JSON; run in a process of its own.

in:  {"table": path, "version": number or null, "columns": names or null}
out: {"rows": number} or {"error": class, "lance": whether it is a LanceError, "message": text}, and "peak_bytes"
"""

from __future__ import annotations

import json
import resource
import sys
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


if __name__ == "__main__":
    for line in sys.stdin:
        answer = read(json.loads(line))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
        print(json.dumps({**answer, "peak_bytes": peak}), flush=True)
