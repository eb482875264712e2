"""Errors: their classes, their coordinates, and exceptions converted to them."""

from __future__ import annotations

import pickle
import struct

import pyarrow as pa
import pytest

from lance_sql import errors
from lance_sql._kernels import InvalidDataError
from lance_sql.errors import (
    BranchExists,
    ColumnNotFound,
    CommitConflict,
    CorruptFile,
    InvalidArgument,
    LanceError,
    MissingDependency,
    RetryableConflict,
    TableExists,
    TableNotFound,
    TagExists,
    UnsupportedFeature,
    VersionNotFound,
)


@pytest.mark.parametrize(
    ("kind", "also"),
    [
        (TableNotFound, FileNotFoundError),
        (TableExists, FileExistsError),
        (VersionNotFound, LookupError),
        (RetryableConflict, CommitConflict),
        (MissingDependency, ImportError),
        (UnsupportedFeature, NotImplementedError),
        (CorruptFile, Exception),
        (InvalidArgument, ValueError),
        (ColumnNotFound, InvalidArgument),
        (TagExists, InvalidArgument),
        (BranchExists, InvalidArgument),
    ],
)
def test_every_error_has_its_bases(kind: type[LanceError], also: type[Exception]) -> None:
    error = kind("no such thing")
    assert isinstance(error, LanceError)
    assert isinstance(error, also)
    assert str(error) == "no such thing"


def test_callers_add_where_it_happened() -> None:
    with (
        pytest.raises(CorruptFile) as raised,
        errors.at(file="data/ab12.lance"),
        errors.at(column="r", page=3),
    ):
        raise CorruptFile("chunk 7: too short")
    assert str(raised.value) == "data/ab12.lance: column 'r', page 3: chunk 7: too short"
    assert (raised.value.file, raised.value.column, raised.value.page) == ("data/ab12.lance", "r", 3)


def test_the_inner_coordinates_win() -> None:
    with pytest.raises(UnsupportedFeature) as raised, errors.at(column="outer"), errors.at(column="inner"):
        raise UnsupportedFeature("new")
    assert raised.value.column == "inner"


@pytest.mark.parametrize(
    "damage",
    [
        InvalidDataError("bad"),
        OverflowError("bad"),
        struct.error("bad"),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"),
        pytest.importorskip("google.protobuf.message").DecodeError("bad"),
        pa.ArrowInvalid("bad"),
        pa.ArrowNotImplementedError("bad"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_decoding_errors_become_corrupt_file(damage: Exception) -> None:
    with pytest.raises(CorruptFile, match=r"^f: .*bad") as raised, errors.at(file="f"):
        raise damage
    assert raised.value.__cause__ is damage


def test_a_missing_file_is_a_damaged_table() -> None:
    with pytest.raises(CorruptFile, match=r"^data/a\.lance: the file is missing"), errors.at(file="data/a.lance"):
        raise FileNotFoundError(2, "No such file or directory", "/somewhere/data/a.lance")


@pytest.mark.parametrize(
    "other", [ValueError("ours"), MemoryError("full"), pa.ArrowMemoryError("full"), KeyError("k"), PermissionError()]
)
def test_errors_unrelated_to_the_file_pass(other: Exception) -> None:
    with pytest.raises(type(other)) as raised, errors.at(file="f"):
        raise other
    assert raised.value is other


def test_errors_are_pickled_with_their_coordinates() -> None:
    with pytest.raises(CorruptFile) as raised, errors.at(file="f", page=0):
        raise CorruptFile("broken")
    assert str(pickle.loads(pickle.dumps(raised.value))) == "f: page 0: broken"


def test_a_table_is_named_once() -> None:
    """With its version, in front of the file, and not where the message names it already."""
    with pytest.raises(CorruptFile) as raised, errors.at(table="t.lance version 3"), errors.at(file="data/x"):
        raise CorruptFile("the file is missing")
    assert str(raised.value) == "t.lance version 3: data/x: the file is missing"
    assert raised.value.in_table == "data/x: the file is missing"
    assert str(CorruptFile("t version 3 is gone").located(None, table="t version 3")) == "t version 3 is gone"
