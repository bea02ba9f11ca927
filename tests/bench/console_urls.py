"""The product's addresses, a bare page of operations, and the Django admin's list of them."""

from functools import cache
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template import engines
from django.urls import path

from config.urls import urlpatterns as ours
from ledger.models import Operation
from review.access import people_only

ROWS = 50
BARE = """{% extends "base.html" %}{% load money %}{% block main %}<table class="ledger"><tbody>
{% for one in rows %}<tr><td>{{ one.state }}</td>
<td><a href="{% url 'operation' one.uid %}">{{ one.description }}</a></td>
<td>{{ one.operation_type.noun }}</td><td class="num">{{ one.amount|money:one.currency }}</td>
<td>{{ one.currency }}</td><td>{{ one.accepted_at }}</td></tr>
{% endfor %}</tbody></table>{% endblock %}"""


@people_only
def bare(request: HttpRequest) -> HttpResponse:
    """Show fifty rows of the table, as plainly as a page of ours can.

    With what every page of ours has: session, person and role, navigation with its count, head and foot; of
    each row six columns and one link. Without counting tabs, filters, badges, what was found, owners, due.
    """
    rows = Operation.objects.select_related("operation_type").order_by("-id")[:ROWS]
    return HttpResponse(_page().render({"rows": rows}, request))


@cache
def _page() -> Any:
    """Return the page's template, compiled once as every page's is."""
    return engines["django"].from_string(BARE)


class Operations(admin.ModelAdmin[Operation]):
    """The list as the admin makes it of the same columns."""

    list_display = ("state", "description", "operation_type", "amount", "currency", "accepted_at")
    list_filter = ("state", "currency", "operation_type")
    search_fields = ("key", "description", "subject")
    list_select_related = ("operation_type",)
    list_per_page = ROWS


admin.site.register(Operation, Operations)
urlpatterns = [path("bench/bare/", bare), path("bench/admin/", admin.site.urls), *ours]
