"""One operation as a page shows it: its rows, the facts, and what this person may do, read once."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property

from django.contrib.auth.models import User
from django.db.models import OuterRef, Q, QuerySet, Subquery, Sum

from ledger import actions
from ledger.models import (
    Approval,
    Attempt,
    Case,
    Choice,
    Event,
    Lookup,
    Operation,
    Pause,
    Permit,
    TieoutNow,
    database_now,
)
from ledger.rules.answering import answers, corrects_in_doubt
from ledger.rules.approvals import Answer, Ask, Together
from ledger.rules.facts import Facts
from ledger.rules.leaves import Action, Leave, leaves
from ledger.rules.states import UNFINISHED, CaseKind, Evidence, Outcome, State, Verdict
from review import access, approvers, asked, own, relations, wording
from review.built import built
from review.instants import say
from review.seen import Meant, Seen

CHOSEN = ("chosen", "reversed")
"""Events of what has, or had, several records, one of which was chosen to stay."""
ON_A_REPORT = (CaseKind.THERE_AFTER_ALL, CaseKind.SEVERAL)
"""Cases that a late report may have opened."""

RIGHT: dict[Action, access.Right] = {
    Action.CHECK: "check",
    Action.SEND_AGAIN: "permit",
    Action.UNDO: "withdraw",
    Action.CONFIRM_REFERENCE: "attest",
    Action.DID_NOT_HAPPEN: "end",
    Action.CANCEL: "cancel",
    Action.CORRECT: "correct",
    Action.CHOOSE: "choose",
    Action.OVERRIDE: "ask",
    Action.APPROVE: "approve",
    Action.REFUSE: "approve",
    Action.TAKE_BACK: "ask",
}


@dataclass(frozen=True)
class Door:
    """One thing to do: its words, whether it is open to this person now, and why."""

    action: Action
    words: str
    open: bool
    why: str


@dataclass(frozen=True)
class Reading:
    """Everything that the page of one operation says, as of `now`."""

    operation: Operation
    now: datetime
    person: User
    facts: Facts
    attempts: list[Attempt]
    lookups: list[Lookup]
    """The last asked first."""
    permits: list[Permit]
    events: list[Event]
    case: Case | None
    pause: Pause | None
    """That of its destination."""
    latest: Lookup | None
    sitting: Lookup | None
    related: list[Operation]
    about: list[Operation]
    """The latest others with the same subject, of other source records."""
    linked: list[Operation]
    """What it corrects, or its corrections in their order."""
    first: Operation | None
    """What it comes after, or the correction in its place."""
    followers: list[Operation]
    """What comes after it, or after what it corrects."""
    approvals: list[Approval]
    told: list[Event]
    """Successes told late that nothing has disproved since, where a case turns on them."""
    choice: Choice | None
    """Which of several was kept, as it was last chosen."""
    reversals: list[Operation]
    """What reverses the others, in their order; those that stand back besides."""

    @property
    def state(self) -> State:
        """The operation's state."""
        return self.facts.state

    @property
    def snoozed(self) -> bool:
        """Whether its case is put off, and nothing has happened since."""
        return self.case is not None and self.case.is_snoozed(self.now, self.operation.revision)

    @property
    def there(self) -> str:
        """The destination, by the name that people use."""
        return self.facts.destination

    @property
    def noun(self) -> str:
        """What one effect is called: invoice, reminder."""
        return self.operation.operation_type.noun

    @cached_property
    def meant(self) -> Meant:
        """What it was meant to make."""
        o = self.operation
        return Meant(self.noun, o.amount, o.currency, o.settles_at, self.facts.in_doubt, self.facts.reverses)

    @cached_property
    def seen(self) -> Seen | None:
        """What the latest check since the last try found; if it could not look, the last that could, too."""
        seen = self.see(self.latest) if self.latest else None
        if seen is None or seen.verdict is not Verdict.COULD_NOT_LOOK:
            return seen
        looked = (row for row in self.lookups if row.verdict != Verdict.COULD_NOT_LOOK)
        row = actions.latest_of(looked, self.attempts)
        return replace(seen, before=self.see(row) if row else None)

    def see(self, row: Lookup) -> Seen:
        """Return what a check found; its silence is no proof once a drill has refuted what that rests on."""
        fact = actions.lookup_fact(row)
        return replace(Seen.of(row), proof=fact is not None and self.facts.proves(fact))

    @property
    def verdict(self) -> str:
        """The latest check's verdict since the last try ended; empty before a check."""
        return str(self.seen.verdict) if self.seen and self.state is not State.RUNNING else ""

    @property
    def refused_itself(self) -> bool:
        """Whether it was refused for what it says; a silence since then leaves that the cause."""
        latest = self.facts.latest
        refused = self.state is State.FAILED and latest is not None and latest.refused_itself
        return refused and self.verdict in ("", Verdict.ABSENT)

    @property
    def trouble(self) -> Verdict | None:
        """What is there but wrong; of a reversal, what is there is another's."""
        if self.facts.reverses:
            return None
        return wording.trouble(self.state, verdict=self.verdict, case=self.case.kind if self.case else None)

    @property
    def badge(self) -> wording.Badge:
        """The stamp of its state."""
        absent = self.seen is not None and self.seen.proof and self.permit is None
        taken = self.facts.taken_at is not None
        return wording.badge(self.state, trouble=self.trouble, taken=taken, absent=absent)

    @property
    def permit(self) -> Permit | None:
        """The open permit."""
        return next((p for p in self.permits if p.spent_at is None and p.withdrawn_at is None), None)

    @property
    def allowed(self) -> Permit | None:
        """The open permit that a person gave."""
        return self.permit if self.permit and self.permit.source == Permit.Source.PERSON else None

    @property
    def asked(self) -> Approval | None:
        """The open request for a second person."""
        open_ = (a for a in self.approvals if a.decided_at is None and self.now < a.expires_at)
        return next(open_, None)

    @property
    def agreed(self) -> Approval | None:
        """The approval that what is known now stands on."""
        approved = [a for a in self.approvals if a.answer == Answer.APPROVED]
        if self.state is State.COMPLETED and self.facts.evidence == Evidence.ATTESTED:
            return next((a for a in reversed(approved) if a.action == Ask.ATTEST), None)
        if self.facts.absent_by:
            return next((a for a in reversed(approved) if a.action == Ask.OVERRIDE_END), None)
        return None

    @cached_property
    def second(self) -> str:
        """Who else could agree to what this person asks."""
        there = self.operation.operation_type.destination
        return approvers.second_person(self.person, there.entity)

    @property
    def told_references(self) -> list[str]:
        """The references under which it was reported done, each once, besides the one that is known."""
        known = self.operation.destination_reference
        closed = (a for a in self.attempts if a.outcome == Outcome.SUCCEEDED and a.worded_at is None)
        ours = [a.destination_reference for a in closed if a.cleared_at is None]
        late = [event.data["reference"] for event in self.told]
        said = (reference for reference in (*ours, *late) if reference and reference != known)
        return list(dict.fromkeys(said))

    @cached_property
    def together(self) -> Together:
        """What this person would have closed alone with this one."""
        return actions.together(self.operation, self.person.get_username())

    def takes_two(self, action: Action) -> bool:
        """Say whether an action only asks a second person."""
        above = action in (Action.CONFIRM_REFERENCE, Action.DID_NOT_HAPPEN)
        if action is Action.CORRECT:
            return self.state is State.UNCERTAIN
        return action is Action.OVERRIDE or (above and self.together.takes_two)

    @property
    def live(self) -> bool:
        """Say whether something is about to change by itself, so that the page looks again."""
        looked_up = self.state is State.UNCERTAIN and self.operation.held_at is None
        going = self.permit is not None or self.facts.waits_for_undo(self.now)
        told = self.operation.told_look_at is not None
        return self.state is State.RUNNING or going or looked_up or told or self.reversing > 0 or self._unseen

    @property
    def _unseen(self) -> bool:
        """Say whether a record was reversed since the last look: the one that proves it comes by itself.

        The operation is read before its reversals, and the last of them may end in between.
        """
        since = self.lookups[0].asked_at if self.lookups else self.operation.accepted_at
        ended = (one.finished_at for one in self.reversals if one.state == State.COMPLETED)
        looks = self.operation.operation_type.has_lookup
        return looks and any(at is not None and at > since for at in ended)

    @property
    def undo_of_choice(self) -> bool:
        """Say whether what was chosen of several can be taken back still."""
        return self.facts.undo_until is not None and self.now < self.facts.undo_until

    @property
    def reversing(self) -> int:
        """How many reversals of its records are under way by themselves."""
        moving = (one for one in self.reversals if one.corrected_at is None and one.held_at is None)
        return sum(one.state in UNFINISHED or one.told_look_at is not None for one in moving)

    @property
    def mark(self) -> str:
        """Tells two readings apart that a person would see as different."""
        lookup = max((one.pk for one in self.lookups), default=None)
        permit, effective_at = (self.permit.pk, self.permit.effective_at) if self.permit else (None, None)
        pause = self.pause.pk if self.pause else None
        made = sum(one.revision for one in self.reversals) or None
        rows = (self.operation.revision, lookup, permit, pause, made)
        return _mark(*rows, effective_at=effective_at, now=self.now)

    @cached_property
    def leaves(self) -> dict[Action, Leave]:
        """What this person may do now, as far as their role goes."""
        seen, actor = actions.lookup_fact(self.sitting), self.person.get_username()
        answering = answers(self.facts, self.now, sitting=seen, actor=actor, looks=True)
        found = leaves(self.facts, self.now, sitting=seen) | answering
        if self.takes_two(Action.CORRECT):
            found[Action.CORRECT] = corrects_in_doubt(self.facts, self.now)
        return found

    def door(self, action: Action) -> Door:
        """Return one thing to do as this person finds it."""
        leave = self.leaves[action] if action is not Action.SEND_AGAIN else self._send_again
        if not access.may(self.person, RIGHT[action]):
            return Door(action, self.words(action), open=False, why=access.lacking(self.person))
        why = say(leave.why, self.now)
        if leave.allowed and self.takes_two(action):
            two = (
                ""
                if action in (Action.OVERRIDE, Action.CORRECT)
                else f" {asked.why_two(self.operation, self.together)}"
            )
            why = f"{why}{two} Needs {self.second}."
        return Door(action, self.words(action), open=leave.allowed, why=why)

    @property
    def _send_again(self) -> Leave:
        """What the latest check forbids is said, whoever made it; what it allows needs one's own check."""
        there = Verdict.ONE_MATCH, Verdict.SEVERAL, Verdict.DIFFERS
        if self.sitting is None and self.seen is not None and self.seen.verdict in there:
            theirs = replace(self.facts.lookup, asked_at=self.now) if self.facts.lookup else None
            return leaves(self.facts, self.now, sitting=theirs)[Action.SEND_AGAIN]
        return self.leaves[Action.SEND_AGAIN]

    def words(self, action: Action) -> str:
        """Return the words on a button."""
        if action is Action.SEND_AGAIN:
            return "Send again" if self.facts.by_tieout else "Allow another try"
        return {
            Action.CHECK: f"Check {self.there} now",
            Action.UNDO: "Undo",
            Action.CONFIRM_REFERENCE: "Confirm with reference",
            Action.DID_NOT_HAPPEN: "It did not happen",
            Action.CANCEL: "Cancel",
            Action.CORRECT: "Correct it",
            Action.CHOOSE: "Choose one",
            Action.OVERRIDE: "Override",
            Action.APPROVE: "Approve",
            Action.REFUSE: "Refuse",
            Action.TAKE_BACK: "Take it back",
        }[action]


