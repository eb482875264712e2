"""Splitting a plan into batches.

A batch is small enough to bound memory and large enough to make its overhead negligible. Its rows end at a page
border of the projected columns, if one is near enough, so that most arrays come from one page without a copy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from lance_sql.format.encodings.fsst import MAX_EXPANSION
from lance_sql.format.file.open_pages import LONG_FILE_ROWS
from lance_sql.reads.scan import batch_ends, read_shape
from lance_sql.reads.scan.fragment_scans import FragmentScan, most_rows, num_rows
from lance_sql.reads.scan.pieces import Batch, FragmentRun, Piece, between
from lance_sql.reads.scan.plan import ReadPlan
from lance_sql.reads.scan.read_shape import ReadShape
from lance_sql.store.ranges import ROUND_TRIP_BYTES
from lance_sql.table.fragment import Fragment
from lance_sql.table.open_fragment import OpenFragment
from lance_sql.values import row_ranges

BATCH_ROWS = 64 * 1024
"""Rows of a batch, unless its rows are very narrow or very wide. The batches that an engine processes and those
that are decoded meanwhile fit into processor caches."""

BATCH_BYTES = 2 * 1024 * 1024
MAX_BATCH_ROWS = 1024 * 1024
"""Approximate size of Arrow data, and row limit, up to which batches of narrow rows grow."""

BYTES_OF_A_TABLE = 8 * 1024 * 1024
ROWS_OF_A_TABLE = 1024 * 1024
MAX_BYTES_OF_A_TABLE = 128 * 1024 * 1024
"""Bounds if all batches are kept, so that larger ones take no more memory."""

ALIGNED_ROWS = 8 * 1024
"""Alignment of batch ends to typical chunks of pages and zones of statistics, so that none is read for two batches."""

FIRST_BATCH_ROWS = 16 * 1024
"""Rows of the first batch, small for queries that need only a few rows."""

FEW_ROWS, FEW_COLUMNS, FEW_BYTES = 128, 64, 64 * 1024
"""Limits below which the requesting thread reads a batch itself."""

MAX_BATCH_BYTES = 32 * 1024 * 1024
"""Approximate size of Arrow data to which batches of wide rows are shortened."""

LARGEST_BATCH_BYTES = 1024 * 1024 * 1024
"""Limit of a batch with a caller's batch size; Arrow's 32-bit offsets end at twice that."""

ROWS_OF_NOTHING = 512 * 1024
"""Rows of a batch for which nothing is read. Passing it on costs almost nothing. An engine that materializes a
value for each row, as DataFusion does to count them, still fits it into a processor cache."""

MAX_JOINED_ROWS = 512 * 1024
"""Row limit for batches read together if few rows pass, so that threads still have work to share."""

BATCHES_PER_RUN = 32
"""Number of batches of a fragment that are prepared together: their pages are opened, then all of them can be
decoded."""

MAX_RUN_BYTES = 64 * 1024 * 1024
"""Approximate number of file bytes of a remote run, which are fetched together."""

WIDE_FIELDS, WIDE_ROWS = 64, 16 * 1024
"""A fragment is wide from so many fields on, up to so many rows: preparing columns for a stream takes longer than
decoding them."""

PIECES_TOGETHER, BYTES_TOGETHER = 64, 4 * 1024 * 1024
"""Number of short fragments that are read together, and of bytes of their files: a batch costs more than decoding a few
rows."""

MOST_READ_OVER = 4
"""A file is read as a whole for this part of its rows."""


class Cutting(NamedTuple):
    """Settings for splitting the rows of a fragment into batches.

    batch_rows: limit of a batch; None for a suitable number
    keeps_all: the consumer keeps every batch
    is_first: no batch comes before, so that the first one is small for a consumer that needs only a few rows
    batches_of_run: limit of the next run, which doubles from run to run: for a remote scan with a limit, which may not
        need the next one; None without it
    """

    batch_rows: int | None
    keeps_all: bool = False
    is_first: bool = True
    batches_of_run: int | None = None

    @property
    def behind_first(self) -> Cutting:
        """Settings for later runs."""
        doubled = None if self.batches_of_run is None else 2 * self.batches_of_run
        return self._replace(is_first=False, batches_of_run=doubled)


def runs(plan: ReadPlan, fragments: Iterable[FragmentScan], cutting: Cutting) -> Iterator[FragmentRun]:
    """Yields the rows of `fragments`, in scan order, split into batches."""
    for each in fragments:
        for run in runs_of(plan, each, cutting):
            yield run
            cutting = cutting.behind_first


def runs_of(plan: ReadPlan, each: FragmentScan, cutting: Cutting) -> Iterator[FragmentRun]:
    """Yields the rows of one fragment, split into batches; nothing if all of its rows are deleted."""
    batch_rows = cutting.batch_rows
    fragment = plan.open(each.fragment)
    rows = fragment.live(each.rows)
    if len(rows) == 0:
        return
    num_rows = row_ranges.count(rows)
    if (batch_rows or num_rows) >= num_rows and _is_one_piece(plan, fragment, num_rows):
        yield FragmentRun(fragment, rows, np.array([num_rows]), is_short=True)
    elif batch_rows is None and _fits(plan, each.fragment):
        yield FragmentRun(fragment, rows, np.array([num_rows]), is_wide=is_wide(each.fragment, len(plan.columns)))
    elif (batch_rows or num_rows) >= num_rows and are_few(plan, fragment, num_rows):
        ends = np.array([num_rows])
        passing = batch_ends.all_pass(rows, ends, each.passing)
        yield FragmentRun(fragment, rows, ends, is_few=True, passes=passing is not None and bool(passing[0]))
    else:
        shape = read_shape.of(plan, fragment)
        is_far = plan.fragments.concurrency > 1
        has_limit = cutting.batches_of_run is not None
        # small data arrives as fast as a part of it, and the first matching rows of a filter may be anywhere
        is_quick = is_far and (shape.stored_bytes <= ROUND_TRIP_BYTES or (plan.residual is not None and not has_limit))
        small_first = batch_rows is None and not cutting.keeps_all and cutting.is_first and not is_quick
        most = rows_per_batch(shape.row_bytes, batch_rows, keeps_all=cutting.keeps_all)
        first = min(most, FIRST_BATCH_ROWS) if small_first else most
        ends = batch_ends.ends_of(rows, num_rows, most, shape.borders, first)
        most_joined = _most_joined(shape) if batch_rows is None else 0
        start = 0
        wide = is_wide(each.fragment, len(plan.columns))
        most_together = _most_of_run(shape, most, fragment.num_rows) if is_far else BATCHES_PER_RUN
        passing = batch_ends.all_pass(rows, ends, each.passing)
        sizes = batch_ends.run_sizes(1 if small_first else most_together, most_together, cutting.batches_of_run)
        for together, passes in batch_ends.divided(ends, sizes, passing):
            end = int(together[-1])
            is_alone = (start, end) == (0, num_rows)
            chosen = rows if is_alone else between(rows, start, end)
            yield FragmentRun(
                fragment,
                chosen,
                together - start,
                passes=passes,
                most_joined=most_joined,
                is_alone=is_alone,
                is_wide=wide,
            )
            start = end


def is_short(fragment: Fragment) -> bool:
    """Whether the fragment has few rows, which fit into one batch, according to the manifest, without opening files."""
    num_rows = fragment.physical_rows
    if not 0 < num_rows < LONG_FILE_ROWS:
        return False
    # no value is longer than its file
    return not fragment.files or 0 < num_rows * stored_bytes(fragment) <= MAX_BATCH_BYTES


def _is_one_piece(plan: ReadPlan, fragment: OpenFragment, num_rows: int) -> bool:
    """Whether these rows are read as one piece: those of a short fragment, and most of those of a small local file that
    has not been read, see `small_fragments`."""
    if plan.reads_nothing or is_short(fragment.fragment):
        return True
    if not fragment.is_unread or fragment.num_rows > min(BATCH_ROWS, MOST_READ_OVER * num_rows):
        return False
    most_bytes = num_rows * plan.row_bytes + MAX_EXPANSION * stored_bytes(fragment.fragment)
    return most_bytes <= MAX_BATCH_BYTES and fragment.small_file(plan.to_read) is not None


def stored_bytes(fragment: Fragment) -> int:
    """Returns the size of the fragment's files; 0 if the manifest does not record it."""
    sizes = [file.size_bytes for file in fragment.files]
    return 0 if 0 in sizes else sum(sizes)


