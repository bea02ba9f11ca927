"""Every address of Tieout, by floor."""

from allauth.account import views as account
from django.urls import URLPattern, URLResolver, include, path

from ledger.door import clients, health, metrics
from ledger.door.api import api as api
from reconcile.api import router as runs
from review.views import api as reference

api.add_router("", runs)
handler500 = "review.views.trouble.broken"

# Of the account pages only the two that are used: people are made by an administrator, not by signing up.
urlpatterns: list[URLPattern | URLResolver] = [
    path("healthz", health.alive),
    path("readyz", health.ready),
    path("metrics", metrics.show),
    path("api/v1/docs", reference.show, name="api-docs"),
    path("api/v1/", api.urls),
    path("client/<str:name>", clients.client, name="client"),
    path("accounts/login/", account.login, name="account_login"),
    path("accounts/logout/", account.logout, name="account_logout"),
    path("", include("review.urls")),
]
