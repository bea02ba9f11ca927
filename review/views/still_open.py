"""All that is open, of whatever run: the page, the files, and a spreadsheet that comes back."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.views.decorators.csrf import csrf_exempt, csrf_protect
from django.views.decorators.http import require_http_methods, require_safe

from ledger.models import database_now
from ledger.rules.errors import TieoutError
from reconcile.differences import ageing, returned, sheets
from reconcile.histories.files import FileRefused
from reconcile.statements.unlinked import Unlinked
from reconcile.tables import Form
from review import access, taking_back
from review.access import people_only
from review.still_open import Chosen, Old, Reading
from review.views.files import given
from review.views.operation import person, words

MISSING = "Choose the file that comes back."


@people_only
@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show how old everything is that is open, and the differences that the address asks for."""
    now, after = database_now(), request.GET.get("after", "")
    begun = int(after) if after.isascii() and after.isdecimal() and len(after) < 19 else None
    reading = Reading(Old.of(now), Chosen.read(request.GET), now, after=begun)
    return render(request, "review/still_open.html", {"section": "runs", "now": now, "reading": reading})


@people_only
@require_safe
def ages(request: HttpRequest, form: Form) -> HttpResponseBase:
    """Give how old everything is as a file."""
    old = Old.of(database_now())
    table = ageing.table(old.ageing, old.display, author=person(request).get_username())
    return given(table, "age-of-open-differences", form)


@people_only
@require_safe
def table(request: HttpRequest, form: Form) -> HttpResponseBase:
    """Give the differences that the address asks for as a file, to keep or to send out."""
    old, chosen = Old.of(database_now()), Chosen.read(request.GET)
    asked = sheets.Asked(chosen.among(old.ageing.at), chosen.words, old.ageing, old.display)
    return given(sheets.table(asked, author=person(request).get_username()), "open-differences", form)


@csrf_exempt  # looked at below: files are taken from nobody who is not signed in
@people_only
@csrf_protect
@require_http_methods(["GET", "HEAD", "POST"])
def take_back(request: HttpRequest) -> HttpResponse:
    """Take a spreadsheet that comes back: show what would change, and at the next click change it."""
    who = person(request)
    lacks = "" if access.may(who, "assign") and access.may(who, "comment") else access.lacking(who)
    shown = {"section": "runs", "now": database_now(), "why_not": lacks, "refusal": ""}
    if request.method == "POST" and not lacks:
        try:
            shown |= _taken(request) if "kept" in request.POST else _read(request)
        except FileRefused as error:
            shown["refusal"] = error.detail
        except TieoutError as error:
            shown["refusal"] = words(error)
    return render(request, "review/still_open_return.html", shown)


def _read(request: HttpRequest) -> dict[str, object]:
    """Read the file, and say what would change."""
    sent = request.FILES.get("file")
    if sent is None or not sent.size:
        raise FileRefused(MISSING)
    if sent.size > returned.BYTES_MAX:
        raise FileRefused("The file is larger than 20 MB. Send fewer differences at a time.")
    name = "".join(letter for letter in sent.name or "" if letter.isprintable())[-100:] or "The file"
    who, checksum = person(request), taking_back.checksum_of(sent.chunks())
    with Unlinked(name, sent.chunks()) as file:
        wishes, refused, untouched = taking_back.wished(returned.lines(file))
    kept = taking_back.sealed(wishes, person=who, checksum=checksum)
    outcome = taking_back.foreseen(wishes, person=who, checksum=checksum)
    outcome.refused = sorted([*refused, *outcome.refused], key=lambda one: one.row)
    outcome.untouched = untouched
    return {"outcome": outcome, "kept": kept, "file": name, "checksum": checksum}


def _taken(request: HttpRequest) -> dict[str, object]:
    """Change what the page before has shown."""
    wishes, checksum = taking_back.opened(request.POST["kept"], person=person(request))
    outcome = taking_back.take(wishes, person=person(request), checksum=checksum)
    return {"outcome": outcome, "taken": True, "checksum": checksum}
