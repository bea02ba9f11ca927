"""Matching by declared rules: what carries no reference of ours, by what else it says; never by guessing."""
