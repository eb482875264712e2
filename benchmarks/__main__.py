"""Runs all benchmarks, each in its own process; passes the arguments on."""

import subprocess
import sys

for name in (
    "columns",
    "types",
    "streams",
    "engines",
    "tpch",
    "filters",
    "compressed",
    "object_store",
    "datafusion",
    "spark",
    "indices",
    "changes",
    "memory",
    "threads",
    "first_answer",
    "first_reads",
    "writing",
    "operations",
    "calls",
    "serving",
    "scale",
):
    print(f"\n{name}", flush=True)
    subprocess.run([sys.executable, "-m", f"benchmarks.{name}", *sys.argv[1:]], check=True)
