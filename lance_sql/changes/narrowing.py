"""Evaluation of a filter before rows are read, and the rest of the filter for some images.

_change_type = 'insert' AND a > 5         inserts: a > 5                  others: no row
_commit_version >= 7 OR a > 5             version 8: every row            version 6: a > 5
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from lance_sql.changes.images import ONE_ID, Images
from lance_sql.reads.scan import system_columns
from lance_sql.reads.scan.predicates import (
    And,
    Const,
    IsUnknown,
    Not,
    Or,
    Predicate,
    conjunction,
    conjuncts,
    disjunction,
    evaluate,
    joined,
)


def known(predicate: Predicate, constants: pa.RecordBatch) -> Predicate:
    """Simplifies a predicate for columns that have one value for every row.

    constants: one row of these columns
    """
    if {path[0] for path in predicate.columns} <= set(constants.schema.names):
        return Const(evaluate(predicate, constants)[0].as_py())
    match predicate:
        case And(arguments):
            return conjunction(known(each, constants) for each in arguments)
        case Or(arguments):
            return disjunction(known(each, constants) for each in arguments)
        case Not(argument):
            return Not(known(argument, constants))
        case IsUnknown(argument):
            return IsUnknown(known(argument, constants))
    return predicate


def narrowed(images: Images, predicate: Predicate | None) -> tuple[Images, Predicate | None] | None:
    """Returns the images that may pass, and the rest of the filter for them; None if no image can pass.

    Row ids and commits are known without reading pages.
    """
    if predicate is None:
        return images, None
    constants = images.feed_columns(images.feed_values.constant, ONE_ID)
    if constants:
        predicate = known(predicate, pa.RecordBatch.from_pydict(constants))
    feed_names = images.feed_values.names
    by_identity: list[Predicate] = []
    left: list[Predicate] = []
    for part in conjuncts(predicate):
        of_ids = {path[0] for path in part.columns} <= {system_columns.ROW_ID, *feed_names}
        (by_identity if of_ids else left).append(part)
    for part in by_identity:
        if part == Const(True):
            continue
        if isinstance(part, Const):
            return None
        ids = images.rows.ids
        columns: Mapping[str, pa.Array] = {
            **images.feed_columns([name for name in feed_names if (name,) in part.columns], ids),
            system_columns.ROW_ID: pa.array(ids),
        }
        passed = evaluate(part, pa.RecordBatch.from_pydict(dict(columns))).fill_null(False)
        images = images.pick(np.flatnonzero(passed.to_numpy(zero_copy_only=False)))
        if not images.rows.num_rows:
            return None
    return images, joined(*left)
