"""Building of a vector index: coded vectors are sorted by partition, with runs on disk if there are many.

Source: vector index specification, files.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from lance_sql.format.file.writer import WrittenFile
from lance_sql.format.index_files import rabit_codes, writing
from lance_sql.format.index_files.vector_index import AUXILIARY, INDEX, METRICS
from lance_sql.format.index_files.vector_model import VectorModel
from lance_sql.format.proto import vector_index_pb2
from lance_sql.store import Store
from lance_sql.values.arrays import I64, U8, U32, U64

RUN_BYTES: Final = 64 << 20
_COLUMNS: Final = {"FLAT": "flat", "PQ": "__pq_code", "SQ": "__sq_code"}
_TENSORS: Final = {
    np.dtype(np.float16): "FLOAT16",
    np.dtype(np.float32): "FLOAT32",
    np.dtype(np.float64): "FLOAT64",
    np.dtype(np.uint8): "UINT8",
}


class VectorBuilder:
    """Takes coded vectors in any order. Use it as a context manager: it may have a temporary file."""

    def __init__(self, model: VectorModel, *, run_bytes: int = RUN_BYTES) -> None:
        self._model = model
        self._run_bytes = run_bytes
        self._held: list[tuple[U32, U64, U8]] = []
        self._held_bytes = 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._file: BinaryIO | None = None
        # for each run: its start, and the start of each partition among its rows
        self._runs: list[tuple[int, I64]] = []

    def __enter__(self) -> VectorBuilder:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._file is not None:
            self._file.close()
        if self._folder is not None:
            self._folder.cleanup()

    def add(self, partitions: U32, row_ids: U64, codes: U8) -> None:
        self._held.append((partitions, row_ids, codes))
        self._held_bytes += partitions.nbytes + row_ids.nbytes + codes.nbytes
        if self._held_bytes >= self._run_bytes:
            self._spill()

    def write(self, store: Store, folder: str, *, file_version: str) -> tuple[WrittenFile, ...]:
        """Writes the files of the index.

        raises: errors of the store
        """
        model = self._model
        counts = np.zeros(model.num_partitions, np.int64)
        for _, bounds in self._runs:
            counts += np.diff(bounds)
        for partitions, _, _ in self._held:
            counts += np.bincount(partitions, minlength=model.num_partitions)
        offsets = np.concatenate(([0], np.cumsum(counts)))[:-1]
        schema = pa.schema([pa.field("_rowid", pa.uint64()), *self._code_fields])
        rows = vector_index_pb2.IVF(offsets=offsets.tolist(), lengths=counts.tolist())
        buffers = [rows.SerializeToString()]
        if model.codebook is not None:
            parts, items, size = model.codebook.shape
            # [2^bits, d], whatever the order of the values
            book = _tensor(model.codebook.astype(self._number_type), (items, parts * size))
            buffers.append(book.SerializeToString())
        notes = {
            "distance_type": model.metric,
            "lance:ivf": "1",
            "storage_metadata": json.dumps([json.dumps(self._storage, separators=(",", ":"))]),
        }
        written = writing.write(
            store,
            f"{folder}/{AUXILIARY}",
            schema,
            self._batches(schema),
            file_version=file_version,
            notes=notes,
            buffers=buffers,
        )
        try:
            return self._write_index(store, folder, file_version), written
        except BaseException:
            store.delete(written.path)
            raise

    def _write_index(self, store: Store, folder: str, file_version: str) -> WrittenFile:
        model = self._model
        centroids = model.filled
        if model.metric == "hamming":
            stored: npt.NDArray[Any] = np.packbits(centroids.astype(np.bool_), axis=1)
        else:
            stored = centroids.astype(self._number_type)
        none = [0] * model.num_partitions
        ivf = vector_index_pb2.IVF(centroids_tensor=_tensor(stored, stored.shape), offsets=none, lengths=none)
        notes = {
            "lance:index": json.dumps(
                {"type": f"IVF_{model.kind}", "distance_type": model.metric}, separators=(",", ":")
            ),
            "lance:ivf": "1",
            "lance:flat": json.dumps([""] * model.num_partitions, separators=(",", ":")),
        }
        schema = pa.schema([pa.field("__flat_marker", pa.uint64(), nullable=False)])
        return writing.write(
            store,
            f"{folder}/{INDEX}",
            schema,
            [],
            file_version=file_version,
            notes=notes,
            buffers=[ivf.SerializeToString()],
        )

    @property
    def _number_type(self) -> Any:
        return self._model.type.to_pandas_dtype()

    @property
    def _code_type(self) -> pa.DataType:
        return self._model.type if self._model.kind == "FLAT" else pa.uint8()

    @property
    def _width(self) -> int:
        return self._model.dimension if self._model.kind == "FLAT" else self._model.code_bytes

    @property
    def _code_fields(self) -> list[pa.Field]:
        model = self._model
        if model.kind != "RQ":
            return [pa.field(_COLUMNS[model.kind], pa.list_(self._code_type, self._width))]
        return [
            pa.field(name, pa.list_(pa.uint8(), width) if width else pa.float32())
            for name, width in rabit_codes.widths(model.dimension, model.num_bits).items()
        ]

    def _code_columns(self, codes: U8) -> list[pa.Array]:
        """Returns the code columns of the rows of a partition."""
        model = self._model
        if model.kind == "RQ":
            return list(rabit_codes.columns(codes, model.dimension, model.num_bits).values())
        if model.kind == "PQ":
            # byte by byte for all rows of the partition
            codes = np.ascontiguousarray(codes.T)
        num_values = codes.nbytes * 8 // self._code_type.bit_width
        values = pa.Array.from_buffers(self._code_type, num_values, [None, pa.py_buffer(codes)])
        return [pa.FixedSizeListArray.from_arrays(values, self._width)]

    @property
    def _storage(self) -> Mapping[str, Any]:
        model = self._model
        match model.kind:
            case "PQ":
                return {
                    "codebook_position": 2,
                    "nbits": model.num_bits,
                    "num_sub_vectors": model.num_parts,
                    "dimension": model.dimension,
                    "codebook_tensor": [],
                    "transposed": True,
                }
            case "SQ":
                low, high = model.bounds
                return {"dim": model.dimension, "num_bits": 8, "bounds": {"start": low, "end": high}}
            case "RQ":
                assert model.rotation is not None
                return {
                    "rotate_mat_position": None,
                    "fast_rotation_signs": model.rotation.signs.tolist(),
                    "rotation_type": "fast",
                    "code_dim": model.dimension,
                    "num_bits": model.num_bits,
                    "packed": True,
                    "query_estimator": "raw_query",
                }
            case _:
                return {"dim": model.dimension}

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        held = self._sorted_held()
        for number in range(self._model.num_partitions):
            parts = [self._read(run, number) for run in self._runs]
            if held is not None:
                start, end = held[0][number : number + 2].tolist()
                parts.append((held[1][start:end], held[2][start:end]))
            row_ids = np.concatenate([ids for ids, _ in parts]) if parts else np.empty(0, np.uint64)
            if not len(row_ids):
                continue
            codes = np.concatenate([codes for _, codes in parts])
            yield pa.RecordBatch.from_arrays([pa.array(row_ids), *self._code_columns(codes)], schema=schema)

    def _sorted_held(self) -> tuple[I64, U64, U8] | None:
        """Returns the start of each partition among the held rows, and the rows in that order."""
        if not self._held:
            return None
        partitions, row_ids, codes = (np.concatenate(each) for each in zip(*self._held, strict=True))
        order = np.argsort(partitions, kind="stable")
        bounds = np.searchsorted(partitions[order], np.arange(self._model.num_partitions + 1))
        return bounds.astype(np.int64), row_ids[order], codes[order]

    def _spill(self) -> None:
        run = self._sorted_held()
        assert run is not None
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="lance-sql-")
        if self._file is None:
            self._file = (Path(self._folder.name) / "runs").open("w+b")
        self._runs.append((self._file.seek(0, 2), run[0]))
        self._file.write(run[1].tobytes())
        self._file.write(run[2].tobytes())
        self._held, self._held_bytes = [], 0

    def _read(self, run: tuple[int, I64], number: int) -> tuple[U64, U8]:
        """Reads the rows of a partition in a run."""
        begin, bounds = run
        start, end = bounds[number : number + 2].tolist()
        size = self._model.code_bytes
        assert self._file is not None
        self._file.seek(begin + 8 * start)
        row_ids = np.frombuffer(self._file.read(8 * (end - start)), np.uint64)
        self._file.seek(begin + 8 * int(bounds[-1]) + size * start)
        return row_ids, np.frombuffer(self._file.read(size * (end - start)), np.uint8).reshape(-1, size)


def version(model: VectorModel) -> int:
    """Returns the format version of an index with this model."""
    return 2 if model.kind == "RQ" else 1


def details(model: VectorModel) -> bytes:
    """Returns the details for the manifest of an index with this model."""
    message = vector_index_pb2.VectorIndexDetails(metric=METRICS.index(model.metric))
    match model.kind:
        case "PQ":
            message.product_codes.num_bits = model.num_bits
            message.product_codes.num_sub_vectors = model.num_parts
        case "SQ":
            message.scalar_codes.num_bits = 8
        case "RQ":
            message.rotated_codes.num_bits = model.num_bits
        case _:
            message.vectors.SetInParent()
    return bytes(message.SerializeToString())


def _tensor(values: npt.NDArray[Any], shape: tuple[int, ...]) -> vector_index_pb2.Tensor:
    return vector_index_pb2.Tensor(data_type=_TENSORS[values.dtype], shape=shape, data=values.tobytes())
