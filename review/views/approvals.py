"""What waits for a second person."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ledger.models import Deputy, database_now
from review import access, approvals, difference, proposing, signing_off
from review.access import people_only
from review.bulk import listing
from review.views.operation import person


@people_only
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show the open requests, and what was decided lately."""
    now = database_now()
    waiting, more = approvals.waiting(person(request), now)
    proposals, bulks = proposing.waiting(person(request), now), listing.waiting(now)
    differences = difference.waiting(person(request), now)
    signatures = signing_off.waiting(person(request), now)
    context = {
        "section": "approvals",
        "now": now,
        "waiting": waiting,
        "more": more,
        "count": len(waiting) + len(proposals) + len(bulks) + len(differences) + len(signatures),
        "lately": approvals.lately(),
        "proposals": proposals,
        "bulks": bulks,
        "differences": differences,
        "signatures": signatures,
        "deputies": Deputy.objects.present(now).order_by("starts_at")[:20],
        "may_propose": access.may(request.user, "propose"),
    }
    return render(request, "review/approvals.html", context)
