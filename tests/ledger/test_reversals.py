"""One of several is kept, the others are reversed: each by an operation of its own, and all of it by proof.

| the void of one record             | its operation                    | the record there |
|------------------------------------|----------------------------------|------------------|
| answered                           | completed                        | void             |
| answer lost                        | uncertain, looked up, completed  | void, once       |
| request lost                       | uncertain, looked up, failed     | stands           |
| refused, a credit is declared      | failed; a credit takes its place | credited         |
| refused, none is                   | failed: refused, for people      | stands           |
| changed since it was chosen        | pending: differs, nothing sent   | stands           |
| the kept one is gone               | pending: differs, nothing sent   | stands           |
| no call for it                     | pending: by hand, for people     | stands           |
| reversed there by hand after that  | completed                        | void             |
"""

import sqlite3
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction
from django.db.models import F

from ledger import actions
from ledger.actions.changing import locked
from ledger.actions.resolving import reopen_locked
from ledger.actions.reversing import follow_rules, type_for
from ledger.destinations import lookups, sending
from ledger.models import Approval, Choice, Operation, OperationType
from ledger.rules import errors
from ledger.rules.decisions import Next
from ledger.rules.reversals import CREDIT as CREDITED
from ledger.rules.reversals import VOID as VOIDED
from ledger.rules.states import CaseKind, State
from tests.databases import Clock
from tests.ledger.finds import standing
from tests.ledger.sessions import at_once
from tests.ledger.trails import kinds, sound
from tests.people import agrees, browser_of
from tests.sandboxes import Sandbox, running_sandbox
from tests.stories import CALLS, Durban, done, report

VOID: dict[str, Any] = {"path": "/invoices/{destination_reference}/void"}
CREDIT: dict[str, Any] = {"path": "/invoices/{destination_reference}/credit"}
REJECTS = {"when": {"rejected": "error.code == 'not_voidable'"}}


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    with running_sandbox(tmp_path_factory.mktemp("books")) as running:
        yield running


class Several:
    """Order 471 has several invoices, made by others; our own request was lost."""

    order = 470

    def __init__(self, clock: Clock, books: Sandbox, *, void: dict[str, Any] | None = VOID) -> None:
        self.clock, self.books = clock, books
        self.durban = Durban(clock, books.url)
        kind = self.durban.invoice
        record = CALLS["record"] | {"void_statuses": ["void", "credited"], "paid": "amount_paid"}
        kind.calls = CALLS | {"record": record} | ({"void": void} if void else {})
        kind.contract = kind.contract | REJECTS
        kind.save(update_fields=["calls", "contract"])

    def __call__(self, count: int = 4, amount: str = "865.00") -> Operation:
        Several.order += 1
        operation = self.durban.silent(Several.order, amount)
        for _ in range(count):
            invoice = {"total": amount, "currency": "ZAR", "metadata": {"operation": operation.key}}
            assert self.books.call("POST", "/invoices", body=invoice).status == 201
        self.clock.advance(60)
        return self.looked(operation)

    def looked(self, operation: Operation, actor: str = "ann") -> Operation:
        lookups.look(self.durban.again(operation), actor=actor, reason="A look.")
        return self.durban.again(operation)

    def there(self, operation: Operation) -> dict[str, str]:
        """Every record with its status."""
        listed = self.books.call("GET", f"/invoices?reference={operation.key}").json["data"]
        return {record["id"]: record["status"] for record in sorted(listed, key=lambda one: one["id"])}

    def write(self, record: str, status: str) -> None:
        """Somebody does this at the destination."""
        with closing(sqlite3.connect(self.books.file)) as file, file:
            file.execute(
                "UPDATE invoices SET status = ? WHERE number = ?", (status, record.partition("-")[2])
            )

    def choose(self, operation: Operation, keep: str = "", **changes: Any) -> Choice | Approval:
        seen = operation.lookups.order_by("-id")[0].content_digest
        asked: dict[str, Any] = {
            "actor": "ann",
            "reason": "The others are repeats.",
            "command_id": uuid.uuid4(),
        }
        asked |= {"keep": keep or next(iter(self.there(operation))), "seen": seen}
        return actions.choose(operation.pk, **(asked | changes))

    def work(self, *, rounds: int = 6, after_s: float = 31) -> None:
        """Send and look as the worker does, until nothing more is due."""
        for _ in range(rounds):
            self.clock.advance(after_s)
            now, ours = self.clock.now(), Operation.objects.by_tieout()
            due = [one.pk for one in ours.due(now) | ours.permitted(now)]
            doubts = [one.pk for one in Operation.objects.to_look_up(now)]
            for pk in due:
                sending.send(pk)
            for pk in doubts:
                if actions.settle(pk, actor="worker").next is Next.LOOK:
                    self.looked(Operation(pk=pk), "worker")
            told = list(Operation.objects.told_of(self.clock.now()))
            for one in told:
                self.looked(one, "worker")
            if not (due or doubts or told):
                return


