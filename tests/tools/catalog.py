"""The tools that lance-sql was tried with: what is installed, where the recipe is, and how a scan takes part.

`scripts/try_tools.py` makes an environment for each, runs its tests there, and writes the table of docs/support.md.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

RECIPES: Final = "tests/tools/test_recipes.py::test_"


@dataclass(frozen=True)
class Tool:
    """
    requirements: for pip; the first one has the version that the table shows
    recipe: page and heading
    takes_part: what a scan reads of a table
    tests: what pytest runs; by default the test of the recipe
    heavy: takes minutes to install, so that it runs only when it is named
    """

    name: str
    requirements: tuple[str, ...]
    recipe: str
    takes_part: str
    tests: str = ""
    heavy: bool = False

    @property
    def version(self) -> str:
        """The version that was tried, as the table shows it."""
        (version,) = re.findall(r"==(\d+\.\d+)", self.requirements[0])
        return str(version)

    @property
    def folder(self) -> str:
        """Name of its environment."""
        return self.name.lower().replace(" ", "-")

    @property
    def link(self) -> str:
        """Its name, as a link to its recipe."""
        page, _, heading = self.recipe.partition("#")
        return f"[{self.name}]({page}#{heading or self.folder})" if page else self.name

    @property
    def node(self) -> str:
        """What pytest runs."""
        return self.tests or RECIPES + self.folder.replace("-", "_")


_BY_DUCKDB: Final = "DuckDB passes columns and conditions"
_OF_SCAN: Final = "columns and filter of the scan"

_SPARK_CONNECT: Final = ("grpcio", "grpcio-status", "googleapis-common-protos", "zstandard")
"""What JupySQL imports where PySpark is installed."""

TOOLS: Final = (
    Tool(
        "Polars",
        ("polars==2.1.0",),
        "frames.md#pandas-and-polars",
        "lazy frames pass columns, limits and most conditions; `SQLContext(t=dataset)` loads all",
        "tests/reads/test_polars_source.py",
    ),
    Tool("narwhals", ("narwhals==2.29.0",), "frames.md", "as Polars, over its lazy frames"),
    Tool("dask", ("dask[dataframe]==2026.8.0",), "frames.md", f"a task is a partition; {_OF_SCAN}"),
    Tool("Daft", ("daft==0.7.26",), "frames.md", f"{_OF_SCAN}, whose rows are loaded"),
    Tool("GeoPandas", ("geopandas==1.2.0",), "frames.md", f"{_OF_SCAN}; geometries both ways"),
    Tool("SQLAlchemy", ("sqlalchemy==2.1.9", "duckdb_engine==0.17.0"), "sql-tools.md", _BY_DUCKDB),
    Tool("Ibis", ("ibis-framework[duckdb]==12.0.0", "duckdb==1.5.5"), "sql-tools.md", _BY_DUCKDB),
    Tool("SQLFrame", ("sqlframe[duckdb]==4.10.0",), "sql-tools.md", _BY_DUCKDB),
    Tool("ADBC", ("adbc-driver-manager==1.13.0",), "sql-tools.md", f"{_OF_SCAN}; streams both ways"),
    Tool("Flight", ("pyarrow==26.0.1",), "sql-tools.md", "queries of DuckDB, as streams"),
    Tool("JupySQL", ("jupysql==0.11.1", "ipython", *_SPARK_CONNECT), "sql-tools.md", _BY_DUCKDB),
    Tool("marimo", ("marimo==0.25.2",), "sql-tools.md", _BY_DUCKDB),
    Tool("Streamlit", ("streamlit==1.67.0",), "sql-tools.md", _BY_DUCKDB),
    Tool(
        "harlequin",
        ("harlequin==2.17.0",),
        "sql-tools.md",
        f"an adapter: {_BY_DUCKDB}",
        "tests/tools/test_harlequin.py",
    ),
    Tool(
        "FastAPI",
        ("fastapi==0.165.0", "httpx==0.28.1"),
        "services.md#a-query-service",
        "a cursor for each request",
        "tests/test_services.py::test_the_service_of_fastapi",
    ),
    Tool("Dagster", ("dagster==1.13.29",), "pipelines.md", "assets are versions; an asset reads the columns it needs"),
    Tool("Prefect", ("prefect==3.9.1",), "pipelines.md", "tasks pass handles, not rows"),
    Tool("Airflow", ("apache-airflow==3.3.2",), "pipelines.md", "tasks pass paths and versions", heavy=True),
    Tool("dlt", ("dlt==1.31.0",), "pipelines.md", f"{_OF_SCAN}, as batches; a destination"),
    Tool("SQLMesh", ("sqlmesh==0.236.4",), "", "cannot be installed beside lance-sql: it needs sqlglot 30.8"),
    Tool("deltalake", ("deltalake==1.6.6",), "pipelines.md#delta-and-iceberg", f"{_OF_SCAN}; a source of `write`"),
    Tool(
        "pyiceberg",
        ("pyiceberg[sql-sqlite]==0.12.0",),
        "pipelines.md#delta-and-iceberg",
        f"{_OF_SCAN}; a source of `write`",
    ),
    Tool("Great Expectations", ("great-expectations==1.24.1",), "pipelines.md", "columns and filter of a frame"),
    Tool("pandera", ("pandera[polars]==0.35.0",), "pipelines.md", "as Polars, over its lazy frames"),
    Tool("datacompy", ("datacompy==1.1.0",), "pipelines.md", "columns and filter of frames"),
    Tool("chispa", ("chispa==0.12.0",), "pipelines.md", "Spark passes columns and conditions"),
    Tool("PyTorch", ("torch==2.13.0",), "machine-learning.md", f"a worker reads tasks; {_OF_SCAN}", heavy=True),
    Tool("Ray Data", ("ray[data]==2.60.0",), "machine-learning.md", f"a task is a block; {_OF_SCAN}", heavy=True),
    Tool("Hugging Face datasets", ("datasets==5.2.0",), "machine-learning.md", f"a task is a shard; {_OF_SCAN}"),
    Tool("LanceDB", ("lancedb==0.40.0",), "machine-learning.md", "its own reader and writer, on the same folder"),
    Tool(
        "dbt",
        ("dbt-duckdb==1.11.1", "dbt-tests-adapter==1.20.0"),
        "models.md",
        "sources and models are views of tables",
        "tests/providers/dbt",
    ),
    Tool(
        "OpenTelemetry SDK",
        ("opentelemetry-sdk==1.45.2",),
        "operations.md#logging",
        "spans from records of operations",
        "tests/tools/test_opentelemetry.py",
    ),
    Tool(
        "pyright",
        ("basedpyright==1.40.2",),
        "",
        "types of the public functions",
        "tests/tools/test_types.py::test_pyright_finds_what_is_wrong_and_nothing_else",
    ),
    Tool(
        "mypy",
        ("mypy==2.4.1",),
        "",
        "types of the public functions",
        "tests/tools/test_types.py::test_mypy_finds_what_is_wrong_and_nothing_else",
    ),
)


def table() -> str:
    """The rows of the table of docs/support.md."""
    return "".join(f"| {tool.link} | {tool.version} | {tool.takes_part} |\n" for tool in TOOLS)
