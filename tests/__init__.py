"""Tests of every floor, and what they share."""
