"""A destination that refuses our credentials is paused: one case, and nothing goes there until it is resumed.

| while it is paused          | what happens                                          |
|-----------------------------|-------------------------------------------------------|
| refused by it               | failed, without a case of its own until it is resumed |
| refused, an earlier doubt   | uncertain, and not looked up                          |
| waits, or is in doubt       | stays as it is; nothing is sent or looked up          |
| allowed by a person before  | waits, and lapses in its time                         |
| a caller claims             | wait                                                  |
| an automation was refused   | all this holds for automations; Tieout goes on        |
| a person allows another try | refused, in words                                     |
"""

import uuid
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django_q.models import OrmQ

from ledger import actions
from ledger.actions import Report
from ledger.destinations import lookups, sending
from ledger.models import Attempt, Case, Event, Operation, OperationType, Pause, Refusal
from ledger.rules.decisions import UNREADY
from ledger.rules.errors import Malformed, NotFound, NotNow, RulesUnreadable
from ledger.rules.states import CaseKind, Outcome, State
from ledger.worker.sweep import Sweep
from tests import factories as make
from tests.databases import Clock, Database
from tests.ledger.asking import refused
from tests.ledger.finds import standing
from tests.ledger.sessions import at_once
from tests.people import browser_of
from tests.sandboxes import Sandbox, running_sandbox
from tests.stories import Durban
from tests.workers import one_round

UNKNOWN_TO_THEM = Report(Outcome.REJECTED, http_status=401, error_code="http_401", message="Who are you?")
FORBIDDEN = Report(Outcome.REJECTED, http_status=403, error_code="http_403")


def resumed(*, by: str = "ada", click: uuid.UUID | None = None, pause: Pause | None = None) -> Pause:
    """Let somebody resume the one destination that is paused."""
    pause = pause or Pause.objects.open().get()
    return actions.resume(
        pause.uid, actor=by, reason="The new token is in place.", command_id=click or uuid.uuid4()
    )


