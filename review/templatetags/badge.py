"""Badges and icons: the word carries the meaning, the icon and the colour repeat it."""

from functools import lru_cache

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from review.wording import Badge

register = template.Library()


@register.simple_tag
@lru_cache(1000)
def badge(mark: Badge) -> SafeString:
    """Write a state's badge."""
    return format_html(
        '<span class="badge{}" data-state="{}">{}{}</span>',
        " but" if mark.but else "",
        mark.state,
        icon(mark.icon),
        mark.words,
    )


@register.simple_tag
@lru_cache(1000)
def icon(name: str) -> SafeString:
    """Write one of the page's icons."""
    return format_html('<svg class="i" aria-hidden="true"><use href="#{}"/></svg>', name)


@register.simple_tag
def number(text: str, url: str) -> SafeString:
    """Write a record's number at its destination, as a link there where its address is known."""
    if not url:
        return format_html("{}", text)
    return format_html('<a href="{}" rel="noreferrer">{} {}</a>', url, text, icon("open"))
