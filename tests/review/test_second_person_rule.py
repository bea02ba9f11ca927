"""Whatever waits for a second person is answered by one rule, in the same words; the database keeps it, too.

| asked               | who asked, or has their name | one hand with them | whom it is about |
|---------------------|------------------------------|--------------------|------------------|
| of an operation     | refused                      | refused            |                  |
| about a difference  | refused                      | refused            |                  |
| for a list of many  | refused                      | refused            |                  |
| as a change of role | refused                      | refused            | refused          |
| to sign a run       | refused                      | refused            |                  |

After half of its time all approvers but who asked are told, once; who asked is told of what came of it.
On Today all kinds stand in one list by due time, with how long is left, or how late each is.
"""

import html
import json
import re
import uuid
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext

from ledger import actions
from ledger.actions.escalating import ASKED_OVERDUE
from ledger.models import Approval, Event
from ledger.rules.second_person import YOURSELF
from ledger.worker.sweep import Sweep
from reconcile.differences.models import Decision
from reconcile.models import Proposal, SignOff
from review.models import Bulk, Notice
from review.notices import digest
from tests.databases import Clock
from tests.people import agrees, audits, browser_of, person
from tests.review.test_every_door import Form, Place, asked, bulk, extra_asked, prepared, proposed
from tests.review.test_today import today

REFUSED = r"another|stand in for|second person answers"
HANDS = "has asked, and one of you stands in for the other: a third person decides."


@pytest.fixture
def place(clock: Clock, tmp_path: Path) -> Place:
    clock.set(clock.now())
    for name in ("ann", "bob", "eve", "kim", "ada", "nora", "vic"):
        person(name)
    return Place(clock, tmp_path)


def of_operation(place: Place) -> tuple[Any, str, Form]:
    operation, form = asked(place, "bob", maker="ann")
    return operation.approvals.get(), f"/operations/{operation.uid}/", form


def of_difference(place: Place) -> tuple[Any, str, Form]:
    address, form = extra_asked(place, "bob")
    return Decision.objects.latest("pk"), address, form


def of_list(place: Place) -> tuple[Any, str, Form]:
    bulk(place, "bob", "approve/", "start")
    made = Bulk.objects.latest("pk")
    return made, f"/bulk/{made.uid}/", {}


def of_role(place: Place) -> tuple[Any, str, Form]:
    address, form = proposed(place, "bob")
    return Proposal.objects.latest("pk"), address, form


def of_signature(place: Place) -> tuple[Any, str, Form]:
    address, form = prepared(place, "bob")
    return SignOff.objects.latest("pk"), address, form


ASKS: dict[str, Callable[[Place], tuple[Any, str, Form]]] = {
    "operation": of_operation,
    "difference": of_difference,
    "list": of_list,
    "role": of_role,
    "signature": of_signature,
}


def answered(name: str, address: str, form: Form, *, way: str) -> str:
    """What the page says to who answers."""
    said = {"command_id": str(uuid.uuid4()), "reason": "Looked.", **form}
    end = "" if "answer" in form else f"{way}/"
    said |= {"answer": way} if "answer" in form else {}
    return html.unescape(browser_of(name).post(f"{address}{end}", said, follow=True).content.decode())


def page(name: str, address: str) -> str:
    """Where an operation's is answered has an address of its own."""
    there = f"{address}approve/" if address.startswith("/operations/") else address
    return html.unescape(browser_of(name).get(there).content.decode())


def stand_in(principal: str, deputy: str, place: Place) -> None:
    now = place.clock.now()
    said: dict[str, Any] = {"actor": principal, "reason": "On leave.", "command_id": uuid.uuid4()}
    actions.name_deputy(principal, deputy, starts_at=now, ends_at=now + timedelta(days=9), **said)
    place.clock.advance(1)


@pytest.mark.parametrize("what", ASKS)
def test_44_one_rule_for_whatever_is_asked_in_the_same_words(place: Place, what: str) -> None:
    row, address, form = ASKS[what](place)
    maker = row.maker
    roles = person("bob").groups.all()
    person(maker).groups.set(roles)
    assert YOURSELF in page(maker, address)
    for way in ("approve", "refuse"):
        assert YOURSELF in answered(maker, address, form, way=way)
    stand_in(maker, "bob", place)
    hands = f"{maker} {HANDS}"
    assert hands in page("bob", address)
    for way in ("approve", "refuse"):
        assert hands in answered("bob", address, form, way=way)
    if what == "role":
        person("nora").groups.add(*roles)
        for way in ("approve", "refuse"):
            assert "It is about yourself: somebody else decides." in answered("nora", address, form, way=way)
    User.objects.filter(username=maker).update(username="renamed")
    assert f"renamed {HANDS}" in page("bob", address), "by the name of now"
    by_sql(row, "bob", place)
    by_sql(row, "renamed", place)
    row.refresh_from_db()
    assert getattr(row, "answer", "") == "" and getattr(row, "approved_by", "") == ""
    User.objects.filter(username="renamed").update(username=maker)
    answered("eve" if maker != "eve" else "kim", address, form, way="refuse")
    row.refresh_from_db()
    assert (
        getattr(row, "answer", "refused") == "refused" and getattr(row, "status", "cancelled") == "cancelled"
    )


