"""What waits for a second person."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from ledger.models import Deputy, database_now
from review import access, approvals, difference, proposing, signing_off, waiting
from review.access import people_only
from review.bulk import listing
from review.views.operation import person


@people_only
@require_safe
def index(request: HttpRequest) -> HttpResponse:
    """Show the open requests, all kinds or a page of one, and what was decided lately."""
    now, who = database_now(), person(request)
    counts = waiting.Counts.read()
    of = request.GET.get("of", "")
    kinds = [of] if of in waiting.KINDS else list(waiting.KINDS)
    after = request.GET.get("after", "") if len(kinds) == 1 else ""
    pages = {kind: waiting.page(kind, now, counts=counts, after=after) for kind in kinds}
    rows = {kind: pages[kind].rows if kind in pages else [] for kind in waiting.KINDS}
    context = {
        "section": "approvals",
        "now": now,
        "alone": of in waiting.KINDS,
        "pages": pages,
        "count": str(counts),
        "waiting": approvals.requests(rows["operations"], who, now),
        "lately": approvals.lately(),
        "proposals": proposing.waiting(rows["rules"], who, now),
        "bulks": listing.waiting(rows["lists"], now),
        "differences": difference.waiting(rows["differences"], who, now),
        "signatures": signing_off.waiting(rows["signatures"], who, now),
        "deputies": Deputy.objects.present(now).order_by("starts_at")[:20],
        "may_propose": access.may(request.user, "propose"),
    }
    return render(request, "review/approvals.html", context)
