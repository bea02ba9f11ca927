"""What is checked of a destination beyond its lines: connector, address, and that its secrets are there."""

import importlib
from collections.abc import Iterator
from urllib.parse import urlsplit

from ledger.destinations.connectors.base import BUILT_IN, BUILT_INS, ConfigurationError, secret
from ledger.destinations.connectors.routes import proxy_of, wrong_with
from ledger.rules import hearing, placeholders
from ledger.rules.connections import Connection
from reconcile.configuration.connector_checks import check_lines
from reconcile.configuration.layout import Layout
from reconcile.configuration.sections import SECRETS, Part
from reconcile.configuration.showing import duration
from reconcile.configuration.wrongs import Path, Wrongs

LOOPBACK = ("127.0.0.1", "localhost", "::1")
LONGEST_TIMEOUT_S = 480
"""Twice this, with time to record, is as long as the worker lets one task run."""


def check_destination(part: Part, layout: Layout, wrongs: Wrongs) -> None:
    """Check one destination."""
    check_reach(part, wrongs)
    _check_events(part, wrongs)


def check_reach(part: Part, wrongs: Wrongs) -> None:
    """Check how anything is reached: a destination, or the source of a plan."""
    connector = part.raw.get("connector", "http")
    if isinstance(connector, str):
        _check_connector(part, connector, wrongs)
    check_lines(part, wrongs)
    _check_addresses(part, wrongs)
    _check_auth(part, wrongs)
    _check_options(part, wrongs)
    _check_way(part, wrongs)
    _check_timeout(part, wrongs)


def _check_connector(part: Part, connector: str, wrongs: Wrongs) -> None:
    path: Path = (*part.path, "connector")
    if connector not in BUILT_IN and (why := _not_importable(connector)):
        remedy = (
            f'Write {BUILT_INS}, or "package.module:Class" of a module that Python finds where this runs.'
        )
        wrongs.add(path, f'The connector "{connector}" cannot be loaded: {why}.', remedy)


def _not_importable(connector: str) -> str:
    """Return why a Python path leads to no class; nothing where it does."""
    module, _, name = connector.rpartition(":") if ":" in connector else connector.rpartition(".")
    if not module or not name.isidentifier():
        return "it names no class in a module"
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ModuleNotFoundError as error:
        return f"there is no module {error.name}"
    except Exception as error:  # noqa: BLE001 - a foreign module may raise anything while it is loaded
        return f"its module fails with {type(error).__name__}"
    return "" if callable(found) else f"{module} has no class {name}"


def _check_addresses(part: Part, wrongs: Wrongs) -> None:
    base_url, open_url = part.raw.get("base_url"), part.raw.get("open_url")
    if isinstance(base_url, str) and "://" in base_url:
        _check_base_url((*part.path, "base_url"), base_url, wrongs)
    if isinstance(open_url, str):
        path: Path = (*part.path, "open_url")
        if not open_url.startswith(("http://", "https://")):
            wrongs.add(path, "People could not open this address.", "Begin with http:// or https://.")
        for name in placeholders.unknown(open_url, frozenset({"destination_reference"})):
            remedy = "Use {destination_reference}."
            wrongs.add(path, f"Nothing can be put in place of {{{name}}}.", remedy)


def _check_base_url(path: Path, base_url: str, wrongs: Wrongs) -> None:
    try:
        parts = urlsplit(base_url)
        usable = bool(parts.hostname) and (parts.port or 1) > 0
    except ValueError:
        usable = False
    if not usable:
        wrongs.add(
            path, "The address cannot be read.", "Write scheme, host and port only where it is not usual."
        )
    elif parts.username is not None or parts.password is not None:
        wrongs.add(
            path, "Credentials do not belong in an address.", 'Write auth = { kind = "basic", … } instead.'
        )
    elif parts.query or parts.fragment:
        wrongs.add(path, 'The address has a part after "?" or "#".', "Put it into the paths of the calls.")


