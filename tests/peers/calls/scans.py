"""Reads of columns and rows."""

from __future__ import annotations

from .call import Call

_SQL = "SQL: `SELECT .. FROM 't.lance' ORDER BY id LIMIT 10 OFFSET 20`"
_PROJECTION = "SQL: `SELECT a + b AS x FROM 't.lance'`"
CALLS = (
    Call("ds.to_table()", "t.to_table()"),
    Call("ds.to_table(['id', 's'])", "t.scan(['id', 's']).to_table()"),
    Call("ds.to_table(columns=['s', 'id'])", "t.to_table(columns=['s', 'id'])"),
    Call("ds.to_table(columns=['st.x'])", "t.scan(['st.x']).to_table()"),
    Call("ds.to_table(columns=['st.x', 'st.y', 'id'])", "t.scan(['st.x', 'st.y', 'id']).to_table()"),
    Call("ds.to_table(filter='id < 7')", "t.scan(filter='id < 7').to_table()"),
    Call("ds.to_table(filter=pc.field('id') < 7)", "t.scan(filter=pc.field('id') < 7).to_table()"),
    Call("ds.to_table(['s'], filter='id < 7', limit=3)", "t.scan(['s'], 'id < 7', limit=3).to_table()"),
    Call("ds.to_table(limit=0)", "t.scan(limit=0).to_table()"),
    Call("ds.to_table(['id'], limit=30, batch_size=7)", "t.scan(['id'], limit=30, batch_size=7).to_table()"),
    Call("ds.to_table(['nothing'])", "t.to_table(['nothing'])", fails=True),
    Call("ds.to_table(filter='nothing = 1')", "t.to_table(filter='nothing = 1')", fails=True),
    Call("ds.to_table(limit=-1)", "t.scan(limit=-1).to_table()", fails=True),
    Call(
        "ds.to_table(['id'], offset=20, limit=10)",
        "lance_sql.sql(f\"SELECT id FROM '{t.uri}' ORDER BY id LIMIT 10 OFFSET 20\").to_table()",
    ),
    Call(
        "ds.to_table(['id'], offset=95)",
        "lance_sql.sql(f\"SELECT id FROM '{t.uri}' ORDER BY id OFFSET 95\").to_table()",
    ),
    Call(
        "ds.scanner(['id'], offset=99).to_table()",
        "lance_sql.sql(f\"SELECT id FROM '{t.uri}' ORDER BY id OFFSET 99\").to_table()",
    ),
    Call(
        "from lance.dataset import ColumnOrdering\n"
        "ds.scanner(['id', 'f'], order_by=[ColumnOrdering('f', False)]).to_table()",
        "lance_sql.sql(f\"SELECT id, f FROM '{t.uri}' ORDER BY f DESC\").to_table()",
    ),
    Call(
        "from lance.dataset import ColumnOrdering\n"
        "ds.scanner(['a', 'id'], order_by=[ColumnOrdering('a', True, True), ColumnOrdering('id', False)], "
        "limit=12).to_table()",
        "lance_sql.sql(f\"SELECT a, id FROM '{t.uri}' ORDER BY a NULLS FIRST, id DESC LIMIT 12\").to_table()",
    ),
    Call(
        "from lance.dataset import ColumnOrdering\n"
        "ds.to_table(['id'], filter='a = 3', order_by=[ColumnOrdering('id', False)])",
        "lance_sql.sql(f\"SELECT id FROM '{t.uri}' WHERE a = 3 ORDER BY id DESC\").to_table()",
    ),
    Call("ds.to_table(columns={'x': 'id + a'})", "lance_sql.sql(f\"SELECT id + a AS x FROM '{t.uri}'\").to_table()"),
    Call(
        "ds.to_table(columns={'x': 'id * 2', 'up': 'upper(s)'}, filter='id < 5')",
        "lance_sql.sql(f\"SELECT id * 2 AS x, upper(s) AS up FROM '{t.uri}' WHERE id < 5\").to_table()",
    ),
    Call("ds.take([1, 5], columns={'x': 'id'})", "t.take([1, 5], ['id']).rename_columns(['x'])"),
    Call("ds.to_table(['id'], with_row_id=True)", "t.to_table(['id', '_rowid'])"),
    Call("ds.to_table(['id'], with_row_address=True)", "t.to_table(['id', '_rowaddr'])"),
    Call("ds.to_table(['_rowid'])", "t.to_table(['_rowid'])"),
    Call("ds.to_table(['id', '_rowaddr'])", "t.to_table(['id', '_rowaddr'])"),
    Call("ds.to_table(filter='_rowid IN (3, 4)')", "t.to_table(filter='_rowid IN (3, 4)')"),
    Call("ds.to_table(['id', '_row_created_at_version'])", "t.to_table(['id', '_row_created_at_version'])"),
    Call("ds.to_table(['id', '_row_last_updated_at_version'])", "t.to_table(['id', '_row_last_updated_at_version'])"),
    Call("ds.to_table(['id', '_rowoffset'])", None, row="`_rowoffset`, `with_row_offset`"),
    Call("ds.scanner(columns=['id']).to_table()", "t.scanner(columns=['id']).to_table()"),
    Call("ds.scanner(columns=['id']).to_reader()", "t.scan(['id']).to_reader()"),
    Call("pa.Table.from_batches(ds.to_batches(columns=['id']))", "pa.Table.from_batches(t.to_batches(columns=['id']))"),
    Call("[b.num_rows for b in ds.to_batches(batch_size=8)][0]", "[b.num_rows for b in t.to_batches(batch_size=8)][0]"),
    Call("ds.scanner(['id'], filter='id > 90').count_rows()", "t.scan(['id'], 'id > 90').count_rows()"),
    Call("ds.count_rows()", "t.count_rows()"),
    Call("ds.count_rows('a IS NULL')", "t.count_rows('a IS NULL')"),
    Call("ds.count_rows(filter=pc.field('id') > 50)", "t.count_rows(pc.field('id') > 50)"),
    Call("ds.head(3)", "t.head(3)"),
    Call("ds.head(2, columns=['s'])", "t.head(2, columns=['s'])"),
    Call("ds.take([0, 5, 30])", "t.take([0, 5, 30])"),
    Call("ds.take([30, 5, 0], columns=['id', 's'])", "t.take([30, 5, 0], ['id', 's'])"),
    Call("ds.take([5, 5, 1], columns=['id'])", "t.take([5, 5, 1], ['id'])"),
    Call("ds.take([])", "t.take([])"),
    Call("ds.take([500])", "t.take([500])", fails=True),
    Call("ds._take_rows([4, 2], columns=['id'])", "t.take([4, 2], ['id'])"),
    Call("ds.sample(10).num_rows", "lance_sql.sql(f\"FROM '{t.uri}' USING SAMPLE 10\").to_table().num_rows"),
    Call(
        "ds.sample(10, columns=['id']).column_names",
        "lance_sql.sql(f\"SELECT id FROM '{t.uri}' USING SAMPLE 10\").to_table().column_names",
    ),
    Call("ds.schema", "t.schema"),
    Call("ds.schema.names", "t.schema.names"),
    Call("ds.scanner(['s', 'id']).projected_schema", "t.scan(['s', 'id']).schema"),
    Call("ds.to_table(['id']).to_pandas()['id'].sum()", "t.scan(['id']).to_pandas()['id'].sum()"),
    Call(
        "import polars as pl\npl.scan_pyarrow_dataset(ds).filter(pl.col('id') < 4).collect().height",
        "import polars as pl\npl.scan_pyarrow_dataset(t).filter(pl.col('id') < 4).collect().height",
    ),
    Call(
        "import duckdb\nduckdb.sql('SELECT count(*) FROM ds WHERE id < 4').fetchall()",
        "import duckdb\nduckdb.sql('SELECT count(*) FROM t WHERE id < 4').fetchall()",
    ),
    Call("import pickle\npickle.loads(pickle.dumps(ds))", "import pickle\npickle.loads(pickle.dumps(t))"),
    Call("bool(ds.scanner(filter='id = 1').explain_plan())", "bool(t.scan(filter='id = 1').explain())"),
    Call("bool(ds.scanner(filter='id = 1').analyze_plan())", "bool(t.scan(filter='id = 1').explain(analyze=True))"),
    Call("ds.to_table(['id'], use_scalar_index=False)", "lance_sql.open(t.uri, use_indices=False).to_table(['id'])"),
    Call(
        "ds.sql('SELECT id, s FROM dataset WHERE id < 3').build().to_batch_records()[0]",
        "lance_sql.sql(f\"SELECT id, s FROM '{t.uri}' WHERE id < 3\").to_table()",
    ),
    Call(
        "ds.sql('SELECT count(*) AS n FROM dataset').build().to_batch_records()[0]",
        "lance_sql.sql(f\"SELECT count(*) AS n FROM '{t.uri}'\").to_table()",
    ),
    Call(
        "lance.dataset(ds.uri, default_scan_options={'with_row_id': True}).to_table(['id'])",
        "t.to_table(['id', '_rowid'])",
    ),
)
