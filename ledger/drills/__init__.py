"""Drills: what a contract promises is tried at the destination itself, and what each promise did is kept."""
