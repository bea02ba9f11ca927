"""The runs that a plan is expected to make: a row for each of its times, before it comes."""
