"""The guarantee on an operation's page carries the day of its drill, or says what the drill refuted."""

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ledger.destinations import sending
from ledger.models import Operation
from tests import factories as make
from tests.databases import Clock
from tests.drilling import Drills
from tests.people import browser_of
from tests.sandboxes import Sandbox

LATE = datetime(2026, 11, 29, 22, 30, tzinfo=UTC)
"""Half past midnight on 30 November in Durban."""
FROZEN = "Not covered: a sender frozen between its check and its send."


@pytest.fixture
def drills(clock: Clock, sandbox: Sandbox, tmp_path: Path) -> Drills:
    clock.set(LATE)
    made = Drills(tmp_path, sandbox)
    made.set_up()
    return made


def lost(drills: Drills) -> Operation:
    operation = make.handed(drills.kind(), "order/shop/483/v1")
    drills.sandbox.faults("drop_before", "POST /invoices")
    sending.send(operation.pk)
    return operation


def page(operation: Operation) -> str:
    html = browser_of("ann").get(f"/operations/{operation.uid}/").content.decode()
    return re.sub(r"\s+", " ", html.replace("\u00a0", " "))


def test_until_it_is_drilled_it_is_promised(drills: Drills) -> None:
    assert f"and a check comes first. Promised, not drilled. {FROZEN}" in page(lost(drills))


def test_what_held_is_named_with_its_day(drills: Drills) -> None:
    drills.run()
    assert f"Drilled 30 November 2026: one key made one record. {FROZEN}" in page(lost(drills))


def test_what_was_refuted_is_not_claimed(drills: Drills) -> None:
    drills.sandbox.faults("ignore_keys", count=None)
    drills.run()
    drills.sandbox.clear_faults()
    shown = page(lost(drills))
    assert "Drilled 30 November 2026: Durban Books made a second record under one key: each try is" in shown
    assert "Tries reuse the same key" not in shown and "It takes no key" not in shown


def test_where_key_and_look_up_are_refuted_nothing_follows_by_itself(drills: Drills) -> None:
    drills.sandbox.faults("ignore_keys", count=None)
    drills.sandbox.faults("ignore_filter", "GET", count=None)
    drills.run()
    drills.sandbox.clear_faults()
    shown = page(lost(drills))
    assert (
        "Drilled 30 November 2026: Durban Books made a second record under one key, and a check did not tell "
        "what Durban Books holds; no try follows one in doubt by itself." in shown
    )
    assert "its silence proves nothing: drilled 30 November 2026" in shown
