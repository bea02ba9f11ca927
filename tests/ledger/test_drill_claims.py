"""A drill claims no more than it has seen.

| what was seen                                | what is not claimed                                   |
|----------------------------------------------|-------------------------------------------------------|
| all was taken, and no record ever            | that a check finds, proves absence, or a list is whole |
| a lost answer, and no way to look            | that nothing was made                                  |
| what was sent, by name, and no way to count  | that no more was made                                  |
| the connector failed at the lost answer      | that an answer was lost                                |
| sends that the rate kept apart               | what ten at once do, nor that the key was drilled      |
| other credentials, proxy, options            | that anything held there                               |
| a drill that died, and no way to look        | that its record is gone; it stays open                 |
| a drill that died, and an empty look-up that never showed anything | the same                        |
| a drill that died, of a type that nothing counts | that nothing was made: it ends, and says so |
| a drill that died, from another place        | that its record is gone; it stays open                 |
"""

import json
from pathlib import Path

import pytest

from ledger import actions
from ledger.actions import drilled
from ledger.drills.probe import Range
from ledger.models import Drill, DrillStep, OperationType
from tests.databases import Database
from tests.drilling import Drills, broken, commanded, held, hindered
from tests.ledger.wires import answering, serving
from tests.processes import Manage
from tests.sandboxes import Sandbox


@pytest.fixture
def drills(database: Database, sandbox: Sandbox, tmp_path: Path) -> Drills:
    made = Drills(tmp_path, sandbox)
    made.set_up()
    return made


def test_a_look_up_and_a_list_that_showed_nothing_have_proved_nothing(drills: Drills) -> None:
    drills.through("tests.drilling:TakesAndShowsNothing")
    done = drills.run()
    assert {"lookup_finds", "lookup_absent", "list_whole", "changed_data"} <= hindered(done)
    assert held(done) == broken(done) - {"replay_marked"} == set()
    assert OperationType.objects.get(pk=drills.kind().pk).lookup_proved_at is None
    assert {one.reference for one in done.records if not one.record} == sent(done.drill)


def sent(drill: Drill) -> set[str]:
    """The references under which something may have gone out."""
    return set(drill.steps.filter(kind=DrillStep.Kind.SENDING).values_list("reference", flat=True))


def ended(drill: Drill) -> bool:
    return drill.steps.filter(kind=DrillStep.Kind.ENDED).exists()


def test_what_nothing_could_count_may_be_there(drills: Drills) -> None:
    drills.sandbox.faults("drop_after", "POST /invoices", count=None)
    drills.sandbox.faults("error_before", "GET /invoices", count=None, arg=503)
    told = commanded()
    (reference,) = sent(Drill.objects.get())
    assert drills.sandbox.effects(reference) == 1
    assert "Nothing was made." not in told.stdout
    assert f"a record may be there: {reference}." in told.stdout
    (drill,) = json.loads(commanded("--json").stdout)["drills"]
    assert drill["records"] == [{"reference": f"{drill['reference']}/key", "id": "", "void": False}]


def test_a_connector_that_failed_has_lost_no_answer(drills: Drills) -> None:
    drills.through("tests.drilling:FailsToHangUp")
    done = drills.run()
    assert hindered(done) == {"lost_answer"}
    (why,) = [one.why for one in done.results if one.promise == "lost_answer"]
    assert "The connector failed (NotImplementedError)." in why


def test_sends_that_never_overlap_are_not_ten_at_once(drills: Drills) -> None:
    there = drills.kind().destination
    there.connection = {**there.connection, "rate": {"concurrency": 1}}
    there.save(update_fields=["connection"])
    done = drills.run()
    assert "at_once" not in held(done) | broken(done) | hindered(done)
    assert {"same_key", "lost_answer"} <= held(done)
    assert drilled(drills.kind()).key_held_on is None


def test_with_other_credentials_nothing_has_held_yet(drills: Drills) -> None:
    drills.run()
    kind = drills.kind()
    assert drilled(kind).key_held_on is not None
    before = kind.destination.connection
    for changed in (
        {"auth": {"kind": "bearer", "token": "env:LIVE_TOKEN"}},
        {"options": {"host": "live"}},
        {"proxy": "http://other:3128"},
        {"tls": {"ca": "file:/other.pem"}},
    ):
        kind.destination.connection = {**before, **changed}
        assert drilled(kind).held == {}, changed


@pytest.mark.parametrize("other", ['amount = "2.00"\ncurrency = "ZAR"', 'amount = "1.00"\ncurrency = "USD"'])
def test_a_record_with_another_amount_or_currency_is_not_the_sample(drills: Drills, other: str) -> None:
    drills.set_up({'amount = "1.00"\ncurrency = "ZAR"': other})
    told = commanded()
    assert told.returncode == 2
    assert "The sample was not taken. The record has another amount or currency." in told.stdout
    assert "Void again: INV-1101." in told.stdout