def lists(several: Several, record: str, status: str, total: str) -> None:
    """Let the destination list a record like that."""
    with closing(sqlite3.connect(several.books.file)) as file, file:
        file.execute(
            "UPDATE invoices SET status = ?, sent = json_set(sent, '$.total', ?) WHERE number = ?",
            (status, total, record.partition("-")[2]),
        )


@pytest.fixture
def several(clock: Clock, books: Sandbox) -> Iterator[Several]:
    yield Several(clock, books)
    books.clear_faults()


def reversals(operation: Operation) -> dict[str, str]:
    """How each reversal stands, by its record; those that stand back in brackets."""
    made = operation.reversals.order_by("pk")
    return {
        f"({one.reversed_reference})" if one.corrected_at else one.reversed_reference: standing(one)
        for one in made
    }


def of(operation: Operation, record: str) -> Operation:
    return operation.reversals.select_related("operation_type__destination").get(
        reversed_reference=record, corrected_at=None
    )


def test_the_one_that_is_chosen_is_kept_and_the_others_are_void_and_that_is_proved(several: Several) -> None:
    operation = several()
    first, second, *rest = several.there(operation)
    choice = several.choose(operation, second)
    assert isinstance(choice, Choice)
    assert (choice.kept, choice.reversed, f"{choice.amount}") == (second, [first, *rest], "2595.00")
    sending.send(of(operation, first).pk)
    assert several.there(operation)[first] == "open", "for ten seconds nothing goes out"
    several.work()
    assert several.there(operation) == {first: "void", second: "open", **dict.fromkeys(rest, "void")}
    assert reversals(operation) == dict.fromkeys([first, *rest], "completed")
    done = sound(operation)
    assert (standing(done), done.destination_reference, done.evidence) == ("completed", second, "lookup")
    for one in operation.reversals.all():
        assert (one.destination_reference, one.evidence) == (one.reversed_reference, "answer")
        assert several.books.deliveries(one.idempotency_key) == 1
        assert kinds(one)[:4] == ["accepted", "claimed", "looked", "started"], "it looks before it goes"
    assert [event.kind for event in operation.events.filter(kind__in=["chosen", "reversed"])] == [
        "chosen",
        *["reversed"] * 3,
    ]


def test_one_click_is_one_choice_and_nothing_is_chosen_beside_it(several: Several) -> None:
    operation = several(3)
    command = uuid.uuid4()

    def click() -> str:
        return str(several.choose(operation, command_id=command).uid)

    assert len(set(at_once([click] * 4))) == 1
    refusals: list[tuple[str, dict[str, Any]]] = [
        ("comes to its end first", {}),
        ("used for something else", {"command_id": command, "actor": "bob"}),
    ]
    for words, changes in refusals:
        with pytest.raises(errors.TieoutError, match=words):
            several.choose(operation, **changes)
    assert (Choice.objects.count(), operation.reversals.count()) == (1, 2)
    actions.undo_choice(operation.pk, actor="ann", reason="Not that one.", command_id=uuid.uuid4())
    several.work(rounds=2)
    assert set(several.there(operation).values()) == {"open"}, "what is undone does not go"
    operation = several.looked(operation)
    last = [*several.there(operation)][-1]
    several.choose(operation, last)
    several.work()
    assert [*several.there(operation).values()] == ["void", "void", "open"]
    assert (standing(operation), several.durban.again(operation).destination_reference) == ("completed", last)


