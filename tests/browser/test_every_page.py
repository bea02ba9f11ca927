"""Every address that shows a page is looked at: axe, pictures, no overflow. A new one needs a line."""

import re
from functools import partial
from pathlib import Path

from django.contrib.auth.models import AnonymousUser
from django.db import transaction
from django.template.loader import render_to_string
from playwright.sync_api import Page, Route, expect

from ledger.rules.states import Outcome
from reconcile.models import Run
from review.bulk import commanding
from review.models import Bulk
from tests import stories
from tests.browser.conftest import Windows
from tests.browser.flows.of_people import sealed
from tests.browser.test_looks import looked_at, unfold
from tests.databases import Clock
from tests.ledger.test_reversals import books as books
from tests.people import limited, person
from tests.reconcile import closing
from tests.reconcile.books import HELD, Books, key_of, record
from tests.review import test_every_door as doors
from tests.review.signing import signed_in, with_app
from tests.review.test_concerned import MAILED, Mailed
from tests.review.test_concerned import several as several
from tests.review.test_entities import CAPE, billed
from tests.review.test_every_door import DOORS, OPERATION, Place
from tests.review.test_sent_out import Cells, filled, given, sent_out

LOOKED_AT = {
    "test_looks": {
        "today": "",
        "rules": "approvals/rules/",
        "entities": "approvals/entities/",
        "hidden": f"{OPERATION}hidden/",
        "since": "since/",
        "queue": "queue/",
        "find": "find/",
        "bulks": "bulk/",
        "bulk-preview": "bulk/<uuid:uid>/",
        "trail": "trail/",
        "samples": "samples/",
        "sample": "samples/<uuid:uid>/",
        "access": "access/",
        "duties": "access/duties/",
        "compare": "compare/",
        "evidence": f"{OPERATION}evidence/",
        "send-again": f"{OPERATION}send-again/",
        "confirm-with-reference": f"{OPERATION}confirm-with-reference/",
        "did-not-happen": f"{OPERATION}did-not-happen/",
        "cancel": f"{OPERATION}cancel/",
        "you": "you/",
        "pause": "pauses/<uuid:uid>/",
        "login": "accounts/login/",
        "logout": "accounts/logout/",
    },
    "test_cases": {"case": "cases/<uuid:uid>/", "hand-over": "hand-over/", "notices": "notices/"},
    "test_correct": {"correct": f"{OPERATION}correct/"},
    "test_choose": {"several": OPERATION},
    "test_deliveries": {"deliveries": "deliveries/"},
    "test_register": {"register": "register/"},
    "test_runs": {
        "runs": "runs/",
        "run": "runs/<uuid:uid>/",
        "differences": "runs/differences/",
        "difference": "runs/<uuid:uid>/differences/<int:pk>/",
        "difference-asked": "approvals/differences/<uuid:uid>/",
    },
    "test_histories": {"histories": "runs/histories/", "repeat": "runs/histories/<uuid:uid>/"},
    "test_second_person": {
        "approvals": "approvals/",
        "approve": f"{OPERATION}approve/",
        "override": f"{OPERATION}override/",
        "proposal": "approvals/rules/<uuid:uid>/",
        "deputies": "approvals/deputies/",
        "role": "approvals/roles/",
    },
    "test_sign_in": {
        "people": "people/",
        "person-reset": "people/<int:pk>/reset/",
        "app": "accounts/app/",
        "password": "accounts/password/",
        "again": "accounts/reauthenticate/",
        "security": "accounts/security/",
        "passkey": "accounts/passkeys/add/",
        "passkey-again": "accounts/passkeys/again/",
        "passkey-remove": "accounts/passkeys/<int:pk>/remove/",
        "recovery-codes": "accounts/codes/",
        "second-factor": "accounts/second/",
    },
    "test_api_page": {"api": "api/v1/docs"},
    "test_every_page": {
        "auditor": "access/auditors/",
        "auditor-end": "access/auditors/<int:pk>/",
        "run-stop": "runs/<uuid:uid>/stop/",
        "run-prepare": "runs/<uuid:uid>/prepare/",
        "signature": "approvals/signatures/<uuid:uid>/",
        "run-reopen": "approvals/signatures/<uuid:uid>/reopen/",
        "periods": "periods/",
        "period": "periods/<uuid:uid>/",
        "period-prepare": "periods/<uuid:uid>/prepare/",
        "choose": f"{OPERATION}choose/",
        "refuse": f"{OPERATION}refuse/",
        "take-back": f"{OPERATION}take-back/",
        "second-again": "accounts/second/again/",
        "app-remove": "accounts/app/remove/",
        "codes-make": "accounts/codes/make/",
        "reversed": "runs/reversed/",
        "differences-return": "runs/differences/return/",
    },
}
"""By test file and picture, the address that is looked at there."""
NO_PAGE = {
    *("client/<str:name>", "healthz", "readyz", "metrics", "accounts/passkeys/login/"),
    *("accounts/sso/", "accounts/sso/callback/"),
    *("accounts/security/sessions/end/", "accounts/security/sessions/<int:pk>/end/"),
    "compare/kept/<uuid:uid>/<str:side>/",
}
"""Files, answers to machines, and what leads elsewhere."""


