"""Every address, for everybody, by GET and by POST: a new one without a line in the table fails here.

| who                      | GET of a page | POST that decides                                              |
|--------------------------|---------------|----------------------------------------------------------------|
| signed out, switched off | sign in first | sign in first                                                  |
| without a role           | 403, in words | 403, in words                                                  |
| anybody, of their own    | theirs        | theirs alone: no row that is decided is changed                |
| another entity           | 404, or 200 without a word of it | 404 or back to a list: not one row changes |
| another role             | 200           | the page again, which says whose it is; not one row is changed |
| a role that may          | 200           | done: the same form, at the same place, changes something      |
"""

import io
import re
import uuid
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from allauth.mfa.models import Authenticator
from django.db import connection
from django.test import Client
from django.urls import URLPattern, URLResolver

from config.urls import urlpatterns
from ledger import actions
from ledger.models import Delivery, Event, Operation, Pause, Team, database_now
from ledger.rules.leaves import Action
from reconcile import asking, tasks
from reconcile.differences import actions as differences
from reconcile.differences import sheets
from reconcile.differences.models import Way
from reconcile.models import Comparison, Finding, Plan, Repeat, Run, SignOff
from reconcile.proposals.actions import propose_role
from reconcile.signing import actions as signing
from reconcile.statements import keeping
from reconcile.statements.evidence import actions as keeping_evidence
from review import access_review, saved, taking_back
from review.access import (
    LOOKS_ONLY,
    NO_ADMINISTRATOR,
    NO_APPROVER,
    NO_CERTIFICATE,
    NO_ITEMS,
    NO_PEOPLE,
    NO_PROPOSAL,
    NO_REDELIVERY,
    NO_REVEAL,
    NO_SAMPLE,
    NO_TERM,
)
from review.bulk.freezing import freeze
from review.filters import Filter
from review.handing import NOT_YOURS
from review.instants import zone
from review.models import AuditorTerm, Channel, Message
from review.saved import NOT_YOURS as NO_VIEW
from tests import stories
from tests.databases import Clock
from tests.ledger.test_outbox import deliver, done
from tests.people import ROLES, audits, browser_of, limited, person
from tests.receivers import hooked, receiving
from tests.reconcile import closing, signatures
from tests.reconcile.books import HELD, Books, key_of, record
from tests.reconcile.test_histories import MONDAY, here, written
from tests.review.test_entities import CAPE, DURBAN, billed

SIGNED_OUT, SWITCHED_OFF, NO_ROLE = "signed out", "off", "nora"
EVERYBODY = (SIGNED_OUT, SWITCHED_OFF, NO_ROLE, "vic", "ann", "bob", "ada", "ira")
DECIDE, APPROVE, ADMINISTER = ("ann", "bob"), ("bob",), ("ada",)
WITH_A_ROLE = ("vic", "ann", "bob", "ada", "ira")
WORDS = (
    LOOKS_ONLY,
    NO_ITEMS,
    NO_APPROVER,
    NO_ADMINISTRATOR,
    NO_REDELIVERY,
    NO_PEOPLE,
    NO_PROPOSAL,
    NOT_YOURS,
    NO_VIEW,
    NO_SAMPLE,
    NO_CERTIFICATE,
    NO_REVEAL,
    NO_TERM,
)
COUNTED = ("ledger_", "reconcile_", "review_")
"""The tables that hold what is decided; sessions and the time of a sign-in are nobody's decision."""


@dataclass
class Place:
    """Where the addresses of one test lead: made where the first one is needed."""

    clock: Clock
    folder: Path
    serial: int = 0
    _durban: stories.Durban | None = field(default=None)
    run: str = ""

    @property
    def durban(self) -> stories.Durban:
        """Invoices above 10 000.00 ZAR take two people."""
        if self._durban is None:
            self._durban = stories.Durban(self.clock)
            self._durban.invoice.review = {"due": "4h", "four_eyes_above": {"ZAR": "10000.00"}}
            self._durban.invoice.save(update_fields=["review"])
        return self._durban

    def number(self) -> int:
        """Another order."""
        self.serial += 1
        return 480 + self.serial


Form = dict[str, Any]
Scene = Callable[[Place, str], tuple[str, Form]]
"""Brings the address into the state in which its form would do something for this person."""


def by(way: str, scene: Callable[[Place, str], tuple[Operation, Form]]) -> Scene:
    def made(place: Place, name: str) -> tuple[str, Form]:
        operation, form = scene(place, name)
        return f"/operations/{operation.uid}/{way}/", form

    return made


def absent(place: Place, name: str) -> tuple[Operation, Form]:
    found = place.durban.looked(place.durban.absent(place.number()), stories.ABSENT, actor=name)
    return found, {}


def blind(place: Place, name: str) -> tuple[Operation, Form]:
    return place.durban.blind(place.number(), "100.00"), {"reference": "INV-7"}


def silent(place: Place, name: str) -> tuple[Operation, Form]:
    return place.durban.silent(place.number()), {}


def personal(place: Place, name: str) -> tuple[Operation, Form]:
    place.durban.invoice.review |= {"redact": ["order"]}
    place.durban.invoice.save(update_fields=["review"])
    return silent(place, name)[0], {"path": "order"}


def waiting(place: Place, name: str) -> tuple[Operation, Form]:
    return place.durban.invoiced(place.number()), {}


