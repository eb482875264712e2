"""Making a damaged table whole again."""

from lance_sql.repairs.repairing import Repair, carry_out, plan, repair

__all__ = ["Repair", "carry_out", "plan", "repair"]
