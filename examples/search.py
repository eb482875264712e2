"""Search by meaning, by words and by both, and what changed in the answers; embeddings are made by hand.

    python examples/search.py [FOLDER]      writes notes.lance and a page, found.html, into FOLDER, and prints answers

A note is about animals, water, food and speed; each word says how much, and the embedding of a text is the sum of what
its words say. A model does the same with hundreds of numbers that nobody has names for.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa

import lance_sql

TOPICS = ("animals", "water", "food", "speed")
MEANINGS = {
    "fox": (1, 0, 0, 0.5), "dog": (1, 0, 0, 0.2), "trout": (0.8, 0.7, 0.5, 0.2), "river": (0, 1, 0, 0.2),
    "rain": (0, 1, 0, 0), "soup": (0, 0.4, 1, 0), "bread": (0, 0, 1, 0), "quick": (0, 0, 0, 1), "slow": (0, 0, 0, -1),
}  # fmt: skip
NOTES = (
    "A quick fox jumps over a dog",
    "Slow rain makes a quick river",
    "Trout soup needs no bread",
    "The dog sleeps in the rain",
    "Bread and soup, soup and bread",
)


def embed(text: str) -> list[float]:
    """How much a text is about each topic."""
    words = [word.strip(",.").lower() for word in text.split()]
    found = np.sum([MEANINGS.get(word, (0, 0, 0, 0)) for word in words], axis=0)
    return [float(value) for value in found]


def rows(texts: tuple[str, ...], first: int) -> pa.Table:
    values = np.array([embed(text) for text in texts], np.float32)
    vectors = pa.FixedSizeListArray.from_arrays(pa.array(values.reshape(-1)), len(TOPICS))
    return pa.table({"id": np.arange(first, first + len(texts)), "note": texts, "embedding": vectors})


def show(title: str, found: pa.Table) -> None:
    print(f"\n{title}")
    for row in found.to_pylist():
        said = [f"{value:.2f}" if isinstance(value, float) else str(value) for value in row.values()]
        print("  " + "  ".join(said))


def main(folder: Path) -> None:
    path = folder / "notes.lance"
    shutil.rmtree(path, ignore_errors=True)
    notes = lance_sql.write(rows(NOTES, 1), path, stable_row_ids=True)
    notes = notes.indices.create("embedding", "ivf_flat", metric="cosine", num_partitions=2).indices.create(
        "note", "inverted"
    )

    columns = ["id", "note"]
    asked = embed("river trout")
    show("near 'river trout'", notes.search(asked, k=2, columns=columns).to_table())
    show("with the word 'dogs'", notes.search(text="dogs", columns=columns).to_table())
    show(
        "both", notes.search(asked, text="soup", k=2, columns=columns).to_table().drop_columns(["_distance", "_score"])
    )

    before = notes.version
    notes = lance_sql.write(rows(("Trout swim up the river",), 6), notes, mode="append")
    notes = notes.update({"note": "'Trout soup, with dill'"}, "id = 3").delete("id = 2")
    changes = notes.search_changes(asked, since=before, k=2, columns=columns).to_table()
    show("what changed near 'river trout'", changes.select(["_change", "_row_change", "note"]))

    sql = f"""
        SELECT round(_distance, 2) AS distance, note
        FROM lance_vector_search('{path}', 'embedding', {asked}, k := 2, version := {before})
        ORDER BY distance"""
    show("in SQL, before", lance_sql.sql(sql).to_table())

    page = folder / "found.html"
    page.write_text(notes.search(asked, text="trout", k=3).to_html(), encoding="utf-8")
    print(f"\nWrote {page}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(tempfile.mkdtemp()))
