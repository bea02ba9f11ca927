"""The decision panel: the verdict, the one next action, the other ways, and the evidence beside them."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from ledger.models import Operation, Pause
from ledger.rules.leaves import SITTING, Action
from ledger.rules.seven import seven
from ledger.rules.states import State, Verdict
from review import amounts, approvers, beside, routes, sentences, timeline, trail, window, wording
from review.instants import instant, say
from review.reading import Door, Reading
from review.several import Chosen, Several, candidates
from review.several import chosen as what_was_chosen

SLUGS = {
    Action.CHECK: "operation-check",
    Action.SEND_AGAIN: "operation-send-again",
    Action.UNDO: "operation-undo",
    Action.CONFIRM_REFERENCE: "operation-confirm-with-reference",
    Action.DID_NOT_HAPPEN: "operation-did-not-happen",
    Action.CANCEL: "operation-cancel",
    Action.CORRECT: "operation-correct",
    Action.CHOOSE: "operation-choose",
    Action.OVERRIDE: "operation-override",
    Action.APPROVE: "operation-approve",
    Action.REFUSE: "operation-refuse",
    Action.TAKE_BACK: "operation-take-back",
}
NAMED = (Action.OVERRIDE, Action.APPROVE, Action.REFUSE, Action.TAKE_BACK)
"""What is said of them begins with their word, open or not: they stand beside each other."""
AT_ONCE = (Action.CHECK, Action.UNDO)
"""Carried out by their own click; the others ask once more."""


@dataclass(frozen=True)
class Button:
    """One thing to do as the panel shows it."""

    door: Door
    url: str
    primary: bool = False

    @property
    def at_once(self) -> bool:
        """Say whether the click itself does it."""
        return self.door.action in AT_ONCE

    @property
    def key(self) -> str:
        """The single key that presses it."""
        return {Action.CHECK: "c", Action.SEND_AGAIN: "r"}.get(self.door.action, "")


@dataclass(frozen=True)
class Panel:
    """All parts of the page that follow from a reading."""

    name: str
    title: str
    icon: str
    verdict: str
    lines: list[str]
    buttons: list[Button]
    ways: list[Button]
    notes: list[str]
    open_url: str
    records: list[beside.Record]
    before: str
    """What the last check found that could look, where the latest could not."""
    compared: list[beside.Compared]
    meant: str
    unseen: tuple[str, str]
    trust: str
    window: window.KeyWindow | None
    protection: str
    seven: list[tuple[str, str]]
    timeline: list[timeline.Entry]
    cut: bool
    trail: list[trail.Line]
    linked: list[tuple[Operation, wording.Badge]]
    """What it corrects, or its corrections."""
    related: list[tuple[Operation, wording.Badge]]
    subject: list[tuple[Operation, wording.Badge]]
    """The latest others about the same person or thing."""
    order: list[tuple[Operation, wording.Badge, str]]
    several: Several | None
    """The records to choose from, where there are several."""
    chosen: Chosen | None
    """What was kept and what became of the others."""
    undo_left: int
    pause: Pause | None
    decided: bool

    @property
    def dated(self) -> bool:
        """Say whether any record tells when it was made."""
        return any(record.made_at for record in self.records)

    @property
    def told(self) -> str:
        """What is read out when the page has changed by itself."""
        return f"{self.verdict}. {self.lines[0] if self.lines else ''}"


def panel(reading: Reading) -> Panel:
    """Return the page's parts in words."""
    icon, verdict = sentences.heading(reading)
    operation, now = reading.operation, reading.now
    seen = reading.seen if reading.verdict else None
    before = seen.before if seen else None
    could = before if seen and seen.verdict is Verdict.COULD_NOT_LOOK else seen
    shown_already = {*reading.linked, *reading.reversals}
    return Panel(
        name=wording.name(operation),
        title=f"{wording.title(operation)} · {reading.badge.words.lower()}",
        icon=icon,
        verdict=verdict,
        lines=sentences.sentences(reading),
        buttons=_buttons(reading, _front(reading)),
        ways=_buttons(reading, _ways(reading)),
        notes=list(_notes(reading)),
        open_url=beside.open_url(reading, reading.facts.destination_reference),
        records=[beside.record(reading, record) for record in (could.records if could else ())],
        before=before.heading(reading.meant) if before else "",
        compared=beside.compared(reading),
        meant=amounts.whole(operation.amount, operation.currency),
        unseen=beside.unseen(reading),
        trust=beside.trust(reading),
        window=window.key_window(reading),
        protection=window.protection(reading),
        seven=[(ask, say(answer, now)) for ask, answer in seven(reading.facts, now)],
        timeline=timeline.entries(reading),
        cut=timeline.cut(reading),
        trail=[trail.line(event, there=reading.there) for event in reading.events],
        linked=[(other, wording.badge(State(other.state))) for other in reading.linked],
        related=[(other, _related_badge(other)) for other in reading.related if other not in shown_already],
        subject=[(other, _related_badge(other)) for other in reading.about],
        order=list(_order(reading)),
        several=candidates(reading),
        chosen=what_was_chosen(reading),
        undo_left=_undo_left(reading),
        pause=reading.pause if _concerned(reading) else None,
        decided=_primary(reading) in (None, Action.UNDO),
    )


