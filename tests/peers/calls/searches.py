"""Searches by vector and by words."""

from __future__ import annotations

from .call import Call


def _vector(options: str, ours: str, after: str = "", *, fails: bool = False) -> Call:
    theirs = f"ds.to_table(columns=['id'], nearest={{'column': 'v', 'q': q, 'k': 5{options}}}{after})"
    return Call(theirs, f"t.search(q, column='v', k=5, columns=['id']{ours}).to_table()", "vectors", fails=fails)


def _words(query: str, ours: str) -> Call:
    build = "ds.create_scalar_index('text', 'INVERTED', with_position=True)\n"
    imports = (
        "from lance.query import BooleanQuery, BoostQuery, MatchQuery, Occur, PhraseQuery\n"
        "from lance.query import FullTextOperator as Operator\n"
    )
    theirs = f"{imports}{build}sorted(ds.to_table(['id'], full_text_query={query})['id'].to_pylist())"
    text = f"t.indices.create('text', 'inverted', with_position=True).search(text={ours}, k=None, columns=['id'])"
    return Call(theirs, f"sorted({text}.to_table()['id'].to_pylist())", "words")


CALLS = (
    _vector("", ""),
    _vector(", 'metric': 'cosine'", ", metric='cosine'"),
    _vector(", 'metric': 'dot'", ", metric='dot'"),
    _vector("", ", filter='k = 2'", ", filter='k = 2', prefilter=True"),
    _vector(", 'distance_range': (0.0, 0.4)", ", distance_range=(0.0, 0.4)"),
    _vector(", 'use_index': False", ", use_index=False"),
    Call(
        "ds.to_table(nearest={'column': 'nothing', 'q': q})",
        "t.search(q, column='nothing').to_table()",
        "vectors",
        fails=True,
    ),
    Call(
        "ds.to_table(nearest={'column': 'v', 'q': q[:3]})",
        "t.search(q[:3], column='v').to_table()",
        "vectors",
        fails=True,
    ),
    Call(
        "ds.create_index('v', 'IVF_FLAT', num_partitions=4)\n"
        "ds.to_table(columns=['id'], nearest={'column': 'v', 'q': q, 'k': 5, 'nprobes': 4})",
        "t.indices.create('v', 'ivf_flat', num_partitions=4).search(q, k=5, columns=['id'], nprobes=4).to_table()",
        "vectors",
    ),
    Call(
        "ds.create_index('v', 'IVF_PQ', num_partitions=2, num_sub_vectors=4)\n"
        "ds.to_table(columns=['id'], nearest={'column': 'v', 'q': q, 'k': 5, 'nprobes': 2, 'refine_factor': 50})",
        "t.indices.create('v', 'ivf_pq', num_partitions=2, num_sub_vectors=4)"
        ".search(q, k=5, columns=['id'], nprobes=2, refine_factor=50).to_table()",
        "vectors",
    ),
    Call(
        "ds.create_index('v', 'IVF_HNSW_SQ', num_partitions=1)\n"
        "ds.to_table(nearest={'column': 'v', 'q': q, 'k': 5}).num_rows",
        None,
        "vectors",
        row="HNSW, NGRAM, LABEL_LIST",
    ),
    Call(
        "ds.create_index('v', 'IVF_HNSW_SQ', num_partitions=1)\n"
        "ds.to_table(columns=['id'], nearest={'column': 'v', 'q': q, 'k': 1, 'refine_factor': 10})",
        "lance.dataset(t.uri).create_index('v', 'IVF_HNSW_SQ', num_partitions=1)\n"
        "t.latest().search(q, k=1, columns=['id'], refine_factor=10).to_table()",
        "vectors",
    ),
    Call(
        "ds.create_index('v', 'IVF_FLAT', num_partitions=2)\nds.insert(ds.to_table(limit=9))\n"
        "ds.to_table(nearest={'column': 'v', 'q': q, 'k': 600, 'nprobes': 2}, fast_search=True).num_rows",
        "t = t.indices.create('v', 'ivf_flat', num_partitions=2)\nt = t.append(t.head(9))\n"
        "t.search(q, k=600, nprobes=2, fast_search=True).to_table().num_rows",
        "vectors",
    ),
    _words("'fox'", "'fox'"),
    _words("'fox dog'", "'fox dog'"),
    _words("MatchQuery('fox', 'text')", "{'match': {'terms': 'fox', 'column': 'text'}}"),
    _words(
        "MatchQuery('brown fox', 'text', operator=Operator.AND)",
        "{'match': {'terms': 'brown fox', 'column': 'text', 'operator': 'AND'}}",
    ),
    _words("MatchQuery('fxo', 'text', fuzziness=2)", "{'match': {'terms': 'fxo', 'column': 'text', 'fuzziness': 2}}"),
    _words("PhraseQuery('brown fox', 'text')", "{'phrase': {'terms': 'brown fox', 'column': 'text'}}"),
    _words(
        "BooleanQuery([(Occur.MUST, MatchQuery('fox', 'text')), (Occur.MUST_NOT, MatchQuery('quick', 'text'))])",
        "{'boolean': {'must': [{'match': {'terms': 'fox', 'column': 'text'}}],"
        " 'must_not': [{'match': {'terms': 'quick', 'column': 'text'}}]}}",
    ),
    _words(
        "BoostQuery(MatchQuery('fox', 'text'), MatchQuery('quick', 'text'))",
        "{'boost': {'positive': {'match': {'terms': 'fox', 'column': 'text'}},"
        " 'negative': {'match': {'terms': 'quick', 'column': 'text'}}}}",
    ),
    Call(
        "ds.create_scalar_index('text', 'INVERTED')\n"
        "ds.to_table(['id'], full_text_query='fox', filter='id < 20').num_rows",
        "t.indices.create('text', 'inverted').search(text='fox', k=None, filter='id < 20').to_table().num_rows",
        "words",
    ),
    Call(
        "ds.create_scalar_index('text', 'INVERTED')\n"
        "sorted(ds.to_table(['id'], full_text_query='fox')['_score'].to_pylist())",
        "sorted(t.indices.create('text', 'inverted').search(text='fox', k=None).to_table()['_score'].to_pylist())",
        "words",
    ),
)
