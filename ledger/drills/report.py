"""What drills did, in lines for people and as JSON."""

from collections.abc import Sequence

from ledger.drills.running import Done, told
from ledger.rules.drills import Promise, Result, Tried, exit_status

TITLES = {
    Promise.SAME_KEY: "Same key, same data: one record",
    Promise.REPLAY_MARKED: "A repeated answer says so",
    Promise.CHANGED_DATA: "Same key, other data",
    Promise.AT_ONCE: "Ten at once: one record",
    Promise.LOST_ANSWER: "Answer lost, sent again: one record",
    Promise.KEY_RETENTION: "The key is remembered",
    Promise.LOOKUP_FINDS: "A check finds the record",
    Promise.LOOKUP_ABSENT: "A check proves absence",
    Promise.LIST_WHOLE: "The list is whole",
    Promise.REJECTED: "What is refused makes nothing",
    Promise.SAVES: "Which errors are saved",
    Promise.VOID: "Voiding reverses a record",
}
WORDS = {Tried.HELD: "held", Tried.BROKEN: "DID NOT HOLD", Tried.NOT_TRIED: "not tried"}


def lines(done: Done) -> list[str]:
    """Return a line for each promise, and one that names every record that was made."""
    found = [f"  {WORDS[one.tried]:<12}  {TITLES[one.promise]:<36}  {one.why}" for one in done.results]
    return [*found, f"  {told(done.records) or 'Nothing was made.'}"]


def document(done: Sequence[Done], refused: Sequence[str]) -> dict[str, object]:
    """Return what was drilled, and why some types were not, as documented in docs/drills.md."""
    drills = [
        {
            "type": one.kind.name,
            "destination": one.kind.destination.name,
            "reference": one.drill.stem,
            "promises": [_promise(result) for result in one.results],
            "records": [
                {"reference": left.reference, "id": left.record, "void": left.void} for left in one.records
            ],
            "exit": exit_status(one.results),
        }
        for one in done
    ]
    return {"drills": drills, "not_drilled": list(refused)}


def _promise(result: Result) -> dict[str, object]:
    return {
        "promise": result.promise.value,
        "tried": result.tried.value,
        "hindered": result.hindered,
        "why": result.why,
    }
