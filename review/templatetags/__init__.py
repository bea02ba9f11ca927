"""Words, amounts, times and icons as the templates write them."""
