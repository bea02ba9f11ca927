"""Two exports dropped on a page: read, compared, reported, and forgotten."""

from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from reconcile.histories.files import FileRefused
from reconcile.models import Comparison
from reconcile.statements import keeping
from reconcile.tables import Form
from review import comparisons
from review.access import people_only
from review.views.files import given
from review.views.operation import SeeOther, person


@csrf_exempt  # looked at below: files are taken from nobody who is not signed in
@people_only
@csrf_protect
@require_http_methods(["GET", "HEAD", "POST"])
def show(request: HttpRequest) -> HttpResponse:
    """Show one's own comparison, or take two files."""
    refusal = ""
    if request.method == "POST":
        try:
            keeping.drop(person(request), {side: request.FILES.get(side) for side in keeping.SIDES})
            return SeeOther(reverse("compare"))
        except FileRefused as error:
            refusal = error.detail
    context = comparisons.shown(person(request)) | {"refusal": refusal}
    return render(request, "review/compare.html", context)


@people_only
@require_POST
def state(request: HttpRequest) -> HttpResponse:
    """Say how the files are read, and have them compared, or read again."""
    own = Comparison.objects.filter(owner=person(request)).first()
    if own is not None:
        stated = comparisons.stated(own, request.POST)
        keeping.state(own, stated, compare=request.POST.get("way") != "read")
    return SeeOther(reverse("compare"))


@people_only
@require_POST
def example(request: HttpRequest) -> HttpResponse:
    """Take two made-up files, with an order that is there four times."""
    with keeping.examples() as files:
        keeping.drop(person(request), files)
    return SeeOther(reverse("compare"))


@people_only
@require_POST
def forget(request: HttpRequest) -> HttpResponse:
    """Remove one's own files, and what was found in them, at once."""
    keeping.forget(person(request))
    return SeeOther(reverse("compare"))


@people_only
@require_safe
def table(request: HttpRequest, form: Form) -> HttpResponseBase:
    """Give the differences as a file."""
    return given(comparisons.table(_done(request), author=request.user.get_username()), "differences", form)


@people_only
@require_safe
def rejects(request: HttpRequest, form: Form) -> HttpResponseBase:
    """Give the unreadable lines of one's own files as a file, each with its reason."""
    return given(comparisons.rejects(_done(request), author=request.user.get_username()), "unreadable", form)


@people_only
@require_safe
def document(request: HttpRequest) -> HttpResponseBase:
    """Give the comparison as the command's JSON."""
    return StreamingHttpResponse(comparisons.document(_done(request)), content_type="application/json")


def _done(request: HttpRequest) -> Comparison:
    own = Comparison.objects.filter(owner=person(request), state=Comparison.State.DONE).first()
    if own is None:
        raise Http404("No comparison of yours is done.")
    return own
