"""What the register says of an automation."""

import re

from ledger.rules import saying
from ledger.rules.layers import calls_of, multiplied
from ledger.rules.register.entries import ANSWERED, Check, Entry, Seen, listed, several
from ledger.rules.register.facts import AutomationFacts, Facts, Traffic, TypeFacts
from ledger.rules.register.types import QUESTIONS, made_of, tries

_UNREAD = re.compile(r"\b(logs?|log ?files?|nobody|nowhere|none)\b", re.IGNORECASE)
"""Words of a place in which a last failure may lie unread."""


def automation_entry(one: AutomationFacts, facts: Facts) -> Entry:
    """Say how an automation stands."""
    kinds, through = facts.kinds(one), facts.comes_through(one)
    key = _key(one, kinds, through=through)
    makes = [f"{kind.label} at {kind.destination}" for kind in kinds] or ["no operation type is named"]
    who = f"run by {one.owner}" if one.owner else ""
    checks = (_retries(one, kinds, through=through, key=key), key, _last_failure(one))
    promise, beyond = _promise(one, kinds, through=through)
    answers = _answers(one, kinds, checks=checks) if through else _outside(kinds, checks)
    return Entry(
        name=one.name,
        title=one.title,
        under=tuple(filter(None, (*makes, who))),
        checks=checks,
        promise=promise,
        beyond=beyond,
        answers=tuple(zip(QUESTIONS, answers, strict=True)),
        seen=tuple(_seen(one, facts)),
    )


def _ask(one: AutomationFacts) -> str:
    return one.owner or "whoever runs it"


def _retries(one: AutomationFacts, kinds: list[TypeFacts], *, through: bool, key: Check) -> Check:
    about, calls = "Retries", calls_of(one.layers)
    if not one.layers:
        if one.retries:
            more = f"“{one.retries}”; write it as layers, so that they are multiplied out"
            return Check(about, "uncertain", "not counted", more)
        more = f"ask {_ask(one)} which platform, connector or library repeats a call by itself"
        return Check(about, "uncertain", "not said", more)
    product = multiplied(one.layers)
    if calls is None:
        return Check(about, "uncertain", "not known", f"{product}; ask {_ask(one)}")
    if calls == 1:
        return Check(about, "said", "none of its own, as said", listed([layer.who for layer in one.layers]))
    said = f"up to {calls:,} calls"
    if not through:
        return Check(about, "failed", said, f"{product}; none of them comes through Tieout")
    if key.state not in ANSWERED:
        return Check(
            about, "uncertain", said, f"{product}; one of them counts only if all carry the same key"
        )
    callers = [kind for kind in kinds if not kind.by_tieout]
    if callers:
        there = listed(list(dict.fromkeys(kind.destination for kind in callers)))
        more = f"Tieout lets one claim go ahead, and a repeat beneath that claim reaches {there} itself"
        return Check(about, "uncertain", said, f"{product}; {more}")
    # However many they are: that one counts rests on the key, and is no surer than that.
    return Check(about, key.state, said, f"{product}; Tieout makes one of them count")


def _key(one: AutomationFacts, kinds: list[TypeFacts], *, through: bool) -> Check:
    about = "Key"
    if saying.says(one.stable_key, saying.NONE):
        return Check(about, "failed", "none", "each repeat looks new")
    if saying.is_key(one.stable_key):
        return Check(about, "said", "stable, as said", f"“{one.stable_key}”")
    if one.stable_key:
        return Check(about, "uncertain", "not known", f"ask {_ask(one)} what its key is made of: stable_key")
    templates = dict.fromkeys(kind.key_template for kind in kinds)
    if through and templates and all(templates):
        made = listed(list(dict.fromkeys(map(made_of, templates))))
        return Check(about, "completed", "stable", f"{made}, where it sends none")
    return Check(about, "uncertain", "not said", f"ask {_ask(one)} what its key is made of: stable_key")


def _last_failure(one: AutomationFacts) -> Check:
    about = "Last failure"
    if not one.last_failure:
        more = f"ask {_ask(one)} who is told of what never reached Tieout"
        return Check(about, "uncertain", "not said", more)
    if saying.says(one.last_failure, saying.NONE):
        return Check(about, "failed", "nobody is told", "what never reached Tieout is missed by nobody")
    if not saying.is_known(one.last_failure):
        return Check(about, "uncertain", "not known", f"ask {_ask(one)} who is told: last_failure")
    words = f"“{one.last_failure}”, as said"
    if _UNREAD.search(one.last_failure) and "@" not in one.last_failure:
        return Check(about, "uncertain", words, "does anybody read it?")
    return Check(about, "said", words)


def _promise(one: AutomationFacts, kinds: list[TypeFacts], *, through: bool) -> tuple[str, str]:
    """Return what is promised of its calls in a sentence, and what that does not cover."""
    if not through:
        calls = calls_of(one.layers)
        nouns = listed(list(dict.fromkeys(kind.noun for kind in kinds)) or ["record"], "or")
        lost = f" A lost answer can make up to {several(calls, nouns)}." if calls and calls > 1 else ""
        remedy = "Let it claim first, or switch its own repeats off."
        return f"No promise: nothing that it does comes through Tieout.{lost}", remedy
    promise = "Of all its calls for one event, one counts, as long as each carries the same key."
    callers = [kind for kind in kinds if not kind.by_tieout]
    open_ends = ["what it does without asking Tieout first"]
    if callers:
        labels = listed([kind.label for kind in callers])
        open_ends.append(f"a call of {labels} that is repeated beneath its claim")
    return promise, f"Not covered: {'; '.join(open_ends)}."