def test_a_wrong_token_stops_everything_once_and_all_goes_on_when_it_is_resumed(
    clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running_sandbox(tmp_path, token="right") as books:
        durban = Durban(clock, books.url)
        durban.invoice.destination.connection |= {"auth": {"kind": "bearer", "token": "env:BOOKS_TOKEN"}}
        durban.invoice.destination.save(update_fields=["connection"])
        monkeypatch.setenv("BOOKS_TOKEN", "right")
        books.faults("drop_after", "POST /invoices")
        doubtful = durban.invoiced(1)
        sending.send(doubtful.pk)
        monkeypatch.setenv("BOOKS_TOKEN", "wrong")
        orders = [durban.invoiced(order) for order in (2, 3, 4)]

        one_round()
        clock.advance(6 * 3600)
        tried = Attempt.objects.count()
        looked = doubtful.lookups.count()
        Sweep().run()
        assert not OrmQ.objects.exists(), "nothing is even queued"
        one_round()
        assert [standing(one) for one in (doubtful, *orders)] == ["uncertain", "failed", "pending", "pending"]
        assert (Attempt.objects.count(), doubtful.lookups.count()) == (tried, looked) == (2, 1)
        case = Case.objects.open().get()
        assert (case.kind, case.operation, case.pause) == ("paused", None, Pause.objects.get())

        monkeypatch.setenv("BOOKS_TOKEN", "right")
        one_round()
        assert Attempt.objects.count() == tried, "right credentials alone resume nothing"
        resumed()
        one_round()
        one_round()
        after = ["completed", "failed: refused", "completed", "completed"]
        assert [standing(one) for one in (doubtful, *orders)] == after

        lookups.look(make.again(orders[0]), actor="ann", reason="A look.")
        make.permitted(orders[0])
        clock.advance(11)
        one_round()
        assert standing(orders[0]) == "completed"
        assert [books.effects(one.key) for one in (doubtful, *orders)] == [1, 1, 1, 1]


def test_a_missing_secret_pauses_at_the_third_try_and_nothing_was_sent(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("BOOKS_TOKEN", raising=False)
    durban = Durban(clock)
    durban.invoice.destination.connection |= {"auth": {"kind": "bearer", "token": "env:BOOKS_TOKEN"}}
    durban.invoice.destination.save(update_fields=["connection"])
    met = durban.invoiced(1)
    for round_ in range(1, 6):
        one_round()
        clock.advance(60)
        assert Case.objects.open().count() == (round_ >= UNREADY)
    waits = durban.invoiced(2)
    one_round()
    assert [standing(one) for one in (met, waits)] == ["pending", "pending"]
    assert (met.attempts.count(), waits.attempts.count()) == (UNREADY, 0)
    pause = Pause.objects.get()
    assert "BOOKS_TOKEN is not set" in pause.why and not pause.refusals.exists()
    monkeypatch.setenv("BOOKS_TOKEN", "right")
    resumed()
    clock.advance(60)
    one_round()
    last = [one.attempts.latest("number") for one in (met, waits)]
    assert [(attempt.number, attempt.error_code) for attempt in last] == [
        (UNREADY + 1, "could_not_look"),  # nobody is there; a second try looks first
        (1, "not_sent"),
    ]


def test_rules_that_cannot_be_read_pause_their_destination_as_one_case(clock: Clock) -> None:
    """As a version that was taken back may have left them."""
    kind = make.kind(looks=False)
    waits, doubtful = make.tried(kind, make.UNREACHED, key="1"), make.uncertain_operation(kind, "2")
    for part in ("contract", "calls", "retry", "review"):
        readable = getattr(kind, part)
        OperationType.objects.update(**{part: {**readable, "from the next version": 1}})
        clock.advance(60)
        for _ in range(2):
            one_round()
        pause = Pause.objects.open().get()
        assert f"The rules of {kind.name} cannot be read" in pause.why
        if part == "contract":
            with pytest.raises(RulesUnreadable, match="again with configure"):
                actions.claim(make.submission(kind, "1"), actor="api:shop")
        OperationType.objects.update(**{part: readable})
        resumed()
    one_round()
    assert [standing(waits), standing(doubtful)] == ["pending", "uncertain"]
    assert not Case.objects.open().exists()


def test_a_refused_look_before_the_send_pauses_too_and_nothing_is_sent(
    clock: Clock, sandbox: Sandbox
) -> None:
    durban = Durban(clock, sandbox.url)
    OperationType.objects.update(contract={"idempotency": "none"}, retry={"attempts": 5})
    sandbox.faults("error_before", "GET /invoices", arg=403)
    looked, waits = durban.invoiced(1), durban.invoiced(2)
    one_round()
    assert [standing(looked), standing(waits)] == ["pending", "pending"]
    assert "answered with status 403" in Pause.objects.get().why
    assert Attempt.objects.count() == 1
    resumed()
    clock.advance(60)
    one_round()
    assert [standing(looked), standing(waits)] == ["completed", "completed"]
    assert (sandbox.deliveries(looked.key), sandbox.deliveries(waits.key)) == (1, 1)


def test_callers_wait_while_it_is_paused_and_claim_when_it_is_resumed(clock: Clock) -> None:
    kind = make.kind()
    first, other = make.claimed(kind, "1"), make.claimed(kind, "2")
    for (_, attempt, token), report in ((first, UNKNOWN_TO_THEM), (other, FORBIDDEN)):
        reply = actions.record(attempt.uid, token=token, report=report, actor="api:shop")
        assert reply.decision == "hold"
    assert [standing(first[0]), standing(other[0])] == ["failed", "failed"], "no case of their own"
    assert Case.objects.open().get().kind == "paused"
    assert Refusal.objects.filter(pause=Pause.objects.get()).count() == 2

    reply = actions.claim(make.submission(kind, "3"), actor="api:shop")
    assert (reply.decision, "is paused" in reply.reason) == ("wait", True)
    assert reply.retry_at is not None and reply.retry_at > clock.now()
    assert (standing(reply.operation), reply.operation.attempts.count()) == ("pending", 0)
    assert actions.claim(make.submission(kind, "1"), actor="api:shop").decision == "hold"

    resumed()
    assert actions.claim(make.submission(kind, "3"), actor="api:shop").decision == "proceed"
    assert [standing(first[0]), standing(other[0])] == ["failed: refused", "failed: refused"]
    assert not Case.objects.open().filter(operation=None).exists()


def test_the_credentials_of_an_automation_stop_automations_only_and_ours_stop_all(
    clock: Clock, capsys: pytest.CaptureFixture[str], database: Database
) -> None:
    """Two pauses may stand beside each other; their time is counted once."""
    ours, theirs = (
        make.invoice_type(retry={"elapsed": "1h"}),
        make.kind("credit.create", retry={"elapsed": "1h"}),
    )
    sent, waits = make.handed(ours, "1"), make.tried(theirs, make.UNREACHED, key="1")
    make.tried(make.reminder_type(), UNKNOWN_TO_THEM)
    pause = Pause.objects.get()
    assert (
        pause.callers_only
        and pause.why == "Durban Books refused an automation’s credentials with status 401."
    )
    assert actions.claim(make.submission(theirs, "2"), actor="api:shop").decision == "wait"
    page = browser_of("ann").get("/queue/").content.decode()
    assert "<b>Durban Books is paused for automations</b>" in page
    assert "what Tieout sends goes on" in browser_of("ann").get(f"/pauses/{pause.uid}/").content.decode()

    clock.advance(1800)
    claimed = make.to_send(sent)
    actions.start(claimed.attempt.uid, token=claimed.token, start_id=None, actor="worker")
    actions.record(claimed.attempt.uid, token=claimed.token, report=FORBIDDEN, actor="worker")
    assert list(Pause.objects.open().order_by("pk").values_list("callers_only", flat=True)) == [True, False]
    later = make.handed(ours, "2")
    assert actions.claim_to_send(later.pk, actor="worker") is None
    clock.advance(3600)
    known = actions.facts(make.again(waits))
    assert known.paused_at == pause.paused_at
    resumed(pause=pause)
    assert actions.claim(make.submission(theirs, "1"), actor="api:shop").decision == "wait", "ours stops all"
    call_command("resume", "books", reason="New token.")
    for_s = actions.facts(make.again(waits)).paused_s
    assert 5400 <= for_s < 5500, "an hour and a half, not two and a half"
    make.to_send(later)
    assert actions.claim(make.submission(theirs, "1"), actor="api:shop").decision == "proceed"
    with closing(psycopg.connect(database.app_url, autocommit=True)) as sql, refused("never changes"):
        sql.execute("UPDATE ledger_pause SET callers_only = NOT callers_only")


def test_an_earlier_doubt_stays_one_and_nobody_looks_until_it_is_resumed(clock: Clock) -> None:
    kind = make.kind(looks=False)
    operation = make.uncertain_operation(kind)
    clock.advance(20)
    _, attempt, token = make.claimed(kind)
    actions.record(attempt.uid, token=token, report=FORBIDDEN, actor="api:shop")
    assert standing(operation) == "uncertain"
    clock.advance(60)
    assert actions.claim(make.submission(kind), actor="api:shop").decision == "wait"
    assert not operation.permits.open().exists(), "policy allows nothing either"
    resumed()
    actions.settle(operation.pk, actor="worker")
    assert operation.permits.open().exists()


def test_what_was_allowed_before_waits_and_nothing_new_is_allowed(clock: Clock) -> None:
    kind = make.kind()
    allowed, waiting = (make.uncertain_operation(kind, key) for key in ("1", "2"))
    clock.advance(40)
    for operation in (allowed, waiting):
        actions.hold(operation.pk, kind=CaseKind.UNPROVED, actor="policy", reason="Look at it.")
        make.looked(operation, actor="ann")
    make.permitted(allowed)
    clock.advance(11)
    make.tried(kind, UNKNOWN_TO_THEM, key="3")
    with pytest.raises(NotNow, match=r"Durban Books is paused since .* An administrator resumes it first"):
        make.permitted(waiting)
    assert actions.claim(make.submission(kind, "1"), actor="api:shop").decision == "hold"
    assert allowed.permits.open().exists()
    clock.advance(86400)
    actions.settle(allowed.pk, actor="worker")
    assert standing(allowed) == "uncertain: unproved"
    assert not allowed.permits.open().exists()


def test_what_had_been_tried_before_has_its_time_left_when_it_is_resumed(clock: Clock) -> None:
    kind = make.kind(retry={"elapsed": "1h"})
    tried, late = (make.tried(kind, make.UNREACHED, key=key) for key in ("1", "2"))
    make.tried(kind, UNKNOWN_TO_THEM, key="3")
    clock.advance(86400)
    Sweep().run()
    assert [standing(tried), standing(late)] == ["pending", "pending"]
    resumed()
    Sweep().run()
    assert actions.claim(make.submission(kind, "1"), actor="api:shop").decision == "proceed"
    clock.advance(3600)
    Sweep().run()
    assert standing(late) == "failed: limit"


def test_a_pause_uses_up_neither_the_time_of_what_was_on_its_way_nor_policy_s_own_permits(
    clock: Clock,
) -> None:
    kind = make.kind(looks=False, retry={"elapsed": "1h"}, lease_s=7200, permit_for_s=3600.0)
    doubtful = [make.uncertain_operation(kind, key) for key in ("1", "2")]
    on_its_way, attempt, token = make.claimed(kind, "3")
    actions.pause(kind.destination_id, why="Its token is gone.")
    clock.advance(2 * 3600 - 60)
    actions.record(attempt.uid, token=token, report=make.UNREACHED, actor="api:shop")
    Sweep().run()
    assert [standing(one) for one in (on_its_way, *doubtful)] == ["pending", "uncertain", "uncertain"]
    resumed()
    clock.advance(60)
    Sweep().run()
    assert actions.claim(make.submission(kind, "3"), actor="api:shop").decision == "proceed"
    assert all(one.permits.open().exists() for one in doubtful), "policy has given them again"
    assert not Case.objects.open().exists()


def test_what_a_caller_left_during_a_pause_before_any_try_runs_into_its_limit(clock: Clock) -> None:
    kind = make.kind(retry={"elapsed": "1h"})
    failed = make.tried(kind, make.REFUSED, key="1")
    meant = actions.Correction({"order": "483", "total": "1140.00"}, "1140.00", "ZAR")
    correction, _ = actions.correct(failed.pk, meant, actor="api:shop", reason="A price.")
    actions.pause(kind.destination_id, why="Its token is gone.")
    assert actions.claim(make.submission(kind, "2"), actor="api:shop").decision == "wait"
    left = Operation.objects.get(key="2")
    clock.advance(86400)
    resumed()
    Sweep().run()
    assert [standing(one) for one in (left, correction)] == ["pending", "pending"]
    clock.advance(3600)
    Sweep().run()
    assert [standing(one) for one in (left, correction)] == ["failed: limit", "failed: limit"]
    page = browser_of("ann").get(f"/operations/{left.uid}/").content.decode()
    assert "Its automation never came back to try it." in page


def test_only_a_refusal_of_who_sends_pauses(clock: Clock) -> None:
    kind = make.kind()
    make.tried(kind, make.REFUSED, key="1")
    make.tried(kind, Report(Outcome.UNCERTAIN, http_status=403), key="2")
    make.tried(kind, Report(Outcome.RETRYABLE, http_status=401), key="3")
    assert not Pause.objects.exists()


# --- resuming


def test_it_is_resumed_once_by_somebody_with_a_reason(clock: Clock) -> None:
    make.tried(make.kind(), UNKNOWN_TO_THEM)
    pause, click = Pause.objects.get(), uuid.uuid4()
    with pytest.raises(Malformed, match="Give a reason"):
        actions.resume(pause.uid, actor="ada", reason=" ", command_id=click)
    with pytest.raises(NotFound):
        actions.resume(uuid.uuid4(), actor="ada", reason="No such one.", command_id=click)
    resumed(click=click)
    resumed(click=click, pause=pause)
    with pytest.raises(NotNow, match="ada resumed it already"):
        resumed(by="bob", pause=pause)
    told = Event.objects.filter(operation=None).order_by("pk").values_list("kind", "actor", "reason")
    assert list(told) == [
        ("paused", "policy", "Durban Books refused an automation’s credentials with status 401."),
        ("resumed", "ada", "The new token is in place."),
    ]


def test_what_is_refused_again_is_another_pause_and_an_old_one_asks_nothing_twice(clock: Clock) -> None:
    kind = make.kind()
    first = make.tried(kind, UNKNOWN_TO_THEM, key="1")
    resumed()
    actions.end(first.pk, actor="ann", reason="Not wanted.", command_id=uuid.uuid4())
    second = make.tried(kind, UNKNOWN_TO_THEM, key="2")
    resumed()
    assert [standing(first), standing(second)] == ["failed", "failed: refused"]
    assert Pause.objects.count() == Case.objects.filter(kind="paused").count() == 2


def test_it_is_resumed_from_the_command_line_too(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    make.tried(make.kind(), UNKNOWN_TO_THEM)
    with pytest.raises(CommandError, match=r'"boks" is not a destination\. Known: books'):
        call_command("resume", "boks", reason="New token.")
    call_command("resume", "books", reason="New token.")
    assert "Durban Books is resumed" in capsys.readouterr().out
    assert Event.objects.get(kind="resumed").actor == "command line"
    with pytest.raises(CommandError, match="Durban Books is not paused"):
        call_command("resume", "books", reason="New token.")


# --- what the database holds to


def test_eight_refusals_at_once_are_one_pause_with_one_case(clock: Clock) -> None:
    kind = make.kind()
    claims = [make.claimed(kind, str(number)) for number in range(8)]

    def reporting(attempt: Attempt, token: str) -> str:
        return actions.record(attempt.uid, token=token, report=FORBIDDEN, actor="api:shop").decision

    answers = at_once([lambda a=attempt, t=token: reporting(a, t) for _, attempt, token in claims])  # type: ignore[misc]
    assert answers == ["hold"] * 8
    assert (Pause.objects.count(), Refusal.objects.count(), Case.objects.count()) == (1, 8, 1)
    assert Operation.objects.filter(state=State.FAILED, held_at=None).count() == 8
    resumed()
    assert Case.objects.open().filter(kind="refused").count() == 8


def test_a_pause_is_not_doubled_changed_removed_or_ended_in_silence(clock: Clock, database: Database) -> None:
    make.tried(make.kind(), UNKNOWN_TO_THEM)
    with closing(psycopg.connect(database.app_url, autocommit=True)) as sql:
        for words, statement in (
            ("the ledger only grows", "DELETE FROM ledger_refusal"),
            ("the ledger only grows", "UPDATE ledger_refusal SET attempt_id = attempt_id"),
            ("the ledger only grows", "DELETE FROM ledger_pause"),
            ("never changes", "UPDATE ledger_pause SET http_status = 200"),
            ("pause_resumed_by_somebody", "UPDATE ledger_pause SET resumed_at = tieout_now()"),
            ("without an event", "UPDATE ledger_pause SET resumed_at = tieout_now(), resumed_by = 'ada'"),
            (
                "pause_one_open",
                "WITH other AS (INSERT INTO ledger_case (uid, kind, owner, due_at, closed_by) "
                "VALUES (gen_random_uuid(), 'paused', 'us', tieout_now(), '') RETURNING id) "
                "INSERT INTO ledger_pause "
                "(uid, destination_id, case_id, http_status, resumed_by, callers_only) "
                "SELECT gen_random_uuid(), destination_id, other.id, 401, '', true FROM ledger_pause, other",
            ),
        ):
            with refused(words):
                sql.execute(statement.encode())
        resumed()
        with refused("ends once"):
            sql.execute(b"UPDATE ledger_pause SET resumed_by = 'bob'")
