"""Text of the API's document on a page: what stands between backticks is shown as code."""

import re

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

register = template.Library()

_TICKED = re.compile(r"`([^`]+)`")


@register.filter
def ticks(text: str) -> SafeString:
    """Escape text, and show `names` as code."""
    return mark_safe(_TICKED.sub(r'<span class="key">\1</span>', escape(text)))  # noqa: S308 - escaped