@pytest.mark.parametrize(
    ("written", "content"),
    [(None, b'{"Status":"VOIDED","Was":"INV-1"}'), ("form", b"Status=VOIDED&Was=INV-1")],
)
def test_a_reversal_has_headers_and_a_body_of_its_own(
    drills: Drills, written: str | None, content: bytes
) -> None:
    kind = drills.kind()
    kind.calls["void"] |= {
        "headers": {"Xero-Tenant-Id": "{account}"},
        "body": {"Status": "VOIDED", "Was": "{destination_reference}"},
        **({"body_as": written} if written else {}),
    }
    assert kind.sample is not None
    with serving(answering(b"{}")) as wire:
        kind.destination.connection = {**kind.destination.connection, "base_url": wire.url}
        there = Range(kind, kind.sample, actions.begin_drill(kind, actor="a test"))
        there.void(there.probe("key"), "INV-1")
    (request,) = wire.requests
    head, _, body = request.partition(b"\r\n\r\n")
    tenant = f"xero-tenant-id: {kind.destination.account}".lower()
    assert tenant in head.decode().lower().split("\r\n")
    assert body == content


def died(drills: Drills, run_manage: Manage) -> tuple[Drill, str]:
    """A drill that was killed once its first record was made, with that one's reference."""
    drills.through("tests.drilling:DiesAtTheSecond")
    assert run_manage("drill", check=False).returncode == -9
    drills.through("http")
    drill = Drill.objects.get()
    (reference,) = sent(drill)
    return drill, reference


def test_a_drill_that_died_stays_open_until_its_records_were_counted(
    drills: Drills, run_manage: Manage
) -> None:
    drill, reference = died(drills, run_manage)
    drills.sandbox.faults("error_before", "GET /invoices", count=None, arg=503)
    assert f"{drill.stem}, was cut off. Sent and not counted, so a record may be there: {reference}" in (
        commanded().stderr
    )
    assert drills.sandbox.effects(reference) == 1 and not ended(drill)
    drills.sandbox.clear_faults()
    assert f"{drill.stem}, was cut off. Void again: INV-" in commanded().stderr
    assert drills.sandbox.effects(reference) == 0 and ended(drill)


def test_a_drill_that_died_elsewhere_is_not_looked_for_here(drills: Drills, run_manage: Manage) -> None:
    drill, reference = died(drills, run_manage)
    there = drills.kind().destination
    there.account, before = "another", there.account
    there.save(update_fields=["account"])
    told = commanded().stderr
    assert f"went to another place. Sent and not counted, so a record may be there: {reference}" in told
    assert drills.sandbox.effects(reference) == 1 and not ended(drill)
    there.account = before
    there.save(update_fields=["account"])
    commanded()
    assert drills.sandbox.effects(reference) == 0 and ended(drill)


def test_a_look_up_that_never_found_anything_does_not_end_a_drill_that_died(
    drills: Drills, run_manage: Manage
) -> None:
    drill, reference = died(drills, run_manage)
    drills.through("tests.drilling:TakesAndShowsNothing")
    assert f"Sent and not counted, so a record may be there: {reference}" in commanded().stderr
    assert drills.sandbox.effects(reference) == 1 and not ended(drill)
    drills.through("http")
    assert f"{drill.stem}, was cut off. Void again: INV-" in commanded().stderr
    assert drills.sandbox.effects(reference) == 0 and ended(drill)


def test_a_drill_that_died_before_its_send_ends_once_the_look_up_has_proved_itself(drills: Drills) -> None:
    drill = actions.begin_drill(drills.kind(), actor="a test")
    actions.note_sending(drill, [f"{drill.stem}/key"])
    commanded()
    assert not ended(drill), "this very drill is the first that the look-up finds"
    assert f"{drill.stem}, was cut off. Nothing of it was found." in commanded().stderr
    assert ended(drill)


def test_a_drill_that_died_ends_where_nothing_can_ever_count_what_it_made(
    drills: Drills, run_manage: Manage
) -> None:
    kind = drills.kind()
    kind.calls = {name: value for name, value in kind.calls.items() if name not in ("lookup", "list")}
    kind.save(update_fields=["calls"])
    drill, reference = died(drills, run_manage)
    assert f"so a record may be there: {reference}" in commanded().stderr
    last = drill.steps.get(kind=DrillStep.Kind.ENDED)
    assert reference in last.why and drills.sandbox.effects(reference) == 1
    assert drill.stem not in commanded().stderr
