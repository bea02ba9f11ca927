"""The queue's rows and select boxes, written without a template's loops: they are most of the page."""

from collections.abc import Iterable
from functools import lru_cache
from urllib.parse import quote

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from review import amounts, routes
from review.choices import Choice
from review.row import Row
from review.templatetags.badge import badge, icon

register = template.Library()

_ROW = """<tr role="row">
{pick}<td role="cell" class="q-state">{badge}</td>
<td role="cell" class="q-key"><a href="{address}">{name}</a></td>
<td role="cell" class="q-type soft">{noun}</td>
<td role="cell" class="num q-amount">{amount}{stake}</td><td role="cell" class="q-cur soft">{currency}</td>
<td role="cell" class="q-found"><span class="mark">{icon}<span>{found}</span></span></td>
<td role="cell" class="num q-age">{age}</td>
<td role="cell" class="q-due">{due}</td>
<td role="cell" class="q-own">{owner}</td>
<td role="cell" class="q-next">{next}</td>
</tr>
"""
_PICK = (
    '<td role="cell" class="q-pick"><label class="pick">'
    '<input type="checkbox" name="pick" value="{}" form="bulk"><span class="vh">Tick {}</span></label></td>\n'
)
_NO_PICK = mark_safe('<td role="cell" class="q-pick"></td>\n')
_OWNER = '<a href="{}?back={}">{}<span class="vh">: assign or snooze {}</span></a>'
_STAKE = '<br><span class="small soft nb">{}</span>'
_ALSO = '{} <span class="small late">also {}</span>'


@register.simple_tag(takes_context=True)
def queue_rows(context: template.Context, rows: Iterable[tuple[Row, str]]) -> SafeString:
    """Write rows, each with what its address carries; with boxes to tick where the page has `picks`."""
    request = context["request"]
    back, picks = quote(request.get_full_path(), safe="/"), bool(context.get("picks"))
    return mark_safe("".join(_row(row, carry, back, picks=picks) for row, carry in rows))  # noqa: S308 - each is escaped


def _row(row: Row, carry: str, back: str, *, picks: bool) -> SafeString:
    address = row.address + carry
    pick = _NO_PICK if row.operation is None else format_html(_PICK, row.operation.uid, row.name)
    more = '<a href="{}">{}<span class="vh">: {}</span></a>' if row.asks else '<span class="soft">{1}</span>'
    late = format_html('<span class="late">{} {}</span>', icon("clock"), row.due) if row.late else row.due
    owner: str = row.owner
    if row.case:
        owner = format_html(_OWNER, routes.of("case", row.case), back, row.owner, row.name)
    if row.escalated:
        owner = format_html(_ALSO, owner, row.escalated)
    return format_html(
        _ROW,
        pick=pick if picks else "",
        badge=badge(row.badge),
        address=address,
        name=row.name,
        noun=row.noun,
        amount=amounts.show(row.amount, row.currency),
        stake=format_html(_STAKE, row.stake) if row.stake else "",
        currency=row.currency,
        icon=icon(row.found_icon),
        found=row.found,
        age=row.age,
        due=late,
        owner=owner,
        next=format_html(more, address, row.next, row.name),
    )


@register.simple_tag
def select(choice: Choice) -> SafeString:
    """Write a select box with its label, which only those hear who do not see it."""
    return format_html(
        '<label><span class="vh">{}</span><select name="{}">{}{}</select></label>',
        choice.label,
        choice.name,
        format_html('<option value="">{}</option>', choice.nothing) if choice.nothing else "",
        _options(tuple(choice.values), choice.current),
    )


@lru_cache(200)
def _options(values: tuple[tuple[str, str], ...], current: str) -> SafeString:
    return format_html_join(
        "",
        '<option value="{}"{}>{}</option>',
        ((value, mark_safe(" selected") if value == current else "", words) for value, words in values),
    )
