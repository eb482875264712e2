"""Settings from the options of pytest. The plugin sets them; without pytest the defaults remain."""

from __future__ import annotations

in_colour = False
"""Whether failures go to a terminal that shows colors."""

updates_snapshots = False
"""Whether snapshots are written instead of compared."""