def find(uid: uuid.UUID) -> Operation | None:
    """Return an operation with its type and destination."""
    return next(iter(_of_uid(uid)), None)


@built
def _of_uid(uid: uuid.UUID) -> QuerySet[Operation]:
    return Operation.objects.select_related("operation_type__destination").filter(uid=uid)


def mark_of(uid: uuid.UUID) -> str | None:
    """Return the mark that a reading would have now, by one query; None where there is no such operation."""
    lookups = Lookup.objects.filter(operation=OuterRef("pk")).order_by("-id")
    permits = Permit.objects.open().filter(operation=OuterRef("pk"))
    pauses = Pause.objects.open().stopping(OuterRef("operation_type")).order_by("pk")
    made = Operation.objects.filter(reverses=OuterRef("pk")).order_by().values("reverses")
    seen = Operation.objects.filter(uid=uid).values_list(
        "revision",
        Subquery(lookups.values("pk")[:1]),
        Subquery(permits.values("pk")[:1]),
        Subquery(pauses.values("pk")[:1]),
        Subquery(made.annotate(sum=Sum("revision")).values("sum")),
        Subquery(permits.values("effective_at")[:1]),
        TieoutNow(),
    )
    return next((_mark(*rows, effective_at=at, now=now) for *rows, at, now in seen), None)


