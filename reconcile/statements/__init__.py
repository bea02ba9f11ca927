"""Statements: exports of two systems, read exactly or refused, and compared without set-up."""