def _front(reading: Reading) -> list[Action]:
    """Return the actions that stand under the verdict."""
    if reading.allowed is not None or reading.undo_of_choice:
        return [Action.UNDO]
    if reading.asked is not None:
        return _answers(reading)
    match reading.state:
        case State.RUNNING | State.PENDING:
            return _before_it_goes(reading)
        case State.COMPLETED:
            return _looks(reading)
    if reading.facts.cancelled:
        return []
    return _looks(reading) if reading.trouble is not None else _in_doubt_or_failed(reading)


def _in_doubt_or_failed(reading: Reading) -> list[Action]:
    latest = reading.facts.latest
    first = [Action.SEND_AGAIN, Action.CHECK] if reading.facts.has_lookup else [Action.SEND_AGAIN]
    if reading.state is State.FAILED and latest is not None and latest.refused_itself:
        return [Action.CHECK, Action.SEND_AGAIN] if reading.facts.reverses else [Action.CORRECT, *first]
    if reading.facts.has_lookup:
        return first if reading.leaves[Action.SEND_AGAIN].allowed else first[::-1]
    override = [Action.OVERRIDE] if reading.leaves[Action.OVERRIDE].allowed else []
    if reading.state is not State.UNCERTAIN:
        return [*first, *override]
    return [Action.SEND_AGAIN, Action.CONFIRM_REFERENCE, *override]


def _before_it_goes(reading: Reading) -> list[Action]:
    """Return what stands under what runs or waits; a reversal that people make is checked."""
    if reading.facts.waits_for_undo(reading.now):
        return [Action.UNDO]
    return [Action.CHECK] if reading.facts.reverses and reading.case is not None else []


def _looks(reading: Reading) -> list[Action]:
    """Return what stands under what is there: of several one is chosen, and what differs may be corrected."""
    if reading.trouble is Verdict.SEVERAL and reading.verdict == Verdict.SEVERAL:
        return [Action.CHOOSE, Action.CHECK]
    differs = reading.trouble is Verdict.DIFFERS
    return [Action.CHECK, Action.CORRECT] if differs else [Action.CHECK]


def _answers(reading: Reading) -> list[Action]:
    """Return what the maker and everybody else find under an open request."""
    person = reading.person
    mine = reading.asked is not None and approvers.is_own(reading.asked, person)
    answer = [Action.TAKE_BACK] if mine else [Action.APPROVE, Action.REFUSE]
    return [*answer, Action.CHECK] if reading.facts.has_lookup else answer


def _ways(reading: Reading) -> list[Action]:
    """Return the other ways to close it."""
    ways = {
        State.UNCERTAIN: [Action.CONFIRM_REFERENCE, Action.DID_NOT_HAPPEN, Action.CORRECT],
        State.FAILED: [Action.DID_NOT_HAPPEN, Action.CORRECT],
        State.PENDING: [Action.CANCEL, Action.CHECK, Action.CORRECT],
        State.COMPLETED: [Action.CONFIRM_REFERENCE, Action.CORRECT]
        if reading.facts.held
        else [Action.CORRECT],
        State.RUNNING: [],
    }[reading.state]
    if reading.facts.reverses:
        ways = [action for action in ways if action is not Action.CORRECT]
    return [action for action in ways if action not in _front(reading)]