def are_few_rows(plan: ReadPlan, fragments: Sequence[FragmentScan]) -> bool:
    """Whether there are only a few local rows, of fragments that are short or of which few rows are read, so that
    starting a stream takes longer than reading them. Opens no files."""
    if plan.fragments.concurrency > 1 or plan.reads_nothing or len(fragments) > PIECES_TOGETHER:
        return False
    total = num_rows(fragments)
    if total > FIRST_BATCH_ROWS or (total >= LONG_FILE_ROWS and most_rows(fragments) >= LONG_FILE_ROWS):
        return False
    for each in fragments:
        if not is_short(each.fragment):
            count = each.num_rows
            if count > FEW_ROWS or not are_small(plan, each.fragment, count):
                return False
    return True


def few(plan: ReadPlan, fragments: Sequence[FragmentScan]) -> Sequence[Batch] | None:
    """Returns the batches of a few rows, which the requesting thread reads one after the other: passing them to other
    threads takes longer. None if there are more rows, or remote ones.

    raises: CorruptFile
    """
    if not are_few_rows(plan, fragments):
        return None
    are_few_columns = len(plan.fields) <= FEW_COLUMNS
    batches: list[list[Piece]] = []
    for each in fragments:
        short = is_short(each.fragment)
        fragment = plan.open(each.fragment)
        rows = fragment.live(each.rows)
        if len(rows) == 0:
            continue
        passes = not short and each.passing is not None and len(row_ranges.difference(rows, each.passing)) == 0
        piece = Piece(fragment, rows, short, are_few_columns and not short, passes)
        if batches and plan.can_join and _are_read_alike(batches[-1][-1], piece):
            batches[-1].append(piece)
        else:
            batches.append([piece])
    return batches


