"""An operation's own history, written without a template's loops: of an old one it is most of the page."""

from collections.abc import Iterable
from datetime import datetime

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from ledger.models import Attempt
from review.templatetags.badge import icon
from review.templatetags.instant import now_of, written
from review.timeline import Entry
from review.trail import Line

register = template.Library()

_ENTRY = '<li data-state="{}">{}{}<p><b>{}</b>{}</p></li>\n'
_SAID = "<li>{}<p><b>{}</b> {} “{}”</p></li>\n"
_MEANT = '<li>{}<p><b>{}</b> {} <span class="soft">{}</span></p></li>\n'
_DID = "<li>{}<p><b>{}</b> {}</p></li>\n"


@register.simple_tag(takes_context=True)
def timeline(context: template.Context, entries: Iterable[Entry]) -> SafeString:
    """Write tries, checks, permits and comments."""
    now = now_of(context)
    return _joined(
        format_html(_ENTRY, one.state, written(one.at, now, exact=True), icon(one.icon), one.bold, one.rest)
        for one in entries
    )


@register.simple_tag(takes_context=True)
def trail(context: template.Context, lines: Iterable[Line]) -> SafeString:
    """Write who did what, and why."""
    now = now_of(context)
    return _joined(_line(line, now) for line in lines)


def _line(line: Line, now: datetime) -> SafeString:
    form = _SAID if line.said else _MEANT if line.reason else _DID
    return format_html(form, written(line.at, now), line.who, line.did, line.reason)


@register.simple_tag
def tries(attempts: Iterable[Attempt]) -> SafeString:
    """Write what is known of each try to those who write software."""
    return _joined(part for attempt in attempts for part in _try(attempt))


def _try(attempt: Attempt) -> Iterable[SafeString]:
    number = attempt.number
    if attempt.rules_version:
        yield format_html("<dt>Try {}, rules</dt><dd>version {}</dd>\n", number, attempt.rules_version)
    if attempt.closed_at:
        yield format_html(
            "<dt>Try {}, what came back</dt><dd>{}{}{}{}{}</dd>\n",
            number,
            attempt.outcome,
            f", status {attempt.http_status}" if attempt.http_status else "",
            format_html(', <span class="key">{}</span>', attempt.error_code) if attempt.error_code else "",
            f": {attempt.message}" if attempt.message else "",
            " (a repeated answer)" if attempt.replayed else "",
        )
    if attempt.run:
        yield format_html('<dt>Try {}, source run</dt><dd class="key">{}</dd>\n', number, attempt.run)


def _joined(parts: Iterable[SafeString]) -> SafeString:
    return mark_safe("".join(parts))  # noqa: S308 - each is escaped
