"""Times in the reader's zone, and spans, for templates."""

from datetime import datetime, time, timedelta

from django import template
from django.utils import timezone
from django.utils.safestring import SafeString, mark_safe

from review import instants

register = template.Library()


def now_of(context: template.Context) -> datetime:
    """Return the time that the page was read at; one page tells one time."""
    now = context.get("now")
    return now if isinstance(now, datetime) else timezone.now()


@register.filter
def clock(at: time | str | None) -> str:
    """Write a time of day as a form takes it; what somebody has typed stays as it is."""
    return f"{at:%H:%M}" if isinstance(at, time) else at or ""


@register.simple_tag(takes_context=True)
def instant(context: template.Context, at: datetime | None, exact: bool = False) -> SafeString:  # noqa: FBT001, FBT002
    """Write a time with its full form behind it; a dash where there is none."""
    return written(at, now_of(context), exact=exact) if at is not None else mark_safe("–")


def written(at: datetime, now: datetime, *, exact: bool = False) -> SafeString:
    """Write a time with its full form behind it: nothing but figures and names of days, months and zones."""
    reader = instants.zone()
    there = at.astimezone(reader)
    words = instants.instant(at, now, exact=exact, reader=reader)
    full = instants.whole(at, exact=exact or there.second != 0, reader=reader)
    when = there.isoformat(timespec="seconds")
    return mark_safe(f'<time datetime="{when}" title="{full}">{words}</time>')  # noqa: S308 - nobody's text


@register.simple_tag(takes_context=True)
def as_of(context: template.Context) -> str:
    """Write the time that the page was read at, in full: on paper there is no today."""
    return instants.whole(now_of(context))


@register.simple_tag
def whole(at: datetime) -> str:
    """Write a time in full, with its zone: for paper."""
    return instants.whole(at, exact=False)


@register.simple_tag(takes_context=True)
def age(context: template.Context, since: datetime) -> str:
    """Say how long ago something began."""
    return instants.span(now_of(context) - since)


@register.filter
def span(length: timedelta) -> str:
    """Say how long."""
    return instants.span(length)


@register.simple_tag
def zone() -> str:
    """Name the zone that times are shown in."""
    return instants.named(timezone.now(), instants.zone())