def is_wide(fragment: Fragment, num_fields: int) -> bool:
    """Whether this number of fields of a fragment is read at once, without a stream."""
    return num_fields >= WIDE_FIELDS and 0 < fragment.physical_rows <= WIDE_ROWS


def _fits(plan: ReadPlan, fragment: Fragment) -> bool:
    """Whether all rows of a fragment fit into one batch, by the types of the columns and the size of the files.

    Then no column has to be opened in advance. With few columns, opening them costs nothing.
    """
    if not is_wide(fragment, len(plan.fields)):
        return False
    stored = stored_bytes(fragment)
    return stored > 0 and fragment.physical_rows * plan.row_bytes + stored <= MAX_BATCH_BYTES


def are_small(plan: ReadPlan, fragment: Fragment, num_rows: int) -> bool:
    """Whether some rows of a fragment fit into one batch, by the types of the columns and the sizes of the files.

    Then no column has to be opened in advance.
    """
    stored = stored_bytes(fragment)
    if plan.has_blobs or not stored:
        return False
    return longest(stored, num_rows) <= LARGEST_BATCH_BYTES and num_rows * plan.row_bytes <= MAX_BYTES_OF_A_TABLE


def longest(stored_bytes: int, num_rows: int) -> int:
    """Returns an upper bound of the Arrow data of some rows of files of a size."""
    # rows may share a value of a dictionary, and values may be compressed
    return max(num_rows, MAX_EXPANSION) * stored_bytes


def are_few(plan: ReadPlan, fragment: OpenFragment, num_rows: int) -> bool:
    """Whether reading some rows of a fragment takes less time than preparing a stream, or than passing them to another
    thread and waiting for it: a few local rows without long values."""
    if num_rows > FEW_ROWS or len(plan.fields) > FEW_COLUMNS or plan.fragments.concurrency > 1:
        return False
    is_small = are_small(plan, fragment.fragment, num_rows)
    return is_small or num_rows * read_shape.of(plan, fragment).row_bytes <= FEW_BYTES


def is_light(plan: ReadPlan, batch: Batch) -> bool:
    """Whether the requesting thread reads a batch itself."""
    piece = batch[0]
    return piece.is_few or (len(batch) == 1 and not piece.is_short and are_few(plan, piece.fragment, piece.num_rows))


def grouped(pieces: Iterable[Piece], most_rows: int = FIRST_BATCH_ROWS) -> Iterator[Batch]:
    """Groups pieces into batches, joining short ones with their neighbors.

    most_rows: of the first batch, if it has several pieces
    """
    batch: list[Piece] = []
    num_rows = num_bytes = 0
    for piece in pieces:
        size = stored_bytes(piece.fragment.fragment) if piece.is_short else 0
        is_full = num_rows + piece.num_rows > most_rows or num_bytes + size > BYTES_TOGETHER
        if batch and (is_full or len(batch) == PIECES_TOGETHER or not _are_read_alike(batch[-1], piece)):
            yield batch
            batch, num_rows, num_bytes = [], 0, 0
            most_rows = max(most_rows, BATCH_ROWS)
        batch.append(piece)
        num_rows += piece.num_rows
        num_bytes += size
    if batch:
        yield batch


def _are_read_alike(piece: Piece, other: Piece) -> bool:
    return (piece.is_short and other.is_short) or (piece.is_few and other.is_few)


def rows_per_batch(row_bytes: float, wanted: int | None = None, *, keeps_all: bool = False) -> int:
    """Returns the row limit of a batch: the wanted number, unless rows are huge.

    row_bytes: approximate Arrow data per row
    """
    row_bytes = max(row_bytes, 0.125)
    if wanted is not None:
        return max(1, min(wanted, int(LARGEST_BATCH_BYTES / row_bytes)))
    num_bytes, num_rows, max_bytes = BATCH_BYTES, MAX_BATCH_ROWS, MAX_BATCH_BYTES
    if keeps_all:
        num_bytes, num_rows, max_bytes = BYTES_OF_A_TABLE, ROWS_OF_A_TABLE, MAX_BYTES_OF_A_TABLE
    most = min(num_rows, max(BATCH_ROWS, int(num_bytes / row_bytes)))
    most = max(1, min(most, int(max_bytes / row_bytes)))
    return most - most % ALIGNED_ROWS if most > ALIGNED_ROWS else most


def _most_of_run(shape: ReadShape, batch_rows: int, num_rows: int) -> int:
    """Returns the number of batches in a run of a remote file, whose bytes are all held.

    num_rows: of the file
    """
    stored = shape.stored_bytes / max(num_rows, 1) * batch_rows
    return max(1, min(BATCHES_PER_RUN, int(MAX_RUN_BYTES / max(stored, 1.0))))


def _most_joined(shape: ReadShape) -> int:
    """Returns the row limit for joined batches. All rows of them may pass, even if few did before."""
    return min(MAX_JOINED_ROWS, int(MAX_BATCH_BYTES / max(shape.row_bytes, 0.125))) if shape.is_flat else 0
