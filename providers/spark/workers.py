"""Check in the driver, before a job fails, that Spark's workers can import this package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import cache
from typing import Any, Final

from lance_sql.errors import MissingDependency

from .errors import advice

_SECONDS: Final = 60


def check(spark: Any) -> None:
    """Makes sure that the Python in which Spark runs sources has this package. Spark plans reads with it on this
    machine, whatever the workers are.

    spark: a session; the Python of a Spark Connect server is unknown before it runs
    raises: MissingDependency with the line that fixes it
    """
    # Spark Connect has no context
    python = getattr(getattr(spark, "_sc", None), "pythonExec", None)
    if not python:
        return
    executable = shutil.which(python)
    if executable is None:
        raise MissingDependency(advice(f"{python!r}, which does not exist"))
    if os.path.abspath(executable) != os.path.abspath(sys.executable) and not _has_package(executable):
        raise MissingDependency(advice(executable))


def is_remote(spark: Any) -> bool:
    """Whether a session belongs to Spark Connect."""
    return type(spark).__module__.startswith("pyspark.sql.connect")


@cache
def _has_package(python: str) -> bool:
    """Whether an interpreter has the package, in its own environment and with the variables that workers inherit."""
    try:
        done = subprocess.run([python, "-c", "import lance_sql"], capture_output=True, timeout=_SECONDS, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0