def _check_auth(part: Part, wrongs: Wrongs) -> None:
    auth = part.under("auth")
    _check_token_url(part, auth.get("token_url"), wrongs)
    for name in (*SECRETS, "client_id"):
        secret = auth.get(name)
        if isinstance(secret, str):
            check_secret((*part.path, "auth", name), secret, wrongs)


def _check_options(part: Part, wrongs: Wrongs) -> None:
    """Check that the secrets are there which a connector of the user's own is told of."""
    for place, text in placeholders.texts(part.under("options")):
        check_secret((*part.path, "options", *place), text, wrongs)


def _check_token_url(part: Part, token_url: object, wrongs: Wrongs) -> None:
    """Refuse an address at which the client's secret would be shown to the network."""
    path: Path = (*part.path, "auth", "token_url")
    if not isinstance(token_url, str):
        return
    try:
        parts = urlsplit(token_url)
        host = parts.hostname or ""
        secure = parts.scheme == "https" or (parts.scheme == "http" and host in LOOPBACK)
    except ValueError:
        host, secure = "", False
    if not host or not secure or parts.username is not None:
        remedy = 'Write the address of the token endpoint, such as "https://books.example.com/token".'
        wrongs.add(path, "The client's secret cannot be sent there safely.", remedy)


def _check_way(part: Part, wrongs: Wrongs) -> None:
    """Check certificates and proxy, as they will be used."""
    connection = part.get("connection", Connection)
    if connection is None:
        return
    path: Path = (*part.path, "tls")
    if connection.tls is not None:
        if (connection.base_url or "https:").startswith("http:"):
            wrongs.add(path, "Certificates count over TLS only.", "Write a base_url with https://.")
        for name, why in wrong_with(connection.tls).items():
            remedy = "Put it in PEM there, where configure and the worker run, or name another place."
            wrongs.add((*path, name), why, remedy)
    if connection.proxy is not None:
        try:
            proxy_of(connection.proxy)
        except ConfigurationError as error:
            remedy = "Put the address there, where configure and the worker run, or name another place."
            wrongs.add((*part.path, "proxy"), error.detail, remedy)


def _check_events(part: Part, wrongs: Wrongs) -> None:
    """Check that the secrets are there with which events are signed."""
    events = part.under("events")
    path: Path = (*part.path, "events", "secret")
    for place, reference in places(events.get("secret"), path):
        value = check_secret(place, reference, wrongs)
        why = hearing.check_secret(str(events.get("scheme")), value) if value else ""
        if why:
            remedy = "Put it there as the destination shows it: whsec_ and base64."
            wrongs.add(place, f"The secret in {reference} cannot be one of Standard Webhooks: {why}.", remedy)


def places(value: object, path: Path) -> Iterator[tuple[Path, str]]:
    """Yield where secrets are, each with its place in the file: one, or a list of them."""
    if isinstance(value, str):
        yield path, value
    for index, one in enumerate(value if isinstance(value, list) else ()):
        if isinstance(one, str):
            yield (*path, index), one


def check_secret(path: Path, reference: str, wrongs: Wrongs) -> str:
    """Check that a named secret is there, and return it; nothing where it is not."""
    if not reference.startswith(("env:", "file:")):
        return ""
    try:
        return secret(reference)
    except ConfigurationError as error:
        remedy = (
            f"Put the secret there, where configure and the worker run, or name another {_place(reference)}."
        )
        wrongs.add(path, error.detail, remedy)
    return ""


def _place(reference: str) -> str:
    return "variable" if reference.startswith("env:") else "file"


def _check_timeout(part: Part, wrongs: Wrongs) -> None:
    connection = part.get("connection", Connection)
    if connection is not None and connection.timeout_s > LONGEST_TIMEOUT_S:
        what = f"A time-out of {duration(connection.timeout_s)} is too long for the worker."
        wrongs.add((*part.path, "timeout"), what, f'Write at most "{duration(LONGEST_TIMEOUT_S)}".')
