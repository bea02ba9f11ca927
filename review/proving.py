"""Showing once more who one is, before something that a screen left alone must not do."""

from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from review import access, sessions, single_sign_on


def to_prove(request: HttpRequest, right: access.Right) -> HttpResponse | None:
    """Lead somebody who has the right, but has signed in too long ago, to show who they are, and back.

    None where nothing is missing: an answer that is no is given by whoever asks for the right.
    """
    if sessions.recent(request) or not access.may(request.user, right):
        return None
    ways, back = get_adapter().get_reauthentication_methods(request.user), request.get_full_path()
    if ways:
        return redirect(f"{ways[0]['url']}?{urlencode({'next': back})}")
    return redirect(single_sign_on.address(back) or "account_logout")
