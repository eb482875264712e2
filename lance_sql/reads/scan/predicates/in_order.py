"""Evaluation of a filter part by part, if evaluating all parts of all rows fails."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from lance_sql.errors import InvalidArgument
from lance_sql.values import selection

from .evaluation import evaluate
from .tree import Predicate, conjuncts
from .value_tests import steps


def evaluate_in_order(predicate: Predicate, batch: pa.RecordBatch) -> pa.BooleanArray:
    """Returns a mask that is true for the rows that pass a filter, and false or NULL for others.

    A part of the filter fails only for rows that pass the parts before it. Tests of encoded values, which never fail,
    come before other parts, as in streams of the kernels.

    raises: InvalidArgument for a value that makes the filter fail, such as an overflow in its arithmetic
    """
    try:
        return evaluate(predicate, batch)
    except InvalidArgument:
        parts = conjuncts(predicate)
        if len(parts) == 1:
            raise
    left = np.arange(batch.num_rows)
    for part in sorted(parts, key=lambda part: steps(part) is None):
        answers = evaluate(part, selection.take(batch, pa.array(left)))
        left = left[np.asarray(answers.fill_null(False).to_numpy(zero_copy_only=False), np.bool_)]
    passed = np.zeros(batch.num_rows, np.bool_)
    passed[left] = True
    return pa.array(passed)