def _mark(*rows: int | None, effective_at: datetime | None, now: datetime) -> str:
    effective = effective_at is not None and effective_at <= now
    return "-".join(str(row or 0) for row in (*rows, int(effective)))


def read(operation: Operation, person: User) -> Reading:
    """Read everything that the page of one operation shows; a fixed number of queries."""
    now = database_now()
    attempts = own.rows(operation, own.attempts)
    facts = actions.facts(operation, attempts)
    lookups = own.rows(operation, own.lookups)
    case = next(iter(own.rows(operation, own.cases)), None)
    events = own.rows(operation, own.events)
    chosen = any(event.kind in CHOSEN for event in events)
    return Reading(
        operation=operation,
        now=now,
        person=person,
        facts=facts,
        attempts=attempts,
        lookups=lookups,
        permits=own.rows(operation, own.permits),
        events=events,
        case=case,
        pause=_pause(operation) if facts.paused_at is not None else None,
        latest=actions.latest_of(lookups, attempts),
        sitting=own.sitting(operation, person.get_username(), lookups, attempts, now=now),
        related=relations.of_source(operation),
        about=relations.of_subject(operation),
        linked=_linked(operation),
        first=actions.standing_first(operation),
        followers=_followers(operation.corrects_id or operation.pk),
        approvals=own.rows(operation, own.approvals),
        told=actions.told_late(operation) if case is not None and case.kind in ON_A_REPORT else [],
        choice=operation.choices.select_related("lookup").last() if chosen else None,
        reversals=list(_reversals(operation)) if chosen else [],
    )


def _reversals(operation: Operation) -> Iterable[Operation]:
    return operation.reversals.select_related("operation_type__destination").order_by("id")


def _linked(operation: Operation) -> list[Operation]:
    """Return the operations that a correction, or a reversal, ties it to; no query where there is none."""
    if operation.reverses is not None:
        return [operation.reverses]
    if operation.corrects is not None:
        return [operation.corrects]
    if operation.corrected_at is None:
        return []
    made = operation.corrections.select_related("operation_type__destination")
    return list(made.order_by("correction_number"))


@built
def _followers(original: int) -> QuerySet[Operation]:
    # Of the few that it may be first, then by an index: asked through the join, both whole tables are walked.
    these = Operation.objects.filter(Q(pk=original) | Q(corrects=original)).values("pk")
    return Operation.objects.filter(after__in=these).order_by("id")[: relations.SHOWN]


def _pause(operation: Operation) -> Pause | None:
    pauses = Pause.objects.open().stopping(operation.operation_type)
    return pauses.select_related("destination").order_by("pk").first()
