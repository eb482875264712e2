"""Write, audit, publish: a job writes to a staging branch, and one commit publishes it to main after a check.

branch       the net changes of a branch, and the commit that publishes them
publication  the plan of that commit
"""

from __future__ import annotations

from lance_sql.changes.publishing.branch import plan, publish
from lance_sql.changes.publishing.publication import Publication

__all__ = ["Publication", "plan", "publish"]
