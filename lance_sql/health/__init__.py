"""Health of tables: verification, lineage audit, differences, and repairs."""
