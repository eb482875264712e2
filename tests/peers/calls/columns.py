"""Columns added, dropped and altered, and metadata of the schema, of fields and of the table."""

from __future__ import annotations

from .call import Call

_BACKFILL = (
    "t.add_columns({'x': 'CAST(NULL AS BIGINT)'})"
    ".merge({'id': list(range(100)), 'x': [n * 2 for n in range(100)]}, on='id')"
)
CALLS = (
    Call("ds.add_columns({'x': 'id + 1'})\nds", "t.add_columns({'x': 'id + 1'})"),
    Call("ds.add_columns({'x': 'id * 2', 'up': 'upper(s)'})\nds", "t.add_columns({'x': 'id * 2', 'up': 'upper(s)'})"),
    Call("ds.add_columns(pa.field('x', pa.float32()))\nds", "t.add_columns([pa.field('x', pa.float32())])"),
    Call(
        "ds.add_columns(pa.schema([('x', pa.int8()), ('y', pa.string())]))\nds",
        "t.add_columns(pa.schema([('x', pa.int8()), ('y', pa.string())]))",
    ),
    Call("ds.add_columns({'id': '1'})", "t.add_columns({'id': '1'})", fails=True),
    Call("ds.add_columns({'x': 'nothing + 1'})", "t.add_columns({'x': 'nothing + 1'})", fails=True),
    Call(
        "@lance.batch_udf(output_schema=pa.schema([('x', pa.int64())]))\n"
        "def double(batch):\n    return pa.record_batch([pc.multiply(batch['id'], 2)], ['x'])\n"
        "ds.add_columns(double, read_columns=['id'])\nds",
        _BACKFILL,
    ),
    Call(
        "ds.add_columns(lambda batch: pa.record_batch([pc.multiply(batch['id'], 2)], ['x']))\nds",
        _BACKFILL,
    ),
    Call("ds.add_columns(pa.table({'x': [n * 2 for n in range(100)]}).to_reader())\nds", _BACKFILL),
    Call("ds.merge(pa.table({'id': range(100), 'x': [n * 2 for n in range(100)]}), 'id')\nds", _BACKFILL),
    Call(
        "ds.merge(pa.table({'k': [2, 3], 'x': [0.5, 1.5]}), left_on='id', right_on='k')\n"
        "ds.to_table(['id', 'x'], filter='id < 5')",
        "t.add_columns({'x': 'CAST(NULL AS DOUBLE)'}).merge({'id': [2, 3], 'x': [0.5, 1.5]}, "
        "on='id').to_table(['id', 'x'], filter='id < 5').sort_by('id')",
    ),
    Call("ds.drop_columns(['a'])\nds", "t.drop_columns(['a'])"),
    Call("ds.drop_columns(['a', 's'])\nds.schema", "t.drop_columns(['a', 's']).schema"),
    Call("ds.drop_columns(['st.x'])\nds", "t.drop_columns(['st.x'])"),
    Call("ds.drop_columns(['nothing'])", "t.drop_columns(['nothing'])", fails=True),
    Call("ds.drop_columns(ds.schema.names)", "t.drop_columns(t.schema.names)", fails=True),
    Call("ds.alter_columns({'path': 'a', 'name': 'renamed'})\nds", "t.rename_columns({'a': 'renamed'})"),
    Call("ds.alter_columns({'path': 'st.x', 'name': 'z'})\nds", "t.rename_columns({'st.x': 'z'})"),
    Call("ds.alter_columns({'path': 'a', 'data_type': pa.int32()})\nds", "t.alter_column('a', type=pa.int32())"),
    Call("ds.alter_columns({'path': 'f', 'data_type': pa.float32()})\nds", "t.alter_column('f', type=pa.float32())"),
    Call(
        "ds.alter_columns({'path': 's', 'data_type': pa.large_string()})\nds",
        "t.alter_column('s', type=pa.large_string())",
    ),
    Call("ds.alter_columns({'path': 'id', 'nullable': True})\nds.schema", "t.alter_column('id', nullable=True).schema"),
    Call("ds.alter_columns({'path': 'a', 'name': 'id'})", "t.rename_columns({'a': 'id'})", fails=True),
    Call("ds.alter_columns({'path': 'nothing', 'name': 'x'})", "t.rename_columns({'nothing': 'x'})", fails=True),
    Call(
        "ds.alter_columns({'path': 's', 'data_type': pa.int32()})", "t.alter_column('s', type=pa.int32())", fails=True
    ),
    Call(
        "ds.update_config({'k': 'v'})\nds.config()['k']",
        "t.config.update({'k': 'v'}).config.list()['k']",
    ),
    Call(
        "ds.update_config({'k': 'v'})\nds.delete_config_keys(['k'])\n'k' in ds.config()",
        "'k' in t.config.update({'k': 'v'}).config.update({'k': None}).config.list()",
    ),
    Call(
        "ds.update_metadata({'k': 'v'})\nds.metadata['k']",
        "lance.dataset(t.config.update_table_metadata({'k': 'v'}).uri).metadata['k']",
    ),
    Call(
        "ds.update_schema_metadata({'k': 'v'})\nds.schema.metadata[b'k']",
        "t.config.update_schema_metadata({'k': 'v'}).schema.metadata[b'k']",
    ),
    Call(
        "ds.replace_schema_metadata({'k': 'v'})\nds.schema.metadata[b'k']",
        "t.config.update_schema_metadata({'k': 'v'}).schema.metadata[b'k']",
    ),
    Call(
        "ds.update_field_metadata({'a': {'k': 'v'}})\nds.schema.field('a').metadata[b'k']",
        "t.config.update_field_metadata('a', {'k': 'v'}).schema.field('a').metadata[b'k']",
    ),
    Call(
        "ds.replace_field_metadata('a', {'k': 'v'})\nds.schema.field('a').metadata[b'k']",
        "t.config.update_field_metadata('a', {'k': 'v'}).schema.field('a').metadata[b'k']",
    ),
    Call("lance.json_to_schema(lance.schema_to_json(ds.schema)).names", None, row="`lance.json_to_schema`"),
)