def written_anew(place: Place, name: str) -> tuple[Operation, Form]:
    """A correction that this person has written and read, and only has to confirm."""
    operation = place.durban.tried(place.durban.invoiced(place.number()), stories.REFUSED)
    address, form = f"/operations/{operation.uid}/correct/", {"command_id": str(uuid.uuid4())}
    draft = 'name="draft" value="([^"]+)"'
    for amount in ({}, {"amount": "9.00", "currency": "ZAR"}):
        client = browser_of(name)
        answer = client.post(address, form | amount) if amount else client.get(address)
        found = re.search(draft, said(answer))
        assert found is not None
        form["draft"] = found[1]
    return operation, {"draft": form["draft"], "step": "confirm"}


def allowed(place: Place, name: str) -> tuple[Operation, Form]:
    operation = place.durban.absent(place.number())
    place.durban.allowed(operation, actor=name)
    return operation, {}


def fell_silent(place: Place, name: str) -> tuple[Operation, Form]:
    operation = place.durban.expired(place.number())
    place.clock.advance(60)
    at = place.clock.now().astimezone(zone())
    form = {"leads_to": "override_end", "where": "The outbox", "looked_at": f"{at:%Y-%m-%dT%H:%M:%S}"}
    return operation, form


def doubled(place: Place, name: str) -> tuple[Operation, Form]:
    operation = place.durban.silent(place.number())
    found = stories.several(operation, "INV-1", "INV-2")
    operation = place.durban.looked(operation, found, actor=name)
    return operation, {"keep": "INV-1", "seen": found.content_digest}


def asked(place: Place, name: str, *, maker: str = "eve") -> tuple[Operation, Form]:
    operation, form = fell_silent(place, name)
    ask = {"command_id": str(uuid.uuid4()), "reason": "Nothing is there.", **form}
    assert browser_of(maker).post(f"/operations/{operation.uid}/override/", ask).status_code == 303
    return operation, {"approval": str(operation.approvals.get().uid)}


def asked_by_oneself(place: Place, name: str) -> tuple[Operation, Form]:
    return asked(place, name, maker=name if name in DECIDE else "ann")


def case_of(way: str) -> Scene:
    def made(place: Place, name: str) -> tuple[str, Form]:
        case = absent(place, "eve")[0].cases.get()
        until = place.clock.now().astimezone(zone()) + timedelta(hours=1)
        if way == "wake":
            actions.snooze(case.uid, actor="eve", reason="Later.", until=until, knowingly=True)
        form = {"to": person("bob").get_username(), "other": f"{until:%Y-%m-%dT%H:%M}", "knowingly": "on"}
        return f"/cases/{case.uid}/{way}/".replace("//", "/"), form

    return made


def remark(place: Place, name: str) -> tuple[Operation, Form]:
    return place.durban.silent(place.number()), {"text": "Acme has called."}


def somebodys(place: Place, name: str) -> tuple[str, Form]:
    case = absent(place, "eve")[0].cases.get()
    actions.assign(case.uid, actor="eve", to="eve")
    return "/hand-over/?of=eve", {"of": "eve", "to": "bob", "chosen": [str(case.uid)], "note": "Away."}


def kept(place: Place, name: str) -> tuple[str, Form]:
    return "/views/", {"name": f"Late {place.number()}", "address": "view=late"}


def kept_by(place: Place, name: str) -> tuple[str, Form]:
    view = saved.keep(person(name), name=f"Mine {place.number()}", address="who=me", shared=False)
    return f"/views/{view.uid}/delete/", {}


def paused(place: Place, name: str) -> tuple[str, Form]:
    place.durban.tried(place.durban.invoiced(place.number()), stories.UNKNOWN_TO_THEM)
    return f"/pauses/{Pause.objects.latest('pk').uid}/", {}


def given_up(place: Place, name: str) -> tuple[str, Form]:
    with receiving() as receiver:
        hooked(receiver.url)
        receiver.status = 410
        done(place.durban, place.number())
        deliver()
    return f"/deliveries/{Delivery.objects.latest('pk').uid}/again/", {}


def ran_twice(place: Place) -> Repeat:
    if not place.serial:
        Books.configured(place.folder, performed_by="caller")
        HELD.blind = True
    number = place.number()
    runs = "".join(f"{number},2026-11-23T08:00:00Z,success,r-{number}-{run}\n" for run in "xy")
    here(written(place.folder, MONDAY + runs, f"runs-{number}.csv"), "--source-version", "1")
    return Repeat.objects.get(reference=str(number))


def repeated(place: Place, name: str) -> tuple[str, Form]:
    return f"/runs/histories/{ran_twice(place).uid}/", {}


def checked_again(place: Place, name: str) -> tuple[str, Form]:
    return f"/runs/histories/{ran_twice(place).uid}/check/", {}


def wished(place: Place, name: str) -> tuple[str, Form]:
    return "/approvals/roles/", {"person": person("vic").pk, "role": "reviewer", "give": "yes"}


def limits_wished(place: Place, name: str) -> tuple[str, Form]:
    entity = place.durban.invoice.destination.entity
    return "/approvals/entities/", {"person": person("vic").pk, "entities": [entity]}


def deputised(place: Place, name: str) -> tuple[str, Form]:
    now = place.clock.now().astimezone(zone())
    when = {"starts_at": f"{now:%Y-%m-%dT%H:%M}", "ends_at": f"{now + timedelta(days=3):%Y-%m-%dT%H:%M}"}
    return "/approvals/deputies/", {"principal": person(name).pk, "deputy": person("vic").pk, **when}


def stands_in(place: Place, name: str) -> tuple[str, Form]:
    now = place.clock.now()
    person("vic")
    said: dict[str, Any] = {"actor": person(name).username, "reason": "Away.", "command_id": uuid.uuid4()}
    one = actions.name_deputy(name, "vic", starts_at=now, ends_at=now + timedelta(days=1), **said)
    return f"/approvals/deputies/{one.uid}/end/", {}


