"""Propose a change of rules or of a role, and answer it; each is told by an event of its transaction."""

import hashlib
import json
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib.auth.models import Group, User
from django.db import transaction
from django.db.models import QuerySet

from ledger import sight
from ledger.actions.approving import UNSAID
from ledger.actions.changing import given, once
from ledger.actions.deputising import Asking, asker
from ledger.actions.escalating import mark_overdue
from ledger.actions.submission import payload_keys
from ledger.models import Event, Operation, database_now
from ledger.rules import sealing
from ledger.rules.approvals import Answer
from ledger.rules.errors import Malformed, NotFound, NotNow
from ledger.rules.second_person import Asker
from reconcile import configuration
from reconcile.configuration import Refused, rows, source
from reconcile.configuration.rows import Change
from reconcile.proposals import roles
from reconcile.proposals.models import ROLE, RULES, Proposal
from reconcile.proposals.roles import ADMINISTRATOR, APPROVER

COUNTS_FOR = timedelta(days=7)
MOVED = "What is configured has changed since, or this version reads the file otherwise. Propose it anew."
LAPSED = "Nobody answered in time."
LOOKS_EVERY = timedelta(seconds=30)
"""So often it is asked of each that waits whether it is void."""
_looked: dict[uuid.UUID, datetime] = {}
"""When this process asked so last."""


class NotProposed(NotNow):
    """Rules change by two here, and nobody is named who proposes this."""

    type = "needs-proposal"
    title = "This takes two people"


def by_two() -> bool:
    """Say whether rules change by two: where it is set, operations exist, and there is an approver.

    The first configuration of an empty system applies at once. Who has ended counts as well: else whoever
    ends the last approver could change the rules alone.
    """
    ever = User.objects.filter(groups__name=APPROVER)
    with sight.whole():
        return settings.RULES_BY_TWO and Operation.objects.exists() and ever.exists()


def approvers() -> QuerySet[User]:
    """Return who can approve a change of rules, roles or limits: who is limited to entities sees none."""
    return roles.having(APPROVER).filter(limit=None)


def need_two(changes: Sequence[Change]) -> list[Change]:
    """Return the changes that take two; what the register says of automations rules nothing."""
    return [one for one in changes if one.kind is not rows.AUTOMATION] if by_two() else []


def propose_rules(
    read: source.Source,
    changes: Sequence[Change],
    *,
    actor: str,
    reason: str,
    command_id: uuid.UUID | None = None,
) -> Proposal:
    """Propose what a file would change; the same click again is the same proposal.

    Raises NotProposed where nobody is named, and NotNow where it is no administrator. To be called in the
    transaction that has read the changes.
    """
    if not actor:
        raise NotProposed("Rules change by two here. Name who proposes it: --by NAME, an administrator.")
    if not User.objects.filter(username=actor, is_active=True, groups__name=ADMINISTRATOR).exists():
        raise NotNow(f"{actor} is no administrator, and so proposes no rules.")
    if command_id and (before := Proposal.objects.filter(command_id=command_id).first()) is not None:
        return before
    uid = uuid.uuid4()
    sealed = sealing.seal(payload_keys(), read.text.encode(), bound_to=str(uid))
    return propose(
        RULES,
        actor=actor,
        reason=given(reason),
        uid=uid,
        title=read.name[:200],
        lines=[line for one in changes for line in str(one).split("\n")],
        digest=fingerprint(changes),
        meant_sealed=sealed,
        command_id=command_id or uuid.uuid4(),
    )


def propose_role(
    person: User, role: str, *, give: bool, actor: str, reason: str, command_id: uuid.UUID
) -> Proposal:
    """Propose to give a role to a person, or to take it; NotNow where that is so already, or waits.

    NotNow also where it does not go with one that they have.
    """
    if role not in roles.ROLES:
        raise Malformed(f"There is no role “{role}”.")
    name = person.get_username()

    def make() -> Proposal:
        User.objects.select_for_update().get(pk=person.pk)  # one proposal of a role at a time
        has = {*person.groups.values_list("name", flat=True)}
        if (role in has) == give:
            raise NotNow(f"{name} {'is' if give else 'is no'} {role} already.")
        if give and (why := roles.clash(name, has | {role})):
            raise NotNow(why)
        same = Proposal.objects.waiting(database_now()).filter(about_account=person.pk, data__role=role)
        if (other := same.exclude(command_id=command_id).first()) is not None:
            raise NotNow(f"{other.maker} has proposed this already: it waits for an answer under Approvals.")
        old, new = ("not given", "given") if give else ("given", "not given")
        return propose(
            ROLE,
            actor=actor,
            reason=given(reason),
            title=name,
            about_account=person.pk,
            lines=[f"~ person {name}: role.{role} {old} -> {new}"],
            data={"person": name, "role": role, "give": give},
            command_id=command_id,
        )

    return once(Proposal.objects.filter(command_id=command_id), make)


