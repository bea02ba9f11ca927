"""What a run found is a record, also for the application's role: SQL rewrites and removes none of it."""

import uuid
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from ledger.models import database_now
from ledger.rules.errors import NotNow
from reconcile import leasing
from reconcile.actions import start
from reconcile.differences import actions, looking
from reconcile.differences.models import Decision, Way
from reconcile.models import Finding, Record, Run
from reconcile.running import execute, window
from tests.databases import Database
from tests.people import person
from tests.reconcile.books import HELD, Books, key_of, record


@pytest.fixture
def listed(database: Database, tmp_path: Path) -> Books:
    made = Books.configured(tmp_path, performed_by="caller")
    made.plan.operation_type.review = {"due": "4h", "four_eyes_above": {"ZAR": "10000.00"}}
    made.plan.operation_type.save(update_fields=["review"])
    return made


def found(books: Books) -> tuple[Run, Finding, Finding]:
    at = books.plan.changed_at.isoformat()
    HELD.pages = [
        [record(1, key=key_of("90"), total="15000.00", created_at=at)],
        [record(2, key=key_of("91"), total="1.00", created_at=at)],
    ]
    run, _ = books.run()
    large, small = run.findings.select_related("run__plan__operation_type__destination", "case").order_by(
        "pk"
    )
    return run, large, small


def run_sql(statement: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)


def at_once(*steps: Callable[[], object]) -> None:
    with transaction.atomic():
        for step in steps:
            step()
        run_sql("SET CONSTRAINTS ALL IMMEDIATE")


def refused(words: str, *steps: Callable[[], object]) -> None:
    """All of it in one transaction, whose deferred guards speak before its end; nothing of it stays."""
    with pytest.raises(DatabaseError, match=words):
        at_once(*steps)


def test_nobody_settles_alone_by_making_it_small_for_a_moment(listed: Books) -> None:
    _, large, small = found(listed)
    person("ann")

    amount = Finding.objects.filter(pk=large.pk).update

    def close(finding: Finding) -> Decision:
        finding = Finding.objects.select_related(*actions.READ).get(pk=finding.pk)
        seen = looking.look(finding, within_s=5)
        said: dict[str, Any] = {"reason": "It is mine.", "command_id": uuid.uuid4()}
        return actions.decide(finding, Way.CLOSE, actor="ann", seen=seen, **said)

    refused("what a run found never changes", partial(amount, amount="1.00"), lambda: close(large))
    copied = {one.name: getattr(large, one.name) for one in Finding._meta.fields if one.name != "id"}
    smaller = Finding(**copied | {"amount": "1.00"})
    refused("found by a run that is at work", smaller.save, lambda: close(smaller))
    assert not Decision.objects.exists()
    assert close(small).in_force_at is not None, "below the limit as before"


def test_nothing_of_what_was_found_is_rewritten_or_removed(listed: Books) -> None:
    run, large, small = found(listed)
    columns = {one.column for one in Finding._meta.concrete_fields}
    for column in columns - {"case_id", "is_open", "lives", "gone_in_id"}:
        other = {"operation_id": "0", "source": "'{}'", "meant": "'[]'"}.get(column, "NULL")
        rewritten = f"UPDATE reconcile_finding SET {column} = {other} WHERE id = %s"
        refused("what a run found never changes", partial(run_sql, rewritten, large.pk))
    attempts = {
        "UPDATE reconcile_finding SET case_id = NULL WHERE id = %s": "stays with the end of its run",
        "UPDATE reconcile_finding SET is_open = false WHERE id = %s": "stays with the end of its run",
        "UPDATE reconcile_finding SET lives = false WHERE id = %s": "by a later run that is at work",
        "UPDATE reconcile_finding SET lives = false, gone_in_id = run_id WHERE id = %s": "by a later run",
        "DELETE FROM reconcile_finding WHERE id = %s": "only grows",
    }
    for statement, words in attempts.items():
        refused(words, partial(run_sql, statement, large.pk))
    for change in (
        "state = 'running', finished_at = NULL, lease_until = now()",
        "tie = '{}'",
        "totals = '{}'",
        "residual = '{}'",
        "digest = 'x'",
        "dry_run = true",
    ):
        refused("only grows", partial(run_sql, f"UPDATE reconcile_run SET {change}"))
    refused("only grows", partial(run_sql, "DELETE FROM reconcile_run WHERE id = %s", run.pk))
    refused("only grows|permission denied", partial(run_sql, "TRUNCATE reconcile_finding CASCADE"))
    assert list(run.findings.order_by("pk").values_list("pk", flat=True)) == [large.pk, small.pk]


