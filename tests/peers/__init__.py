"""Test suites of other products, run through this one."""
