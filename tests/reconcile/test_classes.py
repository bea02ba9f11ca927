"""Every item is in exactly one class, by the rules of the classes' order."""

from ledger.rules.states import Outcome
from tests.reconcile.books import HELD, Books, counts, key_of, record


def test_an_operation_and_its_record_match(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    HELD.pages = [[record(1, key=key_of("1"))]]
    run, found = listed.run()
    assert counts(run) == {"matched": 1}
    assert found == []
    assert run.explained
