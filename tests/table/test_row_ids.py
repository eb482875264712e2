"""Row ids and row versions: bytes of the format, a NumPy model of every form, damage and bombs."""

from __future__ import annotations

import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lance_sql.errors import CorruptFile, LanceError
from lance_sql.format.proto import row_ids_pb2 as pb
from lance_sql.table import row_ids, row_versions
from lance_sql.table.row_ids import RowIds
from lance_sql.table.segments import IdRange

U64_MAX = 2**64 - 1


SAMPLES: list[tuple[str, list[int]]] = [
    ("0a040a021004", [0, 1, 2, 3]),
    ("0a070a05086410c801", list(range(100, 200))),
    ("0a091a07080110071a0123", [1, 2, 6]),
    ("0a0a1a08080a10151a020104", [10, 20]),
    ("0a11120f086410c8011a080a06086512020000", [100, *range(102, 200)]),
    ("0a10220e120c080712080000000039420f00", [7, 1000000]),
    ("0a0e2a0c0a0a08031206020000000600", [5, 3, 9]),
    ("0a142a1212100805120c000000007011010001000000", [5, 70005, 6]),
    ("0a1e2a1c1a1a1218030000000000000000000000000100000100000000000000", [3, 2**40, 1]),
    ("0a060a04080410050a060a0408071008", [4, 7]),
    ("", []),
]


@pytest.mark.parametrize(("stored", "ids"), SAMPLES)
def test_samples_of_the_format(stored: str, ids: list[int]) -> None:
    assert row_ids.parse(bytes.fromhex(stored), len(ids)).expand().tolist() == ids


# One sequence was put together from two.
@pytest.mark.parametrize(("stored", "ids"), [sample for sample in SAMPLES if sample[1] not in ([], [4, 7])])
def test_values_are_written_as_other_writers_do(stored: str, ids: list[int]) -> None:
    assert row_ids.serialize(np.array(ids, np.uint64)).hex() == stored


@pytest.mark.parametrize(("stored", "ids"), SAMPLES)
def test_segments_are_written_as_they_are(stored: str, ids: list[int]) -> None:
    assert row_ids.serialize(row_ids.parse(bytes.fromhex(stored), len(ids))).hex() == stored


@pytest.mark.parametrize(
    ("stored", "versions"),
    [
        ("0a080a040a0210041001", [1, 1, 1, 1]),
        ("0a080a040a02100210010a0a0a060a04080210031002", [1, 1, 2]),
        ("", []),
    ],
)
def test_versions_are_written_as_other_writers_do(stored: str, versions: list[int]) -> None:
    assert row_versions.serialize(row_versions.from_values(np.array(versions, np.uint64))).hex() == stored


# A segment's message beside the values that it stands for.
Sample = tuple[pb.U64Segment, list[int]]


def encoded(values: list[int], form: str) -> pb.EncodedU64Array:
    if form == "u64_array":
        return pb.EncodedU64Array(u64_array={"values": np.array(values, "<u8").tobytes()})
    base = min(values, default=0)
    offsets = np.array([value - base for value in values], {"u16_array": "<u2", "u32_array": "<u4"}[form]).tobytes()
    return pb.EncodedU64Array(**{form: {"base": base, "offsets": offsets}})


@st.composite
def ranges(draw: st.DrawFn) -> tuple[int, int]:
    length = draw(st.integers(0, 60))
    start = draw(st.integers(0, U64_MAX - length) | st.sampled_from([0, 1, 2**32, 2**63, U64_MAX - length]))
    return start, start + length


