"""Tokens for automations and attempts: random, shown once, kept only as a digest."""

import hashlib
import secrets

PREFIX = "tieout_"
"""Lets people and secret scanners see what a stray token belongs to."""
RANDOM_BYTES = 32


def new_token() -> str:
    """Return a new token of 32 random bytes in URL-safe text."""
    return PREFIX + secrets.token_urlsafe(RANDOM_BYTES)


def token_hash(token: str) -> str:
    """Return what is stored of a token: SHA-256 in hexadecimal; 256 random bits need no salt."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()