def test_nothing_is_chosen_by_what_was_not_seen(several: Several) -> None:
    operation = several(2)
    first, second = several.there(operation)
    refusals: list[tuple[str, dict[str, Any]]] = [
        ("check made by you", {"actor": "bob"}),
        ("does not stand there", {"keep": "INV-1"}),
        ("has changed since you chose", {"seen": "another"}),
        ("Give a reason", {"reason": " "}),
    ]
    for words, changes in refusals:
        with pytest.raises(errors.TieoutError, match=words):
            several.choose(operation, **changes)
    several.write(second, "void")
    assert standing(several.looked(operation)) == "completed"
    with pytest.raises(errors.NotNow, match="no check has found several"):
        several.choose(operation, first)
    assert not Choice.objects.exists()


def test_a_lost_answer_is_looked_up_and_a_lost_request_is_not_sent_again_unseen(several: Several) -> None:
    several.durban.invoice.destination.connection |= {"timeout": 1}
    several.durban.invoice.destination.save(update_fields=["connection"])
    operation = several(3)
    _, second, third = several.there(operation)
    several.choose(operation)
    several.books.faults("drop_after", f"{second}/void")
    several.books.faults("drop_before", f"{third}/void")
    several.work(rounds=1, after_s=11)
    assert {one.state for one in operation.reversals.all()} == {State.UNCERTAIN}
    several.work()
    assert reversals(operation) == {second: "completed", third: "failed: absent"}
    assert several.there(operation)[third] == "open"
    assert standing(operation) == "uncertain: several"
    lost = of(operation, third)
    several.looked(lost)
    actions.permit(lost.pk, actor="ann", reason="It was lost.", command_id=uuid.uuid4())
    several.work()
    assert (reversals(operation)[third], standing(operation)) == ("completed", "completed")
    assert several.books.deliveries(of(operation, second).idempotency_key) == 1


def test_a_worker_that_dies_between_two_voids_leaves_each_in_a_stated_state(several: Several) -> None:
    operation = several(3)
    _, second, third = several.there(operation)
    several.choose(operation)
    several.clock.advance(11)
    dead = actions.claim_to_send(of(operation, second).pk, actor="worker")
    assert dead is not None
    found = lookups.ask(dead.operation)
    assert actions.before_send(dead, found=found, asked_at=several.clock.now(), actor="worker")
    actions.start(dead.attempt.uid, token=dead.token, start_id=uuid.uuid4(), actor="worker")
    several.books.call("POST", f"/invoices/{second}/void")  # and the worker is no more
    sending.send(of(operation, third).pk)
    assert (reversals(operation)[second], reversals(operation)[third]) == ("running", "completed")
    several.clock.advance(61)
    actions.expire(of(operation, second).pk, actor="worker")
    several.work()
    assert set(reversals(operation).values()) == {"completed"}
    assert (standing(operation), several.there(operation)[second]) == ("completed", "void")


def test_what_was_paid_or_changed_since_is_not_reversed_and_is_chosen_anew(several: Several) -> None:
    operation = several(3)
    first, second, third = several.there(operation)
    several.choose(operation)
    several.write(second, "paid")
    several.work(rounds=2)
    assert reversals(operation) == {second: "pending: differs", third: "completed"}
    assert several.books.deliveries(of(operation, second).idempotency_key) == 0
    assert "paid" in of(operation, second).lookups.latest("id").why
    operation = several.looked(operation)
    several.choose(operation, second)
    assert reversals(operation) == {f"({second})": "failed", third: "completed", first: "pending"}
    several.work()
    assert several.there(operation) == {first: "void", second: "paid", third: "void"}
    assert (standing(operation), several.durban.again(operation).destination_reference) == (
        "completed",
        second,
    )


def test_where_the_kept_one_is_gone_nothing_more_is_reversed(several: Several) -> None:
    operation = several(2)
    first, second = several.there(operation)
    several.choose(operation)
    several.write(first, "void")
    several.work(rounds=2)
    assert (reversals(operation), several.there(operation)[second]) == ({second: "pending: differs"}, "open")
    assert standing(several.durban.again(operation)) == "completed", "looked at: the other is what is left"


