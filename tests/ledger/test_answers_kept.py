"""An answer that came is not lost because the database was away when it had to be recorded."""

from typing import Any

import pytest
from django.db import OperationalError

from ledger import actions
from ledger.destinations import sending
from ledger.rules.states import State
from tests.databases import Clock
from tests.sandboxes import Sandbox
from tests.stories import Durban


class Silent:
    """A ledger whose database does not answer for the first `times` outcomes."""

    def __init__(self, times: int) -> None:
        self.times, self.record = times, actions.record

    def __call__(self, *arguments: Any, **named: Any) -> object:
        """Record, or fail."""
        self.times -= 1
        if self.times >= 0:
            raise OperationalError("server closed the connection; Failing row contains (Thandi)")
        return self.record(*arguments, **named)


@pytest.fixture
def durban(clock: Clock, sandbox: Sandbox) -> Durban:
    made = Durban(clock, sandbox.url)
    made.invoice.destination.connection |= {"timeout": 1.0}
    made.invoice.destination.save(update_fields=["connection"])
    made.invoice.lease_s = 5.0
    made.invoice.save(update_fields=["lease_s"])
    return made


def test_an_answer_is_recorded_when_the_database_comes_back(
    durban: Durban, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(actions, "record", Silent(2))
    operation = durban.invoiced(483)
    sending.send(operation.pk)
    operation = durban.again(operation)
    assert (operation.state, operation.destination_reference) == (State.COMPLETED, "INV-1101")


def test_an_answer_that_cannot_be_recorded_is_named_in_the_log(
    durban: Durban, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(actions, "record", Silent(1000))
    operation = durban.invoiced(483)
    sending.send(operation.pk)
    assert durban.again(operation).state == State.RUNNING
    last_words = caplog.records[-1].getMessage()
    assert "was not recorded (OperationalError): succeeded, reference INV-1101" in last_words
    assert "Thandi" not in caplog.text
