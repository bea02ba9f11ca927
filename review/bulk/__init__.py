"""Many operations at once, with guard rails: freeze, read, confirm, run, verify."""
