"""Where single sign-on begins and ends; what its provider does wrong is said on the sign-in page."""

from collections.abc import Callable
from typing import Any

from allauth.core.exceptions import ImmediateHttpResponse
from allauth.socialaccount.providers.openid_connect import views
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe
from requests import RequestException

from review.single_sign_on import Adapter


def _guarded(view: Callable[..., Any], request: HttpRequest) -> HttpResponseBase:
    try:
        answer: HttpResponseBase = view(request, provider_id=settings.OIDC_PROVIDER)
    except (RequestException, KeyError, TypeError, ValueError) as error:
        # It does not answer, or not as its standard says.
        try:
            Adapter().on_authentication_error(request, None, exception=error)
        except ImmediateHttpResponse as said:
            answer = said.response
    return answer


@require_safe
def begin(request: HttpRequest, provider_id: str) -> HttpResponseBase:
    """Lead to the provider."""
    return _guarded(views.login, request)


@require_safe
def end(request: HttpRequest, provider_id: str) -> HttpResponseBase:
    """Take what the provider says of whoever comes back."""
    return _guarded(views.callback, request)