Checks = tuple[Check, Check, Check]


def _answers(one: AutomationFacts, kinds: list[TypeFacts], *, checks: Checks) -> tuple[str, ...]:
    """Answer for what comes through Tieout."""
    retries, key, last = checks
    labels = listed([kind.label for kind in kinds]) if kinds else ""
    there = f"stands under {labels}." if labels else "is not known: it names no operation type."
    limits = [f"{kind.label} {tries(kind)}" for kind in kinds]
    return (
        _effect(kinds),
        " ".join(_causes(kinds)) or "Not known.",
        f"Its own key: {key.said}. What the destination remembers {there}",
        f"What can be looked up {there}",
        f"{_sentence(retries)}{f' Tieout allows: {listed(limits)}.' if limits else ''}",
        f"What reached Tieout has a case in the queue. What did not: {last.said}.",
        f"The trail names it api:{one.name}, and each of its tries stands on the operation’s page.",
    )


def _outside(kinds: list[TypeFacts], checks: Checks) -> tuple[str, ...]:
    """Answer for what never asks Tieout."""
    retries, key, last = checks
    return (
        _effect(kinds),
        "It tells nobody here.",
        f"Its own key: {key.said}.",
        "Nobody looks: nothing that it does is on record here. A reconciliation may find what it left.",
        _sentence(retries),
        f"Last failure: {last.said}.",
        "Nobody can tell: its tries are not on record.",
    )


def _effect(kinds: list[TypeFacts]) -> str:
    effect = [kind.label for kind in kinds if kind.side_effect]
    return f"Yes: {listed(effect)}." if effect else "None that is known."


def _causes(kinds: list[TypeFacts]) -> list[str]:
    ours = [kind.label for kind in kinds if kind.by_tieout]
    theirs = [kind.label for kind in kinds if not kind.by_tieout]
    found = [f"{listed(ours)}: Tieout tells from the answer."] if ours else []
    if theirs:
        found.append(f"{listed(theirs)}: it says so itself in each outcome; silence counts as doubt.")
    return found


def _sentence(check: Check) -> str:
    return f"{check.said[0].upper()}{check.said[1:]}: {check.more}."


def _seen(one: AutomationFacts, facts: Facts) -> list[Seen]:
    labels = {kind.name: kind.label for kind in facts.types}
    labels |= {kind.name: kind.label for kind in facts.unreadable}
    traffic = [each for each in facts.traffic if each.automation == one.name]
    found = []
    if not one.registered:
        found.append(Seen(f"It is not registered: add [automations.{one.name}] to the file.", flagged=True))
    if not facts.comes_through(one):
        remedy = f"issue_key {one.name} makes one"
        found.append(Seen(f"Nothing has come from it, and it has no API token: {remedy}.", flagged=True))
    elif not traffic:
        found.append(Seen("Nothing has come from it of late."))
    for each in traffic:
        found += _in_traffic(each, labels[each.type_name])
    if one.registered:
        found += _beside_what_was_said(one, traffic, labels)
    return found


def _in_traffic(each: Traffic, label: str) -> list[Seen]:
    """Say what was seen of one type: what it brought, and how its claims ended."""
    if not each.claims:
        return [Seen(f"{label}: {several(each.operations, 'operation')} handed over of late.")]
    found = [
        Seen(f"{label}: {several(each.claims, 'claim')} for {several(each.claimed, 'operation')} of late.")
    ]
    if not each.with_id:
        words = f"{label}: no claim had an attempt_id, so one whose answer is lost ends as doubt."
        found.append(Seen(words, flagged=True))
    if each.silent:
        found.append(_silent(each, label))
    if each.again:
        found.append(Seen(f"{label}: asked again {several(each.again, 'time')} for a claim that it held."))
    return found


def _silent(each: Traffic, label: str) -> Seen:
    """Say how many claims fell silent; what was answered since speaks no more against it."""
    words = f"{label}: {several(each.silent, 'claim')} ended without a word"
    if each.doubted:
        still = "" if each.doubted == each.silent else f" of {each.doubted:,} of them"
        return Seen(f"{words}; what came of it is not known yet{still}.", flagged=True)
    return Seen(f"{words}; what came of it is known by now.")


def _beside_what_was_said(one: AutomationFacts, traffic: list[Traffic], labels: dict[str, str]) -> list[Seen]:
    """Say where what was seen, or what its token covers, is not what was said."""
    found = []
    unsaid = [labels[each.type_name] for each in traffic if each.type_name not in one.types]
    if unsaid:
        found.append(Seen(f"It makes {listed(unsaid)}, which is not among its types.", flagged=True))
    uncovered = [name for name in one.types if one.token_types and name not in one.token_types]
    if uncovered:
        found.append(Seen(f"Its token does not cover {listed(uncovered)}.", flagged=True))
    if one.has_token and not one.token_types:
        found.append(Seen("Its token covers every operation type."))
    return found
