"""The way to a destination as its configuration says: certificates over TLS, and a proxy.

Certificates and keys are read for each use, so that one that was renewed counts at once. What the environment
says of proxies does not count: a destination is reached as its own rules say.
"""

import ssl
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from urllib.parse import unquote, urlsplit

import httpcore
import httpx
from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from ledger.destinations.connectors import wire
from ledger.destinations.connectors.base import ConfigurationError, kept_text
from ledger.rules.connections import Connection, Tls


def route_of(reach: Connection) -> wire.Route:
    """Return the way to a destination; raises ConfigurationError with what to put right."""
    return wire.Route(
        tls=None if reach.tls is None else _context(reach.tls),
        proxy=None if reach.proxy is None else proxy_of(reach.proxy),
    )


def proxy_of(address: str) -> httpcore.Proxy:
    """Return a proxy from its address, or from where that is kept; raises ConfigurationError."""
    named = address.startswith(("env:", "file:"))
    try:
        parts = urlsplit(kept_text(address) if named else address)
        host, port = parts.hostname, parts.port or 80
    except ValueError:
        host, port = None, 0
    if not host or parts.scheme != "http" or parts.path not in ("", "/") or parts.query:
        place = f"in {address.partition(':')[2]} " if named else ""
        raise ConfigurationError(
            f"The proxy's address {place}cannot be used: it is written as http://HOST:PORT, or with "
            "USER:PASSWORD@ before the host."
        )
    shown = f"[{host}]" if ":" in host else host
    auth = None if parts.username is None else (unquote(parts.username), unquote(parts.password or ""))
    return httpcore.Proxy(f"http://{shown}:{port}", auth=auth)


def wrong_with(tls: Tls) -> dict[str, str]:
    """Return what is wrong with certificate, key and authorities, each in a sentence, by its line."""
    wrongs: dict[str, str] = {}
    texts: dict[str, str] = {}
    for name in ("certificate", "key", "ca"):
        place = getattr(tls, name)
        if place is not None:
            try:
                texts[name] = kept_text(place)
            except ConfigurationError as error:
                wrongs[name] = error.detail
    now = datetime.now(UTC)
    for name in ("certificate", "ca"):
        if name in texts and (why := _wrong_certificates(texts[name], now)):
            wrongs[name] = why
    if "key" in texts and (why := _wrong_key(texts["key"], texts.get("certificate", ""))):
        wrongs["key"] = why
    return wrongs


def _wrong_certificates(text: str, now: datetime) -> str:
    try:
        first = x509.load_pem_x509_certificates(text.encode())[0]
    except ValueError:
        return "This is no certificate in PEM."
    return "The certificate has expired." if first.not_valid_after_utc < now else ""


def _wrong_key(text: str, certificate: str) -> str:
    """Return what is wrong with a private key, which must fit the certificate where that can be read."""
    try:
        key = load_pem_private_key(text.encode(), password=None)
    except TypeError:
        return "The private key is locked with a password, which nobody could type in here."
    except (ValueError, UnsupportedAlgorithm):
        return "This is no private key in PEM."
    try:
        shown = x509.load_pem_x509_certificates(certificate.encode())[0]
    except ValueError:
        return ""  # that is said of the certificate
    return "" if shown.public_key() == key.public_key() else "The private key is not the certificate's."


def _context(tls: Tls) -> ssl.SSLContext:
    if wrongs := wrong_with(tls):
        raise ConfigurationError(" ".join(f"tls.{name}: {why}" for name, why in wrongs.items()))
    try:
        if tls.ca is None:
            context = httpx.create_ssl_context(trust_env=True)
        else:
            context = ssl.create_default_context(cadata=kept_text(tls.ca))
        if tls.certificate is not None and tls.key is not None:
            with _as_file(tls.certificate) as certificate, _as_file(tls.key) as key:
                context.load_cert_chain(certificate, key, password=lambda: "")
    except ssl.SSLError:
        raise ConfigurationError("tls: the certificates cannot be used.") from None
    return context


@contextmanager
def _as_file(reference: str) -> Iterator[str]:
    """Give what is kept there the name of a file, as OpenSSL asks for; it has none that outlives a kill."""
    with tempfile.TemporaryFile() as file:
        file.write(kept_text(reference).encode())
        file.flush()
        file.seek(0)
        yield f"/dev/fd/{file.fileno()}"
