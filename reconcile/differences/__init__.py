"""Acting on differences: waived, closed, taken in or matched by hand, by one person or by two."""
