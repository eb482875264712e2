"""Zones of indices that do not cover the rows of their fragments.

    fragment of 100 rows, 10 deleted      zones of pylance 0.39   [0, 40) [40, 80) [80, 90)    as if there were 90
                                          later ones              [0, 44) [44, 88) [88, 100)

This library scans every row of such a fragment. Other readers trust the zones, and miss rows.

Source: indices, zone map.
"""

from __future__ import annotations

from uuid import UUID

import numpy as np

from lance_sql.errors import CorruptFile, UnsupportedFeature
from lance_sql.format.index_files.bloom import BloomFilters
from lance_sql.format.index_files.zone_map import ZoneMap
from lance_sql.health.lineage_audit.faults import Findings, Kind, rows_text
from lance_sql.table.snapshot import Snapshot
from lance_sql.values import row_ranges


def check(snapshot: Snapshot, seen: set[UUID], findings: Findings) -> None:
    """Finds live rows outside all zones of an index that covers their fragment.

    seen: segments checked in earlier versions; those of this one are added
    raises: CorruptFile for a damaged index section
    """
    for segment in snapshot.indices():
        if segment.kind is None or not segment.kind.is_of_zones or segment.uuid in seen:
            continue
        seen.add(segment.uuid)
        try:
            opened = snapshot.open_indices.open(segment)
        except (CorruptFile, UnsupportedFeature):
            # `verify` reports damage
            continue
        if not isinstance(opened, ZoneMap | BloomFilters) or opened.zones.null_rows is not None:
            continue
        zones = opened.zones
        for number, fragment in snapshot.manifest.fragments.by_id(segment.fragment_ids or ()).items():
            ends = zones.ends[zones.fragment_ids == number]
            end = int(ends.max()) if len(ends) else 0
            live = snapshot.open(fragment).live_rows()
            behind = row_ranges.count(row_ranges.clip(live, end, np.iinfo(np.int64).max))
            if behind:
                message = f"{rows_text(behind, 'is', 'are')} behind the last zone of the index {segment.name!r}"
                findings.add(Kind.SHORT_ZONES, message, number)