@pytest.mark.parametrize("what", ASKS)
def test_44_an_approval_is_the_word_of_an_open_account_that_approves_at_that_moment(
    place: Place, what: str
) -> None:
    row, address, form = ASKS[what](place)
    agrees("closed", "both", "audits", "then")
    User.objects.filter(username="closed").update(is_active=False)
    place.clock.database.as_superuser(  # as some have both from before nobody could
        "SET session_replication_role = replica",
        "INSERT INTO auth_user_groups (user_id, group_id) SELECT u.id, g.id FROM auth_user u, auth_group g"
        " WHERE u.username = 'both' AND g.name = 'administrator'",
    )
    audits(User.objects.get(username="audits"))
    User.objects.get(username="then").groups.clear()
    rows = type(row)._default_manager.filter(pk=row.pk)
    for name in ("nobody at all", "vic", "closed", "both", "audits", "then"):
        why = None if name == "nobody at all" else "whose account is open and approves"
        with pytest.raises(IntegrityError, match=why), transaction.atomic():
            rows.update(**approved(row, name, place))
    answered("eve" if row.maker != "eve" else "kim", address, form, way="approve")
    row.refresh_from_db()
    User.objects.filter(username="eve").update(is_active=False)
    assert getattr(row, "answer", "approved") == "approved" and getattr(row, "status", "running") == "running"


def approved(row: Any, name: str, place: Place) -> dict[str, Any]:
    """The columns that would say that this one approved it."""
    at = place.clock.now()
    if isinstance(row, Bulk):
        return {"status": "running", "approved_by": name, "approved_at": at, "starts_at": at}
    said: dict[str, Any] = {"answer": "approved", "decided_by": name, "decided_at": at, "why": "By hand."}
    if isinstance(row, SignOff):
        return said | kept(row)
    more: dict[str, Any] = {"in_force_at": at} if isinstance(row, Decision) else {"meant_sealed": None}
    return said | more


def kept(row: SignOff) -> dict[str, Any]:
    """What would be kept as signed."""
    return {"signed": {"digest": row.digest}, "signed_digest": "0" * 64}


def test_the_list_of_approvals_says_why_not_as_the_page_does(place: Place) -> None:
    row, address, _ = of_operation(place)
    assert f'href="{address}approve/' in page("bob", "/approvals/")
    stand_in(row.maker, "bob", place)
    listed = page("bob", "/approvals/")
    assert f"{row.maker} {HANDS}" in listed and f'href="{address}approve/' not in listed
    assert f'href="{address}approve/' in page("eve", "/approvals/"), "who is nobody else's hand"


def by_sql(row: Any, name: str, place: Place) -> None:
    """Past every action: the database refuses both answers, by the ORM and by hand."""
    rows, at = type(row)._default_manager.filter(pk=row.pk), place.clock.now()
    ways: list[dict[str, Any]]
    if isinstance(row, Bulk):
        ways = [{"status": "running", "approved_by": name, "approved_at": at, "starts_at": at}]
    else:
        sealed = {"meant_sealed": None} if isinstance(row, Proposal | Approval) else {}
        said = {"decided_by": name, "decided_at": at, "why": "By hand.", **sealed}
        ways = [{"answer": answer, **said} for answer in ("approved", "refused")]
        if isinstance(row, SignOff):
            ways[0] |= kept(row)
    for way in ways:
        with (
            pytest.raises(IntegrityError, match=REFUSED),
            transaction.atomic(),
        ):
            rows.update(**way)
        sets = ", ".join(f"{column} = %s" for column in way)
        given = [json.dumps(value) if isinstance(value, dict) else value for value in way.values()]
        with pytest.raises(IntegrityError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"UPDATE {row._meta.db_table} SET {sets} WHERE id = %s", [*given, row.pk])


HOOKS = (
    "reconcile.proposals.actions.sweep",
    "reconcile.differences.actions.sweep",
    "review.bulk.sweeping.sweep",
    "reconcile.signing.actions.sweep",
)
"""What passes on what is overdue, of the upper floors."""


def told(kind: str) -> list[str]:
    return sorted(Notice.objects.filter(kind=kind).values_list("person__username", flat=True))


