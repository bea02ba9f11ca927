"""Connectors: one for each way in which a destination can be reached."""