def proposed(place: Place, name: str) -> tuple[str, Form]:
    made = propose_role(
        person("nora"),
        "viewer",
        give=True,
        actor=person("ada").username,
        reason="New.",
        command_id=uuid.uuid4(),
    )
    return f"/approvals/rules/{made.uid}/", {"answer": "approve"}


def sample_of(place: Place, name: str) -> tuple[str, Form]:
    silent(place, name)
    day = f"{place.clock.now().astimezone(zone()):%Y-%m-%d}"
    return f"/samples/?since={day}&until={day}", {"way": "random", "size": "1", "seed": "471"}


def drawn(place: Place, name: str, end: str = "/") -> tuple[str, Form]:
    address, form = sample_of(place, name)
    made = browser_of("ira").post(address, {**form, "command_id": str(uuid.uuid4()), "reason": "The audit."})
    return made["Location"].removesuffix("/") + end, {}


def gone_through(place: Place, name: str) -> tuple[str, Form]:
    """As everybody is by then: whoever comes new changes what there is to see."""
    for one in EVERYBODY:
        visitor(one)
    return "/access/", {"shown": access_review.page().digest}


def somebody_audits(place: Place, name: str) -> tuple[str, Form]:
    days = {
        "first": f"{place.clock.now():%Y-%m-%d}",
        "last": f"{place.clock.now() + timedelta(days=9):%Y-%m-%d}",
    }
    return "/access/auditors/", {"whose": person("nora").pk, **days}


def to_end(place: Place, name: str) -> tuple[str, Form]:
    return f"/access/auditors/{AuditorTerm.objects.get(name='ira').pk}/", {}


def chosen(place: Place, name: str) -> tuple[str, Form]:
    return "/you/", {"zone": "Europe/London"}


def digest(place: Place, name: str) -> tuple[str, Form]:
    return "/you/digest/", {"email": "own@example.com", "on": "on", "at": "07:45"}


def named(place: Place, name: str) -> tuple[str, Form]:
    """A comment that names this person, and is not read yet."""
    one, said = silent(place, name)[0], f"@{person(name).username}: look." if name in ROLES else "Look."
    actions.comment(one.pk, actor="zoe", text=said, command_id=uuid.uuid4())
    return "/notices/read/", {"until": f"{place.clock.now() + timedelta(hours=1):%Y-%m-%dT%H:%M:%S+00:00}"}


def lost_it(place: Place, name: str) -> tuple[str, Form]:
    """Somebody whose second factor is to be reset."""
    user = person("eve")
    Authenticator.objects.update_or_create(user=user, type="totp", defaults={"data": {"secret": "sealed"}})
    return f"/people/{user.pk}/reset/", {}


def marked(place: Place, name: str) -> tuple[str, Form]:
    silent(place, name)
    return "/seen/", {"until": str(Event.objects.latest("pk").pk)}


def bulk(place: Place, name: str, way: str = "", *said: str) -> tuple[str, Form]:
    """A frozen list; `said`: the ways that its maker has gone with it."""
    amount = "20000.00" if way in ("approve/", "refuse/") else "100.00"
    operation = place.durban.absent(place.number(), amount)
    maker = "eve" if way in ("approve/", "refuse/") or name not in DECIDE else name
    made = freeze(Action.SEND_AGAIN, person=person(maker), chosen=Filter(), picked=[operation.uid])
    for one in said:
        form = {"command_id": str(uuid.uuid4()), "reason": "Lost.", "per_minute": 300}
        assert browser_of(maker).post(f"/bulk/{made.uid}/{one}/", form).status_code == 303
    return f"/bulk/{made.uid}/{way}", {"per_minute": 300}


def in_bulk(way: str, *said: str) -> Scene:
    return lambda place, name: bulk(place, name, way, *said)


def to_give(place: Place, name: str) -> tuple[str, Form]:
    person("bob")
    case = place.durban.absent(place.number()).cases.get()
    return "/bulk/give/", {"chosen": [str(case.uid)], "to": "person:bob"}


def to_freeze(place: Place, name: str) -> tuple[str, Form]:
    silent(place, name)
    return "/bulk/freeze/", {"action": "check", "which": "all"}


def run(place: Place, name: str, end: str = "/") -> tuple[str, Form]:
    place.run = place.run or f"/runs/{Books.configured(place.folder).run()[0].uid}"
    return place.run + end, {}


class Export:
    """A file to drop, which may be read again and again."""

    name = "shop.csv"
    content_type = "text/csv"

    def read(self) -> bytes:
        return b"reference,amount,currency\nA,1,ZAR\n"


def to_drop(place: Place, name: str) -> tuple[str, Form]:
    return "/compare/", {side: Export() for side in keeping.SIDES}


def dropped(place: Place, name: str, way: str = "", *, done: bool = False) -> tuple[str, Form]:
    """Files of each of them: everybody has to do with their own."""
    for one in WITH_A_ROLE:
        with keeping.examples() as files:
            made = keeping.drop(person(one), files)
        assert tasks.compare(made.pk)
        if done:
            Comparison.objects.filter(pk=made.pk).update(state="comparing")
            assert tasks.compare(made.pk)
    return f"/compare{way}", {"way": "compare"}


def to_keep(place: Place, name: str) -> tuple[str, Form]:
    """Files of each of them, compared, which whoever decides may keep as evidence."""
    dropped(place, name, done=True)
    own = name if name in WITH_A_ROLE else "ann"
    uid = str(Comparison.objects.get(owner=person(own)).uid)
    until = (database_now() + timedelta(days=30)).date().isoformat()
    return "/compare/keep/", {"uid": uid, "until": until, "reason": "Close"}


