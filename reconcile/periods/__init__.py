"""Accounting periods: a plan's months, tied out as of their cut-off, prepared by one, signed by another."""
