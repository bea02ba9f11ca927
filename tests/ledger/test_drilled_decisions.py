"""What a drill refuted counts: nothing rests on it any more, until a later drill finds otherwise.

| refuted        | a lost answer                     | a person                              |
|----------------|-----------------------------------|---------------------------------------|
| nothing        | is sent again under the same key  | may send again under the same key     |
| the key        | is held; the key is sent all along| needs an override                     |
| the look-up    | is held: its absence is no proof  | cannot close it as not done by it     |
"""

from dataclasses import dataclass
from pathlib import Path

import pytest

from ledger import actions
from ledger.actions import drilled
from ledger.actions.drilling import drilled_each
from ledger.destinations import lookups, sending
from ledger.models import Operation, database_now
from ledger.rules.drills import KEY, Promise
from ledger.rules.leaves import Action, leaves
from tests import factories as make
from tests.databases import Clock
from tests.drilling import Drills, broken
from tests.ledger.finds import standing
from tests.sandboxes import Sandbox
from tests.workers import one_round

UNLISTED = {
    '[operation_types."invoice.create".lookup]\npath = "/invoices?reference={key}"\nitems = "data"\n': ""
}
"""The demo's file without its look-up: the key alone protects, and the list counts."""


@dataclass
class World:
    """A destination that can be drilled, and the operations that go there."""

    drills: Drills
    clock: Clock

    def submitted(self, order: str) -> Operation:
        source = {"system": "shop", "reference": order, "version": "1"}
        payload = {"order": order, "total": "100.00", "currency": "ZAR"}
        made = actions.Submission(
            "invoice.create", payload, source=source, amount="100.00", currency="ZAR", description="Invoice"
        )
        return make.again(actions.submit(made, actor="api:shop").operation)

    def lost(self, order: str, mode: str = "drop_after") -> Operation:
        """An invoice that was sent once, with no answer; then software goes on as long as it does."""
        operation = self.submitted(order)
        self.drills.sandbox.faults(mode, f'"{order}"')
        sending.send(operation.pk)
        for _ in range(6):
            self.clock.advance(60)
            one_round()
        return make.again(operation)

    def drill(self, *modes: str) -> set[str]:
        """Drill it while it misbehaves so."""
        for mode in modes:
            self.drills.sandbox.faults(mode, count=None)
        done = self.drills.run()
        self.drills.sandbox.clear_faults()
        return broken(done)

    def deliveries(self, operation: Operation) -> int:
        """How often it arrived under its own idempotency key."""
        return self.drills.sandbox.deliveries(operation.idempotency_key)


@pytest.fixture
def world(clock: Clock, sandbox: Sandbox, tmp_path: Path) -> World:
    return World(Drills(tmp_path, sandbox), clock)


def test_where_the_key_is_refuted_a_lost_answer_is_held_instead_of_sent_again(world: World) -> None:
    world.drills.set_up(UNLISTED)
    before = world.lost("1")
    assert (standing(before), world.deliveries(before)) == ("completed", 2), "the contract is believed"
    assert {"same_key", "lost_answer"} <= world.drill("ignore_keys")
    after = world.lost("2")
    assert (standing(after), world.deliveries(after)) == ("uncertain: unproved", 1)
    facts = actions.facts(after)
    assert not facts.same_key_protects(database_now()) and facts.window_closes_at is None
    leave = leaves(facts, database_now(), sitting=None)[Action.SEND_AGAIN]
    assert not leave.allowed and "no key protects us" in str(leave.why)
    assert not world.drill()
    again = world.lost("3")
    assert (standing(again), world.deliveries(again)) == ("completed", 2), "a later drill found otherwise"


def test_where_there_is_a_look_up_what_the_key_protected_is_looked_up(world: World) -> None:
    world.drills.set_up()
    world.drill("ignore_keys")
    first = world.submitted("0")
    sending.send(first.pk)
    assert first.lookups.count() == 1, "as no key protects, it is looked for before the first send"
    arrived, missing = world.lost("1"), world.lost("2", "drop_before")
    assert (standing(arrived), world.deliveries(arrived)) == ("completed", 1)
    assert (standing(missing), world.deliveries(missing)) == ("completed", 2)
    assert missing.lookups.filter(proof=True).exists(), "it is sent again on proof of absence"
    assert world.drills.sandbox.effects(missing.key) == 1


def test_a_key_that_is_refuted_in_part_is_given_up_like_any_other_for_a_saved_error(world: World) -> None:
    """It fails ten at once and remembers errors: the same key would bring the refusal back for ever."""
    world.drills.set_up()
    world.drills.sandbox.faults("ignore_keys", '/at-once"', count=None)
    assert world.drill() == {"at_once"}
    operation = world.submitted("1")
    world.drills.sandbox.faults("replay_error", '"1"', arg=422)
    sending.send(operation.pk)
    assert standing(operation) == "failed: refused"
    lookups.look(make.again(operation), actor="ann", reason="A look.")
    make.permitted(operation)
    world.clock.advance(11)
    sending.send(operation.pk)
    assert standing(operation) == "completed"
    assert operation.attempts.values("idempotency_key").distinct().count() == 2