BARRED = VOID | {"when_closed": "credit"}
DATED: dict[str, Any] = {"path": "/invoices/{destination_reference}/credit?on={today}"}


def in_periods(several: Several, periods: dict[str, str]) -> None:
    """Let the destination say in which period each record is."""
    with closing(sqlite3.connect(several.books.file)) as file, file:
        for record, period in periods.items():
            file.execute(
                "UPDATE invoices SET sent = json_set(sent, '$.period', ?) WHERE number = ?",
                (period, record.partition("-")[2]),
            )
    kind = several.durban.invoice
    kind.calls["record"]["period"] = "period"
    kind.save(update_fields=["calls"])


@pytest.mark.parametrize("credit", [DATED, None])
def test_what_is_in_a_closed_period_is_never_voided_where_that_is_barred(
    clock: Clock, books: Sandbox, credit: dict[str, Any] | None
) -> None:
    """The sandbox would void it: nobody asks it to."""
    several = Several(clock, books, void=BARRED | ({"credit": credit} if credit else {}))
    operation = several(3)
    kept, shut, free = several.there(operation)
    in_periods(several, {kept: "open", shut: "closed", free: "open"})
    several.looked(operation)
    asked = browser_of("ann").get(f"/operations/{operation.uid}/choose/?keep={kept}").content.decode()
    assert (
        f"What is in a closed period is {'credited, and not voided' if credit else 'a task for people'}"
        in asked
    )
    several.choose(operation, kept)
    barred = of(operation, shut)
    assert barred.operation_type.name == "invoice.create.credit"
    several.work()
    assert several.there(operation) == {kept: "open", shut: "credited" if credit else "open", free: "void"}
    assert reversals(operation)[shut] == ("completed" if credit else "pending: by_hand")
    if credit:
        day = actions.first_tried_on(barred)
        assert day == barred.attempts.get().claimed_at.date()
        clock.advance(3 * 86400)
        assert lookups.sent_values(barred)["today"] == f"{day}", "another day would be another request"


def test_what_cannot_be_voided_is_credited_where_the_rules_say_how(clock: Clock, books: Sandbox) -> None:
    several = Several(clock, books, void=VOID | {"credit": CREDIT})
    operation = several(4)
    first, second, third, fourth = several.there(operation)
    several.write(second, "paid")
    several.books.faults("deliver_twice", f"{fourth}/void")
    several.choose(several.looked(operation), first)
    several.work(rounds=1, after_s=11)
    assert reversals(operation) == {second: "failed", third: "completed", fourth: "failed"}, "both refused"
    several.write(fourth, "open")
    several.looked(of(operation, fourth))
    assert reversals(operation)[fourth] == "failed", "a list may lag: too early to credit what it shows"
    several.write(fourth, "void")
    several.work()
    states = {first: "open", second: "credited", third: "void", fourth: "void"}
    assert several.there(operation) == states
    done = dict.fromkeys([second, third, fourth], "completed")
    assert reversals(operation) == {f"({second})": "failed", **done}, "void already: it is not credited"
    told = of(operation, fourth).events.filter(kind="reopened").values_list("reason", flat=True)
    assert [*told] == ["It was reversed already."]
    assert of(operation, second).operation_type.name == "invoice.create.credit"
    assert standing(operation) == "completed"


def test_else_it_is_a_task_for_people_which_a_check_closes(several: Several) -> None:
    operation = several(2)
    first, second = several.there(operation)
    several.write(second, "paid")
    several.choose(several.looked(operation), first)
    several.work(rounds=2)
    assert reversals(operation) == {second: "failed: refused"}
    several.write(second, "void")
    several.looked(of(operation, second))
    several.work(rounds=1)
    assert (reversals(operation), standing(operation)) == ({second: "completed"}, "completed")
    sound(of(operation, second))