def test_every_address_that_shows_a_page_is_looked_at() -> None:
    shown = {
        route
        for route, door in DOORS.items()
        if door.shows and not re.search(r"\.(csv|xlsx|json|zip|toml)$", route)
    }
    looked = [route for pages in LOOKED_AT.values() for route in pages.values()]
    assert sorted(looked) == sorted(shown - NO_PAGE)
    for file, pages in LOOKED_AT.items():
        text = (Path(__file__).parent / f"{file}.py").read_text()
        assert [name for name in pages if f'"{name}"' not in text] == [], file


class Looker:
    """Opens pages as somebody, and keeps what is wrong with them."""

    def __init__(self, windows: Windows) -> None:
        self.windows, self.wrong = windows, list[str]()
        self.pages: dict[str, Page] = {}

    def at(self, name: str, who: str, address: str, *, says: str) -> Page:
        """Open it, and look."""
        page = self.pages.setdefault(who, self.windows.of(who))
        page.goto(address)
        return self.at_this(name, page, says=says)

    def at_this(self, name: str, page: Page, *, says: str) -> Page:
        """Look at what is shown now."""
        expect(page.locator("body")).to_contain_text(says)
        unfold(page)
        self.wrong += [f"{name}, {line}" for line in looked_at(page, name)]
        return page


def test_questions_and_forms_of_those_who_decide(clock: Clock, windows: Windows, tmp_path: Path) -> None:
    place, look = Place(clock, tmp_path), Looker(windows)
    address, form = DOORS[f"{OPERATION}choose/"].scene(place, "ann")
    look.at("choose", "ann", f"{address}?keep={form['keep']}", says="Keep INV-1")
    address, _ = DOORS[f"{OPERATION}refuse/"].scene(place, "bob")
    look.at("refuse", "bob", address, says="Refuse")
    address, _ = DOORS[f"{OPERATION}take-back/"].scene(place, "ann")
    look.at("take-back", "ann", address, says="Take back")
    address, _ = DOORS[f"{OPERATION}hidden/"].scene(place, "bob")
    page = look.windows.of("bob")
    page.goto(address)
    page.get_by_label("Reason, for the trail").fill("Acme asks.")
    page.get_by_role("button", name="Show").click()
    look.at_this("hidden-shown", page, says="order")
    DOORS["approvals/deputies/<uuid:uid>/end/"].scene(place, "bob")
    page = look.at("deputies-present", "bob", "/approvals/deputies/", says="for bob")
    page.get_by_label("Reason to end it, for the trail").fill(" ")
    page.get_by_role("button", name=re.compile("End it now")).click()
    look.at_this("deputy-end-without-a-reason", page, says="Write a reason")
    assert look.wrong == []


def test_forms_of_those_who_administer_and_audit(clock: Clock, windows: Windows, tmp_path: Path) -> None:
    place, look = Place(clock, tmp_path), Looker(windows)
    person("nora"), person("bob"), person("ira")
    address, _ = sealed(place, "ira")
    wanted = doors.rules(place, "ada")[1]["text"]
    look.at("samples-to-draw", "ira", address, says="Draw")
    look.at("auditor", "ada", "/access/auditors/", says="Let somebody audit")
    look.at(
        "auditor-end", "ada", DOORS["access/auditors/<int:pk>/"].scene(place, "ada")[0], says="audit now?"
    )
    page = look.windows.of("ada")
    page.goto("/approvals/rules/")
    for name, text, says in (
        ("rules-wrong", "[destinations.books]\nnmae = 1\n[plans.x]\n", "wrong"),
        ("rules-read", wanted, "What would change"),
    ):
        page.get_by_label("Or write it here").fill(text)
        page.get_by_role("button", name="See what would change").click()
        look.at_this(name, page, says=says)
    assert look.wrong == []


