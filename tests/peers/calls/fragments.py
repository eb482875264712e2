"""Fragments, and writes by several processes."""

from __future__ import annotations

from .call import Call

_LISTED = (
    "lance_sql.sql(f\"SELECT {} AS n FROM lance_fragments('{{t.uri}}') ORDER BY fragment\").to_table()['n'].to_pylist()"
)
CALLS = (
    Call("len(ds.get_fragments())", "len(t.maintenance.layout().fragments)"),
    Call("[f.fragment_id for f in ds.get_fragments()]", _LISTED.format("fragment::BIGINT")),
    Call("[f.count_rows() for f in ds.get_fragments()]", _LISTED.format("rows - deleted_rows")),
    Call(
        "ds.delete('id < 3')\n[f.count_rows() for f in ds.get_fragments()]",
        "t.delete('id < 3')\n" + _LISTED.format("rows - deleted_rows"),
    ),
    Call(
        "ds.delete('id < 3')\n[f.num_deletions for f in ds.get_fragments()]",
        "t.delete('id < 3')\n" + _LISTED.format("deleted_rows"),
    ),
    Call(
        "ds.get_fragment(2).to_table(['id'])",
        "t.to_table(['id'], filter='_rowaddr >> 32 = 2')",
    ),
    Call(
        "ds.get_fragment(1).count_rows('a = 3')",
        "t.count_rows('a = 3 AND _rowaddr >> 32 = 1')",
    ),
    Call(
        "ds.get_fragment(1).head(2)['id'].to_pylist()",
        "t.scan(['id'], '_rowaddr >> 32 = 1', limit=2).to_table()['id'].to_pylist()",
    ),
    Call(
        "ds.get_fragment(1).take([0, 3], columns=['id'])",
        "t.to_table(['id'], filter='_rowaddr IN (4294967296, 4294967299)')",
    ),
    Call(
        "ds.scanner(['id'], fragments=ds.get_fragments()[3:]).to_table()",
        "t.to_table(['id'], filter='_rowaddr >> 32 >= 3')",
    ),
    Call(
        "sum(f.to_table(['id'], filter='a = 3').num_rows for f in ds.get_fragments())",
        "sum(task.to_reader().read_all().num_rows for task in t.scan(['id'], 'a = 3').tasks(5))",
    ),
    Call("ds.get_fragment(99) is None", "t.count_rows('_rowaddr >> 32 = 99') == 0"),
    Call("[len(f.data_files()) for f in ds.get_fragments()]", _LISTED.format("data_files")),
    Call(
        "ds.get_fragment(0).physical_rows",
        "lance_sql.sql(f\"SELECT rows FROM lance_fragments('{t.uri}') WHERE fragment = 0\").fetchone()[0]",
    ),
    Call(
        "from lance.fragment import write_fragments\nmade = write_fragments(ds.to_table(limit=4), ds.uri)\n"
        "lance.LanceDataset.commit(ds.uri, lance.LanceOperation.Append(made), read_version=1).count_rows()",
        "job = lance_sql.begin_write(t.schema, t, mode='append')\n"
        "job.commit(job.write_fragments(t.head(4))).count_rows()",
    ),
    Call(
        "from lance.fragment import write_fragments\nmade = write_fragments(ds.to_table(limit=4), folder / 'new')\n"
        "lance.LanceDataset.commit(folder / 'new', lance.LanceOperation.Overwrite(ds.schema, made)).count_rows()",
        "job = lance_sql.begin_write(t.schema, folder / 'new.lance')\n"
        "job.commit(job.write_fragments(t.head(4))).count_rows()",
    ),
    Call(
        "ds.get_fragment(0).merge_columns(lambda b: pa.record_batch([b['id']], ['x']))[1] is not None",
        None,
        row="`fragment.merge_columns`",
    ),
    Call("ds.stats.dataset_stats()['num_fragments']", "len(t.maintenance.layout().fragments)"),
    Call(
        "ds.delete('id < 3')\nds.stats.dataset_stats()['num_deleted_rows']",
        "t.delete('id < 3')\nsum(" + _LISTED.format("deleted_rows") + ")",
    ),
    Call("len(ds.stats.data_stats().fields) > 0", "len(t.maintenance.statistics()) > 0"),
    Call(
        "ds.data_storage_version",
        "lance_sql.sql(f\"SELECT DISTINCT file_version FROM lance_files('{t.uri}') WHERE file_version IS "
        'NOT NULL").fetchone()[0]',
    ),
    Call(
        "[b.readall() for b in ds.take_blobs('blob', indices=[0, 3])]",
        "t.take([0, 3], ['blob'])['blob'].to_pylist()",
        "blobs",
    ),
    Call("ds.take_blobs('blob', ids=[0])[0].size()", "len(t.take([0], ['blob'])['blob'][0].as_py())", "blobs"),
    Call(
        "blob = ds.take_blobs('blob', indices=[0])[0]\nblob.seek(6)\nblob.read(5)",
        "t.take([0], ['blob'])['blob'][0].as_py()[6:11]",
        "blobs",
    ),
)
