"""A period is a plan's month: made by what falls in it, tied out as of its cut-off, signed by a second one.

| what somebody would sign                              | it says                                   |
|-------------------------------------------------------|-------------------------------------------|
| a month whose cut-off is still to come                | when that is                              |
| one that no run has looked at as a whole since        | run its days                              |
| one whose days were looked at again                   | which run; the preparation is void        |
| one while an earlier one is open                      | which one comes first                     |
| one while a run that was due has not reported         | which run comes first                     |
| what is not explained, what they prepared, twice      | as of a run                               |

Each by the actions, and by SQL past them.
"""

import uuid
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, InternalError, connection, transaction
from django.db.utils import DatabaseError

from ledger.models import Event, database_now
from ledger.rules.errors import NotNow
from ledger.rules.states import Outcome
from reconcile.expected.actions import foresee
from reconcile.models import ExpectedRun, Period, PeriodReport, Plan, Run, SignOff
from reconcile.periods import drifting, leaves
from reconcile.running import NotWhole
from reconcile.signing import actions as signing
from reconcile.signing import freezing
from tests.databases import Clock, Database
from tests.people import person
from tests.reconcile.books import HELD, Books, key_of, record
from tests.reconcile.closing import at, prepared, sign, signed
from tests.reconcile.test_signing import at_once, of_days

REFUSED = (IntegrityError, InternalError)
JANUARY, FEBRUARY = date(2027, 1, 1), date(2027, 2, 1)


@pytest.fixture
def listed(clock: Clock, tmp_path: Path) -> Books:
    """An order of January whose invoice is dated in February, and one that is in order; ann, bob and eve."""
    clock.set(at("2027-01-20T10:00"))
    for name in ("ann", "bob", "eve"):
        person(name)
    books = Books.configured(tmp_path, performed_by="caller")
    Plan.objects.update(schedule="")
    ExpectedRun.objects.all().delete()
    books.plan.refresh_from_db()
    books.claimed("401", Outcome.SUCCEEDED, reference="INV-1", amount="100.00")
    books.claimed("402", Outcome.SUCCEEDED, reference="INV-2", amount="40.00")
    HELD.pages = [
        [
            record(1, key=key_of("401"), created_at="2027-01-20T10:01:00+02:00"),
            record(2, key=key_of("402"), total="40.00", created_at="2027-02-02T09:00:00+02:00"),
        ]
    ]
    return books


def january(books: Books) -> Period:
    of_days(books, JANUARY, date(2027, 1, 31))
    return Period.objects.select_related("plan").get(first_day=JANUARY)


def test_the_first_item_of_a_month_makes_its_period_once(listed: Books, clock: Clock) -> None:
    clock.advance(60)
    listed.run(keep=False)
    assert not Period.objects.exists(), "a dry run keeps nothing"
    for _ in range(2):
        listed.run()
    period = Period.objects.get()
    assert (period.first_day, period.last_day, period.title) == (JANUARY, date(2027, 1, 31), "January 2027")
    assert period.starts_at == at("2027-01-01T00:00") and period.ends_at == at("2027-02-01T00:00")
    assert period.cut_off_at == period.ends_at
    clock.set(at("2027-02-01T00:00"))
    listed.claimed("403", None)
    clock.advance(60)
    listed.run()
    assert [one.first_day for one in Period.objects.order_by("first_day")] == [JANUARY, FEBRUARY]
    assert leaves.standing(period) is None and leaves.latest(period) is None


def test_what_was_made_after_the_cut_off_was_open_at_it(listed: Books, clock: Clock) -> None:
    clock.set(at("2027-02-03T08:00"))
    period = january(listed)
    report = PeriodReport.objects.get(period=period)
    run = report.run
    assert run.classes["matched"]["count"] == 2 and not run.findings.exists(), "now both are there"
    told = report.document
    assert report.ties and told["residual"] == {"ZAR": "0.00"}
    assert told["classes"]["matched"] == {"count": 1, "amounts": {"ZAR": "100.00"}}
    assert told["classes"]["missing_at_destination"] == {"count": 1, "amounts": {"ZAR": "40.00"}}
    (one,) = told["open"]
    assert one["reference"] == key_of("402") and one["amount"] == "40.00"
    assert "Not there at the cut-off: INV-2 is dated 2027-02-02 09:00, after it." in one["why"]
    assert told["tie_out"]["ledger"]["ZAR"] == {"count": 2, "amount": "140.00"}
    assert told["tie_out"]["destination"]["ZAR"] == {"count": 1, "amount": "100.00"}
    assert told["after_cut_off"] == [
        {
            "side": "destination",
            "currency": "ZAR",
            "lines": 1,
            "standing": 1,
            "amount": "40.00",
        }
    ]
    assert "1 open difference, ZAR" in told["headline"]
    again = january(listed)
    two = PeriodReport.objects.get(run=leaves.latest(again).run)  # type: ignore[union-attr]
    same = {name: value for name, value in two.document.items() if name != "run"}
    assert same == {name: value for name, value in told.items() if name != "run"}


