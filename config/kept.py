"""Secrets that an installation without DATABASE_URL makes once and keeps in its data folder."""

import base64
import os
import secrets
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def secret_key(data_dir: Path) -> str:
    """Django's signing key."""
    return kept(data_dir, "secret_key", make=lambda: secrets.token_urlsafe(48))


def keyring(data_dir: Path, name: str) -> str:
    """A first key of 32 random bytes in the form that PAYLOAD_KEYS and DIGEST_KEYS have."""
    return kept(data_dir, name, make=lambda: f"k1:{base64.b64encode(secrets.token_bytes(32)).decode()}")


def password(data_dir: Path, role: str) -> str:
    """The password of a role of the embedded database."""
    return kept(data_dir, f"password_{role}", make=lambda: secrets.token_urlsafe(24))


def kept(data_dir: Path, name: str, *, make: Callable[[], str]) -> str:
    """The secret of this name, made if there is none; refused where others could read it."""
    folder = data_dir / "secrets"
    private_folder(folder)
    path = folder / name
    if not path.exists():
        _write_once(path, make())
    found = path.stat()
    if stat.S_IMODE(found.st_mode) & 0o077:
        raise ImproperlyConfigured(f"{path} can be read by others. Take the right away: chmod 600 {path}")
    text = path.read_text().strip()
    if not text:
        raise ImproperlyConfigured(
            f"{path} is empty. Restore it from a backup, or remove it to get a new one."
        )
    return text


def private_folder(folder: Path) -> None:
    """Make a folder that only its owner can enter, parents included, and leave an existing one as it is."""
    if folder.is_dir():
        return
    private_folder(folder.parent)
    folder.mkdir(mode=0o700, exist_ok=True)


def _write_once(path: Path, text: str) -> None:
    # Linked into place whole: of two processes that start together both read the first one's secret.
    handle, draft = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(handle, "w") as file:
            file.write(text + "\n")
            file.flush()
            os.fsync(file.fileno())
        os.link(draft, path)
    except FileExistsError:
        pass
    finally:
        Path(draft).unlink()
