"""Rules and roles change by two: one proposes, another one approves, and all of it is applied, or nothing.

| promise                               | kept by                                                          |
|---------------------------------------|------------------------------------------------------------------|
| nothing changes before                | `configure` proposes once there are operations and an approver   |
| maker is not checker, nor whose it is | the action, and constraints by account                           |
| what is applied is what was read      | the file is read again, and every value before and after compared |
| decided once, never deleted           | triggers; each answer has its event                              |
"""

import uuid
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import Group, User
from django.core.management import CommandError, call_command
from django.db import DatabaseError, IntegrityError, transaction

from config.environment import ROOT
from ledger import actions as ledger
from ledger.models import Attempt, Destination, Event, Operation, OperationType
from ledger.rules.errors import NotNow
from reconcile.actions import start
from reconcile.models import Plan, Proposal
from reconcile.proposals import actions, limits
from review import auditing
from review.models import AuditorTerm
from tests.databases import Clock, Database
from tests.ledger.asking import Asked, refused
from tests.ledger.sessions import at_once, twice
from tests.people import browser_of, person

DURBAN = (ROOT / "config" / "demo" / "durban.toml").read_text()
LOOSER = DURBAN.replace('{ ZAR = "10000.00"', '{ ZAR = "90000.00"').replace('"12h"', '"6h"')
DESCRIBED = '\n[automations.till]\nname = "Till"\ntypes = ["invoice.create"]\n'
Configure = Callable[..., tuple[int, str]]


@pytest.fixture
def configure(clock: Clock, tmp_path: Path) -> Configure:
    """Run the command on a text: its status, and what it said."""

    def run(text: str, *arguments: str) -> tuple[int, str]:
        file, said = tmp_path / "durban.toml", StringIO()
        file.write_text(text)
        try:
            call_command("configure", str(file), *arguments, stdout=said, stderr=said)
        except SystemExit as ended:
            return int(str(ended.code)), said.getvalue()
        return 0, said.getvalue()

    return run


@pytest.fixture
def runs(configure: Configure) -> Configure:
    """An installation that runs: configured at once, with an operation, and people."""
    assert configure(DURBAN)[0] == 0
    made = ledger.Submission("invoice.create", {"order": "1", "total": "9.00"}, key="1")
    ledger.submit(made, actor="api:shop")
    assert "in force" in configure(LOOSER)[1], "nobody could approve yet"
    configure(DURBAN)
    for name in ("ada", "bob", "ann"):
        person(name)
    return configure


def limit() -> str:
    found: str = OperationType.objects.get(name="invoice.create").review["four_eyes_above"]["ZAR"]
    return found


def latest() -> Proposal:
    return Proposal.objects.latest("id")


def approve(proposal: Proposal | None = None, *, actor: str = "bob") -> str:
    actions.approve((proposal or latest()).uid, actor=actor, reason="")
    return "approved"


def page(name: str, address: str, **form: Any) -> str:
    client = browser_of(name)
    shown = client.post(address, form, follow=True) if form else client.get(address)
    return str(shown.content.decode())


def test_what_runs_changes_only_once_another_person_has_agreed(runs: Configure) -> None:
    status, said = runs(LOOSER)
    assert (status, "--by NAME" in said, limit()) == (1, True, "10000.00")
    assert "is no administrator" in runs(LOOSER, "--by", "ann")[1]
    assert "2 it takes a second person for operation type invoice.create" in runs(LOOSER, "--check")[1]
    assert not Proposal.objects.exists()
    status, said = runs(LOOSER, "--by", "ada", "--reason", "Durban asked.")
    proposal = latest()
    assert (status, str(proposal.uid) in said, limit()) == (0, True, "10000.00")
    address = f"/approvals/rules/{proposal.uid}/"
    for name in ("ada", "bob"):
        shown = page(name, address)
        for part in ("review.four_eyes_above.ZAR", "10000.00", "90000.00", "12h", "6h", "Durban asked."):
            assert part in shown, part
        assert ('value="approve"' in shown) == (name == "bob")
    assert "You asked for it yourself" in page("ada", address)
    assert "durban.toml, 2 lines" in page("ann", "/approvals/")
    page("bob", address, answer="approve")
    assert limit() == "90000.00"
    event = Event.objects.filter(kind="configured").latest("id")
    agreed = event.actor, event.data["approved_by"], event.data["proposal"]
    assert agreed == ("ada", "bob", str(proposal.uid))
    proposal.refresh_from_db()
    assert (proposal.answer, proposal.meant_sealed) == ("approved", None)
    assert "bob approved it" in page("bob", address, answer="refuse", reason="No.")
    status, said = runs(LOOSER + DESCRIBED)
    assert (status, "in force" in said) == (0, True), "what only describes rules nothing"


