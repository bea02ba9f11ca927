"""A run that is prepared by one person and signed by another: what was signed is kept as it was then."""
