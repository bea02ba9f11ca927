"""What the evidence of a drill says of each promise; what could not be tried has not held."""

from collections.abc import Iterator
from itertools import pairwise

from ledger.drills.probe import Heard
from ledger.drills.trying import AT_ONCE, NEARLY, Evidence
from ledger.models import OperationType
from ledger.rules.drills import Promise, Result, Tried
from ledger.rules.records import Found
from ledger.rules.register.entries import several
from ledger.rules.states import Outcome, Verdict


def judge(kind: OperationType, evidence: Evidence) -> list[Result]:
    """Say what came of every promise, in the order in which people read them."""
    if not evidence.heard["key"][0].taken:
        return _not_taken(evidence)
    return [
        *_of_the_key(kind, evidence),
        *_of_the_lookup(kind, evidence),
        _list_whole(kind, evidence),
        _rejected(evidence),
        _saves(kind, evidence),
        _void(kind, evidence),
    ]


def _held(promise: Promise, why: str) -> Result:
    return Result(promise, Tried.HELD, why)


def _broken(promise: Promise, why: str) -> Result:
    return Result(promise, Tried.BROKEN, why)


def _untried(promise: Promise, why: str) -> Result:
    """Nothing is promised, or the configuration does not say how to try it."""
    return Result(promise, Tried.NOT_TRIED, why)


def _hindered(promise: Promise, why: str) -> Result:
    return Result(promise, Tried.NOT_TRIED, why, hindered=True)


def _not_taken(evidence: Evidence) -> list[Result]:
    why = f"The sample was not taken. {evidence.heard['key'][0].words}"
    return [_hindered(promise, why) for promise in Promise]


def _of_the_key(kind: OperationType, evidence: Evidence) -> Iterator[Result]:
    contract = kind.promises
    if not contract.takes_key:
        for promise in Promise:
            if promise in _KEYS:
                yield _untried(promise, "The contract promises no key.")
        return
    yield _same_key(evidence)
    yield _marked(kind, evidence)
    yield _changed_data(kind, evidence)
    yield _at_once(kind, evidence)
    yield _lost(evidence)
    kept = contract.key_retention_s
    words = "nothing is promised." if kept is None else f"promised for {kept / 3600:g} h, not proved."
    yield _untried(Promise.KEY_RETENTION, f"How long a key is remembered shows only later: {words}")


_KEYS = (
    Promise.SAME_KEY,
    Promise.REPLAY_MARKED,
    Promise.CHANGED_DATA,
    Promise.AT_ONCE,
    Promise.LOST_ANSWER,
    Promise.KEY_RETENTION,
)


def _one_record(promise: Promise, evidence: Evidence, name: str, *, sent: str) -> Result:
    """Say whether sends under one key have made one record."""
    made, heard = evidence.made(name), evidence.heard[name]
    if len(made) > 1:
        return _broken(promise, f"{sent} made {len(made)} records: {_names(made)}.")
    if any(one.report.error_code == "other_record" for one in heard):
        return _hindered(promise, f"{sent} was answered with another record.")
    if not made:
        return _hindered(promise, f"{sent} made nothing that can be seen. {heard[-1].words}")
    if not evidence.counted(name):
        return _hindered(promise, f"{sent} named {_names(made)}; nothing could count what there is.")
    return _held(promise, f"{sent} made one record, {_names(made)}.")


def _same_key(evidence: Evidence) -> Result:
    second = evidence.heard["key"][-1]
    if second.report.outcome is Outcome.REJECTED and len(evidence.made("key")) < 2:
        # Whoever had missed the first answer would take this one for "nothing was done".
        return _broken(Promise.SAME_KEY, f"The same data was refused the second time. {second.words}")
    return _one_record(Promise.SAME_KEY, evidence, "key", sent="Sent twice, it")


def _marked(kind: OperationType, evidence: Evidence) -> Result:
    promise, header, second = (
        Promise.REPLAY_MARKED,
        kind.promises.replay_header,
        evidence.heard["key"][-1].report,
    )
    if header is None:
        return _untried(promise, "The contract names no replay_header.")
    if second.replayed:
        return _held(promise, f"The second answer carried {header}.")
    return _broken(promise, f"The second answer did not carry {header}.")


