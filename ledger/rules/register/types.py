"""What the register says of an operation type."""

from ledger.rules import saying
from ledger.rules.guarantees import FROZEN, day, guarantee, whose
from ledger.rules.layers import calls_of
from ledger.rules.overlaps import ONE_TYPE
from ledger.rules.register.entries import Check, Entry, Seen, listed, several, span
from ledger.rules.register.facts import AutomationFacts, Facts, TypeFacts, UnreadableType

QUESTIONS = (
    "Has it a side effect?",
    "Which causes are passing?",
    "Does it take a key, and does it remember ours?",
    "Can it be looked up, and is absence proof?",
    "How many tries, and for how long?",
    "What happens at the limit?",
    "Which try produced the result, and how do we know?",
)


def type_entry(kind: TypeFacts, facts: Facts) -> Entry:
    """Say how an operation type stands."""
    makers = [one for one in facts.automations if one.registered and kind.name in one.types]
    asking = [one for one in makers if facts.comes_through(one)]
    promise, beyond = _promise(kind, [one for one in makers if one not in asking])
    sender = "sent by Tieout" if kind.by_tieout else "sent by its caller, who claims first"
    return Entry(
        name=kind.name,
        title=kind.label,
        under=(f"{kind.destination}, {kind.account}", sender),
        checks=(_retries(kind, asking), _key(kind, asking), _last_failure(kind)),
        promise=promise,
        beyond=beyond,
        answers=tuple(zip(QUESTIONS, _answers(kind), strict=True)),
        seen=tuple(_seen(kind, makers, facts)),
    )


def unreadable_entry(kind: UnreadableType) -> Entry:
    """Say that nothing can be promised of a type whose rules cannot be read."""
    promise = "No promise: its rules cannot be read."
    seen = (Seen(kind.why, flagged=True),)
    return Entry(kind.name, kind.label, (kind.destination,), (), promise, "", (), seen)


def tries(kind: TypeFacts) -> str:
    """Say how many tries software makes, and for how long."""
    policy = kind.policy
    if kind.contract.retry_owner == "client" or policy.attempts == 1:
        return "1 try"
    return f"up to {several(policy.attempts, 'try')} within {span(policy.elapsed_s)}"


def made_of(template: str) -> str:
    """Name the parts of a source record that a key's template puts together."""
    names = ("system", "reference", "version")
    parts = [name for name in names if f"{{source.{name}}}" in template]
    return f"made of the source’s {listed(parts)}" if parts else "made by its template"


def _retries(kind: TypeFacts, makers: list[AutomationFacts]) -> Check:
    about = "Retries"
    if kind.contract.retry_owner == "client":
        return Check(
            about, "completed", "one owner", f"{whose(kind.destination)} own client; Tieout makes 1 try"
        )
    if kind.by_tieout:
        return Check(about, "completed", "one owner", f"Tieout, {tries(kind)}")
    if not makers:
        more = f"{tries(kind)}, each by a claim; what repeats a call beneath a claim nobody has said"
        return Check(about, "uncertain", "not said", more)
    return _beneath_claims(kind, makers)


def _beneath_claims(kind: TypeFacts, makers: list[AutomationFacts]) -> Check:
    """Say whether a claim's one try stays one call: a layer of its caller may repeat it beneath the claim."""
    about, by_claim = "Retries", f"its caller through Tieout, {tries(kind)}, each by a claim"
    calls = {one.title: calls_of(one.layers) if one.layers else None for one in makers}
    unsaid = [title for title, count in calls.items() if count is None]
    if unsaid:
        more = f"{by_claim}; what repeats a call beneath a claim of {listed(unsaid)} nobody has said"
        return Check(about, "uncertain", "not said", more)
    many = [title for title, count in calls.items() if count != 1]
    if many:
        more = f"{by_claim}; what {listed(many)} repeats beneath a claim reaches {kind.destination} itself"
        return Check(about, "uncertain", "one owner?", more)
    return Check(about, "said", "one owner, as said", by_claim)


def _key(kind: TypeFacts, makers: list[AutomationFacts]) -> Check:
    about = "Key"
    if kind.doubled:
        more = (
            f"{several(kind.doubled, 'source record')} under more than one key: look whether they are repeats"
        )
        return Check(about, "uncertain", "is it stable?", more)
    if kind.key_template:
        return Check(
            about, "completed", "stable", f"{made_of(kind.key_template)}, where its caller sends none"
        )
    without = [one.title for one in makers if saying.says(one.stable_key, saying.NONE)]
    if without:
        return Check(about, "failed", "none", f"each repeat of {listed(without)} looks new")
    unsaid = [one.title for one in makers if not saying.is_key(one.stable_key)]
    if makers and not unsaid:
        said = listed(list(dict.fromkeys(f"“{one.stable_key}”" for one in makers)))
        return Check(about, "said", "stable, as said", said)
    more = f"ask what {listed(unsaid) if unsaid else 'its caller'} makes it of"
    return Check(about, "uncertain", "not said", more)


def _due(kind: TypeFacts) -> str:
    """Say in how long a case of it is due."""
    return f"{span(kind.due_s)}{' of working hours' if kind.working else ''}"


def _last_failure(kind: TypeFacts) -> Check:
    more = f"a case in the queue, due in {_due(kind)}"
    return Check("Last failure", "completed", kind.owner, more)


