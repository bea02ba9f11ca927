"""Several records where one was meant: what tells which to keep, what goes, and what became of it."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from ledger import actions
from ledger.models import Choice, Operation
from ledger.rules.reversals import VOID, left_of, way_of
from ledger.rules.states import LIVE, Evidence, State, Verdict
from review import amounts, beside, wording
from review.confirming import Fact, Question, whom
from review.instants import instant
from review.reading import Reading

NOT = ("", "no", "0", "0.00")
"""What a record says where nothing is paid of it, or nobody was told."""


@dataclass(frozen=True)
class Candidate:
    """One record to choose from, with what its rules read of it."""

    record: beside.Record
    by: str
    paid: str
    sent: str
    period: str
    kept: bool
    """Whether it is the one that is suggested."""


@dataclass(frozen=True)
class Several:
    """The records that are there, what they come to, and which one is suggested."""

    rows: list[Candidate]
    columns: list[str]
    """Which of paid, sent and period any of them tells."""
    count: str
    total: str
    surplus: str
    stays: str
    why: str
    """Why that one is suggested."""

    @property
    def span(self) -> int:
        """How many columns stand before the amount, without the first one."""
        return 3 + len(self.columns) + any(row.record.made_at for row in self.rows)

    @property
    def dated(self) -> bool:
        """Say whether any tells when it was made."""
        return any(row.record.made_at for row in self.rows)


def candidates(reading: Reading) -> Several | None:
    """Return what to choose from; None where no check has found several, or one was chosen."""
    if reading.verdict != Verdict.SEVERAL or reading.latest is None or reading.reversing:
        return None
    found = reading.latest.records
    live = [record for record in found if record["standing"] in LIVE]
    kept, why = _suggested(reading, live)
    rows = [_candidate(reading, record, kept=record is kept) for record in found]
    split = actions.split(reading.operation, reading.latest, kept["id"])
    stays = amount_of(reading.operation, kept)
    total = None if split.amount is None or stays is None else split.amount + stays
    show = _shower(split.currency)
    return Several(
        rows=rows,
        columns=[name for name in ("paid", "sent", "period") if any(getattr(row, name) for row in rows)],
        count=wording.several(len(live), reading.noun),
        total=show(total),
        surplus="–" if split.amount is None else f"−{show(split.amount)}",
        stays=show(stays),
        why=f"{kept['id']} is suggested: {why}.",
    )


def amount_of(operation: Operation, record: Mapping[str, Any]) -> Decimal | None:
    """Return what a record comes to: what it lists, or else what was meant."""
    return operation.amount if record["amount"] is None else Decimal(record["amount"])


def left_now(
    whole: Decimal | None, currency: str, number: str, listed: Iterable[Mapping[str, Any]]
) -> Decimal:
    """Return what is left of a record that came to `whole`, by what the destination lists of it since."""
    now = next((one for one in listed if one["id"] == number), None)
    told = now["amount"] if now is not None and now["currency"] == currency else None
    return left_of(whole or Decimal(), None if told is None else Decimal(told))


def sent(record: Mapping[str, Any]) -> str:
    """Return what the customer was sent of a record, as it tells; empty where it tells that nothing was."""
    told = str(record.get("sent") or "")
    return "" if told in NOT else told


def _shower(currency: str) -> Any:
    return lambda amount: amounts.show(amount, currency) if currency else "–"


def _candidate(reading: Reading, record: Mapping[str, Any], *, kept: bool) -> Candidate:
    said = (str(record.get(name) or "") for name in ("paid", "sent", "period"))
    paid, sent, period = said
    return Candidate(beside.record(reading, record), _by(reading, record["id"]), paid, sent, period, kept)


def _by(reading: Reading, number: str) -> str:
    """Say which of our tries made a record, where one was told."""
    ours = (one for one in reading.attempts if one.destination_reference == number)
    tried = next(ours, None)
    return f"Try {tried.number}" if tried is not None else "not known"


def _suggested(reading: Reading, live: list[Mapping[str, Any]]) -> tuple[Mapping[str, Any], str]:
    """Return the record that is best kept, and why: paid, ours, told to the customer, or the earliest."""
    paid = [one for one in live if one.get("paid", "") not in NOT]
    ours = [one for one in live if _by(reading, one["id"]) != "not known"]
    known = [one for one in live if one["id"] == reading.operation.destination_reference]
    told = [one for one in live if one.get("sent", "") not in NOT]
    first = sorted(live, key=lambda one: (one.get("occurred_at") or "~", one["id"]))
    for found, why in (
        (paid, "something is paid of it"),
        (known, "it is the one that was confirmed"),
        (ours, "our own try made it"),
        (told if len(told) == 1 else [], "it is the one that the customer was told of"),
    ):
        if found:
            return found[0], why
    return first[0], "the earliest of them" if first[0].get("occurred_at") else "the first of them"


def stands(reading: Reading, keep: str) -> bool:
    """Say whether the latest check has found this record among several that stand."""
    live = reading.seen.live if reading.seen is not None and reading.verdict == Verdict.SEVERAL else []
    return any(record["id"] == keep for record in live)


def question(reading: Reading, keep: str) -> Question:
    """Return the dialog: each record by name and amount, who was told, and that it cannot be taken back."""
    if reading.latest is None or not stands(reading, keep):
        return Question("Choose one of several", list(whom(reading)), "The one to keep does not stand there.")
    split = actions.split(reading.operation, reading.latest, keep)
    noun, there = reading.noun, reading.there
    many = wording.several(len(split.go), noun)
    facts = [*(one for one in whom(reading) if one.name != "Amount")]
    facts.append(Fact("Kept", _line(split.kept), _more(split.kept), sure=True))
    facts += [Fact(_does(reading, record), _line(record), _more(record)) for record in split.go]
    facts.append(Fact("Together", amounts.whole(split.amount, split.currency) or "not known"))
    needs = actions.choice_needs_second(reading.operation, split, reading.person.get_username())
    small = f"Nothing happens yet: it needs {reading.second}." if needs else "Ten seconds to undo"
    return Question(
        f"Keep {keep}, and reverse {many}?",
        facts,
        " ".join(_follows(reading, split)),
        note_bold=f"What is reversed in {there} cannot be taken back.",
        small=small,
    )


def _does(reading: Reading, record: Mapping[str, Any]) -> str:
    void = reading.operation.operation_type.how.void
    if void is None:
        return "By hand"
    if way_of(void, record) == VOID:
        return "Void"
    return "Credit" if void.credit is not None else "By hand"


def _follows(reading: Reading, split: actions.Split) -> Iterator[str]:
    if not any(record.get("sent") for record in (split.kept, *split.go)):
        yield "Its rules do not read which of them the customer was told of."
    there, void = reading.there, reading.operation.operation_type.how.void
    if void is None:
        yield "The rules name no call for it: each becomes a task for people, and a check closes it."
        return
    yield "Each is looked at once more before it goes, and left if it has changed or the kept one is gone."
    if any(way_of(void, record) != VOID for record in split.go):
        then = "credited, and not voided" if void.credit is not None else "a task for people"
        yield f"What is in a closed period is {then}: its rules bar voiding it."
    if void.credit is not None:
        yield f"What {there} refuses to void is credited."
    else:
        yield f"What {there} refuses to void becomes a task for people."
    yield f"A check of {there} proves what is left; until then nothing is called done."


def _line(record: Mapping[str, Any]) -> str:
    amount = amounts.whole(record["amount"], record["currency"])
    return ", ".join(part for part in (record["id"], amount) if part)


def _more(record: Mapping[str, Any]) -> str:
    """Say how it stands there, what is paid of it, who was told, and whether its period is closed."""
    paid, sent, period = (record.get(name, "") for name in ("paid", "sent", "period"))
    parts = (
        record["status"],
        f"paid: {paid}" if paid else "",
        f"customer told: {sent}" if sent not in NOT else "customer not told" if sent else "",
        f"period: {period}" if period else "",
    )
    return ", ".join(part for part in parts if part)


@dataclass(frozen=True)
class Reversed:
    """One record that goes: its reversal, how that stands, and its amount."""

    number: str
    url: str
    operation: Operation
    badge: wording.Badge
    words: str
    amount: str


@dataclass(frozen=True)
class Chosen:
    """What was chosen and what became of it; `proved` once a check has found that one is left."""

    kept: str
    kept_url: str
    stays: str
    rows: list[Reversed]
    surplus: str
    reversed: str
    net: str
    currency: str
    proved: bool
    gone: bool
    """The latest check has found the kept one reversed, or not at all."""
    left: int
    by: str
    """Who chose it, why, and who agreed, each with the time."""


def chosen(reading: Reading) -> Chosen | None:
    """Return what the latest choice has come to; None where nothing was chosen, or it was undone."""
    choice = reading.choice
    if choice is None:
        return None
    records = {record["id"]: record for record in choice.lookup.records}
    made = {one.reversed_reference: one for one in reading.reversals}  # the latest of each record stands
    rows = [(made[number], records[number]) for number in [*made] if number in records]
    if all(one.cancelled_at is not None for one, _ in rows):
        return None
    surplus = sum((amount_of(reading.operation, record) or Decimal() for _, record in rows), Decimal())
    net = surplus - sum((_offset(reading, record) for one, record in rows if _is_done(one)), Decimal())
    currency, show = choice.currency, _shower(choice.currency)
    left = sum(not _is_done(one) for one, _ in rows)
    settled = reading.state is State.COMPLETED and reading.case is None
    return Chosen(
        kept=choice.kept,
        kept_url=beside.open_url(reading, choice.kept),
        stays=show(amount_of(reading.operation, records[choice.kept])),
        rows=[_reversed(reading, one, record) for one, record in rows],
        surplus=show(surplus),
        reversed=f"−{show(surplus - net)}" if surplus != net else show(Decimal()),
        net=show(net),
        currency=currency,
        proved=settled and left == 0 and not net,
        gone=_gone(reading, choice.kept),
        left=left,
        by=_chosen_by(reading, choice),
    )


def _chosen_by(reading: Reading, choice: Choice) -> str:
    agreed = next((one for one in reading.approvals if one.pk == choice.approval_id), None)
    maker = wording.who(agreed.maker if agreed is not None else choice.actor)
    asked_at = agreed.made_at if agreed is not None else choice.made_at
    said = f"{maker} chose it at {instant(asked_at, reading.now)}: “{choice.reason}”"
    if agreed is None or agreed.decided_at is None:
        return said
    return f"{said}. {wording.who(agreed.decided_by)} agreed at {instant(agreed.decided_at, reading.now)}"


def _offset(reading: Reading, record: Mapping[str, Any]) -> Decimal:
    """Return what the reversal of a record took off it, by what the latest check lists of it."""
    whole = amount_of(reading.operation, record) or Decimal()
    listed = reading.latest.records if reading.latest else []
    return whole - left_now(whole, record["currency"], record["id"], listed)


def _gone(reading: Reading, kept: str) -> bool:
    """Say whether a check read to its end no longer finds the kept one to stand."""
    latest = reading.latest
    stands = any(one["id"] == kept and one["standing"] in LIVE for one in latest.records) if latest else True
    return latest is not None and latest.complete and not stands


def _is_done(reversal: Operation) -> bool:
    return reversal.state == State.COMPLETED


def _reversed(reading: Reading, reversal: Operation, record: Mapping[str, Any]) -> Reversed:
    state = State(reversal.state)
    badge = wording.badge(state)
    if state is State.COMPLETED:
        badge = wording.Badge("completed", "Reversed", "completed")
    amount = amounts.show(
        amount_of(reading.operation, record), record["currency"] or reading.operation.currency
    )
    url = beside.open_url(reading, record["id"])
    return Reversed(record["id"], url, reversal, badge, _stands(reading, reversal), amount)


def _stands(reading: Reading, reversal: Operation) -> str:
    """Say in a few words how one is reversed, by whom it was found so and when, or what it waits for."""
    does = reversal.operation_type.label
    if reversal.state == State.COMPLETED and reversal.finished_at is not None:
        at, by = instant(reversal.finished_at, reading.now), wording.who(reversal.evidence_by)
        how = f"found by {by}" if reversal.evidence != Evidence.ANSWER else f"{reading.there} confirmed it"
        return f"{does}: {how} at {at}"
    if reversal.held_at is not None:
        return f"{does}: needs a person"
    if reversal.state == State.FAILED and reversal.told_look_at is not None:
        return f"{does}: refused, looked at before it is credited"
    if reversal.cancelled_at is not None:
        return f"undone at {instant(reversal.cancelled_at, reading.now)}"
    return does