@pytest.mark.parametrize("mode", ["substring_filter", "ignore_filter"])
def test_where_the_look_up_is_refuted_absence_is_no_proof(world: World, mode: str) -> None:
    world.drills.set_up({'idempotency = "header"': 'idempotency = "none"'})
    sending.send(world.submitted("0").pk)
    absent = world.lost("1", "drop_before")
    assert (standing(absent), world.drills.sandbox.effects(absent.key)) == ("completed", 1)
    assert {"lookup_finds", "lookup_absent"} <= world.drill(mode)
    held = world.lost("2", "drop_before")
    assert standing(held) == "uncertain: could_not_look"
    assert world.drills.sandbox.deliveries(held.key) == 1
    lookup = lookups.look(held, actor="ann", reason="A look.")
    assert (lookup.verdict, lookup.proof) == ("absent", False)
    seen = actions.lookup_fact(lookup)
    allowed = leaves(actions.facts(make.again(held)), database_now(), sitting=seen)
    assert not allowed[Action.SEND_AGAIN].allowed and "Drilled" in str(allowed[Action.SEND_AGAIN].why)
    assert not allowed[Action.DID_NOT_HAPPEN].allowed


def test_a_proof_from_before_the_refutation_is_none_any_more(world: World) -> None:
    """Ann's own check proved absence and she allowed a try; the drill comes before the send."""
    world.drills.set_up({'idempotency = "header"': 'idempotency = "none"', "attempts = 5": "attempts = 1"})
    sending.send(world.submitted("0").pk)
    absent = world.lost("1", "drop_before")
    assert standing(absent) == "failed: absent"
    lookups.look(absent, actor="ann", reason="A look.")
    make.permitted(absent)
    assert actions.facts(make.again(absent)).permit is not None
    world.drill("substring_filter")
    facts = actions.facts(make.again(absent))
    assert facts.lookup is not None and facts.lookup.proof and not facts.proves(facts.lookup)


def test_what_a_refusal_made_is_no_longer_taken_for_nothing(world: World) -> None:
    """A destination that answers 422 and makes the record all the same."""
    kind = world.drills.set_up()
    kind.destination.connector = "tests.drilling:RefusesAndMakes"
    kind.destination.save(update_fields=["connector"])
    assert "rejected" in world.drill()
    contract = actions.facts(world.submitted("1")).contract
    assert contract.rejected == (401, 403), "only who was not let in has surely made nothing"


def test_a_proof_counts_for_the_rules_under_which_it_was_made(world: World) -> None:
    kind = world.drills.set_up()
    assert not world.drill()
    assert drilled(kind).key_held_on is not None
    for changed in ({'settle = "10s"': 'settle = "1s"'}, {'saves = "all"': 'saves = "4xx"'}):
        assert drilled(world.drills.set_up(changed)).held == {}
    assert drilled(world.drills.set_up()).key_held_on is not None, "the same rules again"
    kind = world.drills.kind()
    kind.destination.account = "second"
    assert drilled(kind).held == {}, "another account has proved nothing yet"


def test_a_refuted_key_stays_refuted_at_its_place_whatever_line_changes(world: World) -> None:
    world.drills.set_up()
    world.drill("ignore_keys")
    kind = world.drills.set_up({'settle = "10s"': 'settle = "1s"'})
    assert Promise.SAME_KEY in drilled(kind).broken
    kind.destination.account = "second"
    assert drilled(kind).broken == {}, "another account has broken nothing yet"
    beside = world.drills.kind()
    beside.pk, beside.name = None, "invoice.beside"
    beside.save()
    told = drilled_each([kind, beside])
    assert (told[kind.pk].broken, told[beside.pk].broken) == ({}, {}), "each at its own place"


def test_what_held_by_other_rules_takes_no_refutation_away(world: World) -> None:
    kind, other = world.drills.set_up(), {'settle = "10s"': 'settle = "1s"'}
    assert Promise.SAME_KEY in world.drill("ignore_keys") and not drilled(kind).held.keys() & KEY
    kind = world.drills.set_up(other)
    world.drill()
    assert drilled(kind).key_held_on is not None and drilled(kind).key_broken_on is None
    for later in ({}, {'saves = "all"': 'saves = "4xx"'}):
        assert drilled(world.drills.set_up(later)).key_broken_on is not None
    assert drilled(world.drills.set_up(other)).key_broken_on is None


def test_a_refuted_look_up_has_to_prove_itself_again_once_its_rules_change(world: World) -> None:
    kind = world.drills.set_up()
    world.drill("ignore_filter")
    assert drilled(kind).lookup_broken_on is not None
    kind = world.drills.set_up({'items = "data"\n\n[operation_types."invoice.create".list]': PAGED})
    assert drilled(kind).lookup_broken_on is None
    assert kind.lookup_proved_at is None


PAGED = (
    'items = "data"\npaging = { style = "cursor", next = "next_cursor", parameter = "cursor" }\n\n'
    '[operation_types."invoice.create".list]'
)
