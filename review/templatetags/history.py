"""An operation's own history, written without a template's loops: of an old one it is most of the page.

What anybody has written is escaped by Python's own function, which Django's calls.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from html import escape

from django import template
from django.utils.safestring import SafeString, mark_safe

from ledger.models import Attempt
from review.templatetags.badge import icon
from review.templatetags.instant import now_of, written
from review.timeline import Entry
from review.trail import Line

register = template.Library()


@register.simple_tag(takes_context=True)
def timeline(context: template.Context, entries: Iterable[Entry]) -> SafeString:
    """Write tries, checks, permits and comments."""
    now = now_of(context)
    return mark_safe("".join(_entry(one, now) for one in entries))  # noqa: S308 - each is escaped


def _entry(one: Entry, now: datetime) -> str:
    when = written(one.at, now, exact=True)
    said = f"<p><b>{escape(one.bold)}</b>{escape(one.rest)}</p>"
    return f'<li data-state="{escape(one.state)}">{when}{icon(one.icon)}{said}</li>\n'


@register.simple_tag(takes_context=True)
def trail(context: template.Context, lines: Iterable[Line]) -> SafeString:
    """Write who did what, and why."""
    now = now_of(context)
    return mark_safe("".join(_line(line, now) for line in lines))  # noqa: S308 - each is escaped


def _line(line: Line, now: datetime) -> str:
    reason = escape(line.reason)
    why = f" “{reason}”" if line.said else f' <span class="soft">{reason}</span>' if reason else ""
    return f"<li>{written(line.at, now)}<p><b>{escape(line.who)}</b> {escape(line.did)}{why}</p></li>\n"


@register.simple_tag
def tries(attempts: Iterable[Attempt]) -> SafeString:
    """Write what is known of each try to those who write software."""
    parts = (part for attempt in attempts for part in _try(attempt))
    return mark_safe("".join(parts))  # noqa: S308 - each is escaped


def _try(attempt: Attempt) -> Iterator[str]:
    number = attempt.number
    if attempt.rules_version:
        yield f"<dt>Try {number}, rules</dt><dd>version {attempt.rules_version}</dd>\n"
    if attempt.closed_at:
        status = f", status {attempt.http_status}" if attempt.http_status else ""
        code = f', <span class="key">{escape(attempt.error_code)}</span>' if attempt.error_code else ""
        message = f": {escape(attempt.message)}" if attempt.message else ""
        again = " (a repeated answer)" if attempt.replayed else ""
        back = f"{escape(str(attempt.outcome))}{status}{code}{message}{again}"
        yield f"<dt>Try {number}, what came back</dt><dd>{back}</dd>\n"
    if attempt.run:
        yield f'<dt>Try {number}, source run</dt><dd class="key">{escape(attempt.run)}</dd>\n'
