"""Versions, tags, branches, clones, changes, transactions and cleanup."""

from __future__ import annotations

from .call import Call

_THEIRS = "ds.delete('id = 1')\nds.delete('id = 2')\n"
_OURS = "t = t.delete('id = 1').delete('id = 2')\n"


def _after(theirs: str, ours: str | None, **options: object) -> Call:
    return Call(_THEIRS + theirs, None if ours is None else _OURS + ours, **options)  # type: ignore[arg-type]  # fields of Call


CALLS = (
    _after("ds.version", "t.version"),
    _after("ds.latest_version", "t.latest().version"),
    _after("[v['version'] for v in ds.versions()]", "[v.version for v in t.versions()]"),
    _after("lance.dataset(ds.uri, version=1)", "lance_sql.open(t.uri, version=1)"),
    _after("lance.dataset(ds.uri, version=9)", "lance_sql.open(t.uri, version=9)", fails=True),
    _after(
        "lance.dataset(ds.uri, asof=ds.versions()[1]['timestamp'] + timedelta(microseconds=1)).count_rows()",
        "lance_sql.open(t.uri, as_of=t.versions()[1].timestamp).count_rows()",
    ),
    _after("ds.checkout_version(2)", "t.at(2)"),
    _after("ds.checkout_version(1)\nds.count_rows()", "t.at(1)\nt.count_rows()"),
    _after("ds = ds.checkout_version(1)\nds.checkout_latest()\nds.count_rows()", "t.at(1).latest().count_rows()"),
    _after("ds = ds.checkout_version(1)\nds.restore()\nds.count_rows()", "t.restore(1).count_rows()"),
    _after(
        "ds.tags.create('x', 2)\nlance.dataset(ds.uri, version='x').count_rows()",
        "t.tags.create('x', 2)\nlance_sql.open(t.uri, tag='x').count_rows()",
    ),
    _after(
        "ds.tags.create('x', 2)\n{k: v['version'] for k, v in ds.tags.list().items()}",
        "t.tags.create('x', 2)\n{k: v.version for k, v in t.tags.list().items()}",
    ),
    _after(
        "ds.tags.create('x', 2)\n[k for k, _ in ds.tags.list_ordered()]", "t.tags.create('x', 2)\nlist(t.tags.list())"
    ),
    _after(
        "ds.tags.create('x', 2)\nds.tags.update('x', 1)\nds.checkout_version('x').version",
        "t.tags.create('x', 2)\nt.tags.move('x', 1)\nt.at('x').version",
    ),
    _after(
        "ds.tags.create('x', 2)\nds.tags.delete('x')\nds.tags.list()",
        "t.tags.create('x', 2)\nt.tags.delete('x')\ndict(t.tags.list())",
    ),
    _after(
        "ds.tags.create('x', 2)\nds.tags.create('x', 1)", "t.tags.create('x', 2)\nt.tags.create('x', 1)", fails=True
    ),
    _after("ds.tags.create('x', 9)", "t.tags.create('x', 9)", fails=True),
    _after("ds.tags.delete('x')", "t.tags.delete('x')", fails=True),
    _after("ds.tags.update('x', 1)", "t.tags.move('x', 1)", fails=True),
    _after("ds.tags.create('', 1)", "t.tags.create('', 1)", fails=True),
    _after("ds.create_branch('b').count_rows()", "t.branches.create('b').count_rows()"),
    _after("list(ds.create_branch('b') and ds.branches.list())", "t.branches.create('b')\nlist(t.branches.list())"),
    _after("ds.create_branch('b', 1).count_rows()", "t.at(1).branches.create('b').count_rows()"),
    _after(
        "branch = ds.create_branch('b')\nbranch.delete('id = 5')\n[branch.count_rows(), ds.count_rows()]",
        "branch = t.branches.create('b').delete('id = 5')\n[branch.count_rows(), t.latest().count_rows()]",
    ),
    _after(
        "ds.create_branch('b')\nds.checkout_version(('b', None)).count_rows()",
        "t.branches.create('b')\nlance_sql.open(t.uri, branch='b').count_rows()",
    ),
    _after(
        "ds.create_branch('b')\nds.branches.delete('b')\nlist(ds.branches.list())",
        "t.branches.create('b')\nt.branches.delete('b')\nlist(t.branches.list())",
    ),
    _after(
        "ds.create_branch('b')\nds.create_branch('b')", "t.branches.create('b')\nt.branches.create('b')", fails=True
    ),
    _after(
        "ds.shallow_clone(folder / 'clone', 1).count_rows()",
        "t.at(1).branches.shallow_clone(folder / 'clone.lance').count_rows()",
    ),
    _after(
        "ds.cleanup_old_versions(older_than=timedelta(0)).old_versions",
        "len(t.maintenance.cleanup(older_than='0s').versions)",
    ),
    _after(
        "ds.cleanup_old_versions(older_than=timedelta(0))\nlen(ds.versions())",
        "t.maintenance.cleanup(older_than='0s')\nlen(t.versions())",
    ),
    _after(
        "ds.cleanup_old_versions(retain_versions=2)\nlen(ds.versions())",
        "t.maintenance.cleanup(retain_versions=2)\nlen(t.versions())",
    ),
    _after(
        "ds.tags.create('x', 1)\n"
        "ds.cleanup_old_versions(older_than=timedelta(0), error_if_tagged_old_versions=False)\nlen(ds.versions())",
        "t.tags.create('x', 1)\nt.maintenance.cleanup(older_than='0s')\nlen(t.versions())",
    ),
    _after(
        "ds.cleanup_old_versions(older_than=timedelta(days=1))\nlen(ds.versions())",
        "t.maintenance.cleanup(older_than='1d')\nlen(t.versions())",
    ),
    _after("type(ds.read_transaction(2).operation).__name__", "lance_sql.open(t.uri).history()[1].operation.title()"),
    Call(
        "ds.insert(rows)\nds.delta(compared_against=1).get_inserted_rows().read_all()['id'].to_pylist()",
        "t.append(rows).changes(since=1, mode='insert_only').scan(['id']).to_table()['id'].to_pylist()",
    ),
    Call(
        "ds.update({'a': '77'}, 'id < 3')\nds.delta(compared_against=1).get_updated_rows().read_all()['a'].to_pylist()",
        "feed = t.update({'a': '77'}, 'id < 3').changes(since=1)\n"
        "feed.scan(['a'], \"_change_type = 'update_postimage'\").to_table()['a'].to_pylist()",
    ),
    Call(
        "ds.delete('id = 1')\nlen(ds.delta(compared_against=1).list_transactions())",
        "len(t.delete('id = 1').history()) - 1",
    ),
    _after(
        "ds.optimize.compact_files(target_rows_per_fragment=1000)\nds.count_rows()",
        "t.maintenance.compact(target_rows=1000).count_rows()",
    ),
    _after(
        "ds.optimize.compact_files(target_rows_per_fragment=1000)\nlen(ds.get_fragments())",
        "len(t.maintenance.compact(target_rows=1000).maintenance.layout().fragments)",
    ),
    _after(
        "ds.optimize.compact_files().fragments_removed",
        "before = len(t.maintenance.layout().fragments)\nbefore if t.maintenance.compact() else 0",
    ),
    _after("ds.optimize.compact_files(target_rows_per_fragment=40)\nds", "t.maintenance.compact(target_rows=40)"),
    _after(
        "ds.optimize.compact_files(materialize_deletions_threshold=0.01)\nds",
        "t.maintenance.compact(max_deleted_share=0.01)",
    ),
    _after("bool(ds.optimize.enable_auto_cleanup)", None, row="`optimize.enable_auto_cleanup`"),
    Call("ds.migrate_manifest_paths_v2()", None, row="`migrate_manifest_paths_v2`"),
)
