"""All errors that this library raises on purpose.

    LanceError
    |-- TableNotFound        also a FileNotFoundError: no table at this place
    |-- TableExists          also a FileExistsError: there is a table at this place already
    |-- VersionNotFound      also a LookupError: the table has no such version, tag or branch
    |-- UnsupportedFeature   also a NotImplementedError: valid, but not supported by this release
    |-- CommitConflict       another writer changed the table in a way that conflicts with this change
    |   `-- RetryableConflict    the change can be computed again from the latest version
    |-- ContractBroken       rows that were to be published break a rule of the table
    |-- MissingDependency    also an ImportError: a required package is not installed
    |-- StoreError           also an OSError: a store refused a request, or its answer was lost, short or wrong
    |-- ForeignBase          also a PermissionError: files of the table are at a place that is not allowed
    |-- CorruptFile          a file of the table breaks the format's rules
    |   `-- DamagedLineage       row ids contradict the record of a commit
    `-- InvalidArgument      also a ValueError: the caller's mistake
        `-- ColumnNotFound   no such column

Decoders raise errors without a place. Each caller adds its own coordinate while the error unwinds:

    with errors.at(table="events.lance version 4", file="data/ab12.lance"):
        with errors.at(column="r", page=3):
            raise CorruptFile("chunk 7: 4 bits x 1024 needs 512 bytes, found 500")

    CorruptFile: events.lance version 4: data/ab12.lance: column 'r', page 3: chunk 7: 4 bits x 1024 needs 512 bytes
"""

# ruff: noqa: N818 - the names say what happened
from __future__ import annotations

import re
import struct
import sys
from types import TracebackType
from typing import Final, Self

from lance_sql.runtime import ports
from lance_sql.runtime.terminal_text import one_line


class LanceError(Exception):
    """Base of the tree.

    table, file, column, page: where it happened, None while unknown; set by `at`. The table includes its version
    """

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message
        self.table: str | None = None
        self.file: str | None = None
        self.column: str | None = None
        self.page: int | None = None

    def located(
        self, file: str | None, column: str | None = None, page: int | None = None, table: str | None = None
    ) -> Self:
        """Fills in missing coordinates and returns the error itself."""
        self.table = table if self.table is None else self.table
        self.file = file if self.file is None else self.file
        self.column = column if self.column is None else self.column
        self.page = page if self.page is None else self.page
        return self

    @property
    def in_table(self) -> str:
        """The message without the table, for readers who know it."""
        within = []
        if self.column is not None:
            within.append(f"column {self.column!r}")
        if self.page is not None:
            within.append(f"page {self.page}")
        return one_line(": ".join(part for part in (self.file, ", ".join(within), self.message) if part))

    def __str__(self) -> str:
        if self.table is None or self.table in self.message:
            return self.in_table
        return f"{one_line(self.table)}: {self.in_table}"


NO_TABLE: Final = ("No Lance table at", "No table ")
"""First words of the messages for a path, and for a name in a catalog, without a table."""


class TableNotFound(LanceError, FileNotFoundError):
    """There is no table at the given place."""


class TableExists(LanceError, FileExistsError):
    """There is a table at the given place already."""


class VersionNotFound(LanceError, LookupError):
    """The table has no such version, tag or branch."""


class UnsupportedFeature(LanceError, NotImplementedError):
    """Valid by the format, but not supported by this release. Nothing was returned."""


class CommitConflict(LanceError):
    """A conflict with an earlier commit of another writer. Nothing was committed."""


class RetryableConflict(CommitConflict):
    """A conflict that can be retried: the change can be computed again from the latest version and committed."""


class ContractBroken(LanceError):
    """Rows to be published or committed break a rule of the table. Nothing was committed.

    report: a `ContractReport`, with all rules and examples
    """

    def __init__(self, message: str, report: object = None) -> None:
        super().__init__(message)
        self.report = report


class MissingDependency(LanceError, ImportError):
    """A required package is not installed."""


def missing_package(what: str, extra: str) -> MissingDependency:
    """Returns the error for a feature that needs the packages of an extra, with the command that installs them.

    what: a sentence without its period, such as "The shell needs prompt_toolkit"
    extra: of this distribution, whose metadata names its packages
    """
    return MissingDependency(f"{what}: {install_command(extra)}")


def install_command(extra: str) -> str:
    """Returns the command that installs the packages of an extra by their own names: this distribution may be on no
    index."""
    return "pip install " + " ".join(f"'{name}'" if ">" in name else name for name in sorted(_packages(extra)))


def _packages(extra: str) -> set[str]:
    from importlib import metadata

    names = set()
    for requirement in metadata.requires("lance-sql") or ():
        package, _, condition = requirement.partition(";")
        if condition.strip() != f'extra == "{extra}"':
            continue
        own = package.strip().removeprefix("lance-sql")
        names |= (
            {package.strip()} if own == package.strip() else set().union(*map(_packages, own.strip("[]").split(",")))
        )
    return names


