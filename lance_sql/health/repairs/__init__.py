"""Repair of damaged tables, and recovery of their readable rows."""

from lance_sql.health.repairs.losses import Loss, Salvage
from lance_sql.health.repairs.repairing import Repair, carry_out, plan, repair
from lance_sql.health.repairs.salvaging import salvage

__all__ = ["Loss", "Repair", "Salvage", "carry_out", "plan", "repair", "salvage"]