def test_lists_of_many_in_each_state(clock: Clock, windows: Windows, tmp_path: Path) -> None:
    place, look = Place(clock, tmp_path), Looker(windows)
    asked, paused, cancelled, stopped = (
        f"/bulk/{scene(place, who)[0].split('/')[2]}/"
        for who, scene in (
            ("bob", DOORS["bulk/<uuid:uid>/approve/"].scene),
            ("ann", DOORS["bulk/<uuid:uid>/resume/"].scene),
            ("ann", doors.in_bulk("", "start", "cancel")),
            ("ann", DOORS["bulk/<uuid:uid>/pause/"].scene),
        )
    )
    with transaction.atomic():
        commanding.stop(Bulk.objects.get(status="running").pk, "Order 484: Durban Books holds two invoices.")
    look.at("bulk-asked", "bob", asked, says="it needs bob")
    look.at("bulk-asked-by-oneself", "eve", asked, says="as you")
    look.at("bulk-paused", "ann", paused, says="Paused")
    look.at("bulk-cancelled", "ann", cancelled, says="Cancelled")
    look.at("bulk-stopped", "ann", stopped, says="Stopped")
    look.at("approvals-bulk", "bob", "/approvals/", says="Many at once")
    assert look.wrong == []


def test_pages_of_ones_own_sign_in(clock: Clock, windows: Windows) -> None:
    with_app(signed_in("eve")[0])
    look = Looker(windows)
    for name, address, says in (
        ("second-again", "/accounts/second/again/", "Show that it is you"),
        ("app-remove", "/accounts/app/remove/", "Remove the authenticator app?"),
        ("codes-make", "/accounts/codes/make/", "Make new recovery codes?"),
    ):
        look.at(name, "eve", address, says=says)
    assert look.wrong == []


def test_refusals_and_troubles(clock: Clock, windows: Windows) -> None:
    look, page = Looker(windows), windows.of(None)
    look.at("403", "nora", "/queue/", says="Not yours to see")
    for name in ("400", "403_csrf", "429", "500"):
        body = render_to_string(f"{name}.html", {"back": "/", "user": AnonymousUser()})
        page.route("**/trouble/", partial(_answered, body))
        page.goto("/trouble/")
        look.at_this(name, page, says={"500": "Something went wrong"}.get(name, "Tieout"))
        page.unroute("**/trouble/")
    windows.complaints[:] = [line for line in windows.complaints if "403" not in line]
    # It has no style sheet, and a browser's own dark paper is white to axe.
    assert [line for line in look.wrong if not line.startswith("500, dark")] == []


def _answered(body: str, route: Route) -> None:
    """What the server answers in trouble: no test makes it on purpose."""
    route.fulfill(body=body, content_type="text/html")


def test_pages_of_somebody_who_sees_one_entity(durban: stories.Durban, windows: Windows) -> None:
    look = Looker(windows)
    durban.every_state()
    billed(durban, 7)
    limited("kim", CAPE)
    for name, address in {
        "today": "/",
        "queue": "/queue/",
        "people": "/people/",
        "trail": "/trail/?by=all",
    }.items():
        look.at(f"{name}-of-one-entity", "kim", address, says="You see Cape Trading (Pty) Ltd only.")
    assert look.wrong == []


def test_pages_before_anything_is_there(clock: Clock, windows: Windows) -> None:
    look = Looker(windows)
    for name in ("approvals", "runs", "notices", "people", "bulk", "samples", "trail", "deliveries", "queue"):
        look.at(f"{name}-empty", "ann", f"/{name}/", says="Tieout")
    assert look.wrong == []


