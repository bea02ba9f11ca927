"""People's roles, the pages that they may use, and what an authenticator app scans, for templates."""

import qrcode
from django import template
from django.conf import settings
from django.contrib.auth.models import User
from django.utils.html import format_html
from django.utils.safestring import SafeString

from review import access, navigation, single_sign_on

register = template.Library()


@register.simple_tag(takes_context=True, name="navigation")
def tabs(context: template.Context) -> list[navigation.Shown]:
    """Return the pages of the navigation for the person who reads."""
    return navigation.tabs(context["user"], str(context.get("section", "")))


@register.simple_tag
def unread(user: User) -> int:
    """Count a person's unread notices."""
    return access.unread(user)


@register.simple_tag
def role(user: User) -> str:
    """Name a person's roles."""
    return ", ".join(sorted(access.roles(user) & {*access.RIGHTS, access.AUDITOR})) or "no role"


@register.simple_tag
def seen_only(user: User) -> str:
    """Name the legal entities that a person is limited to; empty where they see all."""
    names = access.entities(user)
    return "" if names is None else " and ".join(sorted(names)) or "no entity"


@register.simple_tag
def qr(text: str) -> SafeString:
    """Draw text as a code to scan, dark on light whatever the scheme: other colours are not read by all."""
    code = qrcode.QRCode(border=4)
    code.add_data(text)
    code.make(fit=True)
    rows = code.get_matrix()
    dark = "".join(f"M{x} {y}h1v1h-1z" for y, row in enumerate(rows) for x, cell in enumerate(row) if cell)
    drawn = (
        '<svg viewBox="0 0 {0} {0}" width="200" height="200" role="img" aria-label="Code to scan">'
        '<rect width="{0}" height="{0}" fill="#fff"/>'
        '<path d="{1}" fill="#000" shape-rendering="crispEdges"/></svg>'
    )
    return format_html(drawn, len(rows), dark)


@register.simple_tag
def single_sign_on_address(back: str = "") -> str:
    """Return where single sign-on begins; empty where there is none."""
    return single_sign_on.address(back)


@register.simple_tag
def single_sign_on_name() -> str:
    """Name the company's provider of identities."""
    return str(settings.OIDC_NAME)
