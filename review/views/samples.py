"""Samples: what an auditor draws, drawn again, and their archive."""

import secrets
import uuid

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from ledger.models import database_now
from ledger.rules.errors import TieoutError
from reconcile.tables import Form
from review import access, archive, sample_page, sampling
from review.access import people_only
from review.forms import DrawForm, fresh
from review.models import Sample
from review.views.files import given
from review.views.operation import SeeOther, person, words


@people_only
@require_http_methods(["GET", "HEAD", "POST"])
def index(request: HttpRequest) -> HttpResponse:
    """List the samples, count a population, and draw from it."""
    form, refusal = DrawForm(initial=fresh() | {"seed": secrets.token_hex(4), "size": 25}), ""
    if request.method == "POST":
        form = DrawForm(request.POST)
        made, refusal = _drawn(request, form)
        if made is not None:
            return SeeOther(reverse("sample", args=[made.uid]))
    context = {
        "section": "trail",
        "now": database_now(),
        "asked": sample_page.asked(request.GET.dict()),
        "form": form,
        "refusal": refusal,
        "ways": sample_page.WAYS.items(),
        "samples": Sample.objects.defer("items").order_by("-pk")[: sample_page.SHOWN],
        "why_not": access.why_not(request.user, "sample"),
    }
    return render(request, "review/samples.html", context)


def _drawn(request: HttpRequest, form: DrawForm) -> tuple[Sample | None, str]:
    """Draw it; return the refusal in words where it is not."""
    try:
        access.require(person(request), "sample")
        if not form.is_valid():
            return None, "Nothing was drawn: something in the form is missing."
        population = sampling.Population.read(request.GET.dict() or request.POST.dict())
        said = form.cleaned_data
        made = sampling.draw(population, person=person(request), purpose=said.pop("reason"), **said)
    except TieoutError as error:
        return None, words(error)
    messages.success(request, "Drawn, and on record.")
    return made, ""


@people_only
@require_safe
def show(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Show one sample, and draw it again where that is asked for."""
    page = sample_page.shown(_found(uid), again="again" in request.GET)
    return render(request, "review/sample.html", {"section": "trail", "now": database_now(), "page": page})


@people_only
@require_safe
def document(request: HttpRequest, uid: uuid.UUID) -> HttpResponse:
    """Give a sample as JSON."""
    return JsonResponse(sample_page.document(_found(uid)))


@people_only
@require_safe
def table(request: HttpRequest, uid: uuid.UUID, form: Form) -> HttpResponseBase:
    """Give what was drawn as a file."""
    return given(sample_page.table(_found(uid), person(request)), f"sample-{uid}", form)


@people_only
@require_safe
def packs(request: HttpRequest, uid: uuid.UUID) -> HttpResponseBase:
    """Give the archive of its packs, made as it is sent."""
    parts = archive.parts(_found(uid), person(request))
    return _attached(StreamingHttpResponse(parts, content_type="application/zip"), f"sample-{uid}.zip")


def _found(uid: uuid.UUID) -> Sample:
    return get_object_or_404(Sample, uid=uid)


def _attached(response: HttpResponseBase, name: str) -> HttpResponseBase:
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