def test_within_the_grace_it_counts(listed: Books, clock: Clock) -> None:
    Plan.objects.update(period={"grace_business_days": 2, "holidays": "ZA"})
    listed.plan.refresh_from_db()
    clock.set(at("2027-02-02T12:00"))
    period = january(listed)
    assert period.cut_off_at == at("2027-02-03T00:00")
    with pytest.raises(NotNow, match="Its cut-off comes first, at 2027-02-03 00:00 SAST"):
        prepared(period)
    clock.set(at("2027-02-03T00:00"))
    with pytest.raises(NotNow, match="No run over all its days is done since its cut-off at 2027-02-03"):
        prepared(period)
    january(listed)
    report = leaves.latest(period)
    assert report is not None and report.open_count == 0
    assert report.document["headline"] == "Explained; nothing is open"


def test_ann_prepares_and_bob_signs_and_what_is_signed_stays(listed: Books, clock: Clock) -> None:
    clock.set(at("2027-02-03T08:00"))
    period = january(listed)
    one = prepared(period)
    report = PeriodReport.objects.get(run=one.run)
    with pytest.raises(NotNow, match="a second person decides"):
        sign(one, "ann")
    sign(one)
    one.refresh_from_db()
    assert one.is_signed and one.signed is not None
    assert one.signed["period"] == {
        "id": str(period.uid),
        "month": "2027-01",
        "cut_off": period.cut_off_at.isoformat(),
        "report": report.digest,
        "headline": report.document["headline"],
        "open_at_cut_off": 1,
    }
    names = Event.objects.filter(data__signoff=str(one.uid)).order_by("pk").values_list("kind", "data__name")
    assert list(names) == [
        ("prepared", "January 2027 of invoices"),
        ("signing_approved", "January 2027 of invoices"),
    ]
    with pytest.raises(NotNow, match="bob has signed it already"):
        prepared(period)
    Plan.objects.update(period={"grace_business_days": 5}, timezone="UTC")
    listed.plan.refresh_from_db()
    listed.run()
    period.refresh_from_db()
    assert period.cut_off_at == at("2027-02-01T00:00"), "what is signed stays as it is"
    changes: list[dict[str, Any]] = [{"cut_off_at": at("2027-02-02T00:00")}, {"first_day": FEBRUARY}]
    for change in changes:
        with pytest.raises(DatabaseError), transaction.atomic():
            Period.objects.filter(pk=period.pk).update(**change)
    others: list[dict[str, Any]] = [{"document": {}}, {"digest": "0" * 64}, {"ties": False}]
    for change in others:
        with pytest.raises(DatabaseError), transaction.atomic():
            PeriodReport.objects.filter(pk=report.pk).update(**change)
    for table in ("reconcile_period", "reconcile_periodreport"):
        for statement in (f"DELETE FROM {table}", f"TRUNCATE {table} CASCADE"):
            with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
                cursor.execute(statement)


def test_of_two_at_once_one_is_told_who_was_first(listed: Books, clock: Clock) -> None:
    clock.set(at("2027-02-03T08:00"))
    period = january(listed)
    told = at_once(partial(prepared, period), partial(prepared, period, "eve"))
    assert told[0] == "" and "has prepared it already" in told[1]
    one = SignOff.objects.get()
    told = at_once(*(partial(sign, one, "bob") for _ in range(3)))
    assert told == ["", *["bob was first, and has signed it already."] * 2]