def _primary(reading: Reading) -> Action | None:
    """Return the one next action."""
    if reading.allowed is not None or reading.facts.waits_for_undo(reading.now) or reading.undo_of_choice:
        return Action.UNDO
    if reading.trouble is Verdict.SEVERAL and reading.asked is None:
        return next((one for one in (Action.CHOOSE, Action.CHECK) if reading.door(one).open), None)
    by_hand = reading.facts.reverses and reading.state is State.PENDING and Action.CHECK in _front(reading)
    if by_hand and reading.door(Action.CHECK).open:
        return Action.CHECK
    if reading.state not in (State.UNCERTAIN, State.FAILED):
        return None
    if reading.asked is not None:
        answers = (Action.APPROVE, Action.CHECK) if Action.APPROVE in _front(reading) else ()
        return next((action for action in answers if reading.door(action).open), None)
    settled = reading.state is State.FAILED and reading.operation.held_at is None
    asks = (Action.SEND_AGAIN,) if settled else (Action.SEND_AGAIN, Action.CHECK, Action.CONFIRM_REFERENCE)
    front = _front(reading)
    # What was refused for what it says would be refused again.
    first = (Action.CORRECT,) if front[:1] == [Action.CORRECT] and not settled else ()
    return next((action for action in (*first, *asks) if action in front and reading.door(action).open), None)


def _buttons(reading: Reading, shown: list[Action]) -> list[Button]:
    """Return them with the one next action in front: a check, where the others wait for one."""
    primary = _primary(reading)
    uid = reading.operation.uid
    return [
        Button(
            reading.door(action),
            routes.of(SLUGS[action], uid) if action in SLUGS else "",
            primary=action is primary,
        )
        for action in sorted(shown, key=lambda action: action is not primary)
    ]


def _notes(reading: Reading) -> Iterator[str]:
    """Say in small print why a button is open or not, and what reverses what was done."""
    front = _front(reading)
    doors = [reading.door(action) for action in front]
    if doors and not any(door.open for door in doors) and len({door.why for door in doors}) == 1:
        yield doors[0].why
        return
    for door in doors:
        if door.action is not Action.CHECK or not door.open:
            named = (door.open and door.action not in NAMED) or door.why.startswith(door.words)
            yield door.why if named else f"{door.words}: {door.why}"
        if door.action is Action.SEND_AGAIN and door.open and reading.sitting is not None:
            until = instant(reading.sitting.asked_at + SITTING, reading.now)
            yield f"Your check counts until {until}."
    if reading.trouble is not None:
        yield sentences.stopped(reading)
    if Action.TAKE_BACK in front:
        yield f"It needs {reading.second}."
    yield from _after_permit(reading)


def _after_permit(reading: Reading) -> Iterator[str]:
    spent = next((p for p in reversed(reading.permits) if p.spent_at is not None), None)
    if reading.state is State.RUNNING and spent is not None and spent.attempt_id == reading.attempts[-1].pk:
        reversal = f"It can no longer be undone here; what reverses it is done in {reading.there}."
        yield f"Allowed by {wording.who(spent.actor)}. {reversal}"


def _concerned(reading: Reading) -> bool:
    """Say whether a pause of its destination keeps anything of this operation waiting."""
    return reading.state is not State.COMPLETED and not reading.facts.cancelled


def _undo_left(reading: Reading) -> int:
    """Return the whole seconds in which what a person allowed, or corrected, can be undone."""
    waits = reading.facts.next_try_at if reading.facts.waits_for_undo(reading.now) else None
    waits = reading.facts.undo_until if reading.undo_of_choice else waits
    until = reading.allowed.effective_at if reading.allowed else waits
    return max(ceil((until - reading.now).total_seconds()), 0) if until else 0


def _order(reading: Reading) -> Iterator[tuple[Operation, wording.Badge, str]]:
    """Return what comes before it, then what comes after it."""
    if reading.first is not None:
        yield reading.first, wording.badge(State(reading.first.state)), "comes first"
    for other in reading.followers:
        yield other, wording.badge(State(other.state)), "comes after it"


def _related_badge(other: Operation) -> wording.Badge:
    state = State(other.state)
    case: str | None = other.case_kind  # type: ignore[attr-defined]  # read with the row
    trouble = wording.trouble(state, verdict=None, case=case)
    return wording.badge(state, trouble=trouble, taken=other.taken_at is not None)