def test_without_a_call_it_is_a_task_at_once(clock: Clock, books: Sandbox) -> None:
    several = Several(clock, books, void=None)
    kind = several.durban.invoice
    ours = OperationType.objects.get(pk=kind.pk)
    ours.pk, ours.name, ours.label = None, f"{kind.name}.void", "Void, by the shop"
    ours.save(force_insert=True)
    operation = several(2)
    first, second = several.there(operation)
    several.choose(operation, first)
    types = OperationType.objects.filter(reverses=kind).values_list("name", flat=True)
    assert [*types] == [f"{kind.name}.2.void"], "a name that a file has given is no reversal's"
    several.work(rounds=2)
    assert (reversals(operation), several.there(operation)[second]) == ({second: "pending: by_hand"}, "open")
    several.write(second, "void")
    several.looked(of(operation, second), "bob")
    several.work(rounds=1)
    assert (reversals(operation), standing(operation)) == ({second: "completed"}, "completed")


def test_types_that_are_named_alike_have_reversals_of_their_own(several: Several) -> None:
    names = [f"{'invoice.' * 12}{end}" for end in ("dbn", "cpt")]
    made = [several.durban.invoice, several.durban.reminder]
    for kind, name in zip(made, names, strict=True):
        OperationType.objects.filter(pk=kind.pk).update(name=name)
    types = [
        type_for(OperationType.objects.get(pk=kind.pk), way) for kind in made for way in (VOIDED, CREDITED)
    ]
    again = [
        type_for(OperationType.objects.get(pk=kind.pk), way) for kind in made for way in (VOIDED, CREDITED)
    ]
    assert types == again and len({one.name for one in types}) == 4
    assert {one.name.rpartition(".")[2] for one in types} == {VOIDED, CREDITED}
    follow_rules(made[0])
    assert OperationType.objects.filter(reverses__isnull=False).count() == 4


def test_a_refund_that_was_made_twice_is_reversed_and_its_reversal_is_no_refund(several: Several) -> None:
    sale = several.durban.reminder
    several.durban.invoice.review |= {"refunds": sale.name}
    sold = actions.Submission(
        sale.name,
        {"to": "acme"},
        key="sale/1",
        source={"system": "webshop", "reference": str(Several.order + 1)},
        amount="865.00",
        currency="ZAR",
    )
    claimed = actions.claim(sold, actor="api:webshop")
    assert claimed.attempt is not None and claimed.token is not None
    report(claimed.attempt, claimed.token, done("S-1"))
    several.durban.invoice.save(update_fields=["review"])
    operation = several(3)
    first, second, third = several.there(operation)
    several.choose(operation, first)
    several.work()
    assert reversals(operation) == {second: "completed", third: "completed"}
    assert (several.there(operation)[first], standing(operation)) == ("open", "completed")
    type_for(OperationType.objects.get(pk=operation.operation_type_id), VOIDED)
    another = actions.Submission(
        "invoice.create",
        {"order": "again"},
        key="refund/2",
        source={"system": "webshop", "reference": str(Several.order)},
        amount="0.01",
        currency="ZAR",
    )
    OperationType.objects.filter(reverses=several.durban.invoice).update(review={"refunds": sale.name})
    held = actions.submit(another, actor="api:webshop").operation
    assert "and 0.00\u00a0ZAR is left there" in held.events.get(kind="held").reason


