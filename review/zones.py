"""In which time zone a person reads: their own choice, else the installation's; a page names it."""

from collections.abc import Callable
from functools import cache, partial
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from django.contrib.auth.models import User
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from review import access, instants
from review.models import Reader


class Middleware:
    """Let every page, refusals and errors too, show times as its reader has chosen.

    It asks only where a time is shown. What is streamed later has the installation's zone again.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        """Stand around all that answers."""
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Answer a request in its reader's zone."""
        with instants.read_in(cache(partial(of, request))):
            return self.get_response(request)


def of(request: HttpRequest) -> ZoneInfo | None:
    """Return the zone that whoever asks has chosen; None for the installation's, or one unknown here."""
    return known(access.zone_name(request.user))


def known(name: str) -> ZoneInfo | None:
    """Return a zone by its name; None where it is blank, or unknown here."""
    try:
        return ZoneInfo(name) if name else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


@cache
def offered() -> dict[str, list[str]]:
    """Return the zones that can be chosen, by the first part of their name."""
    found: dict[str, list[str]] = {}
    for name in sorted(available_timezones()):
        region, _, place = name.partition("/")
        if place and region not in ("Etc", "SystemV", "US", "posix", "right"):
            found.setdefault(region, []).append(name)
    return {"World": ["UTC"], **found}


def choose(person: User, name: str) -> bool:
    """Keep a person's choice, blank for the installation's zone; False where it is not offered."""
    if name and not any(name in names for names in offered().values()):
        return False
    Reader.objects.update_or_create(person=person, defaults={"zone": name})
    return True
