"""Durban Books: a destination as its own process that can be told to misbehave; it imports nothing of ours.

It keeps what it did in one durable file, so that tests, drills and the demo can count real effects.
"""
