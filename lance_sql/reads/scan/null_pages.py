"""IS NULL and IS NOT NULL from page layouts: a page without definition levels has no NULL.

Engines test the key of every join for NULL. If the pages of a batch answer the test, nothing is read for it.
"""

from __future__ import annotations

from lance_sql.format.file.column import Column
from lance_sql.reads.scan.pieces import Batch, Piece
from lance_sql.reads.scan.plan import ReadPlan
from lance_sql.reads.scan.predicates import Path
from lance_sql.reads.scan.projection import restrict
from lance_sql.values import row_ranges
from lance_sql.values.row_ranges import RowRanges


def answered(plan: ReadPlan, batch: Batch) -> ReadPlan:
    """Returns the plan for the rows of a batch, without tests that their pages answer, and without any filter if
    all rows are known to pass.

    raises: CorruptFile, UnsupportedFeature
    """
    if all(piece.passes for piece in batch):
        return plan.unfiltered
    # reading all rows of short fragments costs less than opening each of them
    if not plan.null_tests or batch[0].is_short:
        return plan
    answers = {}
    for path in plan.null_tests:
        piece_answers = {_are_null(plan, piece, path) for piece in batch}
        if len(piece_answers) == 1 and (answer := piece_answers.pop()) is not None:
            answers[path] = answer
    return plan.answered(answers)


def _are_null(plan: ReadPlan, piece: Piece, path: Path) -> bool | None:
    """Returns whether the values of a column are NULL in all rows of the piece, or in none; None if pages do not
    show it."""
    columns = piece.fragment.columns_of(restrict(plan.tested[path[0]], [path[1:]]))
    if not columns:
        # no file has the column
        return True
    column_answers = [_in_pages(column, piece.rows, len(path)) for column in columns]
    if len(column_answers) == 1:
        return column_answers[0]
    # members of a struct: it is not NULL if one of them shows so
    return False if False in column_answers else None


def _in_pages(column: Column, rows: RowRanges, depth: int) -> bool | None:
    answers = {column.are_null(number, depth) for number, _ in row_ranges.split(column.row_starts, rows)}
    return answers.pop() if len(answers) == 1 else None
