"""Bulk actions: all checked, five first, the first surprise stops, and the counts add up at every instant.

| what happens                                    | what follows                                             |
|-------------------------------------------------|----------------------------------------------------------|
| all were lost                                   | all checked, five sent and seen there, then the others   |
| somebody allows one of them alone meanwhile     | that one is refused here, everything stops; one effect   |
| a check finds two records of one                | it stops before anything is sent                         |
| cancelled while a permit can still be undone    | called back: nothing is sent, what is left stays left    |
| its sum is above the limit                      | a second person, who is never its maker, by any way      |
"""

import re
import uuid
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import psycopg
import pytest
from django.db import IntegrityError, OperationalError, ProgrammingError, connection, transaction
from django.db.models import F

from ledger import actions
from ledger.models import Event, Operation, OperationType, Permit
from ledger.rules.errors import NotNow
from ledger.rules.leaves import Action
from ledger.rules.states import State
from review import approvals
from review.access import NotAllowed
from review.bulk import commanding, counting, freezing, reading, running, sweeping
from review.filters import Filter
from review.models import Bulk, BulkItem
from tests import stories
from tests.databases import Clock, Database
from tests.ledger.sessions import in_thread, until_somebody_waits
from tests.people import browser_of, person
from tests.sandboxes import Sandbox
from tests.stories import Durban
from tests.workers import one_round

FAST = 60_000
LIMITED = {"due": "4h", "four_eyes_above": {"ZAR": "2000.00"}}
NO = (
    r"refused|frozen|is not read|said once|is verified|on record|stays|does not|nothing is left|denied"
    r"|from_one|as long as"
)


@pytest.fixture
def durban(clock: Clock, sandbox: Sandbox) -> Durban:
    """Durban whose books answer."""
    return answering(clock, sandbox)


def answering(clock: Clock, sandbox: Sandbox) -> Durban:
    """Durban whose books answer, and whose look-up has found what it knows; silence counts after a second."""
    made = Durban(clock, base_url=sandbox.url)
    contract = {**made.invoice.contract, "settle": "1s"}
    OperationType.objects.filter(pk=made.invoice.pk).update(contract=contract)
    made.tried(made.invoiced(1), stories.done(written(sandbox, "order/webshop/1/v1")))
    return made


def written(sandbox: Sandbox, key: str) -> str:
    """Write an invoice into the books beside everything."""
    body = {"total": "1240.00", "currency": "ZAR", "metadata": {"operation": key}}
    return str(sandbox.call("POST", "/invoices", body=body).json["id"])


def lost(durban: Durban, *orders: int) -> list[Operation]:
    """Invoices that were sent and never arrived."""
    made = [durban.silent(order) for order in orders]
    durban.clock.advance(5)
    return made


def frozen(action: Action, *operations: Operation, by: str = "ann") -> Bulk:
    picked = [one.uid for one in operations]
    made = freezing.freeze(action, person=person(by), chosen=Filter(), picked=picked)
    while freezing.read_more(made):
        pass
    return made


def said(bulk: Bulk, way: Callable[..., None], *, by: str = "ann", **more: Any) -> Bulk:
    given = {"reason": "Books lost them.", "command_id": uuid.uuid4(), **more}
    way(bulk, person=person(by), **given)
    bulk.refresh_from_db()
    return bulk


def started(bulk: Bulk, **more: Any) -> Bulk:
    return said(bulk, commanding.start, **{"per_minute": FAST, **more})


def on(bulk: Bulk, durban: Durban | None = None) -> Counter[str]:
    """Let time pass and go on with it; every item stands in one place."""
    if durban is not None:
        durban.clock.advance(11)
    running.carry_on(bulk.pk, within_s=60)
    bulk.refresh_from_db()
    counts = counting.counts(bulk)
    assert counts.ties, counts
    return Counter(bulk.items.values_list("outcome", flat=True))


