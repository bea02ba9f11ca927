"""Comparing: what the ledger says against what the destination says."""