def test_a_difference_to_answer_and_a_run_to_stop(clock: Clock, windows: Windows, tmp_path: Path) -> None:
    place, look = Place(clock, tmp_path), Looker(windows)
    address, _ = doors.extra_asked(place, "bob")
    look.at("approvals-differences", "bob", "/approvals/", says="Differences")
    look.at("difference-to-answer", "bob", address, says="Waits for a second person")
    look.at("run-stop", "ann", doors.to_stop(place, "ann")[0], says="Stop run")
    assert look.wrong == []


def test_a_run_to_prepare_to_sign_and_to_open_again(clock: Clock, windows: Windows, tmp_path: Path) -> None:
    clock.set(clock.now())
    place, look = Place(clock, tmp_path), Looker(windows)
    books = Books.configured(tmp_path, performed_by="caller")
    books.claimed("402", Outcome.SUCCEEDED, reference="INV-1", amount="1860.00")
    HELD.pages = [[record(n, key=key_of("402"), total="1860.00") for n in (1, 2)]]
    look.at("run-prepare", "ann", doors.to_prepare(place, "ann")[0], says="Prepare run")
    waits = doors.prepared(place, "ann")[0]
    look.at("signature-to-give", "bob", waits, says="Sign it")
    look.at("approvals-signatures", "bob", "/approvals/", says="Read and sign")
    signed = doors.signed(place, "ann", "/")[0]
    look.at("signature", "bob", signed, says="What was signed, as it was then")
    look.at("run-signed", "bob", f"/runs/{Run.objects.latest('pk').uid}/", says="Signed by bob")
    look.at("run-reopen", "bob", f"{signed}reopen/", says="Ask to open run")
    assert look.wrong == []


def test_a_period_as_of_its_cut_off_to_prepare_and_signed(
    clock: Clock, windows: Windows, tmp_path: Path
) -> None:
    for name in ("ann", "bob"):
        person(name)
    period, look = closing.january(clock, tmp_path), Looker(windows)
    look.at("period", "ann", f"/periods/{period.uid}/", says="Open at the cut-off")
    look.at("period-prepare", "ann", f"/periods/{period.uid}/prepare/", says="Prepare January 2027")
    one = closing.prepared(period)
    look.at("period-to-sign", "bob", f"/approvals/signatures/{one.uid}/", says="Sign it")
    closing.sign(one)
    look.at("period-signed", "bob", f"/periods/{period.uid}/", says="Signed by bob")
    look.at("periods", "bob", "/periods/", says="prepared by ann, signed by bob")
    assert look.wrong == []


def test_whom_reversed_duplicates_concerned(several: Mailed, windows: Windows) -> None:
    look = Looker(windows)
    operation = several.reversed("Umgeni Cycles", "no", MAILED, "")
    several.reversed("Thirty-nine Steps Bookshop and Stationers (Pty) Ltd", "", MAILED, amount="1240.00")
    look.at("reversed", "vic", "/runs/reversed/", says="2 customers, 2 operations")
    look.at("kept-and-reversed", "ann", f"/operations/{operation.uid}/", says="Kept and reversed")
    assert look.wrong == []


def test_a_spreadsheet_that_comes_back_without_script(clock: Clock, windows: Windows, tmp_path: Path) -> None:
    """Read, shown row by row, and taken, by a form alone; then looked at with script."""
    place, look = Place(clock, tmp_path), Looker(windows)
    person("ann"), person("bob")
    doors.found_extra(place)

    def fill(rows: dict[str, Cells]) -> None:
        given(rows[key_of("x0")], "bob", "Bob knows the branch.")
        given(rows[key_of("x1")], "nora", "Nora does not decide.")

    file = tmp_path / "open-differences.xlsx"
    file.write_bytes(filled(sent_out(), fill))
    for script in (True, False):
        page = windows.of("ann", script=script)
        page.goto("/runs/differences/")
        page.get_by_role("link", name="take it back").click()
        if script:
            look.at_this("differences-return", page, says="Take a spreadsheet back")
        page.get_by_label("The file that comes back").set_input_files(file)
        page.get_by_role("button", name="See what would change").click()
        if script:
            look.at_this("differences-return-read", page, says="nora is neither")
    page.get_by_role("button", name="Change 1 difference").click()
    expect(page.locator("main")).to_contain_text("1 changed · 1 refused")
    assert look.wrong == []