def test_29_30_five_go_first_are_verified_and_one_allowed_alone_meanwhile_has_one_effect(
    durban: Durban, sandbox: Sandbox
) -> None:
    """Known failures 29 and 30: requests were counted as done; bulk and single at once sent twice."""
    made = lost(durban, *range(2, 9))
    bulk, click = frozen(Action.SEND_AGAIN, *made, durban.again(made[0]), known(1)), uuid.uuid4()
    assert (bulk.frozen, bulk.items.filter(may=True).count()) == (8, 7)
    started(bulk, command_id=click)
    started(bulk, command_id=click)  # the same click
    with pytest.raises(NotNow, match="confirmed already"):
        started(bulk)
    assert on(bulk) == {"": 7, "refused": 1}, "it can still be undone"
    assert not Permit.objects.exists()
    assert on(bulk, durban) == {"": 7, "refused": 1}
    assert bulk.items.filter(ready_at__isnull=False).count() == 7, "all are checked first"
    assert bulk.items.filter(acted_at__isnull=False, canary=True).count() == Permit.objects.count() == 5
    durban.clock.advance(11)
    one_round()
    durban.looked(made[6], stories.ABSENT, actor="bob")
    actions.permit(made[6].pk, actor="bob", reason="By hand.", command_id=uuid.uuid4())
    assert on(bulk)["verified"] == 5
    assert bulk.status == "stopped" and "Already allowed by bob" in bulk.why
    for _ in range(3):
        durban.clock.advance(11)
        one_round()
        on(bulk)
    said(bulk, commanding.resume)
    on(bulk, durban)
    durban.clock.advance(11)
    one_round()
    assert on(bulk, durban) == {"verified": 6, "refused": 2}
    assert bulk.status == "done"
    assert {sandbox.effects(one.key) for one in made} == {1}
    assert {durban.again(one).state for one in made} == {State.COMPLETED}
    item = bulk.items.get(number=1)
    event = Event.objects.get(kind="permitted", operation=item.operation_id)
    assert (event.actor, event.command_id) == ("ann", item.command_id)
    assert event.reason == f"Books lost them. (bulk action {bulk.pk}, item 1 of 8)"


def known(order: int) -> Operation:
    return Operation.objects.get(source_reference=str(order))


