"""dbt's own tests of adapters, over models that are Lance tables: each model that would be a table of DuckDB, or is
incremental, is written with `materialized='lance'`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("dbt.tests.adapter", reason="dbt-tests-adapter is not on the path: make engines")

from dbt.tests.adapter.basic import (
    test_adapter_methods,
    test_base,
    test_empty,
    test_ephemeral,
    test_generic_tests,
    test_incremental,
    test_singular_tests,
    test_singular_tests_ephemeral,
    test_snapshot_check_cols,
    test_snapshot_timestamp,
    test_table_materialization,
    test_validate_connection,
)
from dbt.tests.adapter.empty import test_empty as test_empty_flag
from dbt.tests.adapter.ephemeral import test_ephemeral as test_ephemerals
from dbt.tests.adapter.incremental import (
    test_incremental_merge_exclude_columns,
    test_incremental_microbatch,
    test_incremental_on_schema_change,
    test_incremental_predicates,
    test_incremental_unique_id,
)

from lance_sql.providers import dbt

pytest_plugins = ["dbt.tests.fixtures.project"]
pytestmark = pytest.mark.filterwarnings("ignore")


class OverLance:
    """Fixtures of dbt for a project whose tables are Lance tables."""

    @pytest.fixture(scope="class")
    def dbt_profile_target(self, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
        folder = tmp_path_factory.mktemp("lake")
        plugin = {"module": "lance_sql.providers.dbt", "alias": "lance"}
        return {
            "type": "duckdb",
            "path": str(folder / "lake.duckdb"),
            "external_root": str(folder),
            "plugins": [plugin],
            "threads": 2,
        }

    @pytest.fixture(scope="class")
    def logs_dir(self, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
        folder = str(tmp_path_factory.mktemp("logs"))
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("DBT_LOG_PATH", folder)
            yield folder

    @pytest.fixture(scope="class")
    def project_files(self, project_files: None, project_root: Any) -> None:
        # as `dbt deps` does, after which dbt's fixtures find no adapter
        package = Path(dbt.__file__).parent / "package"
        Path(project_root, "packages.yml").write_text(f"packages: [{{local: '{package}'}}]")
        Path(project_root, "dbt_packages").mkdir()
        Path(project_root, "dbt_packages", "lance_sql").symlink_to(package)
        for path in Path(project_root, "models").rglob("*.sql"):
            text = re.sub(r"""(materialized\s*=\s*)["'](table|incremental)["']""", r"\1'lance'", path.read_text())
            # DuckDB has no offset of -0
            text = text.replace(" is_incremental()", " lance_sql.is_incremental()").replace("00:00:00-0'", "00:00:00'")
            path.write_text(text)

    @pytest.fixture(autouse=True)
    def refusal(self, request: pytest.FixtureRequest, logs_dir: str) -> Iterator[None]:
        yield
        reason = REFUSED.get(f"{type(self).__name__}::{request.function.__name__}")
        if reason is not None:
            assert reason in Path(logs_dir, "dbt.log").read_text()


BASES = [
    test_base.BaseSimpleMaterializations,
    test_singular_tests.BaseSingularTests,
    test_singular_tests_ephemeral.BaseSingularTestsEphemeral,
    test_empty.BaseEmpty,
    test_ephemeral.BaseEphemeral,
    test_incremental.BaseIncremental,
    test_incremental.BaseIncrementalNotSchemaChange,
    test_incremental.BaseIncrementalBadStrategy,
    test_generic_tests.BaseGenericTests,
    test_snapshot_check_cols.BaseSnapshotCheckCols,
    test_snapshot_timestamp.BaseSnapshotTimestamp,
    test_table_materialization.BaseTableMaterialization,
    test_adapter_methods.BaseAdapterMethod,
    test_validate_connection.BaseValidateConnection,
    test_empty_flag.BaseTestEmpty,
    test_empty_flag.BaseTestEmptyInlineSourceRef,
    test_ephemerals.BaseEphemeralErrorHandling,
    test_incremental_on_schema_change.BaseIncrementalOnSchemaChange,
    test_incremental_predicates.BaseIncrementalPredicates,
    test_incremental_merge_exclude_columns.BaseMergeExcludeColumns,
    test_incremental_microbatch.BaseMicrobatch,
    test_incremental_unique_id.BaseIncrementalUniqueKey,
]
REFUSED: dict[str, str | None] = {
    "TestSimpleMaterializations::test_base": None,
    "TestIncrementalNotSchemaChange::test_incremental_not_schema_change": "'sync_all_columns' is not supported",
    "TestIncrementalBadStrategy::test_incremental_invalid_strategy": "strategy='bad_strategy' is not one of",
    "TestIncrementalOnSchemaChange::test_run_incremental_ignore": "field3: no such column",
    "TestIncrementalOnSchemaChange::test_run_incremental_sync_all_columns": "'sync_all_columns' is not supported",
    "TestIncrementalOnSchemaChange::test_run_incremental_fail_on_schema_change": "field2: no such column",
    "TestIncrementalPredicates::test__incremental_predicates": "incremental_predicates is not supported",
    "TestMergeExcludeColumns::test__merge_exclude_columns": "merge_exclude_columns is not supported",
    "TestMicrobatch::test_run_with_event_time": "strategy='microbatch' is not one of",
    "TestIncrementalUniqueKey::test__trinary_unique_key_list": "unique_key 'city' is NULL in 1 rows",
    "TestIncrementalUniqueKey::test__trinary_unique_key_list_no_update": "unique_key 'city' is NULL in 1 rows",
}
"""Tests that fail, and what dbt prints then. None: the model is a view, where the test expects a table."""

for base in BASES:
    name = base.__name__.replace("Base", "Test", 1)
    globals()[name] = type(name, (OverLance, base), {"__module__": __name__})
for test, reason in REFUSED.items():
    name, _, function = test.partition("::")
    pytest.mark.xfail(strict=True, reason=reason or "a model is a view")(getattr(globals()[name], function))
