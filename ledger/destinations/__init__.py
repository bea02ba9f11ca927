"""Destinations: how they are reached, asked and sent to."""