def test_a_later_run_over_the_same_days_makes_what_was_prepared_void(listed: Books, clock: Clock) -> None:
    clock.set(at("2027-02-03T08:00"))
    period = january(listed)
    one = prepared(period)
    listed.run()
    one.refresh_from_db()
    assert one.waits, "a run over the plan's own window does not touch it"
    january(listed)
    one.refresh_from_db()
    assert one.answer == "voided"
    with pytest.raises(NotNow, match="It waits no more"):
        sign(one)
    HELD.pages = [None]
    with pytest.raises(NotWhole):
        january(listed)
    with pytest.raises(NotNow, match="its pull was not complete"):
        prepared(period)


def test_an_earlier_one_comes_first_and_is_opened_again_last(listed: Books, clock: Clock) -> None:
    clock.set(at("2027-02-10T10:00"))
    listed.claimed("410", Outcome.SUCCEEDED, reference="INV-10")
    HELD.pages[0].append(record(10, key=key_of("410"), created_at="2027-02-10T10:00:05+02:00"))  # type: ignore[union-attr]
    clock.set(at("2027-03-01T08:00"))
    first = january(listed)
    of_days(listed, FEBRUARY, date(2027, 2, 28))
    second = Period.objects.get(first_day=FEBRUARY)
    with pytest.raises(NotNow, match="January 2027 is still open: it is signed first"):
        prepared(second)
    with pytest.raises(REFUSED, match="an earlier period is still open"):
        inserted(second)
    one = signed(first)
    of_days(listed, FEBRUARY, date(2027, 2, 28))
    report = leaves.latest(second)
    assert report is not None
    assert report.document["carried_in"]["from"] == "2027-01" and report.document["carried_in"]["count"] == 1
    assert signed(second).is_signed
    ask = partial(signing.ask_reopening, reason="The wrong rate.", actor="ann")
    with pytest.raises(NotNow, match="February 2027 is signed: it is opened again first"):
        ask(one, command_id=uuid.uuid4())
    two = SignOff.objects.get(period=second, way="sign")
    asked = ask(two, command_id=uuid.uuid4())
    signing.approve(asked.uid, actor="eve", reason="")
    asked = ask(one, command_id=uuid.uuid4())
    with pytest.raises(NotNow, match="a second person decides"):
        signing.approve(asked.uid, actor="ann", reason="")
    signing.approve(asked.uid, actor="eve", reason="")
    assert leaves.standing(first) is None and leaves.standing(second) is None
    assert Event.objects.filter(kind="signature_ended", data__name="January 2027 of invoices").count() == 1
    with pytest.raises(NotNow, match="January 2027 is still open"):
        prepared(second)
    HELD.pages[0].append(record(11, key="order/99", created_at="2027-01-21T10:00:05+02:00"))  # type: ignore[union-attr]
    assert signed(january(listed)).is_signed
    with pytest.raises(NotNow, match="January 2027 was signed anew since run"):
        prepared(second)  # it would tell what January is signed with no more
    of_days(listed, FEBRUARY, date(2027, 2, 28))
    assert signed(second).is_signed


def test_a_run_that_was_due_and_has_not_reported_stands_in_the_way(listed: Books, clock: Clock) -> None:
    Plan.objects.update(schedule="15 6 * * 1-5")
    listed.plan.refresh_from_db()
    clock.set(at("2027-01-31T10:00"))
    listed.run()
    clock.set(at("2027-02-03T08:00"))
    period = january(listed)
    with pytest.raises(NotNow, match="The run that was due at 2027-02-03 06:15 SAST has not reported"):
        prepared(period)
    with pytest.raises(REFUSED, match="a run that was due has not reported"):
        inserted(period)
    listed.run()
    one = prepared(period)
    clock.set(at("2027-02-04T07:00"))
    foresee(listed.plan.pk)
    with pytest.raises(NotNow, match="due at 2027-02-04 06:15 SAST has not reported"):
        sign(one)
    with pytest.raises(REFUSED, match="a run that was due has not reported"):
        by_sql(one)
    listed.run()
    sign(one)


def test_a_period_is_no_run_and_its_run_is_signed_as_the_period(listed: Books, clock: Clock) -> None:
    clock.set(at("2027-02-03T08:00"))
    period = january(listed)
    report = leaves.latest(period)
    assert report is not None
    with pytest.raises(NotNow, match="It is the run of January 2027: that period is prepared and signed"):
        signing.prepare(report.run, actor="ann", note="", command_id=uuid.uuid4())


