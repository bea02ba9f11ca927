"""The queue's rows and select boxes, written without a template's loops: they are most of the page.

What anybody has written is escaped by Python's own function, which Django's calls.
"""

from collections.abc import Iterable
from functools import lru_cache
from html import escape
from urllib.parse import quote

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from review import amounts, routes
from review.choices import Choice
from review.row import Row
from review.templatetags.badge import badge, icon

register = template.Library()

_NO_PICK = '<td role="cell" class="q-pick"></td>\n'


@register.simple_tag(takes_context=True)
def queue_rows(context: template.Context, rows: Iterable[tuple[Row, str]]) -> SafeString:
    """Write rows, each with what its address carries; with boxes to tick where the page has `picks`."""
    back, picks = escape(quote(context["request"].get_full_path(), safe="/")), bool(context.get("picks"))
    return mark_safe("".join(_row(row, carry, back, picks=picks) for row, carry in rows))  # noqa: S308 - each is escaped


def _row(row: Row, carry: str, back: str, *, picks: bool) -> str:
    address, name = escape(row.address + carry), escape(row.name)
    amount, currency = escape(amounts.show(row.amount, row.currency)), escape(row.currency)
    if row.stake:
        amount += f'<br><span class="small soft nb">{escape(row.stake)}</span>'
    found = f'<span class="mark">{icon(row.found_icon)}<span>{escape(row.found)}</span></span>'
    due, step = escape(row.due), escape(row.next)
    if row.late:
        due = f'<span class="late">{icon("clock")} {due}</span>'
    if row.asks:
        step = f'<a href="{address}">{step}<span class="vh">: {name}</span></a>'
    else:
        step = f'<span class="soft">{step}</span>'
    return f"""<tr role="row">
{_pick(row, name) if picks else ""}<td role="cell" class="q-state">{badge(row.badge)}</td>
<td role="cell" class="q-key"><a href="{address}">{name}</a></td>
<td role="cell" class="q-type soft">{escape(row.noun)}</td>
<td role="cell" class="num q-amount">{amount}</td><td role="cell" class="q-cur soft">{currency}</td>
<td role="cell" class="q-found">{found}</td>
<td role="cell" class="num q-age">{escape(row.age)}</td>
<td role="cell" class="q-due">{due}</td>
<td role="cell" class="q-own">{_owner(row, name, back)}</td>
<td role="cell" class="q-next">{step}</td>
</tr>
"""


def _pick(row: Row, name: str) -> str:
    if row.operation is None:
        return _NO_PICK
    box = f'<input type="checkbox" name="pick" value="{row.operation.uid}" form="bulk">'
    label = f'<label class="pick">{box}<span class="vh">Tick {name}</span></label>'
    return f'<td role="cell" class="q-pick">{label}</td>\n'


def _owner(row: Row, name: str, back: str) -> str:
    owner = escape(row.owner)
    if row.case:
        address = escape(routes.of("case", row.case))
        owner = (
            f'<a href="{address}?back={back}">{owner}<span class="vh">: assign or snooze {name}</span></a>'
        )
    return f'{owner} <span class="small late">also {escape(row.escalated)}</span>' if row.escalated else owner


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
