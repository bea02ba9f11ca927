"""The Durban demo: what `make demo` runs and fills."""