def in_evidence(place: Place, name: str, way: str) -> tuple[str, Form]:
    """What each of them has kept."""
    _, said = to_keep(place, name)
    own = person(name if name in WITH_A_ROLE else "ann")
    until = date.fromisoformat(str(said["until"]))
    uid = keeping_evidence.keep(own, uuid.UUID(str(said["uid"])), until=until, reason="Close").uid
    return f"/compare/kept/{uid}{way}", {}


def to_run(place: Place, name: str) -> tuple[str, Form]:
    run(place, name)
    for other in Run.objects.running():
        asking.stop(other, actor="eve", reason="Enough.")
    return "/runs/plans/invoices/run/", {"after": str(Run.objects.latest("pk").pk)}


def to_stop(place: Place, name: str) -> tuple[str, Form]:
    form = to_run(place, name)[1]
    latest, plan = int(form["after"]), Run.objects.latest("pk").plan
    return f"/runs/{asking.start(plan, after=latest, actor='eve').uid}/stop/", {}


def rules(place: Place, name: str) -> tuple[str, Form]:
    """Two are read and proposed at once: the text, and the digest of what was shown."""
    Books.configured(place.folder)
    text = f'[plans.invoices]\noperation_type = "invoice.create"\ngrace = "{place.number()}s"\n'
    text += 'timezone = "UTC"\nwindow = "35d"\n'
    shown = browser_of("ada").post(
        "/approvals/rules/", {"text": text, "step": "read", "command_id": uuid.uuid4()}
    )
    digest = re.search('name="digest" value="([^"]+)"', said(shown))
    assert digest is not None, said(shown)
    return "/approvals/rules/", {"text": text, "step": "propose", "digest": digest[1]}


def found_extra(place: Place) -> Finding:
    """An invoice of nobody's; one above the limit for whoever asks a second person."""
    if not place.run:
        books = Books.configured(place.folder, performed_by="caller")
        books.plan.operation_type.review = {"due": "4h", "four_eyes_above": {"ZAR": "10000.00"}}
        books.plan.operation_type.save(update_fields=["review"])
        totals = ["100.00"] * 4 + ["20000.00"] * 4
        HELD.pages = [[record(n, key=key_of(f"x{n}"), total=total) for n, total in enumerate(totals)]]
        place.run = str(books.run()[0].uid)
    place.serial += 1
    return Finding.objects.filter(run__uid=place.run).order_by("pk")[place.serial - 1]


def extra(place: Place, name: str) -> tuple[str, Form]:
    one = found_extra(place)
    return f"/runs/{one.run.uid}/differences/{one.pk}/", {"way": "close"}


def sent_back(place: Place, name: str) -> tuple[str, Form]:
    """A spreadsheet that this person has filled in, and whose changes were shown to them."""
    one = found_extra(place)
    case = one.case
    assert case is not None
    version = sheets.Version.of(one.pk, owner=case.assignee or case.owner, comment="", found=one.fingerprint)
    wish = taking_back.Wish(2, one.pk, version.text, None, f"Seen {place.serial}.")
    kept = taking_back.sealed([wish], person=person(name), checksum="0" * 64)
    return "/runs/differences/return/", {"kept": kept}


def extra_asked(place: Place, name: str) -> tuple[str, Form]:
    place.serial = max(place.serial, 4)
    said: dict[str, Any] = {"actor": person("ann").username, "reason": "Known.", "command_id": uuid.uuid4()}
    made = differences.decide(found_extra(place), Way.CLOSE, **said)
    return f"/approvals/differences/{made.uid}/", {"answer": "approve"}


def to_prepare(place: Place, name: str) -> tuple[str, Form]:
    """The latest run; only that one is prepared."""
    known = Plan.objects.filter(name="invoices").select_related("operation_type__destination").first()
    books = Books(known) if known is not None else Books.configured(place.folder)
    return f"/runs/{books.run()[0].uid}/prepare/", {}


def prepared(place: Place, name: str) -> tuple[str, Form]:
    found = Run.objects.get(uid=to_prepare(place, name)[0].split("/")[2])
    said: dict[str, Any] = {"actor": person("ann").username, "note": "Looked.", "command_id": uuid.uuid4()}
    return f"/approvals/signatures/{signing.prepare(found, **said).uid}/", {
        "answer": "approve",
        "seen": signatures.seen(found),
    }


def signed(place: Place, name: str, end: str = "/reopen/") -> tuple[str, Form]:
    address = prepared(place, name)[0].rstrip("/")
    signatures.sign(SignOff.objects.get(uid=address.split("/")[3]), person("bob").username)
    return address + end, {}


def month(place: Place, name: str, end: str = "/") -> tuple[str, Form]:
    """The one that is over, with its report; nobody has prepared it."""
    known = Plan.objects.filter(name="invoices").select_related("operation_type__destination").first()
    books = Books(known) if known is not None else Books.configured(place.folder)
    period = closing.last_month(books)
    return f"/periods/{period.uid}{end}", {"after": str(Run.objects.latest("pk").pk)}


@dataclass(frozen=True)
class Door:
    """One address: who may POST there, nobody where it takes none, and whether it can be read."""

    scene: Scene
    may: tuple[str, ...] = ()
    shows: bool = True
    everybodys: bool = False
    """No sign-in is asked for."""
    done: int = 303
    """What who may is answered."""
    seen: tuple[str, ...] = WITH_A_ROLE
    """Who sees it; to others it is not there."""
    own: bool = False
    """It is about the own account of whoever is signed in, with a role or without."""


def at(address: str, **more: Any) -> Door:
    return Door(lambda place, name: (address, {}), **more)