@st.composite
def segments(draw: st.DrawFn) -> Sample:
    form = draw(st.sampled_from(["range", "range_with_holes", "range_with_bitmap", "sorted_array", "array"]))
    start, end = draw(ranges())
    if form == "range":
        return pb.U64Segment(range={"start": start, "end": end}), list(range(start, end))
    kept = draw(st.lists(st.booleans(), min_size=end - start, max_size=end - start))
    values = [start + i for i, keep in enumerate(kept) if keep]
    width = draw(st.sampled_from(["u16_array", "u32_array", "u64_array"]))
    if form == "range_with_holes":
        holes = encoded([start + i for i, keep in enumerate(kept) if not keep], width)
        return pb.U64Segment(range_with_holes={"start": start, "end": end, "holes": holes}), values
    if form == "range_with_bitmap":
        bitmap = np.packbits(np.array(kept, np.bool_), bitorder="little").tobytes()
        return pb.U64Segment(range_with_bitmap={"start": start, "end": end, "bitmap": bitmap}), values
    if form == "array":
        values = draw(st.permutations(values))
    return pb.U64Segment(**{form: encoded(values, width)}), values


sequences = st.lists(segments(), max_size=4)


def sequence(samples: list[Sample]) -> tuple[RowIds, list[int]]:
    ids = [value for _, values in samples for value in values]
    data = pb.RowIdSequence(segments=[message for message, _ in samples]).SerializeToString()
    return row_ids.parse(data, len(ids)), ids


@given(sequences, st.data())
def test_every_form_holds_its_values(samples: list[Sample], data: st.DataObject) -> None:
    parsed, ids = sequence(samples)
    assert parsed.num_rows == len(ids)
    assert parsed.expand().tolist() == ids
    start = data.draw(st.integers(0, len(ids)))
    end = data.draw(st.integers(start, len(ids)))
    assert parsed.expand(start, end).tolist() == ids[start:end]
    offsets = np.array(data.draw(st.lists(st.integers(0, len(ids) - 1))) if ids else [], np.int64)
    assert parsed.take(offsets).tolist() == [ids[i] for i in offsets]


@given(sequences)
def test_bounds_enclose_all_values(samples: list[Sample]) -> None:
    parsed, ids = sequence(samples)
    bounds = parsed.bounds()
    if not ids:
        assert bounds is None
    else:
        assert bounds is not None
        assert bounds[0] <= min(ids)
        assert bounds[1] >= max(ids)


@given(sequences, st.data())
def test_positions_find_every_row_of_every_id(samples: list[Sample], data: st.DataObject) -> None:
    parsed, ids = sequence(samples)
    near = st.sampled_from(ids).map(lambda value: min(value + 1, U64_MAX)) if ids else st.nothing()
    known = st.sampled_from(ids) if ids else st.nothing()
    wanted = data.draw(st.lists(known | near | st.integers(0, U64_MAX), max_size=30))
    index_in_ids, offsets = parsed.positions(np.array(wanted, np.uint64))
    found = sorted(zip(index_in_ids.tolist(), offsets.tolist(), strict=True))
    assert found == [(i, row) for i, value in enumerate(wanted) for row, other in enumerate(ids) if value == other]


@given(sequences)
def test_runs_hold_every_id(samples: list[Sample]) -> None:
    parsed, ids = sequence(samples)
    starts, values = parsed.runs()
    assert starts.dtype == np.int64
    assert values.dtype == np.uint64
    ends = [*starts.tolist()[1:], len(ids)]
    runs = zip(starts.tolist(), ends, values.tolist(), strict=False)
    assert [value + i for start, end, value in runs for i in range(end - start)] == ids
    assert all(start < end for start, end in zip(starts.tolist(), ends, strict=False))


def test_runs_of_long_ranges_are_not_expanded() -> None:
    long = 2**40
    segments = [
        pb.U64Segment(range={"start": 0, "end": long}),
        pb.U64Segment(range_with_holes={"start": long, "end": 3 * long, "holes": encoded([2 * long], "u64_array")}),
        pb.U64Segment(array=encoded([5, 6, 9], "u16_array")),
    ]
    data = pb.RowIdSequence(segments=segments).SerializeToString()
    starts, values = row_ids.parse(data, 3 * long + 2).runs()
    assert starts.tolist() == [0, long, 2 * long, 3 * long - 1, 3 * long + 1]
    assert values.tolist() == [0, long, 2 * long + 1, 5, 9]


def test_addresses_are_the_ids_of_tables_without_stable_ones() -> None:
    assert row_ids.addresses(3, 2).expand().tolist() == [3 << 32, (3 << 32) + 1]
    assert row_ids.addresses(2**32 - 1, 2**32).bounds() == ((2**32 - 1) << 32, U64_MAX)


