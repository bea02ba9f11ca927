"""The evidence of one operation: everything that an auditor asks for, read once, for paper and as JSON."""

from review.evidence.pack import Pack, read

__all__ = ["Pack", "read"]