OPERATION = "operations/<uuid:uid>/"
KEPT = ("ann", "bob", "ira")
"""Who has kept it, and who looks at personal values."""
DOORS: dict[str, Door] = {
    "": at("/"),
    "since/": at("/since/"),
    "seen/": Door(marked, may=WITH_A_ROLE, shows=False),
    "queue/": at("/queue/"),
    "queue.csv": at("/queue.csv"),
    "queue.xlsx": at("/queue.xlsx"),
    "queue.json": at("/queue.json"),
    "find/": at("/find/"),
    "approvals/": at("/approvals/"),
    "approvals/rules/": Door(rules, may=ADMINISTER),
    "approvals/rules/in-force.toml": at("/approvals/rules/in-force.toml"),
    "approvals/rules/<uuid:uid>/": Door(proposed, may=APPROVE),
    "approvals/differences/<uuid:uid>/": Door(extra_asked, may=APPROVE),
    "approvals/signatures/<uuid:uid>/": Door(prepared, may=APPROVE),
    "approvals/signatures/<uuid:uid>.json": Door(lambda place, name: signed(place, name, ".json")),
    "approvals/signatures/<uuid:uid>/reopen/": Door(signed, may=DECIDE),
    "approvals/entities/": Door(limits_wished, may=ADMINISTER),
    "approvals/roles/": Door(wished, may=ADMINISTER),
    "approvals/deputies/": Door(deputised, may=("ann", "bob", "ada")),
    "approvals/deputies/<uuid:uid>/end/": Door(stands_in, may=("ann", "bob", "ada"), shows=False),
    "bulk/": at("/bulk/"),
    "bulk/<uuid:uid>/": Door(bulk),
    "bulk/freeze/": Door(to_freeze, may=DECIDE, shows=False),
    "bulk/give/": Door(to_give, may=DECIDE, shows=False),
    "bulk/<uuid:uid>/start/": Door(in_bulk("start/"), may=DECIDE, shows=False),
    "bulk/<uuid:uid>/pause/": Door(in_bulk("pause/", "start"), may=DECIDE, shows=False),
    "bulk/<uuid:uid>/resume/": Door(in_bulk("resume/", "start", "pause"), may=DECIDE, shows=False),
    "bulk/<uuid:uid>/cancel/": Door(in_bulk("cancel/", "start"), may=DECIDE, shows=False),
    "bulk/<uuid:uid>/approve/": Door(in_bulk("approve/", "start"), may=APPROVE, shows=False),
    "bulk/<uuid:uid>/refuse/": Door(in_bulk("refuse/", "start"), may=APPROVE, shows=False),
    "deliveries/": at("/deliveries/"),
    "register/": at("/register/"),
    "people/": at("/people/"),
    "people/<int:pk>/reset/": Door(lost_it, may=ADMINISTER),
    "trail/": at("/trail/"),
    "trail.csv": at("/trail.csv"),
    "trail.xlsx": at("/trail.xlsx"),
    "trail.json": at("/trail.json"),
    "samples/": Door(sample_of, may=("ira",)),
    "samples/<uuid:uid>/": Door(drawn),
    "samples/<uuid:uid>.json": Door(lambda place, name: drawn(place, name, ".json")),
    "samples/<uuid:uid>.csv": Door(lambda place, name: drawn(place, name, ".csv")),
    "samples/<uuid:uid>.xlsx": Door(lambda place, name: drawn(place, name, ".xlsx")),
    "samples/<uuid:uid>.zip": Door(lambda place, name: drawn(place, name, ".zip")),
    "access/": Door(gone_through, may=("bob",)),
    "access/auditors/": Door(somebody_audits, may=ADMINISTER),
    "access/auditors/<int:pk>/": Door(to_end, may=ADMINISTER),
    "access/duties/": at("/access/duties/"),
    "access/duties.csv": at("/access/duties.csv"),
    "access/duties.xlsx": at("/access/duties.xlsx"),
    "access/duties.json": at("/access/duties.json"),
    "compare/": Door(to_drop, may=WITH_A_ROLE),
    "compare/columns/": Door(lambda place, name: dropped(place, name, "/columns/"), WITH_A_ROLE, shows=False),
    "compare/example/": at("/compare/example/", may=WITH_A_ROLE, shows=False),
    "compare/forget/": Door(lambda place, name: dropped(place, name, "/forget/"), WITH_A_ROLE, shows=False),
    "compare/keep/": Door(to_keep, may=("ann", "bob"), shows=False),
    "compare/kept/<uuid:uid>.json": Door(lambda place, name: in_evidence(place, name, ".json"), seen=KEPT),
    "compare/kept/<uuid:uid>/<str:side>/": Door(
        lambda place, name: in_evidence(place, name, "/source/"), seen=KEPT
    ),
    "compare.csv": Door(lambda place, name: dropped(place, name, ".csv", done=True)),
    "compare.xlsx": Door(lambda place, name: dropped(place, name, ".xlsx", done=True)),
    "compare/unreadable.csv": Door(lambda place, name: dropped(place, name, "/unreadable.csv", done=True)),
    "compare/unreadable.xlsx": Door(lambda place, name: dropped(place, name, "/unreadable.xlsx", done=True)),
    "compare.json": Door(lambda place, name: dropped(place, name, ".json", done=True)),
    "runs/": at("/runs/"),
    "runs/differences/": at("/runs/differences/"),
    "runs/differences.csv": at("/runs/differences.csv"),
    "runs/differences.xlsx": at("/runs/differences.xlsx"),
    "runs/differences.json": at("/runs/differences.json"),
    "runs/differences/return/": Door(sent_back, may=DECIDE, done=200),
    "runs/differences/age.csv": at("/runs/differences/age.csv"),
    "runs/differences/age.xlsx": at("/runs/differences/age.xlsx"),
    "runs/differences/age.json": at("/runs/differences/age.json"),
    "runs/reversed/": at("/runs/reversed/"),
    "runs/reversed.csv": at("/runs/reversed.csv"),
    "runs/reversed.xlsx": at("/runs/reversed.xlsx"),
    "runs/reversed.json": at("/runs/reversed.json"),
    "runs/histories/": at("/runs/histories/"),
    "runs/<uuid:uid>/": Door(run),
    "runs/<uuid:uid>/differences/<int:pk>/": Door(extra, may=DECIDE),
    "runs/plans/<slug:name>/run/": Door(to_run, may=("ann", "bob", "ada"), shows=False),
    "runs/<uuid:uid>/prepare/": Door(to_prepare, may=DECIDE),
    "runs/<uuid:uid>/stop/": Door(to_stop, may=("ann", "bob", "ada")),
    "runs/<uuid:uid>.csv": Door(lambda place, name: run(place, name, ".csv")),
    "runs/<uuid:uid>.xlsx": Door(lambda place, name: run(place, name, ".xlsx")),
    "runs/<uuid:uid>.json": Door(lambda place, name: run(place, name, ".json")),
    "periods/": at("/periods/"),
    "periods/<uuid:uid>/": Door(month),
    "periods/<uuid:uid>/run/": Door(
        lambda place, name: month(place, name, "/run/"), may=("ann", "bob", "ada"), shows=False
    ),
    "periods/<uuid:uid>/prepare/": Door(lambda place, name: month(place, name, "/prepare/"), may=DECIDE),
    "periods/<uuid:uid>.csv": Door(lambda place, name: month(place, name, ".csv")),
    "periods/<uuid:uid>.xlsx": Door(lambda place, name: month(place, name, ".xlsx")),
    "periods/<uuid:uid>.json": Door(lambda place, name: month(place, name, ".json")),
    OPERATION: Door(lambda place, name: (f"/operations/{silent(place, name)[0].uid}/", {})),
    f"{OPERATION}evidence/": Door(by("evidence", silent)),
    f"{OPERATION}evidence.json": Door(
        lambda place, name: (f"/operations/{silent(place, name)[0].uid}/evidence.json", {})
    ),
    f"{OPERATION}hidden/": Door(by("hidden", personal), may=("bob", "ira"), done=200),
    f"{OPERATION}check/": Door(by("check", silent), may=DECIDE, shows=False),
    f"{OPERATION}undo/": Door(by("undo", allowed), may=DECIDE, shows=False),
    f"{OPERATION}send-again/": Door(by("send-again", absent), may=DECIDE),
    f"{OPERATION}confirm-with-reference/": Door(by("confirm-with-reference", blind), may=DECIDE),
    f"{OPERATION}did-not-happen/": Door(by("did-not-happen", absent), may=DECIDE),
    f"{OPERATION}cancel/": Door(by("cancel", waiting), may=DECIDE),
    f"{OPERATION}correct/": Door(by("correct", written_anew), may=DECIDE),
    f"{OPERATION}choose/": Door(by("choose", doubled), may=DECIDE),
    f"{OPERATION}override/": Door(by("override", fell_silent), may=DECIDE),
    f"{OPERATION}approve/": Door(by("approve", asked), may=APPROVE),
    f"{OPERATION}refuse/": Door(by("refuse", asked), may=APPROVE),
    f"{OPERATION}take-back/": Door(by("take-back", asked_by_oneself), may=DECIDE),
    f"{OPERATION}comment/": Door(by("comment", remark), may=DECIDE, shows=False),
    "cases/<uuid:uid>/": Door(case_of("")),
    "cases/<uuid:uid>/assign/": Door(case_of("assign"), may=DECIDE, shows=False),
    "cases/<uuid:uid>/snooze/": Door(case_of("snooze"), may=DECIDE, shows=False),
    "cases/<uuid:uid>/wake/": Door(case_of("wake"), may=DECIDE, shows=False),
    "views/": Door(kept, may=WITH_A_ROLE, shows=False),
    "views/<uuid:uid>/delete/": Door(kept_by, may=("ann",), shows=False),
    "hand-over/": Door(somebodys, may=("bob", "ada")),
    "pauses/<uuid:uid>/": Door(paused, may=ADMINISTER),
    "deliveries/<uuid:uid>/again/": Door(given_up, may=ADMINISTER, shows=False),
    "runs/histories/<uuid:uid>/": Door(repeated, may=DECIDE),
    "runs/histories/<uuid:uid>/check/": Door(checked_again, may=DECIDE, shows=False),
    "api/v1/docs": at("/api/v1/docs", everybodys=True),
    "client/<str:name>": at("/client/tieout_client.py", everybodys=True),
    "healthz": at("/healthz", everybodys=True),
    "readyz": at("/readyz", everybodys=True),
    "metrics": at("/metrics", everybodys=True),
    "you/": Door(chosen, may=WITH_A_ROLE),
    "you/digest/": Door(digest, may=WITH_A_ROLE, shows=False),
    "notices/": at("/notices/"),
    "notices/read/": Door(named, may=WITH_A_ROLE, shows=False),
    "accounts/login/": at("/accounts/login/", everybodys=True),
    "accounts/logout/": at("/accounts/logout/", everybodys=True),
    "accounts/second/": at("/accounts/second/", everybodys=True),
    "accounts/passkeys/login/": at("/accounts/passkeys/login/", everybodys=True),
    "accounts/sso/": at("/accounts/sso/", everybodys=True),
    "accounts/sso/callback/": at("/accounts/sso/callback/", everybodys=True),
    **{
        route: at("/" + route.replace("<int:pk>", "7"), own=True)
        for route in (
            *(
                "accounts/security/",
                "accounts/security/sessions/end/",
                "accounts/security/sessions/<int:pk>/end/",
            ),
            *("accounts/reauthenticate/", "accounts/password/", "accounts/second/again/"),
            *("accounts/app/", "accounts/app/remove/", "accounts/codes/", "accounts/codes/make/"),
            *("accounts/passkeys/add/", "accounts/passkeys/again/", "accounts/passkeys/<int:pk>/remove/"),
        )
    },
}
NUL = "&".join(
    f"{name}=a%00b"
    for name in (
        *(
            "of",
            "q",
            "type",
            "entity",
            "currency",
            "state",
            "since",
            "until",
            "text",
            "kind",
            "actor",
            "view",
        ),
        *("before", "after", "at", "n", "seen", "month", "keep", "next", "back", "show", "owner", "object"),
    )
)
"""What no text in the database can be, in whatever an address says."""
OF_SIGNING_IN = ("accounts/login/", "accounts/logout/", "accounts/second/", "accounts/passkeys/login/")