def _changed_data(kind: OperationType, evidence: Evidence) -> Result:
    promise, said = Promise.CHANGED_DATA, kind.promises.changed_data
    if "other" not in evidence.heard:
        return _untried(promise, "No line of set writes {key}, so there is no other data to send.")
    report = evidence.heard["other"][0].report
    made, taken = evidence.made("other"), 200 <= (report.http_status or 0) < 300
    if made:
        did = f"It made {_names(made)} of the other data."
    elif report.outcome is Outcome.REJECTED:
        did = f"It refused the other data with status {report.http_status}."
    else:
        did = "It answered with the first record." if taken else evidence.heard["other"][0].words
    if said == "unknown":
        return _untried(promise, f"Nothing is promised. {did}")
    if not made and not (evidence.counted("other") and evidence.sees):
        return _hindered(promise, f"{did} Nothing could tell what there is.")
    if report.outcome is Outcome.UNCERTAIN and not taken:
        return _hindered(promise, did)
    as_said = report.outcome is Outcome.REJECTED if said == "rejects" else taken
    return _held(promise, did) if as_said and not made else _broken(promise, did)


def _at_once(kind: OperationType, evidence: Evidence) -> Result:
    if "at-once" not in evidence.heard:
        return _untried(Promise.AT_ONCE, "One key had made two records already.")
    if len(evidence.made("at-once")) < 2 and not _overlapping(evidence.heard["at-once"]):
        return _untried(
            Promise.AT_ONCE, "No two of the ten were under way at once: its rate keeps them apart."
        )
    rate = kind.destination.reach.rate
    limited = rate.per_second is not None or (rate.concurrency or AT_ONCE) < AT_ONCE
    how = "as close together as its rate allows" if limited else "at once"
    return _one_record(Promise.AT_ONCE, evidence, "at-once", sent=f"Ten under one key, {how},")


def _overlapping(heard: list[Heard]) -> bool:
    """Say whether any two sends were under way at the same time."""
    spans = sorted(one.span for one in heard if not one.unsent)
    return any(later[0] < earlier[1] for earlier, later in pairwise(spans))


def _lost(evidence: Evidence) -> Result:
    if evidence.heard["lost"][0].failed:
        return _hindered(Promise.LOST_ANSWER, evidence.heard["lost"][0].words)
    if not evidence.heard["lost"][0].silent:
        return _hindered(Promise.LOST_ANSWER, "The connector does not close its connection early.")
    sent = "A lost answer, and the same again,"
    return _one_record(Promise.LOST_ANSWER, evidence, "lost", sent=sent)


def _of_the_lookup(kind: OperationType, evidence: Evidence) -> Iterator[Result]:
    if not kind.has_lookup:
        yield _untried(Promise.LOOKUP_FINDS, "There is no look-up.")
        yield _untried(Promise.LOOKUP_ABSENT, "There is no look-up.")
        return
    found = evidence.found["key"]
    unseen = evidence.made("key") - {record.id for record in found.records}
    if found.verdict is Verdict.COULD_NOT_LOOK:
        yield _blind(Promise.LOOKUP_FINDS, found)
    elif unseen:
        words = f"{_names(unseen)} was not found {kind.promises.settle_s:g} s after it was sent."
        yield _broken(Promise.LOOKUP_FINDS, words)
    elif not found.records:
        yield _hindered(Promise.LOOKUP_FINDS, _NOTHING_SEEN)
    else:
        yield _held(Promise.LOOKUP_FINDS, f"Found {_names({record.id for record in found.records})}.")
    yield _absent(evidence)


_NOTHING_SEEN = "No record that was made was seen anywhere, so there was nothing to find."