def test_a_list_is_confirmed_after_what_is_read_of_it_and_until_when_its_keys_protect(
    durban: Durban, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who confirms while the last piece is read waits for it; who reads after that writes nothing."""
    made = lost(durban, 2)
    with monkeypatch.context() as unread:
        unread.setattr(freezing, "READ_S", 0)
        bulk = freezing.freeze(
            Action.SEND_AGAIN, person=person("ann"), chosen=Filter(), picked=[one.uid for one in made]
        )
    with ThreadPoolExecutor(1) as pool:
        keep = BulkItem.objects.bulk_update
        begun: list[Future[Bulk]] = []

        def kept(*given: Any) -> int:
            count = keep(*given)
            begun.append(in_thread(lambda: started(Bulk.objects.get(pk=bulk.pk)), pool))
            until_somebody_waits(database, begun[0])
            return count

        monkeypatch.setattr(BulkItem.objects, "bulk_update", kept)
        assert freezing.read_more(bulk)
        assert begun[0].result(20).status != "preview"
    assert not freezing.read_more(bulk)


def test_a_surprise_stops_it_before_anything_is_sent_and_cancelling_calls_back(
    durban: Durban, sandbox: Sandbox
) -> None:
    made = lost(durban, 2, 3, 4)
    for _ in range(2):
        written(sandbox, made[1].key)
    sent = {one.key: sandbox.deliveries(one.key) for one in made}
    bulk = started(frozen(Action.SEND_AGAIN, *made))
    assert on(bulk, durban) == {"": 2, "held": 1}
    assert bulk.status == "stopped" and "Order 3: Durban Books holds two invoices." in bulk.why
    assert not Permit.objects.filter(source="person").exists()
    open_ = Permit.objects.filter(source="person", withdrawn_at=None)
    said(bulk, commanding.resume)
    assert on(bulk)[""] == 2 and open_.count() == 2
    said(bulk, commanding.pause)
    assert on(bulk)[""] == 2 and not open_.exists(), "called back by a pause as by a cancel"
    said(bulk, commanding.resume)
    assert on(bulk)[""] == 2 and open_.count() == 2
    assert len(set(Permit.objects.filter(source="person").values_list("command_id"))) == 4, (
        "each its own click"
    )
    said(bulk, commanding.cancel, by="bob")
    assert on(bulk)[""] == 2 and not open_.exists()
    durban.clock.advance(30)
    one_round()
    assert {one.key: sandbox.deliveries(one.key) for one in made} == sent
    with pytest.raises(NotNow):
        said(bulk, commanding.resume)
    # Called back, they can be taken up by another one; what stops being allowed stops that, too.
    second = started(frozen(Action.CHECK, made[0], made[2]))
    person("ann").groups.clear()
    assert on(second, durban) == {"": 2}
    assert (second.status, second.why) == ("stopped", "ann may no longer do this.")


def test_what_its_check_completes_is_verified_and_not_sent(durban: Durban, sandbox: Sandbox) -> None:
    there, absent = lost(durban, 2, 3)
    written(sandbox, there.key)
    bulk = started(frozen(Action.SEND_AGAIN, there, absent))
    assert on(bulk, durban) == {"verified": 1, "": 1} and bulk.status == "running"
    assert bulk.items.get(outcome="verified").why == "It is there: nothing was sent."
    assert Permit.objects.get().operation == absent


def test_a_check_that_surprises_is_said_once_and_so_is_an_error_that_nobody_foresaw(
    durban: Durban, sandbox: Sandbox
) -> None:
    """Both stood as running, and asked the destination anew at every step."""
    made = lost(durban, 2, 3, 4)
    for _ in range(2):
        written(sandbox, made[0].key)
    looks = Event.objects.filter(kind="looked", reason__contains="bulk action")
    bulk = started(frozen(Action.CHECK, *made))
    assert on(bulk, durban) == {"held": 1, "": 2} == on(bulk)
    assert bulk.status == "stopped" and "Order 2: Durban Books holds two invoices." in bulk.why
    assert looks.count() == 1
    OperationType.objects.filter(pk=durban.invoice.pk).update(calls={"lookup": 7, "submit": 7})
    said(bulk, commanding.resume)
    assert on(bulk, durban) == {"held": 2, "": 1}
    assert bulk.status == "stopped" and "Order 3: The rules of invoice.create cannot be read" in bulk.why
    assert looks.count() == 1


def test_what_the_queue_knows_as_not_looked_up_stands_apart_and_stops_nobody(
    durban: Durban, sandbox: Sandbox
) -> None:
    """It was among the first five, and stopped the list that it was checked with."""
    made = lost(durban, *range(2, 10))
    for one in made[:2]:
        durban.looked(one, stories.BLIND)
    twice = made[2]
    for _ in range(2):
        written(sandbox, twice.key)
    durban.looked(twice, stories.several(twice, "INV-1", "INV-2"))
    bulk = frozen(Action.CHECK, *made)
    page = reading.read(bulk, person("ann"), show="known")
    assert [(item.operation.pk, item.why) for item in page.items] == [
        (made[0].pk, "The latest check: could not look."),
        (made[1].pk, "The latest check: could not look."),
        (twice.pk, "The latest check: it is there more than once."),
    ]
    told = "2 could not be looked up and 1 is there more than once, by the latest check: they come last"
    assert any(line.startswith(told) for line in page.foreseen)
    assert ("Known trouble", 3) in [(words, count) for words, _, count, _ in page.tabs]
    started(bulk)
    sandbox.faults("error_before", match=f"reference={quote(made[0].key, safe='')}", count=None)
    assert on(bulk, durban)["verified"] >= 5
    known_ones = bulk.items.filter(operation__in=[one.pk for one in made[:3]])
    assert not known_ones.filter(canary=True).exists(), "none of them went first"
    assert bulk.status != "stopped", bulk.why
    outcomes = [bulk.items.get(operation=one.pk).outcome for one in (made[0], twice)]
    assert outcomes == ["held", "held"], "as it was foreseen"


def test_what_cannot_be_looked_up_is_done_and_not_verified(durban: Durban, sandbox: Sandbox) -> None:
    made = [durban.tried(durban.invoiced(order), stories.REFUSED) for order in (2, 3)]
    bulk = started(frozen(Action.SEND_AGAIN, made[0]))
    on(bulk, durban)
    item = bulk.items.get()
    assert item.looked is not None and item.looked.verdict == "absent"
    done = "UPDATE review_bulkitem SET done_at = tieout_now(), seen_id = looked_id, outcome = "
    refused(sql, f"{done}'verified'", says="verified by a look-up")
    refused(sql, f"{done}'unseen'", says="not done unseen")
    calls = {name: call for name, call in durban.invoice.calls.items() if name != "lookup"}
    OperationType.objects.filter(pk=durban.invoice.pk).update(calls=calls)
    bulk = started(frozen(Action.SEND_AGAIN, made[1]))
    on(bulk, durban)
    durban.clock.advance(11)
    one_round()
    assert on(bulk, durban) == {"unseen": 1} and bulk.status == "done"


def test_a_limit_that_is_lowered_meanwhile_is_said_before_it_goes_on(durban: Durban) -> None:
    bulk = started(frozen(Action.SEND_AGAIN, *lost(durban, 2, 3)))
    said(bulk, commanding.pause)
    OperationType.objects.filter(pk=durban.invoice.pk).update(review=LIMITED)
    with pytest.raises(NotNow, match="above the limit by now"):
        said(bulk, commanding.resume)
    assert "above the limit by now" in reading.read(bulk, person("ann")).controls[0].why_not


def test_a_request_that_nobody_answers_in_a_day_lapses(durban: Durban) -> None:
    OperationType.objects.filter(pk=durban.invoice.pk).update(review=LIMITED)
    bulk = started(frozen(Action.SEND_AGAIN, *lost(durban, 2, 3)))
    bob = browser_of("bob")
    assert (bulk.status, approvals.figure()) == ("asked", "1")
    assert f"/bulk/{bulk.uid}/" in bob.get("/approvals/").content.decode()
    assert re.search(rf'<a href="/bulk/{bulk.uid}/">Bulk action \d+</a>', bob.get("/").content.decode())
    durban.clock.advance(timedelta(days=1))
    assert approvals.figure() == ""
    assert f"/bulk/{bulk.uid}/" not in bob.get("/approvals/").content.decode()
    assert "Approvals due" not in bob.get("/").content.decode()
    with pytest.raises(NotNow, match="Nobody answered within a day"):
        said(bulk, commanding.approve, by="bob")
    assert "Nobody answered within a day" in reading.read(bulk, person("bob")).controls[0].why_not
    starts = {"status": "running", "starts_at": F("asked_at"), "approved_by": "bob"}
    refused(Bulk.objects.filter(pk=bulk.pk).update, says="has lapsed", **starts)
    sweeping.sweep()
    bulk.refresh_from_db()
    assert bulk.status == "cancelled" and Event.objects.get(kind="bulk_lapsed").actor == "policy"


def test_what_goes_out_and_is_lost_again_stops_it_and_its_pace_holds(
    durban: Durban, sandbox: Sandbox
) -> None:
    made = lost(durban, 2, 3)
    bulk = started(frozen(Action.SEND_AGAIN, *made), per_minute=6)
    on(bulk, durban)
    assert bulk.items.filter(looked_at__isnull=False).count() == 1, "six a minute: one in ten seconds"
    on(bulk, durban)
    on(bulk)
    assert bulk.items.filter(acted_at__isnull=False).count() == 1
    sandbox.faults("drop_before", match="POST /invoices")
    durban.clock.advance(11)
    one_round()
    on(bulk)
    assert bulk.status == "stopped" and "may have happened" in bulk.why
    assert durban.again(made[0]).state == State.UNCERTAIN


def test_44_above_the_limit_it_takes_a_second_person_who_is_never_its_maker(
    durban: Durban, sandbox: Sandbox
) -> None:
    """Known failures 44 and 45: self-approval in bulk; two approvers at once."""
    durban.invoice.review = LIMITED
    durban.invoice.save(update_fields=["review"])
    made = lost(durban, 2, 3, 4)
    bulk = started(frozen(Action.DID_NOT_HAPPEN, *made, by="bob"), by="bob")
    assert bulk.status == "asked"
    assert any("About 2 of them each ask" in line for line in reading.read(bulk, person("eve")).foreseen)
    with pytest.raises(NotNow, match="asked for it yourself"):
        said(bulk, commanding.approve, by="bob")
    with pytest.raises(NotAllowed):
        said(bulk, commanding.approve, by="ann")
    starts = {"status": "running", "starts_at": F("asked_at")}
    starting = "UPDATE review_bulk SET status = 'running', starts_at = asked_at, approved_by = "
    for by, says in (("", "needs two people"), ("bob", "bulk_by_another")):
        refused(Bulk.objects.filter(pk=bulk.pk).update, says=says, approved_by=by, **starts)
        refused(sql, f"{starting}'{by}'", says=says)
    person("bob")
    sql("UPDATE auth_user SET username = 'robert' WHERE username = 'bob'")
    refused(Bulk.objects.filter(pk=bulk.pk).update, says="another_account", approved_by="robert", **starts)
    sql("UPDATE auth_user SET username = 'bob' WHERE username = 'robert'")
    hers = started(frozen(Action.DID_NOT_HAPPEN, *made))
    leave: dict[str, Any] = {"actor": "ann", "reason": "On leave.", "command_id": uuid.uuid4()}
    leave |= {"starts_at": durban.clock.now(), "ends_at": durban.clock.now() + timedelta(days=1)}
    actions.name_deputy("ann", "bob", **leave)
    durban.clock.advance(1)
    with pytest.raises(NotNow, match="one of you stands in for the other"):
        said(hers, commanding.approve, by="bob")
    refused(Bulk.objects.filter(pk=hers.pk).update, says="stand in for", approved_by="bob", **starts)
    said(bulk, commanding.approve, by="eve", reason="")
    with pytest.raises(NotNow, match="eve approved it"):
        said(bulk, commanding.refuse, by="eve")
    assert on(bulk, durban) == {"verified": 1, "held": 2}, "the second one passes the day's limit"
    assert [durban.again(one).held_at is None for one in made] == [True, False, False]
    assert made[1].approvals.get().maker == "bob"


def sql(statement: str, *values: bool | int) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def refused(change: Callable[..., object], *values: Any, says: str = "", **named: Any) -> None:
    with pytest.raises(IntegrityError, match=says or None), transaction.atomic():
        change(*values, **named)


def test_48_the_list_and_its_counts_are_kept_and_a_bulk_move_wants_its_event(
    durban: Durban,
) -> None:
    made = lost(durban, *range(2, 9))
    bulk, other = started(frozen(Action.CHECK, *made[:6])), frozen(Action.CHECK, made[6])
    item = bulk.items.get(number=6)
    for change in (
        f"INSERT INTO review_bulkitem (bulk_id, number, operation_id, foreseen, turn, canary, outcome, why) "
        f"VALUES ({bulk.pk}, 7, {made[6].pk}, '', 0, false, '', '')",
        f"INSERT INTO review_bulkitem (bulk_id, number, operation_id, foreseen, turn, canary, outcome, why) "
        f"VALUES ({other.pk}, 0, {made[0].pk}, '', 0, false, '', '')",
        f"DELETE FROM review_bulkitem WHERE bulk_id = {other.pk}",
        f"UPDATE review_bulkitem SET operation_id = {made[6].pk} WHERE id = {item.pk}",
        f"UPDATE review_bulkitem SET may = false WHERE id = {item.pk}",
        f"UPDATE review_bulkitem SET outcome = 'verified', done_at = tieout_now() WHERE id = {item.pk}",
        f"DELETE FROM review_bulkitem WHERE id = {item.pk}",
        f"DELETE FROM review_bulk WHERE id = {bulk.pk}",
        "TRUNCATE review_bulkitem",
        "UPDATE review_bulkword SET reason = 'Other.'",
        f"UPDATE review_bulk SET frozen = 7 WHERE id = {bulk.pk}",
        f"UPDATE review_bulk SET reason = 'Other.' WHERE id = {bulk.pk}",
        f"UPDATE review_bulk SET status = 'done' WHERE id = {bulk.pk}",
        f"UPDATE review_bulk SET status = 'preview' WHERE id = {bulk.pk}",
        f"UPDATE review_bulk SET status = 'done' WHERE id = {other.pk}",
    ):
        with pytest.raises((IntegrityError, ProgrammingError), match=NO), transaction.atomic():
            sql(change)
    refused(
        Bulk.objects.create, says="written with others", action="check", maker="ann", picked=True, frozen=1
    )
    durban.clock.advance(11)
    # Silently paused, and a sixth that goes before the first five are known.
    with pytest.raises(IntegrityError, match="without an event"), transaction.atomic():
        sql(f"UPDATE review_bulk SET status = 'paused' WHERE id = {bulk.pk}")
    act = "UPDATE review_bulkitem SET acted_at = tieout_now(), command_id = gen_random_uuid(), canary = %s"
    act = f"{act} WHERE id = %s"
    refused(sql, act, False, item.pk)
    for one in bulk.items.filter(number__lte=5):
        sql(act, True, one.pk)
    refused(sql, act, True, item.pk)
    refused(sql, act, False, item.pk)
    durban.clock.advance(timedelta(days=2))
    sweeping.sweep()
    assert list(Bulk.objects.all()) == [bulk], "nobody confirmed the other one"


def test_whoever_ends_between_a_check_and_its_note_asks_no_second_time_and_one_is_at_it_at_once(
    durban: Durban,
) -> None:
    """Seldom met by killing; here the note waits for a row that somebody holds, and gives up."""
    bulk = started(frozen(Action.CHECK, *lost(durban, 2)))
    looks = Event.objects.filter(kind="looked", reason__contains="bulk action")
    durban.clock.advance(11)
    with psycopg.connect(durban.clock.database.app_url) as other:
        other.execute("SELECT FROM review_bulk WHERE id = %s FOR UPDATE", [bulk.pk])
        sql("SET lock_timeout = '100ms'")
        with pytest.raises(OperationalError):
            running.carry_on(bulk.pk)
        sql("SET lock_timeout = 0")
        other.rollback()
        assert looks.count() == 1 and bulk.items.get().outcome == ""
        other.execute("SELECT pg_advisory_lock(%s, %s)", [running.PLACE, bulk.pk])
        assert not running.carry_on(bulk.pk), "another process is at it"
        other.execute("SELECT pg_advisory_unlock(%s, %s)", [running.PLACE, bulk.pk])
    assert on(bulk) == {"verified": 1} and looks.count() == 1
