"""Moving a folder of another format into a table: part by part, in one commit, which a later call can go on with.

Each part becomes data files that no version has yet. A journal of the user lists them. If the command ends early, the
same command writes only the missing parts. The commit comes after the last one, if each part has all rows of its files.
Then the rows are read back, and compared with those of the files by their checksums. The journal stays until then, so
that a call after a kill finds the commit, and does not write the rows again.
"""

from __future__ import annotations

import hashlib
import os
import pickle
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from lance_sql.cli import moved_rows
from lance_sql.cli.agreement import count
from lance_sql.cli.folders import Folder, Part
from lance_sql.cli.progress import Bar
from lance_sql.errors import CommitConflict, CorruptFile, InvalidArgument, TableExists
from lance_sql.values.local_paths import shown

if TYPE_CHECKING:
    from lance_sql.dataset import Dataset
    from lance_sql.jobs.write_job import WriteJob

_FORM = 2
"""Of the journal."""


@dataclass
class Journal:
    """Parts of a move that are written.

    path: of its file; None if there is no place for one
    source: files, columns and options of the move; those of another move are not used
    done: new fragments of a part, and the checksum of the rows that were read, by its first file
    """

    path: Path | None
    source: object
    job: Any = None
    done: dict[str, Any] = field(default_factory=dict)

    def load(self) -> None:
        """Reads what an earlier call has written of the same move. Aborts an earlier one of other files."""
        if self.path is None:
            return
        try:
            source, job, done = pickle.loads(self.path.read_bytes())
        except FileNotFoundError:
            return
        except Exception:
            # of another release, or cut off
            self.remove()
            return
        if source == self.source:
            self.job, self.done = job, done
            return
        self.remove()
        job.abort()

    def save(self) -> None:
        """Writes the journal, for the user alone: it may have keys of a store in it."""
        if self.path is None:
            return
        new = self.path.with_suffix(".new")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(pickle.dumps((self.source, self.job, self.done)))
        os.replace(new, self.path)

    def remove(self) -> None:
        """Removes the journal."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def move(
    folder: Folder, source: str, uri: str, begin: Callable[[], WriteJob], options: object, *, hidden: bool
) -> Dataset:
    """Writes the parts of a folder, commits them, and compares the rows. What an earlier call has done of the same move
    is not done again.

    uri: of the table
    begin: begins the write, if no earlier call did
    options: of the command, which an earlier call must have had as well
    raises: InvalidArgument if a part has another number of rows than its files; CorruptFile if the rows of the new
        version are others than those of the files; errors of reading and writing
    """
    parts = tuple(part.files for part in folder.parts)
    journal = Journal(_place(source, uri), (_FORM, parts, str(folder.schema), options))
    journal.load()
    written = None if journal.job is None else journal.job.committed()
    if written is not None:
        click.echo(f"An earlier call has committed {written.snapshot.label}, and its rows are compared.", err=True)
        journal.job.abort()  # of files that are in no version
    else:
        written = _commit(folder, journal, begin, hidden=hidden)
    try:
        _compare(written, journal, folder, hidden=hidden)
    except CorruptFile:
        journal.remove()
        raise
    journal.remove()
    return written


def _commit(folder: Folder, journal: Journal, begin: Callable[[], WriteJob], *, hidden: bool) -> Dataset:
    """Writes the parts that are missing, and commits all. The journal names the job from the start, so that files of
    parts that a kill cut off are found."""
    if journal.job is None:
        journal.job = begin()
        journal.save()
    elif journal.done:
        click.echo(f"Going on after {_progress(journal, folder)} of an earlier call.", err=True)
    bar = Bar("rows written", hidden=hidden)
    try:
        _write(folder, journal, bar)
    except BaseException:
        bar.close()
        if journal.done and journal.path is not None:
            click.echo(f"{_progress(journal, folder)} are written: the same command goes on after them.", err=True)
        else:
            journal.remove()
            journal.job.abort()
        raise
    bar.close()
    fragments = [fragment for part in folder.parts for fragment in journal.done[part.files[0][0]][0]]
    try:
        written: Dataset = journal.job.commit(fragments)
    except (CommitConflict, TableExists):
        # its files are gone, or another writer was first
        journal.remove()
        journal.job.abort()
        raise
    return written


def _compare(written: Dataset, journal: Journal, folder: Folder, *, hidden: bool) -> None:
    """Reads the new rows back.

    raises: CorruptFile
    """
    expected = sum(checksum for _, checksum in journal.done.values()) % 2**64
    bar, read = Bar("rows compared", hidden=hidden), 0

    def passing(num_rows: int) -> None:
        nonlocal read
        read += num_rows
        bar.update(read, None)

    try:
        found = moved_rows.of_files(
            written, journal.job.id, moved_rows.compared(written.schema, folder.schema.names), passing
        )
    finally:
        bar.close()
    if found != expected:
        raise CorruptFile(
            f"{written.snapshot.label} has other rows than the files of the folder, by their checksums: find the damage"
            f" with lance-sql verify --deep {shown(written.uri)}, or drop the version"
        )


def _write(folder: Folder, journal: Journal, bar: Bar) -> None:
    rows = 0
    total = sum(part.rows() for part in folder.parts) if folder.kind in ("Parquet", "Delta") else None
    for part in folder.parts:
        name = part.files[0][0]
        if name not in journal.done:
            journal.done[name] = _written(part, journal, bar, rows, total)
            journal.save()
        rows += sum(fragment.physical_rows for fragment in journal.done[name][0])


def _written(part: Part, journal: Journal, bar: Bar, before: int, total: int | None) -> Any:
    """Writes a part, and compares the number of rows with that of its files. Returns the fragments and the checksum of
    the rows that were read."""
    import pyarrow as pa

    reader, read = part.read(), before
    checksum = moved_rows.Checksum(moved_rows.compared(journal.job.target.schema.arrow, reader.schema.names))

    def passing() -> Any:
        nonlocal read
        for batch in reader:
            read += batch.num_rows
            bar.update(read, total)
            checksum.add(batch)
            yield batch

    fragments = journal.job.write_fragments(pa.RecordBatchReader.from_batches(reader.schema, passing()))
    made, there = sum(fragment.physical_rows for fragment in fragments), part.rows()
    if made != there:
        raise InvalidArgument(
            f"{shown(part.files[0][0])} and the files after it have {there:,} rows, and {made:,} were read: they change"
            " while they are read, or are damaged. Nothing was committed; write them again"
        )
    return fragments, checksum.total


def _progress(journal: Journal, folder: Folder) -> str:
    return f"{len(journal.done)} of {count(len(folder.parts), 'part')}"


def _place(source: str, uri: str) -> Path | None:
    folder = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "lance-sql" / "moves"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError:
        return None
    places = (each if "://" in each else os.path.abspath(each) for each in (source, uri))
    key = hashlib.sha256("\0".join(places).encode(errors="surrogateescape")).hexdigest()
    return folder / f"{key[:32]}.journal"