def routes(patterns: list[Any], before: str = "") -> Iterator[tuple[str, URLPattern]]:
    for pattern in patterns:
        route = before + str(pattern.pattern)
        if isinstance(pattern, URLResolver):
            yield from routes(pattern.url_patterns, route)
        else:
            yield route, pattern


OF_PEOPLE = (
    "views/<uuid:uid>/delete/",
    "approvals/deputies/<uuid:uid>/end/",
    "people/<int:pk>/reset/",
    "access/auditors/<int:pk>/",
)
"""What names a person, or what is theirs, and no entity."""
DURBANS = re.compile(
    r"Durban|Acme|Order \d|INV-\d|invoice\.create|reminder\.send|\bZAR\b|webshop|finance"
    r"|account is closed|Passed on|passed it on|given up;|gave you"
)
"""What stands on pages that tell of what belongs to Durban."""


def unseen(route: str, address: str, form: Form) -> None:
    """Open an address as somebody who sees another entity alone: neither row nor figure tells of Durban's."""
    client, before, named = browser_of("kim"), rows(), "<" in route and route not in OF_PEOPLE
    bare = address.partition("?")[0]
    form = {**form, "reason": "I want to.", "command_id": str(uuid.uuid4())}
    for answer in (client.get(address), client.post(bare, form) if named else None):
        if answer is None or answer.status_code == 405:
            continue
        assert not named or answer.status_code in (303, 404), (route, answer.status_code)
        assert (found := DURBANS.search(told_by(answer))) is None, (route, found)
    assert rows() == before, route