def test_ids_cannot_be_changed_in_place() -> None:
    parsed, _ = sequence([(pb.U64Segment(array=encoded([5, 3], "u64_array")), [5, 3])])
    with pytest.raises(ValueError, match="read-only"):
        parsed.expand()[0] = 1


@pytest.mark.parametrize(
    ("segment", "message"),
    [
        (pb.U64Segment(), "of an unknown kind"),
        (pb.U64Segment(range={"start": 5, "end": 3}), "before its start"),
        (pb.U64Segment(range_with_bitmap={"start": 0, "end": 100, "bitmap": b"\xff"}), "bitmap of 1 bytes"),
        (pb.U64Segment(range_with_bitmap={"start": 0, "end": 3, "bitmap": b"\xff"}), "bits behind"),
        (pb.U64Segment(range_with_holes={"start": 0, "end": 9, "holes": encoded([9], "u64_array")}), "holes"),
        (pb.U64Segment(range_with_holes={"start": 0, "end": 9, "holes": encoded([3, 3], "u64_array")}), "holes"),
        (pb.U64Segment(array={"u32_array": {"base": 0, "offsets": b"12345"}}), "do not divide"),
        (pb.U64Segment(array={"u16_array": {"base": U64_MAX, "offsets": b"\1\0"}}), "do not fit 64 bits"),
        (pb.U64Segment(range={"start": 0, "end": 4}), "4 ids for a fragment of 3 rows"),
        (pb.U64Segment(range={"start": 0, "end": 2}), "2 ids for a fragment of 3 rows"),
    ],
)
def test_damaged_sequences_are_refused(segment: pb.U64Segment, message: str) -> None:
    with pytest.raises(CorruptFile, match=message):
        row_ids.parse(pb.RowIdSequence(segments=[segment]).SerializeToString(), 3)


@given(st.binary(max_size=80))
def test_random_bytes_end_in_an_error_or_in_ids(data: bytes) -> None:
    for num_rows in (0, 3):
        with suppress(LanceError):
            assert len(row_ids.parse(data, num_rows).expand()) == num_rows
        with suppress(LanceError):
            assert len(row_versions.parse(data, num_rows).expand()) == num_rows


def test_a_huge_range_allocates_nothing() -> None:
    bomb = pb.U64Segment(range={"start": 0, "end": 2**60})
    tracemalloc.start()
    with pytest.raises(CorruptFile, match=str(2**60)):
        row_ids.parse(pb.RowIdSequence(segments=[bomb]).SerializeToString(), 10)
    run = pb.RowDatasetVersionRun(span=bomb, version=7)
    versions = row_versions.parse(pb.RowDatasetVersionSequence(runs=[run]).SerializeToString(), 10)
    assert versions.expand().tolist() == [7] * 10
    assert tracemalloc.get_traced_memory()[1] < 1_000_000
    tracemalloc.stop()


def versions_of(*runs: tuple[int, int, int]) -> bytes:
    """(first, last + 1, version) of each run."""
    messages = [
        pb.RowDatasetVersionRun(span={"range": {"start": start, "end": end}}, version=version)
        for start, end, version in runs
    ]
    data: bytes = pb.RowDatasetVersionSequence(runs=messages).SerializeToString()
    return data


def test_only_the_number_of_values_in_a_span_counts() -> None:
    assert row_versions.parse(versions_of((1000, 1001, 4), (0, 3, 9)), 4).expand().tolist() == [4, 9, 9, 9]


def test_short_version_sequences_go_on_and_long_ones_are_cut() -> None:
    data = versions_of((0, 2, 4), (2, 4, 9))
    assert row_versions.parse(data, 6).expand().tolist() == [4, 4, 9, 9, 9, 9]
    assert row_versions.parse(data, 3).expand().tolist() == [4, 4, 9]
    assert row_versions.parse(data, 1).expand().tolist() == [4]


