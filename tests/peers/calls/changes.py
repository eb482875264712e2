"""Rows deleted, updated and merged."""

from __future__ import annotations

from .call import Call

_UPSERT = "ds.merge_insert('id').when_matched_update_all().when_not_matched_insert_all().execute(rows)\nds.to_table()"
_BY_ID = "MERGE INTO '{t.uri}' AS t USING rows AS source ON t.id = source.id"
_MERGED = "sorted(({}).to_table(['id', 'a']).to_pylist(), key=lambda row: row['id'])"


def _merge(clauses: str, ours: str, data: str = "rows", *, on: str = "'id'", fails: bool = False) -> Call:
    theirs = f"ds.merge_insert({on}){clauses}.execute({data})\n{_MERGED.format('ds')}"
    return Call(theirs, _MERGED.format(f"t.merge({data}, on={on}{ours})"), fails=fails)


def _merge_sql(clauses: str, when: str) -> Call:
    theirs = f"ds.merge_insert('id'){clauses}.execute(rows)\n{_MERGED.format('ds')}"
    ours = (
        f'con = lance_sql.connect()\ncon.register("rows", rows)\nlance_sql.sql(f"{_BY_ID} {when}", connection=con)\n'
        f"{_MERGED.format('t.latest()')}"
    )
    return Call(theirs, ours)


