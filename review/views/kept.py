"""Comparisons kept as evidence: one's own is kept, and what is kept is given to who may see it."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_POST, require_safe

from ledger.rules.errors import TieoutError
from reconcile.models import Comparison
from reconcile.statements.evidence import actions
from review import access, comparisons
from review.access import people_only
from review.forms import KeepForm
from review.kept import Evidence
from review.views.operation import SeeOther, person, words


@people_only
@require_POST
def keep(request: HttpRequest) -> HttpResponse:
    """Keep one's own comparison with both files until a day."""
    own = Comparison.objects.filter(owner=person(request)).first()
    form, refusal = KeepForm(request.POST), ""
    if not form.is_valid():
        refusal = " ".join(str(error) for errors in form.errors.values() for error in errors)
    elif own is None or form.cleaned_data["uid"] != own.uid:
        refusal = "The files are gone: drop them again."
    else:
        said = form.cleaned_data
        try:
            access.require(person(request), "comment")
            actions.keep(person(request), own.uid, until=said["until"], reason=said["reason"])
        except TieoutError as error:
            refusal = words(error)
        else:
            messages.success(request, "Kept: both files and the report.")
            return SeeOther(reverse("compare"))
    context = comparisons.shown(person(request)) | {"refusal": refusal, "keep": form}
    return render(request, "review/compare.html", context)


@people_only
@require_safe
def document(request: HttpRequest, uid: UUID) -> HttpResponseBase:
    """Give the report as the command's JSON."""
    return StreamingHttpResponse(_one(request, uid).document(), content_type="application/json")


@people_only
@require_safe
def file(request: HttpRequest, uid: UUID, side: str) -> HttpResponseBase:
    """Give one of both files as it came."""
    kept = _one(request, uid)
    if side not in ("source", "destination"):
        raise Http404("There is no such file.")
    response = StreamingHttpResponse(kept.file(side), content_type="application/octet-stream")
    name = kept.names[0 if side == "source" else 1]
    response["Content-Disposition"] = str(content_disposition_header(as_attachment=True, filename=name))
    return response


def _one(request: HttpRequest, uid: UUID) -> Evidence:
    found = Evidence.one(person(request), uid)
    if found is None:
        raise Http404("Nothing that you may see is kept under this number.")
    return found
