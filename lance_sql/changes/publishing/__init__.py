"""Write, audit, publish: a job writes to a branch, and main gets all of it in one commit when it has been looked at.

branch       what a branch came to, and the commit that has it
publication  what that commit would do, before it is made
"""

from __future__ import annotations

from lance_sql.changes.publishing.branch import plan, publish
from lance_sql.changes.publishing.publication import Publication

__all__ = ["Publication", "plan", "publish"]
