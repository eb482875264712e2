"""Errors of Spark's workers, reduced to the line of this library.

An error in a worker reaches the driver as text, in a Java exception with the traces of both languages.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

from lance_sql import errors
from lance_sql.errors import LanceError, MissingDependency, UnsupportedFeature

# Spark appends a state to the errors of a query
_OURS: Final = re.compile(r"\blance_sql\.errors\.(\w+): ([^\r\n]+?)(?:\s+SQLSTATE: \w+)?(?=[\r\n]|$)")
# Sail reports the kind of an error without its module
_OF_SAIL: Final = re.compile(r"Python error: (?:\[[\w:]+\] )?(\w+): ([^\r\n]+)")
_NO_STREAMS: Final = re.compile(r"only supports streaming data|unsupported extension node for streaming")
_NO_MODULE: Final = re.compile(r"No module named '(lance_sql|pyspark_lance)")


def explained(error: BaseException) -> LanceError | None:
    """Returns the error of this library that failed a Spark job, or None for other causes."""
    text = str(error)
    matches = _OURS.findall(text)
    if matches:
        name, message = matches[-1]
        kind = getattr(errors, name, LanceError)
        return kind(message) if isinstance(kind, type) and issubclass(kind, LanceError) else LanceError(message)
    of_sail = _OF_SAIL.search(text)
    kind = None if of_sail is None else getattr(errors, of_sail[1], None)
    if of_sail is not None and isinstance(kind, type) and issubclass(kind, LanceError):
        return kind(of_sail[2])
    if _NO_STREAMS.search(text):
        return UnsupportedFeature("Sail does not support streams of Lance tables: use Spark")
    return MissingDependency(advice("another Python")) if _NO_MODULE.search(text) else None


@contextmanager
def short_errors() -> Iterator[None]:
    """Raises the errors of this library for jobs that fail inside the block, without the Java trace.

    >>> with lance_sql.spark.short_errors():  # doctest: +SKIP
    ...     frame.count()
    """
    try:
        yield
    except LanceError:
        raise
    except Exception as error:
        reason = explained(error)
        if reason is None:
            raise
        raise reason from None


def shorten() -> None:
    """Reduces the message of Spark's exceptions about errors of this library to one line, in this process.

    The class of the exception stays, and `getStackTrace` has the traces. Applies to sessions on a JVM, whose exceptions
    PySpark converts in one function.
    """
    from pyspark.errors.exceptions import captured

    convert = captured.convert_exception
    if convert.__module__ == __name__:
        return

    def convert_exception(e: Any) -> captured.CapturedException:
        converted = convert(e)
        reason = explained(converted)
        if reason is None:
            return converted
        converted._desc = f"{type(reason).__module__}.{type(reason).__name__}: {reason}"
        # PySpark has put the trace of the worker there
        return converted.with_traceback(None)

    captured.convert_exception = convert_exception


def advice(python: str) -> str:
    """Returns advice for workers that run another Python than the driver.

    python: the Python of the workers, in words
    """
    return (
        f"Spark's workers run {python}, which does not have this package: set the environment variable"
        f" PYSPARK_PYTHON={sys.executable} before the session is made, and install the package on every machine"
    )