def told_by(answer: Any) -> str:
    """What an answer says; of a workbook all of its parts."""
    told = b"".join(answer) if answer.streaming else answer.content
    if told[:4] == b"PK\3\4":
        with zipfile.ZipFile(io.BytesIO(told)) as parts:
            told = b"".join(map(parts.read, parts.namelist()))
    return str(told.decode())


def of_the_api() -> list[str]:
    found = [route for route, _ in routes(urlpatterns) if route.startswith("api/v1/")]
    return [route for route in found if route != "api/v1/docs"]


def visitor(name: str) -> Client:
    if name == SIGNED_OUT:
        return Client()
    if name != SWITCHED_OFF:
        return browser_of(name)
    client, user = browser_of("eve"), person("eve")
    type(user).objects.filter(pk=user.pk).update(is_active=False)
    return client


def rows() -> dict[str, str]:
    """A digest of every table in which something is decided."""
    tables = [name for name in connection.introspection.table_names() if name.startswith(COUNTED)]
    one = "SELECT '{0}', md5(string_agg(row::text, '|' ORDER BY row::text)) FROM {0} AS row"
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(one.format(name) for name in tables))
        return dict(cursor.fetchall())


def said(response: Any) -> str:
    text: str = response.content.decode()
    return text


@pytest.fixture
def place(clock: Clock, tmp_path: Path) -> Place:
    person("ira")
    limited("kim", CAPE)
    return Place(clock, tmp_path)


def busy(place: Place) -> None:
    """Of Durban's: somebody who is limited to it and audits it, a case that is escalated, one that is closed.

    The one that is escalated is in the name of an account that is closed, and was given to one who sees Cape.
    """
    audits(limited("dan", DURBAN), entities=(DURBAN,), reason="Durban's yearly audit.")
    escalated, closed = (place.durban.absent(place.number()) for _ in range(2))
    case = escalated.cases.get()
    actions.assign(case.uid, actor="bob", to=person("kim").username, reason="Durban's.")
    actions.assign(case.uid, actor="bob", to=person("eve").username)
    person("eve").__class__.objects.filter(username="eve").update(is_active=False)
    Team.objects.create(name=case.owner, escalate=[{"to": "approvers", "after": 0}])
    actions.end(closed.pk, actor="bob", reason="Acme knows.", command_id=uuid.uuid4())
    place.clock.advance(5 * 3600)
    assert [actions.escalate(uid) for uid in actions.overdue()] == [True]
    billed(place.durban, 7)  # who sees nothing at all is shown how to begin
    failing = Channel.objects.create(name="chat:finance", failures=3, failing_since=place.clock.now())
    Message.objects.create(channel=failing, lines=[["1 item", "/"]], state="given_up", due_at=None)


def test_every_address_stands_in_the_table() -> None:
    known = {route for route, _ in routes(urlpatterns) if route not in of_the_api()}
    assert known == set(DOORS)
    assert of_the_api(), "the API's own addresses are found"


READ = sorted(route for route, door in DOORS.items() if not door.may and not door.own)
OWN = sorted(route for route, door in DOORS.items() if door.own)
DECIDED = sorted(route for route, door in DOORS.items() if door.may)


