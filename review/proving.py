"""Showing once more who one is, before something that a screen left alone must not do."""

from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse

from review import access, sessions


def to_prove(request: HttpRequest, right: access.Right) -> HttpResponse | None:
    """Lead somebody who has the right, but has signed in too long ago, to show who they are, and back.

    None where nothing is missing: an answer that is no is given by whoever asks for the right.
    """
    if sessions.recent(request) or not access.may(request.user, right):
        return None
    ways = get_adapter().get_reauthentication_methods(request.user)
    back = urlencode({"next": request.get_full_path()})
    return redirect(f"{ways[0]['url'] if ways else reverse('account_login')}?{back}")