def test_what_a_run_has_staged_stays_until_a_later_one_is_done(listed: Books) -> None:
    found(listed)
    kept = list(Record.objects.order_by("pk").values())
    columns = [one.column for one in Record._meta.concrete_fields if one.column not in ("id", "number")]
    added = (
        f"INSERT INTO reconcile_record (number, {', '.join(columns)})"
        f" SELECT number + 1000, {', '.join(columns)} FROM reconcile_record"
    )
    for statement in (
        "UPDATE reconcile_record SET amount = 1",
        "UPDATE reconcile_record SET item_class = NULL",
        "DELETE FROM reconcile_record",
        "DELETE FROM reconcile_record WHERE number = 1",
        added,
    ):
        refused("stays with its end", partial(run_sql, statement))
    refused("only grows|permission denied", partial(run_sql, "TRUNCATE reconcile_record CASCADE"))
    begins, ends = window(listed.plan, None, None)
    begun = start(listed.plan, window_from=begins, window_to=ends, actor="ann")
    refused("only grows", partial(run_sql, "UPDATE reconcile_record SET run_id = %s", begun.pk))
    refused("stays with its end", partial(run_sql, "DELETE FROM reconcile_record"))
    assert list(Record.objects.order_by("pk").values()) == kept
    execute(begun)
    assert set(Record.objects.values_list("run_id", flat=True)) == {begun.pk}, "what is earlier goes with it"
    leasing.stop(start(listed.plan, window_from=begins, window_to=ends, actor="ann"), "Not so.")
    listed.run(keep=False)
    assert set(Record.objects.values_list("run_id", flat=True)) == {begun.pk}


def test_later_runs_move_what_they_may_and_dry_runs_leave_nothing(listed: Books) -> None:
    _, large, small = found(listed)
    begins, ends = window(listed.plan, None, None)
    begun = start(listed.plan, window_from=begins, window_to=ends, actor="ann")
    for what in ("dry_run = true", "actor = 'bob'", "window_to = window_to + interval '1 day'"):
        refused("only grows", partial(run_sql, f"UPDATE reconcile_run SET {what} WHERE id = %s", begun.pk))
    refused("only grows", partial(run_sql, "DELETE FROM reconcile_run WHERE id = %s", begun.pk))
    HELD.pages = HELD.pages[:1]
    execute(begun)
    large.refresh_from_db()
    small.refresh_from_db()
    assert (large.lives, large.gone_in, small.lives, small.gone_in) == (False, None, False, begun)
    (again,) = begun.findings.all()
    assert again.lives and again.case == large.case
    back = "UPDATE reconcile_finding SET lives = true, gone_in_id = NULL WHERE id = %s"
    refused("by a later run that is at work, once", partial(run_sql, back, small.pk))
    dry, _ = listed.run(keep=False)
    assert not Run.objects.filter(pk=dry.pk).exists() and Finding.objects.count() == 3


def test_a_run_is_made_up_step_by_step_or_not_at_all(listed: Books) -> None:
    """What the role may still do is walk the whole way, with lines that somebody would have to invent."""
    _, large, _ = found(listed)
    begins, ends = window(listed.plan, None, None)
    copied = {one.name: getattr(large, one.name) for one in Finding._meta.fields if one.name != "id"}

    def found_in(begun: Run) -> Callable[[], object]:
        return lambda: Finding(**copied | {"run": begun, "amount": "1.00"}).save()

    new = (
        "INSERT INTO reconcile_run (uid, plan_id, actor, window_from, window_to, dry_run, grace_s, state, "
        "step, hold, pages, records, repeated, counted, classes, tie, totals, residual, reversed, settled, "
        "digest, why_failed, {more}) VALUES (gen_random_uuid(), %s, 'ann', %s, %s, false, 0, {state}, 1, "
        " '[]', 0, 0, '{{}}', '{{}}', '{{}}', '{{}}', '{{}}', '[]', '{{}}', 'x', '', now())"
    )
    for more, state in (("finished_at", "'done', 'settling'"), ("lease_until", "'running', 'settling'")):
        made = new.format(more=more, state=state)
        refused("begins at its beginning", partial(run_sql, made, listed.plan.pk, begins, ends))
    begun = start(listed.plan, window_from=begins, window_to=ends, actor="ann")
    step = "UPDATE reconcile_run SET step = %s WHERE id = %s"
    done = (
        "UPDATE reconcile_run SET state = 'done', digest = 'x', lease_until = NULL, finished_at = now() "
        "WHERE id = %s"
    )
    refused("as it compares", found_in(begun))
    refused("step by step", partial(run_sql, step, "settling", begun.pk))
    refused("once it has settled", partial(run_sql, done, begun.pk))
    run_sql(step, "comparing", begun.pk)
    stale = "UPDATE reconcile_run SET lease_until = now() - interval '1 s' WHERE id = %s"
    refused("as it compares", partial(run_sql, stale, begun.pk), found_in(begun))
    found_in(begun)()
    made_up = begun.findings.get()
    run_sql(step, "settling", begun.pk)
    refused("as it compares", found_in(begun))
    refused("what a run found is what it has staged", partial(run_sql, done, begun.pk))
    person("ann")
    said: dict[str, Any] = {"reason": "It is mine.", "command_id": uuid.uuid4()}
    read = Finding.objects.select_related(*actions.READ)
    with pytest.raises(NotNow, match="not come to an end that counts"):
        actions.decide(read.get(pk=made_up.pk), Way.CLOSE, actor="ann", **said)
    decision = actions.made(
        read.get(pk=made_up.pk),
        Way.CLOSE,
        actor="ann",
        words="It is mine.",
        now=database_now(),
        until=None,
        command_id=uuid.uuid4(),
    )
    refused("that is done", decision.save)
