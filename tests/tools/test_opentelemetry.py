"""The handler of docs/operations.md makes spans of OpenTelemetry, below those of the caller."""

from __future__ import annotations

import logging
import re
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import lance_sql

sdk = pytest.importorskip("opentelemetry.sdk.trace", reason="opentelemetry-sdk is not on the path")

DOCUMENT = Path(__file__).parents[2] / "docs" / "operations.md"


def test_operations_are_spans_of_the_caller(tmp_path: Path) -> None:
    export = import_module("opentelemetry.sdk.trace.export")
    exporter = import_module("opentelemetry.sdk.trace.export.in_memory_span_exporter").InMemorySpanExporter()
    provider = sdk.TracerProvider()
    provider.add_span_processor(export.SimpleSpanProcessor(exporter))
    tracer = provider.get_tracer("tests")
    block = re.search(r"```text\n(class Spans.*?)```", DOCUMENT.read_text(), re.DOTALL)
    assert block is not None
    names: dict[str, Any] = {"logging": logging, "tracer": tracer}
    exec(block[1], names)
    log, spans = logging.getLogger("lance_sql"), names["Spans"]()
    log.addHandler(spans)
    log.setLevel(logging.DEBUG)
    try:
        with tracer.start_as_current_span("request") as parent:
            lance_sql.write({"id": [1, 2, 3]}, tmp_path / "t.lance")
            reader = lance_sql.open(tmp_path / "t.lance").scan(["id"], "id > 1").to_reader()
        reader.read_all()
    finally:
        log.setLevel(logging.NOTSET)
        log.removeHandler(spans)
    found = {span.name: span for span in exporter.get_finished_spans()}
    assert set(found) == {"lance open", "lance commit", "lance scan", "request"}
    for name, span in found.items():
        if name != "request":
            assert span.parent.span_id == parent.get_span_context().span_id, name
            assert span.start_time <= span.end_time
    assert {"filter": "id > 1", "columns": ("id",), "rows": 2}.items() <= found["lance scan"].attributes.items()
