"""A room for each form of file: from bytes to rows, without a word about what is compared."""
