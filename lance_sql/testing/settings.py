"""What pytest was asked for. The plugin sets it; without pytest it stays as it is."""

from __future__ import annotations

in_colour = False
"""Whether failures go to a terminal that shows colours."""

updates_snapshots = False
"""Whether snapshots are written instead of compared."""