def propose(kind: str, *, actor: str, reason: str, **columns: Any) -> Proposal:
    """Write a proposal of some kind, with its event."""
    made_at = database_now()
    proposal = Proposal.objects.create(
        kind=kind, maker=actor, reason=reason, made_at=made_at, expires_at=made_at + COUNTS_FOR, **columns
    )
    _tell(proposal, "proposed", actor=actor, reason=reason)
    return proposal


def fingerprint(changes: Sequence[Change]) -> str:
    """Return the digest of every value that would change, before and after."""
    found = [
        [
            one.kind.section,
            one.name,
            *([list(path), one.before.get(path), one.after.get(path)] for path in one.paths),
        ]
        for one in changes
    ]
    return hashlib.sha256(json.dumps(found, sort_keys=True, default=str).encode()).hexdigest()


def approve(uid: uuid.UUID, *, actor: str, reason: str) -> None:
    """Agree to what somebody else proposed, and apply it, all or nothing; NotNow says why that cannot be.

    Where what it was read from has changed meanwhile, it is void, and nothing is applied.
    """
    with transaction.atomic():
        if _kind(uid) == RULES:
            configuration.one_at_a_time()
        proposal = _open(uid)
        asked_by(proposal).require_another(actor)
        why = given(reason) if reason.strip() else UNSAID
        moved = _void(proposal)
        if moved:
            _answer(proposal, Answer.VOIDED, actor="policy", why=moved)
        else:
            HOW[proposal.kind].apply(proposal, actor)
            _answer(proposal, Answer.APPROVED, actor=actor, why=why)
    if moved:
        raise NotNow(f"{moved} Nothing was changed.")


def refuse(uid: uuid.UUID, *, actor: str, reason: str) -> None:
    """Refuse what somebody else proposed; it stays on record."""
    with transaction.atomic():
        proposal = _open(uid)
        asked_by(proposal).require_another(actor)
        _answer(proposal, Answer.REFUSED, actor=actor, why=given(reason))


def take_back(uid: uuid.UUID, *, actor: str, reason: str) -> None:
    """Take one's own proposal back."""
    with transaction.atomic():
        proposal = _open(uid)
        asked_by(proposal).require_same(actor)
        _answer(proposal, Answer.WITHDRAWN, actor=actor, why=given(reason))


def asked_by(proposal: Proposal) -> Asker:
    """Return who has proposed it, and whom it is about; by the names of now."""
    return asker(
        Asking(proposal.maker, proposal.maker_account, proposal.made_at, about=proposal.about_account)
    )


def sweep() -> None:
    """Pass on proposals past their due time, and end those that nobody answered in time or that are void."""
    now = database_now()
    waiting = Proposal.objects.waiting(now).filter(escalated_at=None).defer("meant_sealed")
    for uid in [one.uid for one in waiting if one.due_at <= now]:
        with transaction.atomic():
            proposal = Proposal.objects.select_for_update().get(uid=uid)
            if proposal.decided_at is None and proposal.escalated_at is None:
                mark_overdue(proposal, now, proposal=str(uid))
    late = Proposal.objects.open().filter(expires_at__lte=now).values_list("uid", flat=True)
    for uid in list(late):
        with transaction.atomic():
            proposal = Proposal.objects.select_for_update().get(uid=uid)
            if proposal.decided_at is None:
                _answer(proposal, Answer.LAPSED, actor="policy", why=LAPSED)
    _end_void(now)


def _end_void(now: datetime) -> None:
    """End what would not do any more what was read: nobody is asked any more."""
    waiting = dict(Proposal.objects.waiting(now).values_list("uid", "kind"))
    for uid in _looked.keys() - waiting.keys():
        del _looked[uid]
    for uid, kind in waiting.items():
        if kind in HOW and (uid not in _looked or not now - LOOKS_EVERY < _looked[uid] <= now):
            _looked[uid] = now
            _end_if_void(uid)


