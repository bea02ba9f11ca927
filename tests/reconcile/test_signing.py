"""A run is signed by another person than who prepared it, once, while it is in order and the latest.

| what somebody would sign                          | it says                              |
|---------------------------------------------------|--------------------------------------|
| what is not explained                             | unexplained is not zero              |
| what they have prepared, or one hand with them    | a second person decides              |
| what somebody else signs at the same moment       | who was first                        |
| what a later run has looked at                    | which run; the preparation is void   |
| a run that broke off; one before a run that did   | it does not count; run it again      |
| a run that is at work, or before one that is      | only a run that is done              |
| days that were not over, or end with a red time   | run it once they are; run it first   |

Each by the actions, and by SQL past them.
"""

import uuid
from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import partial
from pathlib import Path
from threading import Barrier, Thread
from typing import Any

import pytest
from django.db import IntegrityError, InternalError, connection, transaction
from django.db.utils import DatabaseError

from ledger import actions as ledger
from ledger.models import Event, database_now
from ledger.rules.errors import NotNow
from ledger.rules.states import Outcome
from reconcile import leasing
from reconcile.actions import start
from reconcile.differences import actions as differences
from reconcile.differences.models import Way
from reconcile.expected.actions import foresee
from reconcile.models import Run, SignOff
from reconcile.running import NotWhole, execute, window
from reconcile.signing import actions, freezing
from tests.databases import Clock, Database
from tests.people import browser_of, person
from tests.reconcile.books import HELD, Books, key_of, record
from tests.reconcile.signatures import prepared, sign, signed

REFUSED = (IntegrityError, InternalError)


@pytest.fixture
def listed(clock: Clock, tmp_path: Path) -> Books:
    """One operation that is doubled, with its case; ann, bob and eve."""
    clock.set(clock.now())
    for name in ("ann", "bob", "eve"):
        person(name)
    books = Books.configured(tmp_path, performed_by="caller")
    books.claimed("402", Outcome.SUCCEEDED, reference="INV-1", amount="1860.00")
    HELD.pages = [[record(n, key=key_of("402"), total="1860.00") for n in (1, 2)]]
    return books


def kinds() -> list[str]:
    events = Event.objects.filter(operation=None, data__has_key="signoff").order_by("pk")
    return list(events.values_list("kind", flat=True))


def by_sql(one: SignOff, who: str = "bob", **more: Any) -> None:
    """Past every action: the row as signed, with an event of who signs."""
    now = more.get("decided_at", database_now())
    document = freezing.frozen(one, signer=who, why="", now=now)
    with transaction.atomic():
        Event.objects.create(
            kind="signing_approved", actor=who, reason="Seen.", data={"signoff": str(one.uid)}
        )
        SignOff.objects.filter(pk=one.pk).update(
            **{"answer": "approved", "decided_by": who, "why": "Seen.", "decided_at": now}
            | {"signed": document, "signed_digest": freezing.digest(document)}
            | more
        )


def inserted(run: Run, **more: Any) -> None:
    """Past every action: a preparation, with its event."""
    uid = uuid.uuid4()
    with transaction.atomic():
        maker = more.get("maker", "ann")
        Event.objects.create(kind="prepared", actor=maker, reason="Seen.", data={"signoff": str(uid)})
        row = {
            "uid": uid,
            "way": "sign",
            "run": run,
            "plan": run.plan,
            "operation_type": run.plan.operation_type,
            "digest": run.digest or "0" * 64,
            "maker": "ann",
            "reason": "Seen.",
            "command_id": uuid.uuid4(),
            "expires_at": datetime.fromisoformat("2099-01-01T00:00+00:00"),
        }
        SignOff.objects.create(**(row | more))


