"""Times in the reader's zone, and spans, for templates."""

from datetime import datetime, time, timedelta

from django import template
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from review import instants

register = template.Library()


def _now(context: template.Context) -> datetime:
    """The time that the page was read at; one page tells one time."""
    now = context.get("now")
    return now if isinstance(now, datetime) else timezone.now()


@register.filter
def clock(at: time | str | None) -> str:
    """Write a time of day as a form takes it; what somebody has typed stays as it is."""
    return f"{at:%H:%M}" if isinstance(at, time) else at or ""


@register.simple_tag(takes_context=True)
def instant(context: template.Context, at: datetime | None, exact: bool = False) -> SafeString:  # noqa: FBT001, FBT002
    """Write a time with its full form behind it; a dash where there is none."""
    if at is None:
        return format_html("{}", "–")
    words = instants.instant(at, _now(context), exact=exact)
    there = at.astimezone(instants.zone())
    return format_html(
        '<time datetime="{}" title="{}">{}</time>',
        there.isoformat(timespec="seconds"),
        f"{there:%a %d %b %Y %H:%M:%S %Z}",
        words,
    )


@register.simple_tag(takes_context=True)
def age(context: template.Context, since: datetime) -> str:
    """Say how long ago something began."""
    return instants.span(_now(context) - since)


@register.filter
def span(length: timedelta) -> str:
    """Say how long."""
    return instants.span(length)


@register.simple_tag
def zone() -> str:
    """Name the zone that times are shown in."""
    return instants.named(timezone.now(), instants.zone())
