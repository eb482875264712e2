"""Constraints of other products, which are enforced rules here.

ALTER TABLE t ADD CONSTRAINT positive CHECK (amount > 0)      Dataset.rules.set
ALTER TABLE t DROP CONSTRAINT [IF EXISTS] positive            Dataset.rules.drop
"""

from __future__ import annotations

from lance_sql.dataset import Dataset
from lance_sql.errors import ContractBroken, InvalidArgument
from lance_sql.one_sql.dialects import parse
from lance_sql.one_sql.engines import Engine
from lance_sql.one_sql.token_reader import TokenReader
from lance_sql.one_sql.upkeep import Upkeep
from lance_sql.one_sql.writing_statements import Change


def add(read: TokenReader, path: str) -> Change:
    name = read.name("a constraint")
    read.expect("CHECK")
    read.expect("(")
    text = read.expression()
    read.expect(")")
    read.accept("ENFORCED")
    (query,) = parse(f"SELECT ({text}) AS c", read.dialect)
    condition = str(query.expressions[0].this.this.sql(dialect="duckdb"))

    def work(dataset: Dataset, engine: Engine) -> Dataset:
        if name in dataset.rules:
            raise InvalidArgument(f"{dataset.uri} has a rule {name!r} already: drop it first")
        num_broken = dataset.count_rows(f"NOT ({condition})")
        if num_broken:
            raise ContractBroken(
                f"{num_broken} of {dataset.count_rows()} rows break CHECK ({text}), and nothing was committed: change"
                f" these rows of {dataset.uri} first"
            )
        return dataset.rules.set(name, condition, enforce=True)

    return Upkeep(path, work)


def drop(read: TokenReader, path: str) -> Change:
    if_exists = read.accept("IF", "EXISTS")
    name = read.name("a constraint")

    def work(dataset: Dataset, engine: Engine) -> Dataset | None:
        return None if if_exists and name not in dataset.rules else dataset.rules.drop(name)

    return Upkeep(path, work)