def test_above_the_limit_of_what_goes_two_people_choose(several: Several) -> None:
    several.durban.invoice.review |= {"four_eyes_above": {"ZAR": "1000.00"}}
    several.durban.invoice.save(update_fields=["review"])
    operation = several(3)
    first, second, third = several.there(operation)
    asked = several.choose(operation)
    assert isinstance(asked, Approval)
    assert (asked.action, asked.data["kept"], asked.data["amount"]) == ("choose", first, "1730.00")
    assert not operation.reversals.exists()

    def approve(actor: str) -> str:
        agrees(actor)
        actions.approve(asked.uid, actor=actor, reason="", command_id=uuid.uuid4())
        return "approved"

    for actor, words in (("ann", "asked for it yourself"), ("bob", "check made by you")):
        with pytest.raises(errors.NotNow, match=words):
            approve(actor)
    several.looked(operation, "bob")
    assert approve("bob") == "approved"
    choice = Choice.objects.get()
    assert (choice.actor, choice.approval) == ("ann", asked)
    several.work()
    assert several.there(operation) == {first: "open", second: "void", third: "void"}
    small = several(2, "600.00")
    assert isinstance(several.choose(small), Choice), "what two have agreed on does not count"
    beside = several.durban.silent(9000, "500.00")
    two = {who: actions.together(beside, who).takes_two for who in ("ann", "eve")}
    assert two == {"ann": True, "eve": False}, "what ann let go alone counts where she closes another"
    assert isinstance(several.choose(several(2, "600.00")), Approval), "with the one before, it is above"
    # Two hands of one, of whom one has the account and the other the name that it had: it counts once.
    older = User.objects.create(username="zoe")
    assert isinstance(several.choose(several.looked(several(2, "400.00"), "zoe"), actor="zoe"), Choice)
    User.objects.filter(pk=older.pk).update(username="anna")
    User.objects.create(username="zoe")
    said: dict[str, Any] = {"actor": "anna", "reason": "On leave.", "command_id": uuid.uuid4()}
    now = several.clock.now()
    actions.name_deputy("anna", "zoe", starts_at=now, ends_at=now + timedelta(days=1), **said)
    assert isinstance(several.choose(several.looked(several(2, "600.00"), "anna"), actor="anna"), Choice)
    again = several(2, "2000.00")
    request = several.choose(again)
    assert isinstance(request, Approval)
    several.write([*several.there(again)][1], "void")
    several.looked(again, "bob")
    request.refresh_from_db()
    assert request.answer == "voided"


def test_what_may_have_been_reversed_by_what_stands_back_is_not_kept(several: Several) -> None:
    """A void that was refused stands back for a newer choice, and turns out to be in doubt after all."""
    operation = several(2)
    first, second = several.there(operation)
    several.write(second, "paid")
    several.choose(several.looked(operation), first)
    several.work(rounds=2)
    back = of(operation, second)
    choice = several.choose(several.looked(operation), first)
    assert isinstance(choice, Choice)
    with locked(back.pk) as (held, now):
        late = "An answer came late."
        reopen_locked(held, CaseKind.THERE_AFTER_ALL, actor="policy", reason=late, now=now)
    several.work(rounds=2)
    assert reversals(operation) == {f"({second})": "uncertain: there_after_all", second: "failed: refused"}
    with pytest.raises(errors.NotNow, match=f"{second} may be reversed already: the outcome of {back.key}"):
        several.choose(several.looked(operation), second)
    past: dict[str, Any] = {"actor": "eve", "reason": "Mine.", "command_id": uuid.uuid4()}
    with pytest.raises(DatabaseError, match="is not kept"), transaction.atomic():
        Choice.objects.create(
            operation=operation, lookup=choice.lookup, kept=second, reversed=[first], **past
        )
    several.choose(operation, first)