CALLS = (
    Call("ds.delete('id > 3')\nds", "t.delete('id > 3')"),
    Call("ds.delete('id IN (1, 2)')\nds.count_rows()", "t.delete('id IN (1, 2)').count_rows()"),
    Call("ds.delete(pc.field('a') == 3)\nds.to_table(['id'])", "t.delete(pc.field('a') == 3).to_table(['id'])"),
    Call("ds.delete('true')\nds.count_rows()", "t.delete('true').count_rows()"),
    Call("ds.delete('nothing = 1')", "t.delete('nothing = 1')", fails=True),
    Call(
        "ds.update({'a': 'a + 1'}, where='id < 3')\nds.to_table(['id', 'a'], filter='id < 5')",
        "t.update({'a': 'a + 1'}, 'id < 3').to_table(['id', 'a'], filter='id < 5')",
    ),
    Call(
        "ds.update({'a': 'a + 1'}, where='id < 3')['num_rows_updated']",
        "t.update({'a': 'a + 1'}, 'id < 3').last_change.rows_updated",
    ),
    Call(
        "ds.update({'s': \"'new'\"})\nds.to_table(['s'], limit=2)",
        "t.update({'s': \"'new'\"}, 'true').scan(['s'], limit=2).to_table()",
    ),
    Call(
        "ds.update({'a': 'NULL'}, 'id = 0')\nds.to_table(['a'], filter='id = 0')",
        "t.update({'a': 'NULL'}, 'id = 0').to_table(['a'], filter='id = 0')",
    ),
    Call(
        "ds.update({'s': \"concat(s, '!')\"}, 'id = 0')\nds.to_table(['s'], filter='id = 0')",
        "t.update({'s': \"concat(s, '!')\"}, 'id = 0').to_table(['s'], filter='id = 0')",
    ),
    Call(
        "ds.update({'a': 'id / 2'}, 'id = 5')\nds.to_table(['a'], filter='id = 5')",
        "t.update({'a': 'id // 2'}, 'id = 5').to_table(['a'], filter='id = 5')",
    ),
    Call("ds.update({'nothing': '1'})", "t.update({'nothing': '1'}, 'true')", fails=True),
    Call("ds.update({'a': 'sum(a)'})", "t.update({'a': 'sum(a)'}, 'true')", fails=True),
    Call(
        "ds.update({'d': \"date '2020-02-02'\", 'ts': \"timestamp '2020-02-02 00:00:00'\"}, 'id = 1')\n"
        "ds.to_table(['d', 'ts'], filter='id = 1')",
        "t.update({'d': \"date '2020-02-02'\", 'ts': \"timestamp '2020-02-02 00:00:00'\"}, 'id = "
        "1').to_table(['d', 'ts'], filter='id = 1')",
    ),
    Call(
        "ds.update({'bytes': \"X'0102'\"}, 'id = 1')\nds.to_table(['bytes'], filter='id = 1')",
        "t.update({'bytes': \"'\\\\x01\\\\x02'::BLOB\"}, 'id = 1').to_table(['bytes'], filter='id = 1')",
    ),
    _merge(".when_matched_update_all().when_not_matched_insert_all()", ""),
    _merge(".when_not_matched_insert_all()", ", when_matched='keep'"),
    _merge(".when_matched_update_all()", ", when_not_matched='ignore'"),
    _merge(
        ".when_matched_update_all().when_not_matched_by_source_delete()",
        ", when_not_matched='ignore', delete_unmatched=True",
    ),
    _merge(
        ".when_matched_update_all().when_not_matched_by_source_delete('id > 50')",
        ", when_not_matched='ignore', delete_unmatched='id > 50'",
    ),
    _merge(
        ".when_not_matched_insert_all().when_not_matched_by_source_delete('id < 10')",
        ", when_matched='keep', delete_unmatched='id < 10'",
    ),
    _merge(".when_matched_fail().when_not_matched_insert_all()", ", when_matched='fail'", fails=True),
    _merge(".when_matched_delete()", ", when_matched='delete', when_not_matched='ignore'"),
    _merge(".when_matched_update_all().when_not_matched_insert_all()", "", "rows.to_pandas()"),
    _merge(".when_matched_update_all().when_not_matched_insert_all()", "", "rows.to_reader()"),
    _merge(".when_matched_update_all().when_not_matched_insert_all()", "", on="['id', 'a']"),
    _merge(".when_matched_update_all().when_not_matched_insert_all()", "", on="'nothing'", fails=True),
    _merge(
        ".when_matched_update_all()", ", when_not_matched='ignore'", "pa.table({'id': [1, 1], 'a': [1, 2]})", fails=True
    ),
    _merge_sql(
        ".when_matched_update_all('source.a < target.a').when_not_matched_insert_all()",
        "WHEN MATCHED AND source.a < t.a THEN UPDATE SET a = source.a WHEN NOT MATCHED THEN INSERT (id, a) "
        "VALUES (id, a)",
    ),
    _merge_sql(
        ".when_matched_update_all('source.a > target.a')",
        "WHEN MATCHED AND source.a > t.a THEN UPDATE SET a = source.a",
    ),
    Call(
        "found = ds.merge_insert('id').when_matched_update_all().when_not_matched_insert_all().execute(rows)\n"
        "[found['num_inserted_rows'], found['num_updated_rows'], found['num_deleted_rows']]",
        "found = t.merge(rows, on='id').last_change\n[found.rows_inserted, found.rows_updated, found.rows_deleted]",
    ),
    Call(
        "ds.delete('id = 3')\n"
        "ds.merge_insert('id').when_matched_update_all().when_not_matched_insert_all().execute(rows)\nds.count_rows()",
        "t.delete('id = 3').merge(rows, on='id').count_rows()",
    ),
    Call(
        "ds.delete('id = 3')\nds.to_table(['id', '_rowid'], filter='id < 6')",
        "t.delete('id = 3').to_table(['id', '_rowid'], filter='id < 6')",
    ),
    Call(
        "ds.update({'a': '9'}, 'id = 3')\nds.to_table(['id', '_rowid'], filter='id = 3')",
        "t.update({'a': '9'}, 'id = 3').to_table(['id', '_rowid'], filter='id = 3')",
    ),
    Call(
        "bool(ds.merge_insert('id').when_matched_update_all().explain_plan())",
        "lance_sql.sql(f\"MERGE INTO '{t.uri}' AS t USING (SELECT 3 AS id) AS n ON t.id = n.id WHEN MATCHED "
        'THEN DELETE", dry_run=True).to_table().num_rows == 1',
    ),
    Call("ds.truncate_table()\nds.count_rows()", "t.delete('true').count_rows()"),
)