def _promise(kind: TypeFacts, outside: list[AutomationFacts]) -> tuple[str, str]:
    """Return the guarantee in a sentence, and what it does not cover."""
    said = guarantee(
        kind.contract,
        kind.destination,
        has_lookup=kind.has_lookup,
        by_tieout=kind.by_tieout,
        drilled=kind.drilled,
    )
    open_ends = []
    if said.endswith(FROZEN):
        said = said.removesuffix(FROZEN).rstrip()
        open_ends.append("a sender frozen between its check and its send")
    if not kind.by_tieout:
        open_ends.append("what repeats a call beneath its claim, such as an HTTP library")
    past = f"what reaches {kind.destination} past Tieout"
    open_ends.append(f"{past}, as {listed([one.title for one in outside])} does" if outside else past)
    return said, f"Not covered: {'; '.join(open_ends)}."


def _answers(kind: TypeFacts) -> tuple[str, ...]:
    effect = "Yes. It makes something that others see." if kind.side_effect else "No."
    return (
        effect,
        _causes(kind),
        _remembers(kind),
        _absence(kind),
        f"{tries(kind).capitalize()}, {_spaced(kind)}",
        f"Nothing is sent by itself any more. A case stands in the queue of {kind.owner}, due in "
        f"{_due(kind)}; a person decides with the evidence in front of them.",
        _proof(kind),
    )


def _causes(kind: TypeFacts) -> str:
    contract = kind.contract
    not_done = [str(status) for status in contract.not_done]
    too = f", and status {listed(not_done, 'or')}" if not_done else ""
    refused = [str(status) for status in contract.rejected]
    final = f" {listed(refused, 'or')} refuses for good." if refused else ""
    body = " What the body says counts before the status." if contract.when else ""
    doubt = "Silence, and any other error, is doubt: it may have happened."
    return f"A refused connection{too}: nothing was done.{final} {doubt}{body}"


def _remembers(kind: TypeFacts) -> str:
    contract, there = kind.contract, kind.destination
    if kind.drilled.key_broken_on is not None:
        on = day(kind.drilled.key_broken_on)
        return f"Drilled {on}: one key made a second record, so nothing rests on it."
    if not contract.takes_key:
        return f"{there} takes no key that we know of."
    if contract.key_retention_s is None:
        return "It takes a key; for how long it remembers is not known, which counts as not at all."
    less = f", less {span(contract.key_margin_s)} of margin" if contract.key_margin_s else ""
    return f"Yes, for {span(contract.key_retention_s)} from the first send{less}. Another account forgets it."


def _absence(kind: TypeFacts) -> str:
    if not kind.has_lookup:
        return "No. It cannot be checked."
    if kind.drilled.lookup_broken_on is not None:
        on = day(kind.drilled.lookup_broken_on)
        return f"Yes, but its silence proves nothing: drilled {on}, it did not tell what is there."
    if kind.lookup_proved_on is None:
        return "Yes, but this check has not found a known record yet, so its silence proves nothing."
    on, settle = day(kind.lookup_proved_on), span(kind.contract.settle_s)
    proof = f"absence is proof {settle} after the sender could last have sent"
    return f"Yes. It found a known record on {on}, and {proof}."


def _spaced(kind: TypeFacts) -> str:
    policy, client = kind.policy, kind.contract.retry_owner == "client"
    if client:
        return f"because {whose(kind.destination)} own client repeats by itself; how often is not known here."
    if policy.attempts == 1:
        return "then a person decides."
    return f"{span(policy.base_s)} to {span(policy.cap_s)} apart."


def _proof(kind: TypeFacts) -> str:
    answer = "An answer that carries our key" if kind.by_tieout else "Its caller’s report"
    look = ", a check" if kind.has_lookup else ""
    return f"{answer}{look} or a named person’s word; the operation’s page says which, and of which try."


def _seen(kind: TypeFacts, makers: list[AutomationFacts], facts: Facts) -> list[Seen]:
    titles = {one.name: one.title for one in facts.automations}
    found = []
    traffic = [one for one in facts.traffic if one.type_name == kind.name]
    if traffic:
        by = [
            f"{several(max(one.operations, one.claimed), 'operation')} by {titles[one.automation]}"
            for one in traffic
        ]
        found.append(Seen(f"Of late {listed(by)}."))
    if kind.alike:
        words = f"{listed(kind.alike)} {'looks' if len(kind.alike) == 1 else 'look'} for the same records"
        one = f"what is handed to more than one of them is made more than once. {ONE_TYPE}"
        found.append(Seen(f"{words}: {one}", flagged=True))
    if kind.drilled.key_broken_on or kind.drilled.lookup_broken_on:
        found.append(Seen("A drill has refuted what its contract promises.", flagged=True))
    if not kind.has_lookup and not _window_known(kind):
        found.append(Seen("Neither a key nor a check protects a second try."))
    elif kind.contract.takes_key and not _window_known(kind):
        found.append(
            Seen("How long its key is remembered is not known: only the check protects a second try.")
        )
    elif not kind.has_lookup:
        found.append(Seen("It cannot be looked up: only the key protects a second try."))
    known = {one.name for one in makers}
    gone = {one.name for one in facts.automations if one.gone}
    strangers = [titles[one.automation] for one in traffic if one.automation not in known | gone]
    ended = [titles[one.automation] for one in traffic if one.automation in gone]
    if ended:
        found.append(Seen(f"{listed(ended)} can send no more: no API token of it is valid."))
    if strangers:
        found.append(Seen(f"{listed(strangers)}: seen to make it, and not registered for it.", flagged=True))
    elif not makers:
        remedy = f'add "{kind.name}" to the types of one'
        found.append(Seen(f"No automation is registered for it: {remedy}.", flagged=True))
    return found


def _window_known(kind: TypeFacts) -> bool:
    return kind.contract.takes_key and kind.contract.key_retention_s is not None