def test_the_database_keeps_what_is_kept(several: Several) -> None:
    operation = several(3)
    first, second, third = several.there(operation)
    choice = several.choose(operation)
    assert isinstance(choice, Choice)
    waiting = of(operation, second)
    columns = {
        field.name: getattr(waiting, field.name)
        for field in Operation._meta.concrete_fields
        if field.name not in ("id", "uid", "key", "changed_at", "accepted_at")
    }
    made: dict[str, Any] = {"operation": operation, "reversed": [second], "actor": "eve", "reason": "Mine."}
    made |= {"command_id": uuid.uuid4(), "lookup": choice.lookup}

    def insert(**changes: Any) -> None:
        Operation.objects.create(**(columns | {"key": str(uuid.uuid4())} | changes))

    sending.send(waiting.pk)
    several.clock.advance(11)
    sending.send(waiting.pk)
    assert several.there(operation)[second] == "void"
    limits = {"review": {"four_eyes_above": {"ZAR": "10.00"}}}
    OperationType.objects.filter(pk=operation.operation_type_id).update(**limits)
    attacks: list[tuple[Callable[[], object], str]] = [
        (lambda: insert(reversed_reference=first), "only what was chosen to go"),
        (lambda: insert(reversed_reference="INV-9"), "only what was chosen to go"),
        (lambda: insert(), "operation_one_reversal"),
        (lambda: insert(operation_type=operation.operation_type), "of a type that reverses"),
        (lambda: Operation.objects.filter(pk=waiting.pk).update(reversed_reference=third), "never changes"),
        (
            lambda: Operation.objects.filter(pk=operation.pk).update(
                reverses=waiting, reversed_reference=third
            ),
            "never changes",
        ),
        (lambda: Choice.objects.filter(pk=choice.pk).update(kept=second), "refused"),
        (lambda: Choice.objects.filter(pk=choice.pk).delete(), "refused"),
        (lambda: Choice.objects.create(**made, kept=second), "one is kept"),
        (lambda: Choice.objects.create(**(made | {"reversed": [first]}), kept=second), "is not kept"),
        (lambda: Choice.objects.create(**(made | {"amount": 11, "currency": "ZAR"}), kept=first), "by two"),
    ]
    for attack, words in attacks:
        with pytest.raises(DatabaseError, match=words), transaction.atomic():
            attack()
    OperationType.objects.filter(pk=operation.operation_type_id).update(review={"due": "4h"})
    # A choice by other hands than ours keeps the one whose void waits: no try of it begins.
    Choice.objects.create(**(made | {"reversed": [first]}), kept=third)
    with pytest.raises(DatabaseError, match="only what was chosen to go"), transaction.atomic():
        Operation.objects.filter(reversed_reference=third).update(
            state="running", lease_until=several.clock.now(), revision=F("revision") + 1
        )


def test_what_is_reversed_in_part_is_held_by_the_look_after_it_until_nothing_is_left(
    several: Several,
) -> None:
    operation = several(3)
    kept, partly, whole = several.there(operation)
    several.choose(operation, kept)
    several.clock.advance(11)
    for record in (partly, whole):
        sending.send(of(operation, record).pk)
    lists(several, partly, "credited", "300.00")
    lists(several, whole, "void", "0.00")
    several.work()
    done = sound(operation)
    assert (done.state, done.destination_reference) == ("completed", kept)
    case = done.cases.open().get()
    held = done.events.filter(kind="held").last()
    assert held is not None
    assert (case.kind, held.reason) == (
        CaseKind.SEVERAL,
        f"{partly} is reversed in part: 300.00 ZAR is left.",
    )
    shown = browser_of("ann").get(f"/operations/{done.uid}/").content.decode().replace("\xa0", " ")
    for words in ("Of what was reversed 300.00 ZAR is left", "that is still too much", "that closes it"):
        assert words in shown, words
    several.looked(operation)
    assert [one.pk for one in done.cases.filter(kind=CaseKind.SEVERAL, closed_at=None)] == [case.pk]
    events = done.events.count()
    several.looked(operation)
    assert done.events.count() == events + 1, "each look is told, and nothing else"
    lists(several, partly, "credited", "0.00")
    several.looked(operation)
    case.refresh_from_db()
    assert case.closed_at is not None and several.durban.again(operation).held_at is None


def test_what_a_person_has_closed_of_it_is_asked_again_only_once_something_else_is_left(
    several: Several,
) -> None:
    operation = several(2)
    kept, partly = several.there(operation)
    several.choose(operation, kept)
    several.clock.advance(11)
    sending.send(of(operation, partly).pk)
    lists(several, partly, "credited", "300.00")
    several.work()
    actions.attest(
        operation.pk, reference=kept, actor="ann", reason="They keep the 300.00.", command_id=uuid.uuid4()
    )
    cases = operation.cases.filter(kind=CaseKind.SEVERAL)
    count, closed = cases.count(), cases.order_by("pk").last()
    assert closed is not None and (closed.closed_by, sound(operation).held_at) == ("ann", None)
    several.looked(operation)
    several.looked(operation, "worker")
    assert (cases.count(), several.durban.again(operation).held_at) == (count, None)
    lists(several, partly, "credited", "200.00")
    several.looked(operation)
    assert cases.count() == count + 1 and several.durban.again(operation).held_at is not None
