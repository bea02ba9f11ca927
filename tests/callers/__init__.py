"""The API as its callers meet it: from outside, and whole."""