def test_an_empty_version_sequence_is_for_no_rows() -> None:
    assert row_versions.parse(b"", 0).bounds() is None
    with pytest.raises(CorruptFile):
        row_versions.parse(b"", 1)


@given(st.lists(st.integers(0, 3), max_size=40), st.data())
def test_versions_in_a_column_become_runs(column: list[int], data: st.DataObject) -> None:
    versions = row_versions.from_values(np.array(column, np.uint64))
    assert versions.num_rows == len(column)
    assert versions.bounds() == ((min(column), max(column)) if column else None)
    start = data.draw(st.integers(0, len(column)))
    end = data.draw(st.integers(start, len(column)))
    assert versions.expand(start, end).tolist() == column[start:end]
    offsets = np.array(data.draw(st.lists(st.integers(0, len(column) - 1))) if column else [], np.int64)
    assert versions.take(offsets).tolist() == [column[i] for i in offsets]
    assert not np.any(versions.versions[1:] == versions.versions[:-1])


def test_rows_without_recorded_versions_have_the_first() -> None:
    assert row_versions.constant(3).expand().tolist() == [1, 1, 1]
    assert row_versions.constant(0).expand().tolist() == []


ids_of_all_kinds = st.one_of(
    st.lists(st.integers(0, U64_MAX), max_size=40),
    st.lists(st.integers(0, U64_MAX), max_size=40, unique=True).map(sorted),
    st.tuples(st.integers(0, 2**40), st.sets(st.integers(0, 300), max_size=250)).map(
        lambda drawn: sorted(drawn[0] + offset for offset in drawn[1])
    ),
    st.tuples(st.integers(0, U64_MAX - 500), st.integers(0, 500)).map(lambda drawn: list(range(drawn[0], sum(drawn)))),
)


@given(ids_of_all_kinds)
def test_written_sequences_are_read_back(values: list[int]) -> None:
    data = row_ids.serialize(np.array(values, np.uint64))
    assert row_ids.parse(data, len(values)).expand().tolist() == values
    assert row_ids.parse_prefix(data, len(values) + 5).expand().tolist() == values
    assert len(data) <= 2 * 8 * len(values) + 40


@given(sequences)
def test_segments_keep_their_values(samples: list[Sample]) -> None:
    parsed, ids = sequence(samples)
    assert row_ids.parse(row_ids.serialize(parsed), len(ids)).expand().tolist() == ids


def test_a_prefix_is_no_longer_than_its_fragment() -> None:
    data = row_ids.serialize(np.arange(5, dtype=np.uint64))
    assert row_ids.parse_prefix(data, 5).num_rows == 5
    assert row_ids.parse_prefix(b"", 5).num_rows == 0
    with pytest.raises(CorruptFile, match="5 ids for a fragment of 4 rows"):
        row_ids.parse_prefix(data, 4)


@given(st.lists(st.tuples(st.integers(1, 5) | st.integers(0, U64_MAX), st.integers(1, 9)), max_size=20))
def test_versions_that_are_written_are_read_again(runs: list[tuple[int, int]]) -> None:
    versions = row_versions.RowVersions(
        np.array([version for version, _ in runs], np.uint64), np.array([length for _, length in runs], np.int64)
    )
    data = row_versions.serialize(versions)
    again = row_versions.parse(data, versions.num_rows)
    assert again.expand().tolist() == versions.expand().tolist()
    assert not np.any(again.versions[1:] == again.versions[:-1])
    assert row_versions.stored_rows(data) == versions.num_rows


@pytest.mark.quick
def test_many_ids_keep_the_gaps_between_their_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(row_ids, "MOST_EXPANDED", 3)
    for ranges, num_segments in (([(0, 3), (5, 7)], 2), ([(0, 3), (3, 7)], 1), ([(5, 7), (0, 3), (3, 4)], 2)):
        ids = RowIds(tuple(IdRange(start, end) for start, end in ranges))
        read = row_ids.parse(row_ids.serialize_smallest(ids), ids.num_rows)
        assert read.expand().tolist() == [each for start, end in ranges for each in range(start, end)]
        assert len(read.segments) == num_segments
