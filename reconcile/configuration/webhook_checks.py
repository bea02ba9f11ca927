"""What is checked of a webhook beyond its lines: its address, its secrets, and its operation types."""

from urllib.parse import urlsplit

import httpx

from ledger.models import OperationType
from ledger.rules import hearing
from ledger.rules.webhooks import public
from reconcile.configuration.destination_checks import check_secret, places
from reconcile.configuration.layout import Layout
from reconcile.configuration.sections import Part
from reconcile.configuration.wrongs import Path, Wrongs, choices

LOCAL = "Write a public name, or allow_private = true where it is meant to stay in your own network."


def check_webhook(part: Part, layout: Layout, wrongs: Wrongs) -> None:
    """Check one webhook."""
    url = part.raw.get("url")
    if isinstance(url, str) and "://" in url:
        check_url((*part.path, "url"), url, wrongs, private=part.raw.get("allow_private") is True)
    for place, reference in places(part.raw.get("secret"), (*part.path, "secret")):
        value = check_secret(place, reference, wrongs)
        why = hearing.check_secret("standard", value) if value else ""
        if why:
            remedy = 'Make one with: echo "whsec_$(openssl rand -base64 32)".'
            wrongs.add(place, f"The secret in {reference} cannot sign: {why}.", remedy)
    _check_types(part, layout, wrongs)


def check_url(path: Path, url: str, wrongs: Wrongs, *, private: bool) -> None:
    """Check an address that is posted to."""
    try:
        parts = urlsplit(url)
        host, usable = parts.hostname or "", (parts.port or 1) > 0 and bool(httpx.URL(url).host)
    except (ValueError, httpx.InvalidURL):
        host, usable = "", False
    if not host or not usable:
        wrongs.add(path, "The address cannot be read.", "Write scheme, host and path.")
    elif parts.username is not None or parts.password is not None:
        wrongs.add(
            path,
            "Credentials do not belong in an address.",
            "Leave them out: the signature proves who sends.",
        )
    elif parts.fragment:
        wrongs.add(path, 'The address has a part after "#", which is never sent.', "Leave it out.")
    elif not private and parts.scheme != "https":
        wrongs.add(path, "http:// is read by everybody on the way.", f"Write https://. {LOCAL}")
    elif not private and (host == "localhost" or (_is_address(host) and not public(host))):
        wrongs.add(path, "The address leads into a private network.", LOCAL)


def _is_address(host: str) -> bool:
    return ":" in host or host.replace(".", "").isdigit()


def _check_types(part: Part, layout: Layout, wrongs: Wrongs) -> None:
    types = part.raw.get("types")
    known = {*layout.operation_types, *OperationType.objects.values_list("name", flat=True)}
    for index, name in enumerate(types if isinstance(types, list) else ()):
        if isinstance(name, str) and name not in known:
            what = f'There is no operation type "{name}", here or configured before.'
            wrongs.add((*part.path, "types", index), what, choices(name, known))