def inserted(of_period: Period, **more: Any) -> SignOff:
    """Past every action: a preparation of a period, with its event."""
    uid = uuid.uuid4()
    run = more.pop("run", None) or Run.objects.filter(period_report__period=of_period).latest("pk")
    with transaction.atomic():
        Event.objects.create(kind="prepared", actor="ann", reason="Seen.", data={"signoff": str(uid)})
        row = {"uid": uid, "way": "sign", "run": run, "plan": run.plan, "period": of_period, "maker": "ann"}
        row |= {"operation_type": run.plan.operation_type, "digest": run.digest, "reason": "Seen."}
        row |= {"command_id": uuid.uuid4(), "expires_at": at("2099-01-01T00:00")}
        return SignOff.objects.create(**(row | more))


def by_sql(one: SignOff, **more: Any) -> None:
    """Past every action: the row as signed by bob, with his event."""
    now = database_now()
    document = freezing.frozen(one, signer="bob", why="", now=now) | more
    with transaction.atomic():
        Event.objects.create(
            kind="signing_approved", actor="bob", reason="Seen.", data={"signoff": str(one.uid)}
        )
        SignOff.objects.filter(pk=one.pk).update(
            answer="approved",
            decided_by="bob",
            why="Seen.",
            decided_at=now,
            signed=document,
            signed_digest=freezing.digest(document),
        )


def test_past_the_actions_a_period_is_signed_by_its_own_report_alone(listed: Books, clock: Clock) -> None:
    clock.set(at("2027-02-03T08:00"))
    period = january(listed)
    own, _ = listed.run()
    with pytest.raises(REFUSED, match="a period is signed by its report as of its cut-off"):
        inserted(period, run=own)
    one = inserted(period)
    with pytest.raises(REFUSED):
        inserted(period)
    others: list[dict[str, Any]] = [{}, {"report": "0" * 64, "id": str(period.uid)}]
    for other in others:
        with pytest.raises(REFUSED, match="what is signed is the report of its period"):
            by_sql(one, period=other)
    with pytest.raises(DatabaseError), transaction.atomic():
        SignOff.objects.filter(pk=one.pk).update(period=None)
    by_sql(one)
    one.refresh_from_db()
    assert one.is_signed
    with pytest.raises(REFUSED, match="stays with the period that it is of"):
        inserted(period, way="reopen", of=one, period=None)


def test_past_the_actions_what_does_not_tie_is_not_signed(
    listed: Books, clock: Clock, database: Database
) -> None:
    clock.set(at("2027-02-03T08:00"))
    period = january(listed)
    with database.rewriting("reconcile_periodreport"):
        PeriodReport.objects.update(ties=False)
    with pytest.raises(NotNow, match="Unexplained is not zero"):
        prepared(period)
    with pytest.raises(REFUSED, match="what is not explained is not signed"):
        inserted(period)


def test_past_the_actions_a_period_is_a_whole_month_of_its_zone(listed: Books) -> None:
    whole = drifting.bounds(listed.plan, FEBRUARY) | {"first_day": FEBRUARY, "plan": listed.plan}
    for wrong in (
        {"starts_at": at("2027-02-01T00:01")},
        {"starts_at": at("2027-01-31T23:59")},
        {"ends_at": at("2027-02-28T00:00")},
        {"ends_at": at("2027-03-01T00:01"), "cut_off_at": at("2027-03-02T00:00")},
        {"first_day": date(2027, 2, 2)},
        {"last_day": date(2027, 3, 1)},
        {"timezone": "UTC"},
    ):
        with pytest.raises(REFUSED, match="a period is a whole month of its zone"), transaction.atomic():
            Period.objects.create(**(whole | wrong))
    with pytest.raises(REFUSED), transaction.atomic():
        Period.objects.create(**(whole | {"cut_off_at": at("2027-02-28T00:00")}))
    period = Period.objects.create(**whole)
    with pytest.raises(REFUSED), transaction.atomic():
        Period.objects.create(**whole)
    run, _ = listed.run()
    with pytest.raises(REFUSED, match="a period is reported by a run over its days"), transaction.atomic():
        PeriodReport.objects.create(
            period=period,
            run=run,
            as_of_at=period.cut_off_at,
            ties=True,
            open_count=0,
            document={"run": {"digest": run.digest}},
            digest="0" * 64,
        )
