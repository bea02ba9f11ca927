"""The third side of a plan: what should exist, as the system says that the work comes from."""
