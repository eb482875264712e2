"""Tables created, appended to and overwritten."""

from __future__ import annotations

from .call import Call

_NEW = "pa.table({'id': [1, 2], 's': ['x', None]})"
CALLS = (
    Call(f"lance.write_dataset({_NEW}, folder / 'new')", f"lance_sql.write({_NEW}, folder / 'new.lance')"),
    Call(
        "lance.write_dataset([{'a': 1}, {'a': 2}], folder / 'new')",
        "lance_sql.write([{'a': 1}, {'a': 2}], folder / 'new.lance')",
    ),
    Call("lance.write_dataset({'a': [1, 2]}, folder / 'new')", "lance_sql.write({'a': [1, 2]}, folder / 'new.lance')"),
    Call(
        "import pandas\nlance.write_dataset(pandas.DataFrame({'a': [1, 2]}), folder / 'new')",
        "import pandas\nlance_sql.write(pandas.DataFrame({'a': [1, 2]}), folder / 'new.lance')",
    ),
    Call(
        "import polars\nlance.write_dataset(polars.DataFrame({'a': [1, 2]}), folder / 'new')",
        "import polars\nlance_sql.write(polars.DataFrame({'a': [1, 2]}), folder / 'new.lance')",
    ),
    Call(
        f"lance.write_dataset({_NEW}.to_reader(), folder / 'new')",
        f"lance_sql.write({_NEW}.to_reader(), folder / 'new.lance')",
    ),
    Call(
        f"lance.write_dataset(iter({_NEW}.to_batches()), folder / 'new', schema={_NEW}.schema)",
        f"lance_sql.write(iter({_NEW}.to_batches()), folder / 'new.lance', schema={_NEW}.schema)",
    ),
    Call(
        "lance.write_dataset([], folder / 'new', schema=pa.schema([('a', pa.int32())]))",
        "lance_sql.write([], folder / 'new.lance', schema=pa.schema([('a', pa.int32())]))",
    ),
    Call(
        "lance.write_dataset(ds, folder / 'new').count_rows()", "lance_sql.write(t, folder / 'new.lance').count_rows()"
    ),
    Call(
        "lance.write_dataset(ds.to_table(['id']), ds.uri, mode='overwrite')",
        "lance_sql.write(t.to_table(['id']), t, mode='overwrite')",
    ),
    Call("lance.write_dataset(rows, ds.uri, mode='create')", "lance_sql.write(rows, t.uri, mode='create')", fails=True),
    Call(
        "lance.write_dataset(ds.to_table(limit=3), ds.uri, mode='append').count_rows()",
        "lance_sql.write(t.head(3), t.uri, mode='append').count_rows()",
    ),
    Call("ds.insert(ds.to_table(limit=3))\nds.count_rows()", "t.append(t.head(3)).count_rows()"),
    Call(
        "lance.write_dataset(rows, ds.uri, mode='append').to_table(filter='id = 1000')",
        "t.append(rows).to_table(filter='id = 1000')",
    ),
    Call(
        "lance.write_dataset(pa.table({'z': [1]}), ds.uri, mode='append')",
        "t.append(pa.table({'z': [1]}))",
        fails=True,
    ),
    Call(
        "lance.write_dataset(pa.table({'id': ['x']}), ds.uri, mode='append')",
        "t.append(pa.table({'id': ['x']}))",
        fails=True,
    ),
    Call(
        "lance.write_dataset(rows, folder / 'new', mode='append')",
        "lance_sql.write(rows, folder / 'new.lance', mode='append')",
    ),
    Call(
        "lance.write_dataset(rows, folder / 'new', mode='overwrite')",
        "lance_sql.write(rows, folder / 'new.lance', mode='overwrite')",
    ),
    Call(
        "len(lance.write_dataset(ds.to_table(), folder / 'new', max_rows_per_file=10).get_fragments())",
        "len(lance_sql.write(t.to_table(), folder / 'new.lance', max_rows_per_file=10).maintenance.layout().fragments)",
    ),
    Call(
        "lance.write_dataset(rows, folder / 'new', data_storage_version='2.0')",
        "lance.dataset(lance_sql.write(rows, folder / 'new.lance', file_version='2.0').uri)",
    ),
    Call(
        "lance.write_dataset(rows, folder / 'new', data_storage_version='9.9')",
        "lance_sql.write(rows, folder / 'new.lance', file_version='9.9')",
        fails=True,
    ),
    Call(
        "lance.write_dataset(rows, folder / 'new', enable_stable_row_ids=False).to_table(['id', '_rowid'])",
        "lance_sql.write(rows, folder / 'new.lance', stable_row_ids=False).to_table(['id', '_rowid'])",
    ),
    Call(
        "lance.write_dataset(rows, ds.uri, mode='append', transaction_properties={'by': 'me'})\n"
        "lance.dataset(ds.uri).read_transaction(2).transaction_properties['by']",
        "t.append(rows, properties={'by': 'me'})\n"
        "lance.dataset(t.uri).read_transaction(2).transaction_properties['by']",
    ),
    Call("lance.dataset(folder / 'nothing')", "lance_sql.open(folder / 'nothing')", fails=True),
    Call(
        "LanceDataset = lance.LanceDataset\nLanceDataset.drop(ds.uri)\n(folder / 'theirs.lance').exists()",
        "lance_sql.sql(f\"DROP TABLE '{t.uri}'\", all_rows=True)\n(folder / 'ours.lance').exists()",
    ),
    Call(
        "lance.write_dataset(pa.table({'e': pa.array([{}], pa.struct([]))}), folder / 'new')",
        "lance_sql.write(pa.table({'e': pa.array([{}], pa.struct([]))}), folder / 'new.lance')",
    ),
    Call(
        "lance.write_dataset(pa.table({'k': pa.array(['a', 'b', 'a']).dictionary_encode()}), folder / 'new')",
        "lance_sql.write(pa.table({'k': pa.array(['a', 'b', 'a']).dictionary_encode()}), folder / 'new.lance')",
    ),
)
