"""Every address of Tieout, by floor."""

from allauth.account import views as account
from allauth.mfa.base import views as factor
from allauth.mfa.recovery_codes import views as codes
from allauth.mfa.totp import views as app
from allauth.mfa.webauthn import views as passkeys
from django.conf import settings
from django.urls import URLPattern, URLResolver, include, path
from django.views.decorators.cache import never_cache

from ledger.door import clients, health, metrics
from ledger.door.api import api as api
from reconcile.api import router as runs
from review.views import api as reference
from review.views import security, single_sign_on

api.add_router("", runs)
handler400 = "review.views.trouble.malformed"
handler500 = "review.views.trouble.broken"

# Of the account pages only those that are used: people are made by an administrator, not by signing up. Where
# the library would lead to one of its own lists, it leads to the one page that shows all of them.
accounts: list[URLPattern | URLResolver] = [
    path("login/", account.login, name="account_login"),
    path("logout/", account.logout, name="account_logout"),
    path("reauthenticate/", account.reauthenticate, name="account_reauthenticate"),
    path("password/", account.password_change, name="account_change_password"),
    path("second/", factor.authenticate, name="mfa_authenticate"),
    path("second/again/", factor.reauthenticate, name="mfa_reauthenticate"),
    path("app/", never_cache(app.activate_totp), name="mfa_activate_totp"),
    path("app/remove/", app.deactivate_totp, name="mfa_deactivate_totp"),
    path("codes/", codes.view_recovery_codes, name="mfa_view_recovery_codes"),
    path("codes/make/", codes.generate_recovery_codes, name="mfa_generate_recovery_codes"),
    path("passkeys/add/", passkeys.add_webauthn, name="mfa_add_webauthn"),
    path("passkeys/again/", passkeys.reauthenticate_webauthn, name="mfa_reauthenticate_webauthn"),
    path("passkeys/login/", passkeys.login_webauthn, name="mfa_login_webauthn"),
    path("passkeys/<int:pk>/remove/", passkeys.remove_webauthn, name="mfa_remove_webauthn"),
    path("sso/", single_sign_on.begin, {"provider_id": settings.OIDC_PROVIDER}, name="openid_connect_login"),
    path(
        "sso/callback/",
        single_sign_on.end,
        {"provider_id": settings.OIDC_PROVIDER},
        name="openid_connect_callback",
    ),
    *(
        path("security/", security.show, name=name)
        for name in ("mfa_index", "mfa_list_webauthn", "usersessions_list", "account_set_password")
    ),
]
urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", health.alive),
    path("readyz", health.ready),
    path("metrics", metrics.show),
    path("api/v1/docs", reference.show, name="api-docs"),
    path("api/v1/", api.urls),
    path("client/<str:name>", clients.client, name="client"),
    path("accounts/", include(accounts)),
    path("", include("review.urls")),
]