def test_what_was_read_is_what_is_applied_or_nothing(runs: Configure) -> None:
    runs(LOOSER, "--by", "ada")
    OperationType.objects.filter(name="invoice.create").update(permit_for_s=60)
    with pytest.raises(NotNow, match="has changed since"):
        approve()
    assert (latest().answer, limit()) == ("voided", "10000.00")
    assert Event.objects.get(kind="proposal_voided").actor == "policy"
    pair = []
    for _ in range(2):
        runs(LOOSER, "--by", "ada")
        pair.append(latest())
    assert sorted(at_once([partial(approve, one) for one in pair])) == ["approved", "not-now"]
    assert limit() == "90000.00"


def test_what_cannot_be_done_any_more_ends_by_itself_and_is_due_no_more(
    runs: Configure, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What each kind was read from has changed; what still holds goes on waiting.

    | it is proposed to         | and meanwhile                     | it is                  |
    |---------------------------|-----------------------------------|------------------------|
    | change a type's rules     | they were changed otherwise       | void                   |
    | give a role               | it was given                      | void                   |
    | limit somebody            | they were limited otherwise       | void                   |
    | let somebody audit        | they decide by now                | void                   |
    | change a team's levels    | nothing of it was touched         | waits                  |
    """
    runs(LOOSER, "--by", "ada", "--reason", "Durban asked.")
    rules = latest()
    runs('[teams.night]\nescalate = [{ to = "controllers" }]\n', "--by", "ada", "--reason", "Nights.")
    other = latest()
    assert other != rules
    made: dict[str, Any] = {"actor": "ada", "reason": "Needed."}
    role = actions.propose_role(person("vic"), "reviewer", give=True, command_id=uuid.uuid4(), **made)
    limited = limits.propose_limit(
        person("ann"), to=["Durban Trading (Pty) Ltd"], command_id=uuid.uuid4(), **made
    )
    day = clock.now().date()
    term: dict[str, Any] = {
        "first": day,
        "last": day + timedelta(days=9),
        "entities": [],
        "reason": "The year.",
    }
    audit = auditing.give(person("nora"), person=person("ada"), command_id=uuid.uuid4(), **term)
    actions.sweep()
    assert Proposal.objects.open().count() == 5, "all can be done"
    OperationType.objects.filter(name="invoice.create").update(permit_for_s=60)
    for whose, name in (("vic", "reviewer"), ("nora", "approver")):
        person(whose).groups.add(Group.objects.get(name=name))
    with monkeypatch.context() as alone:
        alone.setattr("django.conf.settings.RULES_BY_TWO", False)
        limits.limit("ann", to=["Durban Trading (Pty) Ltd"], actor="ada", reason="At once.")
    actions.sweep()
    assert Proposal.objects.open().count() == 5, "each is looked at twice a minute"
    clock.advance(31)
    actions.sweep()
    left = [one for one in (rules, other, role, limited, audit) if now_of(one).answer == ""]
    assert left == [other]
    ended = Event.objects.filter(kind="proposal_voided").order_by("id")
    assert [(one.actor, one.data["proposal"]) for one in ended] == [
        ("policy", str(one.uid)) for one in (rules, role, limited, audit)
    ]
    shown = page("bob", f"/approvals/rules/{rules.uid}/")
    assert "Tieout ended it. Nothing was changed." in shown and "Propose it anew." in shown
    assert 'value="approve"' not in shown
    listed = page("bob", "/approvals/")
    assert "1 approval waits" in listed and str(rules.uid) not in listed
    assert "All 1 request" in page("bob", "/")


def now_of(proposal: Proposal | AuditorTerm) -> Proposal:
    return Proposal.objects.get(pk=proposal.pk)


def test_44_nobody_approves_rules_that_they_proposed_by_whatever_way(runs: Configure) -> None:
    runs(LOOSER, "--by", "ada")
    proposal, ada = latest(), person("ada")
    ada.groups.set([Group.objects.get(name="approver")])
    with pytest.raises(NotNow, match="a second person decides"):
        approve(actor="ada")
    address = f"/approvals/rules/{proposal.uid}/"
    assert "You asked for it yourself" in page("ada", address, answer="approve")
    row, now = Proposal.objects.filter(pk=proposal.pk), proposal.made_at
    said = {"answer": "approved", "decided_at": now, "why": "Bulk.", "meant_sealed": None}
    for name in ("ada", "adam", "nobody at all"):
        with pytest.raises(IntegrityError, match="proposal_by_another"), transaction.atomic():
            row.update(decided_by=name, **said)
        User.objects.filter(pk=ada.pk).update(username="adam")
    with pytest.raises(DatabaseError, match="without an event"), transaction.atomic():
        row.update(decided_by="bob", **said)
    later = now + timedelta(days=90)
    others: tuple[dict[str, Any], ...]
    others = {"maker": "bob"}, {"lines": []}, {"digest": "x"}, {"expires_at": later}
    for changed in others:
        with pytest.raises(IntegrityError, match="never changes"), transaction.atomic():
            row.update(**changed)
    with pytest.raises(DatabaseError, match="only grows"), transaction.atomic():
        proposal.delete()
    away: dict[str, Any] = {"starts_at": now, "ends_at": later, "actor": "adam", "reason": "Away."}
    ledger.name_deputy("adam", "bob", command_id=uuid.uuid4(), **away)
    with pytest.raises(NotNow, match="one of you stands in for the other"):
        approve()
    with pytest.raises(IntegrityError, match="who they stand in for"), transaction.atomic():
        row.update(decided_by="bob", **said)
    assert limit() == "10000.00"
    actions.refuse(proposal.uid, actor=person("eve").username, reason="Too loose.")
    with pytest.raises(IntegrityError, match="decided once"), transaction.atomic():
        row.update(why="Nobody asked.")
    assert Event.objects.get(kind="proposal_refused").reason == "Too loose."


def test_a_proposal_is_taken_back_by_its_maker_and_lapses(runs: Configure, clock: Clock) -> None:
    runs(LOOSER, "--by", "ada")
    with pytest.raises(NotNow, match="Only ada takes it back"):
        actions.take_back(latest().uid, actor="bob", reason="No.")
    actions.take_back(latest().uid, actor="ada", reason="Later.")
    runs(LOOSER, "--by", "ada")
    clock.advance(timedelta(days=8))
    with pytest.raises(NotNow, match="proposed anew"):
        approve()
    late = {"answer": "approved", "decided_by": "bob", "decided_at": clock.now(), "why": "Late."}
    with pytest.raises(IntegrityError, match="proposal_in_time"), transaction.atomic():
        Proposal.objects.open().update(meant_sealed=None, **late)
    actions.sweep()
    assert [one.answer for one in Proposal.objects.order_by("id")] == ["withdrawn", "lapsed"]


def test_a_role_is_given_and_taken_by_two_and_not_by_whose_it_is(runs: Configure) -> None:
    vic, approver = person("vic"), Group.objects.get(name="approver")
    form = {"person": vic.pk, "role": "approver", "reason": "Bob is away."}

    def propose(give: str) -> str:
        return page("ada", "/approvals/roles/", give=give, command_id=str(uuid.uuid4()), **form)

    assert "Give vic the role of approver" in propose("yes")
    assert "ada has proposed this already" in propose("yes")
    assert approver not in vic.groups.all()
    vic.groups.add(approver)
    with pytest.raises(NotNow, match="about yourself"):
        approve(actor="vic")
    said = {"answer": "approved", "decided_at": latest().made_at, "why": "Bulk."}
    with pytest.raises(IntegrityError, match="proposal_not_about_oneself"), transaction.atomic():
        Proposal.objects.filter(pk=latest().pk).update(decided_by="vic", **said)
    vic.groups.remove(approver)
    approve()
    assert approver in vic.groups.all()
    assert "vic is approver already" in propose("yes")
    propose("no")
    approve()
    assert approver not in vic.groups.all()


def test_the_command_line_gives_no_role_where_roles_change_by_two(runs: Configure) -> None:
    for name in ("ann", "max"):
        with pytest.raises(CommandError, match="Roles change by two here"):
            call_command("person", name, "--role", "approver", "--reason", "Bob is away.")
    told = StringIO()
    call_command("person", "bob", "--end", "--reason", "He left.", stdout=told)
    assert "they still take two, and no approver is left" in told.getvalue()
    with pytest.raises(CommandError, match="Roles change by two here"):
        call_command("person", "ann", "--role", "approver", "--reason", "Bob is gone.")
    assert runs(LOOSER)[0] == 1, "who ends the last approver changes no rules alone"
    call_command("person", "max", stdout=StringIO())
    assert not User.objects.get(username="max").groups.exists()
    assert list(person("ann").groups.values_list("name", flat=True)) == ["reviewer"]


def test_each_try_and_run_names_the_version_of_the_rules_that_it_went_by(runs: Configure, sql: Asked) -> None:
    """Changed twice before anybody could approve; then by two; then by how the destination is reached."""

    def version(name: str) -> int:
        return OperationType.objects.get(name=name).rules_version

    def tried(key: str) -> tuple[int | None, int | None]:
        ours = ledger.Submission("invoice.create", {"order": key, "total": "9.00"}, key=key)
        sent = ledger.claim_to_send(ledger.submit(ours, actor="api:shop").operation.pk, actor="worker")
        theirs = ledger.Submission("reminder.send", {"order": key}, key=key)
        reply = ledger.claim(theirs, actor="api:shop")
        assert sent is not None and reply.attempt is not None
        return sent.attempt.rules_version, Attempt.objects.get(uid=reply.attempt.uid).rules_version

    assert version("invoice.create") == 3
    assert tried("2") == (3, 1)
    runs(LOOSER, "--by", "ada")
    approve()
    assert Event.objects.filter(kind="configured").latest("id").data["version"] == 4
    assert tried("3") == (4, 1)
    Destination.objects.update(account="second")
    assert tried("4") == (5, 2)
    plan = Plan.objects.select_related("operation_type").get(name="invoices")
    begun = start(plan, window_from=latest().made_at, window_to=latest().expires_at, actor="ann")
    assert (begun.rules_version, begun.type_version) == (
        plan.rules_version,
        version(plan.operation_type.name),
    )
    Plan.objects.update(grace_s=4711, next_run_at=None)
    Plan.objects.update(next_run_at=latest().made_at)
    assert Plan.objects.get(name="invoices").rules_version == plan.rules_version + 1
    for command in (
        "UPDATE ledger_attempt SET rules_version = 9",
        "UPDATE reconcile_run SET rules_version = 9",
    ):
        with refused("only grows"):
            sql.execute(command.encode())
    with refused("count one by one"):
        sql.execute(b"UPDATE ledger_operationtype SET rules_version = 1")
    assert "version 3" in page("bob", f"/operations/{ledger_operation('2').uid}/")


def ledger_operation(key: str) -> Operation:
    return Operation.objects.get(key=key, operation_type__name="invoice.create")


def test_30_the_same_click_twice_at_once_proposes_one_role(database: Database, clock: Clock) -> None:
    ada, ann = person("ada"), person("ann")
    said: dict[str, Any] = {"give": True, "actor": str(ada), "reason": "New.", "command_id": uuid.uuid4()}
    one, two = twice(database, partial(actions.propose_role, ann, "approver", **said))
    assert one == two and Proposal.objects.count() == Event.objects.filter(kind="proposed").count() == 1