def test_what_is_signed_is_kept_as_it_was_with_whose_each_difference_is(
    listed: Books, clock: Clock, database: Database
) -> None:
    run, (finding,) = listed.run()
    assert finding.case is not None
    ledger.assign(finding.case.uid, actor="bob", to="eve")
    one = prepared(run)
    assert not one.signed and one.waits
    clock.advance(60)
    sign(one, "bob", "Seen with its owner.")
    one = SignOff.objects.get()
    kept = one.signed
    assert kept is not None
    assert kept["digest"] == run.digest == one.digest and one.signed_digest == freezing.digest(kept)
    assert kept["residual"] == {"ZAR": "0.00"} and kept["totals"] == run.totals
    (still,) = kept["open"]
    assert (still["class"], still["amount"], still["assignee"]) == (
        "duplicate_at_destination",
        "1860.00",
        "eve",
    )
    assert (still["owner"], still["due"]) == ("finance", finding.case.due_at.isoformat())
    assert kept["prepared"] == {
        "by": "ann",
        "at": one.made_at.isoformat(),
        "note": "The surplus is known.",
    }
    assert (kept["signed"]["by"], kept["signed"]["note"]) == ("bob", "Seen with its owner.")
    assert kinds() == ["prepared", "signing_approved"]
    ledger.assign(finding.case.uid, actor="bob", to="ann", reason="Hers now.")
    for _ in range(2):
        listed.run()
    one.refresh_from_db()
    assert one.signed == kept and one.is_signed
    for change in (
        {"signed": {"digest": run.digest}},
        {"signed_digest": "0" * 64},
        {"digest": "0" * 64},
        {"answer": "", "decided_at": None, "decided_by": "", "why": "", "signed": None, "signed_digest": ""},
        {"ended_at": clock.now()},
        {"maker": "eve"},
    ):
        with pytest.raises(REFUSED), transaction.atomic():
            SignOff.objects.filter(pk=one.pk).update(**change)
    for statement in ("DELETE FROM reconcile_signoff", "TRUNCATE reconcile_signoff CASCADE"):
        with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)


def test_what_is_not_explained_is_neither_prepared_nor_signed(listed: Books, database: Database) -> None:
    run, _ = listed.run()
    with database.rewriting("reconcile_run"):
        Run.objects.filter(pk=run.pk).update(residual={"ZAR": "0.01"}, tie=run.tie | {"ties": False})
    with pytest.raises(NotNow, match=r"Unexplained: ZAR.0\.01\. Unexplained is not zero"):
        prepared(run)
    whole: dict[str, Any] = {"residual": run.residual, "tie": run.tie, "totals": run.totals}
    for left in (
        {"residual": {"ZAR": "0.01"}},
        {"tie": run.tie | {"ties": False}},
        {"totals": run.totals | {"unexplained_items": 1}},
    ):
        with database.rewriting("reconcile_run"):
            Run.objects.filter(pk=run.pk).update(**(whole | left))
        with pytest.raises(REFUSED, match="what is not explained is not signed"):
            inserted(run)
    with database.rewriting("reconcile_run"):
        Run.objects.filter(pk=run.pk).update(**whole)
    one = prepared(run)
    with database.rewriting("reconcile_run"):
        Run.objects.filter(pk=run.pk).update(totals=run.totals | {"unexplained_items": 1})
    with pytest.raises(NotNow, match="Unexplained is not zero"):
        sign(one)
    with pytest.raises(REFUSED, match="what is not explained is not signed"):
        by_sql(one)


def test_who_prepared_it_and_who_stands_in_for_them_do_not_sign_it(listed: Books, clock: Clock) -> None:
    run, _ = listed.run()
    one = prepared(run)
    with pytest.raises(NotNow, match="a second person decides"):
        sign(one, "ann")
    now = clock.now()
    said: dict[str, Any] = {"actor": "ann", "reason": "On leave.", "command_id": uuid.uuid4()}
    ledger.name_deputy("ann", "eve", starts_at=now, ends_at=now + timedelta(days=1), **said)
    clock.advance(1)
    with pytest.raises(NotNow, match="one of you stands in for the other"):
        sign(one, "eve")
    for who in ("ann", "eve"):
        with pytest.raises(REFUSED):
            by_sql(one, who, decided_at=clock.now())
    with pytest.raises(REFUSED, match="a person signs a run"):
        by_sql(one, "reconciliation 7", decided_at=clock.now())
    sign(one)
    with pytest.raises(NotNow, match="bob was first, and has signed it already"):
        sign(one)


