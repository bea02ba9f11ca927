"""Known failure 54: what has no key is unreadable, once; it is neither missing on one side nor on both.

| the record | its id | its reference |
|---|---|---|
| a, and a again | none | none |
| b | INV-b | none |
| c | INV-c | blank |
| d | blank | none |
| e | INV-e | no metadata at all |
| f | none | an operation's |
"""

from typing import Any

from ledger.rules.states import Outcome
from tests.reconcile.books import HELD, Books, adds_up, counts, key_of, record


def nameless(identity: str | None, **more: Any) -> dict[str, Any]:
    return record(0, key=None) | {"id": identity} | more


def test_54_what_has_no_key_is_unreadable_once(listed: Books) -> None:
    listed.claimed("1", Outcome.SUCCEEDED, reference="INV-1")
    listed.claimed("2", Outcome.SUCCEEDED, reference="INV-f")
    HELD.pages = [
        [record(1, key=key_of("1")), nameless(None), nameless(None), nameless("INV-b")],
        [
            nameless("INV-c", metadata={"operation": " \u00a0 "}),
            nameless("  "),
            nameless("INV-e", metadata=None),
        ],
        [nameless(None, metadata={"operation": key_of("2")})],
    ]
    run, found = listed.run()
    assert counts(run) == {"matched": 1, "unreadable": 7}
    assert run.totals["items"] == 8
    assert run.totals["destination"] == {"count": 8, "amounts": {"ZAR": "800.00"}}
    (of_an_operation,) = [finding for finding in found if finding.operation is not None]
    assert of_an_operation.reference == key_of("2")
    assert {finding.why for finding in found} == {
        "It carries no reference of ours.",
        "It cannot be read: it has no id.",
    }
    adds_up(run)
    again, _ = listed.run()
    assert (counts(again), again.digest, again.gone.count()) == (counts(run), run.digest, 0)
