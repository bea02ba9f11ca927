"""Showing once more who one is, before something that a screen left alone must not do."""

from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from review import access, sessions, single_sign_on


def to_prove(request: HttpRequest, right: access.Right, *, back: str = "") -> HttpResponse | None:
    """Lead somebody who has the right, but has signed in too long ago, to show who they are, and back.

    None where nothing is missing: an answer that is no is given by whoever asks for the right. `back` is
    where they go then, if the address itself only takes what is posted.
    """
    if sessions.recent(request) or not access.may(request.user, right):
        return None
    ways, back = get_adapter().get_reauthentication_methods(request.user), back or request.get_full_path()
    if ways:
        return redirect(f"{ways[0]['url']}?{urlencode({'next': back})}")
    return redirect(single_sign_on.address(back) or "account_logout")
