"""Encryption of payloads that Tieout must still send: AES-256-GCM, bound to the operation they belong to.

A token is a format byte (1), the length of the key's id, the id, 12 random bytes, and ciphertext with tag.
Random nonces are safe for 2^32 tokens under one key; rotate before that.
"""

import secrets

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from ledger.rules.errors import KeyringError, SealError
from ledger.rules.keyring import Keyring

__all__ = ["SealError", "key_id_of", "seal", "unseal"]

FORMAT = 1
NONCE_BYTES = 12
TAG_BYTES = 16


def seal(keyring: Keyring, plaintext: bytes, *, bound_to: str) -> bytes:
    """Encrypt under the current key; only the same `bound_to` (the operation's uid) opens it again."""
    head = _head(keyring.current)
    nonce = secrets.token_bytes(NONCE_BYTES)
    cipher = AESGCM(keyring.secret(keyring.current))
    return head + nonce + cipher.encrypt(nonce, plaintext, _bound(head, bound_to))


def unseal(keyring: Keyring, token: bytes, *, bound_to: str) -> bytes:
    """Decrypt under the key that the token names; raises SealError where that cannot be done safely."""
    key_id, end = _read_head(token)
    head, nonce, sealed = token[:end], token[end : end + NONCE_BYTES], token[end + NONCE_BYTES :]
    try:
        return AESGCM(keyring.secret(key_id)).decrypt(nonce, sealed, _bound(head, bound_to))
    except KeyringError as error:
        raise SealError(f"The stored payload cannot be opened. {error.detail}") from None
    except InvalidTag:
        raise SealError(
            f'The stored payload does not open under the key "{key_id}": another key sealed it, or its bytes '
            "were changed, or moved here from another operation."
        ) from None


def key_id_of(token: bytes) -> str:
    """Return the id of the key that a token was sealed with; raises SealError for what is no token."""
    return _read_head(token)[0]


def _head(key_id: str) -> bytes:
    return bytes([FORMAT, len(key_id)]) + key_id.encode("ascii")


def _read_head(token: bytes) -> tuple[str, int]:
    end = 2 + (token[1] if len(token) > 1 else 0)
    if (
        token[:1] != bytes([FORMAT])
        or len(token) < end + NONCE_BYTES + TAG_BYTES
        or not token[2:end].isascii()
    ):
        raise SealError("The stored payload is damaged: it is not a sealed token of a known format.")
    return token[2:end].decode("ascii"), end


def _bound(head: bytes, bound_to: str) -> bytes:
    if not bound_to:
        raise ValueError("a sealed payload is bound to an operation")
    return head + bound_to.encode("utf-8")
