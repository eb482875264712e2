"""Indices, built and used; each is built by one library and answers the other's filters in tests/format."""

from __future__ import annotations

from .call import Call


def _kind(kind: str, column: str, filter: str) -> Call:
    theirs = f"ds.create_scalar_index('{column}', '{kind}')\nds.to_table(['id'], filter={filter!r})"
    return Call(theirs, f"t.indices.create('{column}', '{kind.lower()}').to_table(['id'], filter={filter!r})")


_BTREE = "ds.create_scalar_index('id', 'BTREE')\n"
_OURS = "t = t.indices.create('id', 'btree')\n"
CALLS = (
    _kind("BTREE", "id", "id BETWEEN 3 AND 7"),
    _kind("BTREE", "s", "s = 'row 3'"),
    _kind("BITMAP", "a", "a IN (1, 2)"),
    _kind("BITMAP", "b", "b"),
    _kind("ZONEMAP", "id", "id > 95"),
    _kind("BLOOMFILTER", "s", "s = 'row 3'"),
    Call(_BTREE + "[i['name'] for i in ds.list_indices()]", _OURS + "[i.name for i in t.indices.list()]"),
    Call(
        _BTREE + "[i['fields'] for i in ds.list_indices()]",
        _OURS + "[[each for each in i.columns] for i in t.indices.list()]",
    ),
    Call(_BTREE + "[i.name for i in ds.describe_indices()]", _OURS + "[i.name for i in t.indices.list()]"),
    Call(
        "ds.create_scalar_index('id', 'BTREE', name='mine')\nds.list_indices()[0]['name']",
        "t.indices.create('id', 'btree', name='mine').indices.list()[0].name",
    ),
    Call(
        _BTREE + "ds.drop_index('id_idx')\nds.list_indices()", _OURS + "list(t.indices.drop('id_idx').indices.list())"
    ),
    Call("ds.drop_index('nothing')", "t.indices.drop('nothing')", fails=True),
    Call("ds.create_scalar_index('nothing', 'BTREE')", "t.indices.create('nothing', 'btree')", fails=True),
    Call("ds.create_scalar_index('id', 'NOTHING')", "t.indices.create('id', 'nothing')", fails=True),
    Call(
        _BTREE + "ds.create_scalar_index('id', 'BTREE')\nlen(ds.list_indices())",
        _OURS + "len(t.indices.create('id', 'btree', replace=True).indices.list())",
    ),
    Call(
        _BTREE + "ds.create_scalar_index('id', 'BTREE', replace=False)",
        _OURS + "t.indices.create('id', 'btree')",
        fails=True,
    ),
    Call(
        _BTREE
        + "ds.insert(rows)\nds.optimize.optimize_indices()\nds.stats.index_stats('id_idx')['num_unindexed_rows']",
        _OURS + "t.append(rows).indices.optimize().indices.list()[0].num_uncovered",
    ),
    Call(
        _BTREE + "ds.insert(rows)\nds.stats.index_stats('id_idx')['num_unindexed_fragments']",
        _OURS + "t.append(rows).indices.list()[0].num_uncovered",
    ),
    Call(
        _BTREE + "ds.insert(rows)\nds.to_table(['id'], filter='id = 1000')",
        _OURS + "t.append(rows).to_table(['id'], filter='id = 1000')",
    ),
    Call(
        _BTREE + "ds.optimize.compact_files()\nds.to_table(['id'], filter='id = 50')",
        _OURS + "t.maintenance.compact().to_table(['id'], filter='id = 50')",
    ),
    Call(
        _BTREE + "ds.update({'a': '5'}, 'id = 50')\nds.to_table(['a'], filter='id = 50')",
        _OURS + "t.update({'a': '5'}, 'id = 50').to_table(['a'], filter='id = 50')",
    ),
    Call(_BTREE + "ds.prewarm_index('id_idx')", None, row="`prewarm_index`"),
    Call(
        "ds.create_scalar_index('tags', 'LABEL_LIST')\nds.count_rows(\"array_has_any(tags, ['t4'])\")",
        None,
        row="HNSW, NGRAM, LABEL_LIST",
    ),
    Call(
        "ds.create_scalar_index('s', 'NGRAM')\nds.count_rows(\"contains(s, 'row 1')\")",
        None,
        row="HNSW, NGRAM, LABEL_LIST",
    ),
    Call(
        "ds.create_scalar_index('s', 'NGRAM')\nds.count_rows(\"contains(s, 'row 1')\")",
        "lance.dataset(t.uri).create_scalar_index('s', 'NGRAM')\nt.latest().count_rows(\"contains(s, 'row 1')\")",
    ),
    Call(
        "ds.create_scalar_index('tags', 'LABEL_LIST')\nds.count_rows(\"array_has_any(tags, ['t4'])\")",
        "lance.dataset(t.uri).create_scalar_index('tags', 'LABEL_LIST')\n"
        "t.latest().count_rows(\"array_has_any(tags, ['t4'])\")",
    ),
    Call(
        "from lance.indices import IndexConfig\n"
        "ds.create_scalar_index('j', IndexConfig('json', {'target_index_type': 'btree', 'path': 'n'}))\n"
        "ds.to_table(['id'], filter=\"json_get_int(j, 'n') = 4\")",
        "t.indices.create('j.n', 'btree').to_table(['id'], filter=\"json_get_int(j, 'n') = 4\")",
        "json",
    ),
    Call(
        "ds.create_scalar_index('id', 'BTREE', train=False)\nds.count_rows('id = 4')",
        "t.indices.create('id', 'btree', train=False).count_rows('id = 4')",
    ),
    Call(
        "ds.create_index('v', 'IVF_FLAT', num_partitions=2)\nds.list_indices()[0]['name']",
        "t.indices.create('v', 'ivf_flat', num_partitions=2).indices.list()[0].name",
        "vectors",
    ),
)