@pytest.mark.parametrize("what", ASKS)
def test_after_half_of_its_time_all_approvers_are_told_and_who_asked_of_its_answer(
    place: Place, what: str
) -> None:
    row, address, form = ASKS[what](place)
    others = sorted({"bob", "eve", "kim"} - {row.maker})
    place.clock.set(row.due_at - timedelta(seconds=1))
    sweep = Sweep(HOOKS)
    sweep.run()
    assert told("overdue") == [], "not before its due time"
    unmarked(row, place, "without an event")
    for _ in range(2):
        place.clock.set(row.due_at + timedelta(seconds=40))
        sweep.run()
    row.refresh_from_db()
    (event,) = Event.objects.filter(kind="escalated", reason=ASKED_OVERDUE)
    assert (event.actor, event.data["to"], row.escalated_at is not None) == ("policy", "approvers", True)
    assert told("overdue") == others, "once each, and not who asked"
    unmarked(row, place, r"only grows|on record")
    assert "Past its due time without a second person’s answer: one request" in text("bob", "/notices/")
    assert re.search(
        r"[Ww]as due [^;]*, (40|4\d) s late; counts", page("bob", "/approvals/").replace("\u00a0", " ")
    )
    answered("bob", address, form, way="refuse")
    assert told("answered") == [row.maker]
    shown = text(row.maker, "/notices/")
    assert "bob refused what you had asked:" in shown and "“Looked.”" in shown
    maker = person(row.maker)
    assert ("1 of your requests answered", "/notices/") in digest.lines(maker, place.clock.now())
    link = re.search(r'had asked: <a href="([^"]+)"', page(row.maker, "/notices/"))
    assert link is not None and browser_of(row.maker).get(link[1]).status_code == 200
    browser_of(row.maker).post("/notices/read/", {"until": place.clock.now().isoformat()})
    assert not any("answered" in words for words, _ in digest.lines(maker, place.clock.now()))


@pytest.mark.parametrize("what", ASKS)
def test_who_cannot_answer_is_not_told_that_it_is_overdue(place: Place, what: str) -> None:
    row, _, _ = ASKS[what](place)
    person("nora").groups.add(*person("bob").groups.all())
    stand_in(row.maker, "kim", place)
    place.clock.set(row.due_at + timedelta(seconds=40))
    Sweep(HOOKS).run()
    about = {"nora"} if what == "role" else set()
    assert told("overdue") == sorted({"bob", "eve", "nora"} - {row.maker} - about)


@pytest.mark.parametrize("what", ASKS)
def test_who_asked_is_told_that_nobody_answered_in_time(place: Place, what: str) -> None:
    row, _, _ = ASKS[what](place)
    place.clock.set(row.due_at + timedelta(days=8))
    Sweep(HOOKS).run()
    assert told("answered") == [row.maker] and told("overdue") == []
    assert "Nobody answered in time what you had asked:" in text(row.maker, "/notices/")


def unmarked(row: Any, place: Place, why: str) -> None:
    """By nobody's hand: the database refuses the mark without its word, a second one, and none."""
    later, sql = place.clock.now() + timedelta(minutes=1), f"UPDATE {row._meta.db_table} SET escalated_at = "
    for at in (later, None) if row.escalated_at else (later,):
        with pytest.raises(IntegrityError, match=why), transaction.atomic():
            type(row)._default_manager.filter(pk=row.pk).update(escalated_at=at)
        with pytest.raises(IntegrityError, match=why), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(f"{sql} %s WHERE id = %s", [at, row.pk])


def text(name: str, address: str) -> str:
    return " ".join(re.sub("<[^>]+>", "", page(name, address)).split())


def listed(name: str) -> list[tuple[str, str]]:
    """Each line of the section: where it leads, and all its words."""
    section = today(name).split('id="h-due"')[1].split("</section>")[0]
    lines = section.split("<li>")[1:]
    assert f"All {len(lines)} requests</a>" in section
    return [(line.split('href="')[1].split('"')[0], " ".join(line.split())) for line in lines]


@pytest.mark.parametrize("kinds", [("role", "operation", "list"), ("role", "difference")])
def test_on_today_all_kinds_stand_in_one_list_by_due_time_at_a_fixed_number_of_queries(
    place: Place, kinds: tuple[str, ...]
) -> None:
    found = []
    for what in kinds:
        row, address, _ = ASKS[what](place)
        found.append((row, address))
        place.clock.advance(timedelta(days=3.2 if what == "role" else 0))
    by_due = sorted(found, key=lambda one: one[0].due_at)
    assert "list" not in kinds or by_due[0][0].expires_at > found[-1][0].counts_until, (
        "what ends first is not"
    )
    lines = listed("bob")
    assert [address for address, _ in lines] == [address for _, address in by_due]
    assert all(" left<span" in words and 'class="late"' not in words for _, words in lines)
    assert any("another must answer" in words for _, words in listed(found[-1][0].maker))
    before = queries_of_today()
    ASKS[kinds[-1]](place)
    assert queries_of_today() <= before, "one more request costs no more"
    place.clock.set(by_due[0][0].due_at + timedelta(minutes=5))
    (late,) = [words for _, words in listed("bob") if 'class="late"' in words]
    assert by_due[0][1] in late and "5 min late<span" in late


def queries_of_today() -> int:
    bob = browser_of("bob")
    with CaptureQueriesContext(connection) as queries:
        assert bob.get("/").status_code == 200
    return len(queries)