def _absent(evidence: Evidence) -> Result:
    found, sent = evidence.found[NEARLY[1]], (NEARLY[0], NEARLY[-1])
    if found.verdict is Verdict.COULD_NOT_LOOK:
        return _blind(Promise.LOOKUP_ABSENT, found)
    if found.verdict is not Verdict.ABSENT:
        return _broken(Promise.LOOKUP_ABSENT, "It found what was never sent.")
    if not all(evidence.found[name].records for name in sent):
        # A look-up that never finds anything says this of everything.
        return _hindered(Promise.LOOKUP_ABSENT, "It did not find the two that were sent either.")
    return _held(Promise.LOOKUP_ABSENT, "What was never sent is absent, beside two much like it.")


def _blind(promise: Promise, found: Found) -> Result:
    """A look-up that brought or was told something else is broken; one that broke off is not."""
    told = found.others or found.records or 400 <= (found.status or 0) < 500
    if told and not found.refused:
        return _broken(promise, f"It could not look. {found.why}")
    return _hindered(promise, f"It could not look. {found.why}")


def _list_whole(kind: OperationType, evidence: Evidence) -> Result:
    listed, promise = evidence.listed, Promise.LIST_WHOLE
    if listed is None:
        return _untried(promise, "There is no list.")
    if listed.why:
        told = listed.pages or 400 <= (listed.status or 0) < 500
        return (_broken if told else _hindered)(promise, f"It was not read to its end. {listed.why}")
    missing = {one for name in evidence.probes for one in evidence.made(name)}
    missing -= {one for seen in listed.records.values() for one in seen}
    if missing:
        return _broken(promise, f"Read to its end, it lacks {_names(missing)}.")
    if not listed.records:
        return _hindered(promise, f"Read to its end. {_NOTHING_SEEN}")
    alone = " How it goes on after a page was not tried." if listed.pages < 2 else ""
    pages = "1 page" if listed.pages == 1 else f"{listed.pages} pages"
    return _held(promise, f"Read to its end, {pages}, with all that was made.{alone}")


def _rejected(evidence: Evidence) -> Result:
    promise = Promise.REJECTED
    if "refused" not in evidence.heard:
        return _untried(promise, 'The drill section names no "refused" payload.')
    first, *later = evidence.heard["refused"]
    if first.report.outcome is not Outcome.REJECTED:
        return _hindered(promise, f"It did not refuse what was to be refused. {first.words}")
    made = evidence.made("refused") - {one.report.destination_reference for one in later}
    if made:
        return _broken(promise, f"It refused with status {first.report.http_status} and made {_names(made)}.")
    if not (evidence.counted("refused") and evidence.sees):
        return _hindered(promise, "Nothing could tell whether anything was made.")
    return _held(promise, f"It refused with status {first.report.http_status}; nothing was made.")


def _saves(kind: OperationType, evidence: Evidence) -> Result:
    promise, said = Promise.SAVES, kind.promises.saves
    answers = evidence.heard.get("refused", [])
    if len(answers) < 2:
        return _untried(promise, "It takes a key and a refused payload to try.")
    first, second = answers
    if first.report.outcome is not Outcome.REJECTED:
        return _hindered(promise, f"It did not refuse what was to be refused. {first.words}")
    did = (
        "Corrected data was taken under the key of a refusal."
        if second.taken
        else f"Under the key of a refusal it answered with status {second.report.http_status} again."
    )
    if said == "unknown":
        return _untried(promise, f"Nothing is promised. {did}")
    if second.report.http_status is None:
        return _hindered(promise, second.words)
    return (_held if second.taken == (said == "2xx") else _broken)(promise, did)


def _void(kind: OperationType, evidence: Evidence) -> Result:
    promise = Promise.VOID
    if kind.how.void is None:
        return _untried(promise, "There is no void.")
    if not kind.has_lookup or kind.how.record is None or not kind.how.record.void_statuses:
        return _untried(promise, "Nothing tells whether a record is void.")
    stands = {record for record, done in evidence.voided.items() if not done}
    if stands:
        return _broken(promise, f"Not void: {_names(stands)}.")
    if not evidence.voided:
        return _hindered(promise, "No record was seen that could be voided.")
    return _held(promise, f"Void, and seen to be: {several(len(evidence.voided), 'record')}.")


def _names(records: set[str]) -> str:
    shown = sorted(records)
    return ", ".join(shown[:5]) + (f" and {len(shown) - 5} more" if len(shown) > 5 else "")