class StoreError(LanceError, OSError):
    """A store refused a request, did not answer, or its answer was short or wrong. The table may be in order.

    is_unanswered: the store did not answer, or not to the end
    is_conflict: another request for the same object was in progress
    """

    is_unanswered = False
    is_conflict = False


class ForeignBase(LanceError, PermissionError):
    """Files of the table are at a place that is neither its own nor allowed. No request was sent."""


class CorruptFile(LanceError):
    """A file of the table is missing, cut, or breaks the format's rules.

    Its cached bytes are removed once its name is known: they may be those of a wrong answer.
    """

    def located(
        self, file: str | None, column: str | None = None, page: int | None = None, table: str | None = None
    ) -> Self:
        if self.file is None and file is not None:
            ports.FORGET_CACHED.load()(file)
        return super().located(file, column, page, table)


class DamagedLineage(CorruptFile):
    """Row ids contradict the record of a commit, so that they do not identify the same rows."""


class InvalidArgument(LanceError, ValueError):
    """An argument is wrong, or does not fit the table."""


class TagExists(InvalidArgument):
    """The table has a tag of that name already."""


class BranchExists(InvalidArgument):
    """The table has a branch of that name already."""


class ColumnNotFound(InvalidArgument):
    """The table has no such column."""


TABLE_ERRORS: Final = (
    TableNotFound,
    TableExists,
    VersionNotFound,
    UnsupportedFeature,
    CommitConflict,
    ContractBroken,
    MissingDependency,
    ForeignBase,
    CorruptFile,
    InvalidArgument,
)
"""Errors that are about a table or its use: all but those of its store."""


class at:  # noqa: N801 - reads as a statement, like contextlib.suppress
    """Adds coordinates to errors that its block raises. Coordinates of an inner block win.

    LanceErrors pass through with their missing coordinates filled in. Errors of the kernels, protobuf, Arrow or the
    standard library's decoding that a damaged file causes become CorruptFile, and so does a missing file. Everything
    else passes unchanged: MemoryError, and programming errors.
    """

    __slots__ = ("column", "file", "page", "table")

    def __init__(
        self,
        *,
        table: str | None = None,
        file: str | None = None,
        column: str | None = None,
        page: int | None = None,
    ) -> None:
        self.table = table
        self.file = file
        self.column = column
        self.page = page

    def __enter__(self) -> at:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        if isinstance(error, LanceError):
            error.located(self.file, self.column, self.page, self.table)
            return
        message = _damage(error)
        if message is not None:
            found = UnsupportedFeature if _is_unsupported(error) else CorruptFile
            raise found(message).located(self.file, self.column, self.page, self.table) from error


def _is_unsupported(error: BaseException) -> bool:
    """Whether the kernels have found something that is in order, and that they do not read."""
    kernels = sys.modules.get("lance_sql._kernels")
    return kernels is not None and isinstance(error, kernels.UnsupportedDataError)


def _damage(error: BaseException) -> str | None:
    """Describes the damage of the file, or returns None if the error is not about the file."""
    if isinstance(error, MemoryError):
        return None
    if isinstance(error, FileNotFoundError):
        return "the file is missing"
    if isinstance(error, IsADirectoryError):
        return "is a folder, not a file"
    if isinstance(error, (UnicodeError, OverflowError, struct.error)):
        return str(error) or type(error).__name__
    # None of them is imported for its exceptions: a module that is not loaded cannot have raised.
    kernels = sys.modules.get("lance_sql._kernels")
    if kernels is not None and isinstance(error, kernels.InvalidDataError):
        return str(error)
    protobuf = sys.modules.get("google.protobuf.message")
    if protobuf is not None and isinstance(error, protobuf.DecodeError):
        return f"not a valid message ({error})"
    arrow = sys.modules.get("pyarrow")
    if arrow is not None and isinstance(error, arrow.ArrowException):
        return str(error) or type(error).__name__
    return None


def sentence(message: str) -> str:
    """Returns a message with one mark at its end, so that another sentence can follow."""
    return message if message.endswith((".", "?", "!")) else f"{message}."


# The second form is that of PyO3.
_IN_TEXT: Final = re.compile(r"\blance_sql\.errors\.(\w+)(?:: ([^\r\n]+)|'>, value: \w+\((.+?)\), traceback: )")


def in_text(text: str) -> LanceError | None:
    """Returns the last error of this library in the text of an error of an engine or Arrow; None without one."""
    found = _IN_TEXT.findall(text)
    if not found:
        return None
    name, message, arguments = found[-1]
    if arguments:
        import ast

        message = ast.literal_eval(f"({arguments},)")[0]
    kind = globals().get(name)
    return (kind if isinstance(kind, type) and issubclass(kind, LanceError) else LanceError)(message)