def test_what_is_only_read_is_shown_to_each_role_and_takes_no_form(place: Place) -> None:
    busy(place)
    addresses = {route: DOORS[route].scene(place, "ann")[0] for route in READ}
    for route, address in addresses.items():
        if not DOORS[route].everybodys:
            unseen(route, address, {})
    before = rows()
    for name in EVERYBODY:
        client = visitor(name)
        for route, address in addresses.items():
            door = DOORS[route]
            shown = client.get(f"{address}?{NUL}" if name == "ann" else address)
            posted = 405 if route in OF_SIGNING_IN else client.post(address).status_code
            found = (name, route, shown.status_code, posted)
            if door.everybodys:
                assert shown.status_code in (200, 302, 404, 503) and posted == 405, found
                continue
            if name in (SIGNED_OUT, SWITCHED_OFF):
                assert found[2:] == (302, 302), found
                assert shown["Location"].startswith("/accounts/login/?next="), found
            elif name == NO_ROLE:
                assert found[2:] == (403, 403), found
                assert "Your account has no role yet." in said(shown)
            else:
                assert found[2:] == (200 if name in door.seen else 404, 405), found
                if shown["Content-Type"].startswith("text/html"):
                    explained(said(shown), found)
    assert rows() == before


def test_what_is_ones_own_is_shown_to_whoever_is_signed_in_and_an_empty_form_does_nothing(
    place: Place,
) -> None:
    for name in EVERYBODY:
        before = rows()
        for route in OWN:
            client, address = visitor(name), DOORS[route].scene(place, name)[0]
            answers = [client.get(address), client.post(address)]
            found = (name, route, [answer.status_code for answer in answers])
            if name in (SIGNED_OUT, SWITCHED_OFF):
                led = [answer["Location"] for answer in answers]
                assert all(address.startswith("/accounts/login/?next=") for address in led), found
            else:
                assert {answer.status_code for answer in answers} <= {200, 302, 303, 404, 405}, found
        assert rows() == before, name


@pytest.mark.parametrize("route", DECIDED)
def test_who_may_decides_and_everybody_else_changes_nothing(place: Place, route: str) -> None:
    door = DOORS[route]
    address, form = door.scene(place, door.may[0])
    form = {"reason": "I want to.", **form}
    unseen(route, address, form)
    before = rows()
    refused = [name for name in EVERYBODY if name not in door.may]
    for name in refused:
        client = visitor(name)
        _look(client, address, name, door)
        response = client.post(address, {**form, "command_id": str(uuid.uuid4())}, follow=True)
        if name in (SIGNED_OUT, SWITCHED_OFF):
            assert response.redirect_chain[0][0].startswith("/accounts/login/?next="), (name, route)
        elif name == NO_ROLE:
            assert response.status_code == 403 and "no role yet" in said(response)
        else:
            assert response.status_code == 200, (name, route)
            assert any(words in said(response) for words in WORDS), (name, route)
        assert rows() == before, (name, route)
    for name in door.may:
        if name != door.may[0]:
            address, more = door.scene(place, name)
            form, before = {"reason": "I want to.", **more}, rows()
        client = visitor(name)
        _look(client, address, name, door)
        response = client.post(address, {**form, "command_id": str(uuid.uuid4())})
        assert response.status_code == door.done, (name, route, said(response))
        assert rows() != before, (name, route)
    for name in ("", *form):
        odd = {**form, "command_id": str(uuid.uuid4()), **({name: "a\0b"} if name else {})}
        answer = client.post(f"{address.partition('?')[0]}?{NUL}", odd)
        assert answer.status_code < 500, (route, name)


CLOSED = re.compile(r'<[a-z]+\b[^>]*(?:aria-disabled="true"|\sdisabled\b)[^>]*>')
SENT = re.compile(r'<form\b(?=[^>]*method="post")(?![^>]*action=)[^>]*>.*?</form>', re.DOTALL)


def explained(page: str, at: object) -> None:
    """Each button that is closed names why, in words that stand on the page."""
    for tag in CLOSED.findall(page):
        reasons = re.findall(r'aria-describedby="([^"]+)"', tag)
        assert reasons, (at, tag)
        for one in reasons[0].split():
            assert re.search(rf'id="{one}"[^>]*>\s*(?:<[^>]+>\s*)*[^<\s]', page), (at, tag, one)


def _look(client: Client, address: str, name: str, door: Door) -> None:
    """Open it first: looking decides nothing, and what cannot be looked at says so.

    Who may not act there finds no form that leads to the same address, or the reason.
    """
    known = {SIGNED_OUT: 302, SWITCHED_OFF: 302, NO_ROLE: 403}
    if name == "vic":
        address = f"{address}{'&' if '?' in address else '?'}{NUL}"
    answer = client.get(address)
    assert answer.status_code == known.get(name, 200 if door.shows else 405), (name, address)
    if answer.status_code == 200:
        explained(page := said(answer), (name, address))
        if name not in door.may and SENT.search(page):
            assert any(words in page for words in (*WORDS, "yourself: a second person decides")), (
                name,
                address,
            )


def test_nobodys_sign_in_opens_the_api(clock: Clock) -> None:
    """It asks for a token, whatever a person's cookie says; only what it is like stands open."""
    before = rows()
    for route in of_the_api():
        address = "/" + re.sub(r"<\w+:(\w+)>|<(\w+)>", str(uuid.UUID(int=7)), route)
        for name in ("bob", "ada", NO_ROLE):
            for answer in (visitor(name).get(address), visitor(name).post(address, "{}", "application/json")):
                opened = {200, 405} if "openapi.json" in route else {401, 404, 405}
                assert answer.status_code in opened, (name, route, answer.status_code)
    assert rows() == before