def at_once(*acts: Callable[[], object]) -> list[str]:
    """Each in a connection of its own, at the same moment; what those were told that came second."""
    barrier, told = Barrier(len(acts)), []

    def go(act: Callable[[], object]) -> None:
        barrier.wait()
        try:
            act()
            told.append("")
        except NotNow as error:
            told.append(error.detail)
        finally:
            connection.close()

    threads = [Thread(target=go, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sorted(told)


def test_of_two_that_sign_at_once_one_has_signed_and_the_other_is_told(listed: Books) -> None:
    person("kim")
    for _ in range(3):
        run, _found = listed.run()
        told = at_once(partial(prepared, run), partial(prepared, run, "eve"))
        assert told[0] == "" and "has prepared it already" in told[1]
        one = SignOff.objects.get(run=run)
        told = at_once(*(partial(sign, one, name) for name in ("bob", "bob", "kim")))
        one.refresh_from_db()
        assert told == ["", *[f"{one.decided_by} was first, and has signed it already."] * 2]
        events = Event.objects.filter(kind="signing_approved", data__signoff=str(one.uid))
        assert list(events.values_list("actor", flat=True)) == [one.decided_by]
        with pytest.raises(REFUSED, match="answered once"):
            by_sql(one)


def test_a_run_that_a_later_one_has_followed_is_void_to_sign(listed: Books) -> None:
    first, _ = listed.run()
    one = prepared(first)
    second, _ = listed.run()
    one.refresh_from_db()
    assert (one.answer, one.why) == ("voided", f"Run {second.pk} has looked at the same days since.")
    with pytest.raises(NotNow, match="It waits no more: Run"):
        sign(one)
    with pytest.raises(NotNow, match=f"Run {second.pk} has looked at the same days since: prepare that one"):
        prepared(first)
    with pytest.raises(REFUSED, match="a later run has looked at the same days"):
        inserted(first)
    assert signed(second).is_signed


def test_a_later_run_over_other_days_does_not_stand_in_the_way(listed: Books) -> None:
    run, _ = listed.run()
    one = prepared(run)
    of_days(listed, date(2026, 1, 1), date(2026, 1, 31))
    sign(one)


def of_days(books: Books, first: date | None, last: date | None) -> Run:
    start_at, to = window(books.plan, first, last)
    run = start(books.plan, window_from=start_at, window_to=to, days=(first, last), actor="bob")
    execute(run)
    return run


def test_a_month_is_signed_once_it_is_over_and_what_was_due_in_it_has_reported(
    listed: Books, clock: Clock
) -> None:
    first, last = date(2027, 1, 1), date(2027, 1, 31)
    clock.set(datetime.fromisoformat("2027-01-31T10:00+00:00"))
    foresee(listed.plan.pk)
    early = of_days(listed, first, last)
    with pytest.raises(NotNow, match="Its last day was not over when it ran"):
        prepared(early)
    with pytest.raises(REFUSED, match="not over when it ran"):
        inserted(early)
    clock.set(datetime.fromisoformat("2027-02-01T00:30+00:00"))
    month = of_days(listed, first, last)
    with pytest.raises(NotNow, match="due at 2027-01-29 06:15 SAST has not reported, nor has one since"):
        prepared(month)
    with pytest.raises(REFUSED, match="last expected run did not report"):
        inserted(month)
    HELD.pages = [None]
    with pytest.raises(NotWhole):
        listed.run()
    with pytest.raises(NotNow, match="has not reported"):
        prepared(month)
    HELD.pages = []
    listed.run()
    assert signed(month).is_signed
    clock.advance(timedelta(days=1))
    listed.run()
    assert SignOff.objects.get(run=month).is_signed, "what comes later does not touch it"


def test_days_without_their_first_or_last_one_are_signed_as_days_are(listed: Books, clock: Clock) -> None:
    """And what was due counts also where no worker has written it down: it is written down first."""
    clock.set(datetime.fromisoformat("2027-01-26T09:00+00:00"))
    foresee(listed.plan.pk)
    listed.run()
    clock.set(datetime.fromisoformat("2027-02-01T00:30+00:00"))
    first, last = date(2027, 1, 1), date(2027, 1, 31)
    months = [of_days(listed, *days) for days in ((first, last), (first, None), (None, last))]
    for month in months:
        with pytest.raises(NotNow, match="due at 2027-01-29 06:15 SAST has not reported"):
            prepared(month)
        with pytest.raises(REFUSED, match="last expected run did not report"):
            inserted(month)
    with pytest.raises(NotNow, match="Its last day was not over when it ran"):
        prepared(of_days(listed, None, date(2027, 2, 1)))
    listed.run()
    assert all(signed(month).is_signed for month in months)


def test_of_clicks_at_once_that_are_one_none_is_refused(listed: Books) -> None:
    run, _ = listed.run()
    click: dict[str, Any] = {"actor": "ann", "note": "", "command_id": uuid.uuid4()}
    said = at_once(*[partial(actions.prepare, run, **click) for _ in range(4)])
    assert said == [""] * 4 and SignOff.objects.count() == 1


def test_nothing_is_signed_of_or_before_what_is_at_work_or_has_broken_off(listed: Books) -> None:
    run, _ = listed.run()
    one = prepared(run)
    start_at, to = window(listed.plan, None, None)
    going = start(listed.plan, window_from=start_at, window_to=to, actor="bob")
    with pytest.raises(NotNow, match="It is still at work"):
        prepared(going)
    with pytest.raises(REFUSED, match="did not come to its end"):
        inserted(going, digest="")
    with pytest.raises(NotNow, match=f"Run {going.pk} is at work on the same days"):
        sign(one)
    leasing.stop(going, "The list broke off.")
    with pytest.raises(NotNow, match="its pull was not complete: run it again"):
        sign(one)
    with pytest.raises(REFUSED, match="a later run has looked"):
        by_sql(one)
    going.refresh_from_db()
    with pytest.raises(NotNow, match="It did not come to its end: nothing of it counts"):
        prepared(going)
    HELD.pages = [None]
    with pytest.raises(NotWhole):
        listed.run()
    HELD.pages = []
    later, _ = listed.run()
    assert signed(later).is_signed


def test_it_is_refused_taken_back_or_lapses_and_can_be_prepared_again(listed: Books, clock: Clock) -> None:
    run, _ = listed.run()
    one = prepared(run)
    with pytest.raises(NotNow, match="ann has prepared it already"):
        prepared(run, "eve")
    with pytest.raises(NotNow, match="Only ann takes it back"):
        actions.take_back(one.uid, actor="bob", reason="Mine.")
    actions.take_back(one.uid, actor="ann", reason="Too early.")
    one = prepared(run, "eve")
    actions.refuse(one.uid, actor="bob", reason="Who has 402?")
    one = prepared(run)
    clock.advance(60 * 3600 + 1)
    actions.sweep()
    one.refresh_from_db()
    assert one.escalated_at is not None
    clock.advance(60 * 3600)
    actions.sweep()
    one.refresh_from_db()
    assert one.answer == "lapsed"
    with pytest.raises(NotNow, match="It waits no more: Nobody answered in time"):
        sign(one)
    assert kinds() == [
        *("prepared", "signing_withdrawn", "prepared", "signing_refused", "prepared"),
        *("escalated", "signing_lapsed"),
    ]


def test_what_is_signed_is_opened_again_by_two_and_stays_as_it_was_signed(listed: Books) -> None:
    run, _ = listed.run()
    one = signed(run)
    with pytest.raises(NotNow, match="bob has signed it already"):
        prepared(run)
    asked = actions.ask_reopening(one, actor="bob", reason="The wrong month.", command_id=uuid.uuid4())
    with pytest.raises(NotNow, match="bob has asked already"):
        actions.ask_reopening(one, actor="ann", reason="Me too.", command_id=uuid.uuid4())
    with pytest.raises(NotNow, match="a second person decides"):
        actions.approve(asked.uid, actor="bob", reason="")
    with pytest.raises(REFUSED, match="opened again by two"), transaction.atomic():
        SignOff.objects.filter(pk=one.pk).update(ended_at=asked.made_at)
    actions.approve(asked.uid, actor="eve", reason="")
    kept = one.signed
    one.refresh_from_db()
    assert not one.is_signed and one.signed == kept
    assert kinds()[2:] == ["reopening_asked", "reopening_approved", "signature_ended"]
    assert signed(run).is_signed
    assert SignOff.objects.filter(run=run, way="sign").count() == 2


def test_the_same_click_is_one_preparation_and_nothing_is_written_without_its_event(listed: Books) -> None:
    run, _ = listed.run()
    click: dict[str, Any] = {"actor": "ann", "note": "", "command_id": uuid.uuid4()}
    assert actions.prepare(run, **click).pk == actions.prepare(run, **click).pk
    one = SignOff.objects.get()
    with pytest.raises(REFUSED, match="without an event"), transaction.atomic():
        SignOff.objects.filter(pk=one.pk).update(
            answer="refused", decided_by="bob", why="No.", decided_at=one.made_at
        )
    for change in ({"reason": "Other."}, {"expires_at": one.expires_at + timedelta(days=9)}):
        with pytest.raises(REFUSED, match="never changes"), transaction.atomic():
            SignOff.objects.filter(pk=one.pk).update(**change)
    with pytest.raises(REFUSED, match="what is signed is what was prepared"):
        by_sql(one, signed={"digest": "0" * 64})
    with pytest.raises(REFUSED):
        inserted(run)
    with pytest.raises(REFUSED, match="a person prepares a run"):
        inserted(run, maker="schedule")
    with pytest.raises(REFUSED, match="what is prepared is what the run came to"):
        inserted(run, digest="0" * 64)


def test_what_is_waived_is_named_with_who_waived_it(listed: Books) -> None:
    kind = listed.plan.operation_type
    kind.review = {"due": "4h", "four_eyes_above": {"ZAR": "10000.00"}}
    kind.save(update_fields=["review"])
    run, (doubled,) = listed.run()
    until = run.started_at + timedelta(days=7)
    said: dict[str, Any] = {"actor": "eve", "reason": "Comes on Friday.", "command_id": uuid.uuid4()}
    differences.decide(doubled, Way.WAIVE, until=until, **said)
    kept = signed(run).signed
    assert kept is not None
    (still,) = kept["open"]
    assert still["waived"] == {"by": "eve", "until": until.isoformat(), "reason": "Comes on Friday."}
    assert kept["tie_out"]["waived"], "set apart in the tie-out as well"


def test_approvals_has_what_is_to_be_signed_in_front_and_then_among_what_was_decided(listed: Books) -> None:
    one = prepared(listed.run()[0])
    at, lists = f"/approvals/signatures/{one.uid}/", {}
    for name in ("ann", "bob"):
        front, _, beside = browser_of(name).get("/approvals/").content.decode().partition("</ol>")
        assert front.count(at) == 2 and at not in beside
        lists[name] = front
    assert "Take it back" in lists["ann"] and "Read and sign" in lists["bob"]
    sign(one)
    page = browser_of("ann").get("/approvals/").content.decode()
    lately = page.partition('id="h-past"')[2]
    assert page.count(at) == lately.count(at) == 1 and "signed what ann prepared:" in lately
