"""How long a payload is kept: for its time after the end of its operation, and while it could still be sent.

| the operation                              | its payload after its time |
|--------------------------------------------|----------------------------|
| completed, cancelled, corrected            | removed; the digests stay  |
| completed, and a case is open              | kept                       |
| failed, in doubt, waiting                  | kept: it could be sent     |
"""

import uuid
from contextlib import closing

import psycopg
import pytest

from ledger import actions
from ledger.models import Operation, OperationType
from ledger.rules.errors import Malformed, NotNow, PayloadChanged
from ledger.rules.states import CaseKind
from ledger.worker.sweep import Sweep
from tests import factories as make
from tests.databases import Clock, Database
from tests.ledger.asking import refused
from tests.ledger.finds import standing
from tests.ledger.trails import kinds
from tests.people import browser_of

DAY_S = 86400
MEANT = actions.Correction({"order": "483", "total": "1140.00"}, "1140.00", "ZAR")


def sent(key: str, report: actions.Report) -> Operation:
    """An invoice that Tieout has sent once, with this outcome."""
    operation = make.handed(OperationType.objects.get(name="invoice.create"), key)
    claimed = make.to_send(operation)
    actions.start(claimed.attempt.uid, token=claimed.token, start_id=None, actor="worker")
    actions.record(claimed.attempt.uid, token=claimed.token, report=report, actor="worker")
    return make.again(operation)


def every_kind() -> dict[str, Operation]:
    """One invoice of each kind, its payload kept for thirty days."""
    kind = make.invoice_type(payload_keep_s=30 * DAY_S, retry={"attempts": 1})
    waiting, cancelled = make.handed(kind, "waiting"), make.handed(kind, "cancelled")
    actions.cancel(cancelled.pk, actor="ann", reason="Not wanted.", command_id=uuid.uuid4())
    doubled, corrected = sent("doubled", make.done("INV-2")), sent("corrected", make.REFUSED)
    actions.hold(doubled.pk, kind=CaseKind.SEVERAL, actor="ann", reason="Twice there.")
    actions.correct(corrected.pk, MEANT, actor="ann", reason="The price was wrong.")
    return {
        "completed": sent("completed", make.done("INV-1")),
        "cancelled": cancelled,
        "corrected": corrected,
        "doubled": doubled,
        "waiting": waiting,
        "refused": sent("refused", make.REFUSED),
        "in doubt": sent("in doubt", make.SILENCE),
    }


def kept(made: dict[str, Operation]) -> list[str]:
    """Those whose payload is still there."""
    return [name for name, one in made.items() if make.again(one).payload_sealed is not None]


def test_it_is_removed_after_its_time_and_only_where_it_can_never_be_sent(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    made = every_kind()
    clock.advance(30 * DAY_S - 60)
    Sweep().run()
    assert kept(made) == list(made)
    clock.advance(61)
    changed_at = make.again(made["completed"]).changed_at
    Sweep().run()
    assert make.again(made["completed"]).changed_at == changed_at, "nothing that the API shows has changed"
    assert kept(made) == ["doubled", "waiting", "refused", "in doubt"]
    for name in ("completed", "cancelled", "corrected"):
        event = made[name].events.order_by("-id")[0]
        assert (event.kind, event.actor) == ("payload_removed", "policy")
        assert event.reason == "It was kept for 30 days after the operation came to its end."
        standing(made[name])  # and its trail is whole
    Sweep().run()
    assert kinds(made["completed"]).count("payload_removed") == 1
    assert "could not be taken up" not in caplog.text, "nobody even asks for the others"


def test_a_changed_payload_is_refused_by_path_all_the_same(clock: Clock) -> None:
    kind = make.invoice_type(payload_keep_s=DAY_S)
    sent("order/483", make.done())
    clock.advance(DAY_S)
    Sweep().run()
    changed = make.submission(kind, payload={"order": "483", "total": "1140.00"})
    with pytest.raises(PayloadChanged) as refusal:
        actions.submit(changed, actor="api:shop")
    assert refusal.value.members["changed"] == ["total"]
    assert actions.submit(make.submission(kind), actor="api:shop").decision == "skip"


def test_what_is_missing_long_after_says_why_it_cannot_be_sent_again(clock: Clock) -> None:
    make.invoice_type(payload_keep_s=DAY_S)
    operation = sent("order/483", make.done())
    clock.advance(DAY_S)
    Sweep().run()
    make.looked(operation, actor="ann", control_reference="INV-0")
    assert standing(operation) == "uncertain: missing"
    make.looked(operation, actor="ann", control_reference="INV-0")
    with pytest.raises(
        NotNow, match=r"Its payload was removed .* A correction can, with a payload of its own"
    ):
        make.permitted(operation)
    page = browser_of("ann").get(f"/operations/{operation.uid}/").content.decode()
    assert "Its payload was removed when its time was over: it cannot be sent again." in page
    assert "removed its payload; the digest stays." in page
    actions.end(operation.pk, actor="ann", reason="Not there.", command_id=uuid.uuid4())
    made, _ = actions.correct(operation.pk, MEANT, actor="ann", reason="It was voided there.")
    assert made.payload_sealed is not None


def test_a_callers_correction_is_claimed_with_its_payload_once_the_kept_one_is_removed(clock: Clock) -> None:
    kind = make.kind(payload_keep_s=DAY_S)
    made, _ = actions.correct(make.tried(kind, make.REFUSED).pk, MEANT, actor="ann", reason="A price.")
    bare = make.submission(kind, made.key, payload=None, amount=None, currency=None)
    _, attempt, token = make.held(actions.claim(bare, actor="api:shop"))
    actions.record(attempt.uid, token=token, report=make.done(), actor="api:shop")
    clock.advance(DAY_S)
    Sweep().run()
    assert make.again(made).payload_sealed is None
    with pytest.raises(Malformed, match="what was kept of it was removed when its time was over"):
        actions.claim(bare, actor="api:shop")
    whole = make.submission(kind, made.key, payload=MEANT.payload, amount=MEANT.amount)
    assert actions.claim(whole, actor="api:shop").decision == "skip"


def test_the_database_lets_a_payload_only_go_and_only_where_it_can_never_be_sent(
    clock: Clock, database: Database
) -> None:
    made = every_kind()
    with closing(psycopg.connect(database.app_url, autocommit=True)) as sql:
        update = "UPDATE ledger_operation SET payload_sealed = {}, revision = revision + 1 WHERE id = {}"
        for operation in made.values():
            with refused("a payload never changes"):
                sql.execute(update.format("'other'", operation.pk).encode())
        for name in ("doubled", "waiting", "refused", "in doubt"):
            with refused("not removed while it could be sent"):
                sql.execute(update.format("NULL", made[name].pk).encode())
        with refused("without an event"):
            sql.execute(update.format("NULL", made["completed"].pk).encode())
        clock.advance(30 * DAY_S)
        Sweep().run()
        with refused("a payload never changes"):
            sql.execute(update.format("'back'", made["completed"].pk).encode())


def test_what_is_past_its_time_is_found_by_an_index(clock: Clock, database: Database) -> None:
    make.invoice_type(payload_keep_s=DAY_S)
    make.reminder_type(payload_keep_s=2 * DAY_S)
    query, values = Operation.objects.past_keeping(clock.now()).values("id").query.sql_with_params()
    with closing(psycopg.connect(database.app_url, cursor_factory=psycopg.ClientCursor)) as sql:
        sql.execute(b"SET enable_seqscan = off")
        plan = sql.execute(b"EXPLAIN " + query.encode(), values).fetchall()
    assert "operation_payload" in str(plan)
