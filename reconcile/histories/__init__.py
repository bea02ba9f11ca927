"""What automation platforms export of their runs: which triggers have several successful ones."""