def _end_if_void(uid: uuid.UUID) -> None:
    with transaction.atomic():
        # Whoever answers it just now, or takes a file in, is not waited for: it is looked at again.
        free = Proposal.objects.select_for_update(skip_locked=True)
        proposal = free.filter(uid=uid, decided_at__isnull=True).first()
        if proposal is None or (proposal.kind == RULES and not configuration.alone()):
            return
        try:
            why = HOW[proposal.kind].void(proposal)
        except Refused:
            return  # what this process cannot read, another one may; who approves it is told
        if why:
            _answer(proposal, Answer.VOIDED, actor="policy", why=why)


def _kind(uid: uuid.UUID) -> str:
    return Proposal.objects.filter(uid=uid).values_list("kind", flat=True).first() or ""


def _open(uid: uuid.UUID) -> Proposal:
    """Lock an open proposal; NotNow says who was first, or that it lapsed."""
    proposal = Proposal.objects.select_for_update().filter(uid=uid).first()
    if proposal is None:
        raise NotFound("There is no such proposal.")
    if proposal.decided_at is not None:
        did = {
            Answer.APPROVED: "approved it",
            Answer.REFUSED: "refused it",
            Answer.WITHDRAWN: "took it back",
        }.get(Answer(proposal.answer), "ended it")
        raise NotNow(f"{proposal.decided_by} {did}: {proposal.why}")
    if database_now() >= proposal.expires_at:
        raise NotNow("Nobody answered in time: it has to be proposed anew.")
    return proposal


def _void(proposal: Proposal) -> str:
    try:
        return HOW[proposal.kind].void(proposal)
    except Refused:
        return MOVED


@dataclass(frozen=True)
class How:
    """How a kind of proposal is done: why it is void, where it is, and what applies it for who approves."""

    void: Callable[[Proposal], str]
    apply: Callable[[Proposal, str], None]


def _read(proposal: Proposal) -> configuration.Prepared | None:
    """Read what is proposed; None where it would do something else than was read."""
    assert proposal.meant_sealed is not None  # for as long as it is open
    text = sealing.unseal(payload_keys(), bytes(proposal.meant_sealed), bound_to=str(proposal.uid)).decode()
    taken = configuration.prepared(source.parsed(proposal.title, text))
    return taken if fingerprint(taken.changes) == proposal.digest else None


def _rules_void(proposal: Proposal) -> str:
    return "" if _read(proposal) is not None else MOVED


def _apply_rules(proposal: Proposal, approver: str) -> None:
    taken = _read(proposal)
    assert taken is not None  # as it is not void, and nobody else takes a file in
    agreed = {"proposal": str(proposal.uid), "approved_by": approver}
    for one in taken.changes:
        rows.write(one, reason=proposal.reason, actor=proposal.maker, data=agreed)


def _role_void(proposal: Proposal) -> str:
    person = User.objects.select_for_update().filter(pk=proposal.about_account or 0).first()
    role, give = proposal.data["role"], proposal.data["give"]
    has = {*person.groups.values_list("name", flat=True)} if person is not None else set()
    if person is None or (role in has) == give:
        return "That is so already, or the account is gone."
    return roles.clash(person.get_username(), has | {role}) if give else ""


def _apply_role(proposal: Proposal, _approver: str) -> None:
    person = User.objects.get(pk=proposal.about_account or 0)
    group = Group.objects.get(name=proposal.data["role"])
    (person.groups.add if proposal.data["give"] else person.groups.remove)(group)


HOW = {RULES: How(_rules_void, _apply_rules), ROLE: How(_role_void, _apply_role)}
"""How each kind is done; others add theirs."""


def _answer(proposal: Proposal, answer: Answer, *, actor: str, why: str) -> None:
    Proposal.objects.filter(pk=proposal.pk).update(
        answer=answer, decided_by=actor, decided_at=database_now(), why=why, meant_sealed=None
    )
    _tell(proposal, f"proposal_{answer}", actor=actor, reason=why)


def _tell(proposal: Proposal, kind: str, *, actor: str, reason: str) -> None:
    data = {
        "proposal": str(proposal.uid),
        "what": proposal.kind,
        "maker": proposal.maker,
        "lines": proposal.lines,
    }
    Event.objects.create(kind=kind, actor=actor, reason=reason, data=data)
