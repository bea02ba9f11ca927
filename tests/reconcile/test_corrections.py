"""A correction is found under its own reference; what it stands for is asked for no more."""

import uuid

from ledger import actions
from ledger.models import Operation
from ledger.rules.states import Outcome
from tests.reconcile.books import HELD, Books, adds_up, counts, key_of, record, refreshed


def corrected(operation: Operation, total: str, reference: str = "") -> Operation:
    """Its correction, claimed by its key and done where a reference is given."""
    payload = {"order": "1", "total": total, "currency": "ZAR"}
    meant = actions.Correction(payload, total, "ZAR")
    made, _ = actions.correct(operation.pk, meant, actor="ann", reason="The price was wrong.")
    if reference:
        bare = actions.Submission(made.operation_type.name, None, key=made.key)
        reply = actions.claim(bare, actor="api:shop")
        assert reply.attempt is not None and reply.token is not None
        report = actions.Report(Outcome.SUCCEEDED, destination_reference=reference)
        actions.record(reply.attempt.uid, token=reply.token, report=report, actor="api:shop")
    return refreshed(made)


def test_a_corrected_operation_and_its_correction_add_up_on_both_sides(listed: Books) -> None:
    """Order 1 was done and its correction too, 2 was refused, 3 was refused and its correction cancelled."""
    done = listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    beside = corrected(done, "90.00", "INV-2")
    instead = corrected(listed.claimed("2", Outcome.REJECTED), "80.00", "INV-3")
    given_up = corrected(listed.claimed("3", Outcome.REJECTED), "70.00")
    actions.cancel(given_up.pk, actor="ann", reason="No longer wanted.", command_id=uuid.uuid4())
    assert (beside.key, instead.key) == (f"{key_of('1')}/c1", f"{key_of('2')}/c1")
    HELD.pages = [
        [
            record(1, key=key_of("1")),
            record(2, key=beside.key, total="90.00"),
            record(3, key=instead.key, total="80.00"),
        ]
    ]
    run, found = listed.run()
    assert (counts(run), found) == ({"matched": 3, "out_of_scope": 3}, [])
    assert run.totals["destination"]["amounts"] == {"ZAR": "270.00"}
    adds_up(run)
    # What was refused, and stands there all the same, is still seen.
    HELD.pages[0].append(record(4, key=key_of("2")))  # type: ignore[union-attr]
    run, found = listed.run()
    assert [(finding.item_class, finding.reference) for finding in found] == [
        ("unexpected_at_destination", key_of("2"))
    ]
    adds_up(run)
