"""A spreadsheet of differences that comes back: what of it would change, or is refused and why; then done.

What is shown beforehand is what was done and undone again, so that the two cannot differ.
"""

import hashlib
import uuid
from collections.abc import Iterable
from dataclasses import asdict, dataclass

from django.contrib.auth.models import User
from django.core import signing
from django.db import transaction

from ledger.actions.changing import REASON_MAX
from ledger.rules import actors
from ledger.rules.errors import Malformed, NotNow, TieoutError
from ledger.rules.redaction import redact_text
from reconcile.differences import leaves, remarking
from reconcile.differences.returned import Line
from reconcile.differences.sheets import READ, Version, owner_of
from reconcile.histories.files import FileRefused
from reconcile.models import Finding
from review import access, amounts, cases, handing

CHANGES_MAX = 500
"""Rows that one file changes at most, as many as one click hands over."""
KEPT_MAX = 900_000
"""Characters that a page carries on to the next click."""
SALT, KEPT_S = "tieout.differences.returned", 3600
NOTE = "From the spreadsheet."
TAMPERED = "Its number or its version is not what was sent out."
STALE_OWNER = "It went to {now} since it was sent out."
STALE_COMMENT = "Somebody has written about it since it was sent out."
CHANGED = "What was found has changed since it was sent out: take a new spreadsheet."
GONE = "A later run found it gone."
CLOSED = "It is closed meanwhile."
UNSEEN = "There is no such difference that you see."
NO_CASE = "It has no case that could be given to somebody."
NO_OWNER = "Write whose it is: a person who decides, or a team."


@dataclass(frozen=True)
class Wish:
    """What somebody wrote into one row: another owner, another comment, or both; None where it is as sent."""

    row: int
    number: int
    version: str
    owner: str | None
    comment: str | None


@dataclass(frozen=True)
class Refused:
    """A row that changes nothing, and why."""

    row: int
    name: str
    why: str


@dataclass(frozen=True)
class Change:
    """A row that changes something: from what to what; empty where that stays."""

    row: int
    name: str
    address: tuple[str, int]
    owner: tuple[str, str] | None
    comment: tuple[str, str] | None


@dataclass
class Outcome:
    """What a file comes to."""

    changes: list[Change]
    refused: list[Refused]
    same: int = 0
    """Rows that were changed as they stand here already, so that nothing is left to do."""
    untouched: int = 0
    """Rows that are as they were sent out."""


def wished(lines: Iterable[Line]) -> tuple[list[Wish], list[Refused], int]:
    """Sort the rows of a file: those that change something, those that are none, and how many are untouched.

    Raises FileRefused where there are more changes than one click makes.
    """
    wishes: list[Wish] = []
    refused: list[Refused] = []
    untouched, seen = 0, set[str]()
    for line in lines:
        wish = _wish(line, twice=line.number in seen)
        seen.add(line.number)
        if isinstance(wish, Refused):
            refused.append(wish)
        elif wish is None:
            untouched += 1
        else:
            wishes.append(wish)
        if len(wishes) > CHANGES_MAX or len(refused) > CHANGES_MAX:
            raise FileRefused(f"More than {CHANGES_MAX} rows of it change something, or cannot be read.")
    return wishes, refused, untouched


def _wish(line: Line, *, twice: bool) -> Wish | Refused | None:
    name = f"Number {line.number[:20]}" if line.number else "No number"
    if line.formula:
        return Refused(line.row, name, f"{line.formula} holds a formula: write it as plain text.")
    number = (
        int(line.number) if line.number.isascii() and line.number.isdecimal() and len(line.number) < 19 else 0
    )
    version = Version.read(number, line.version) if number else None
    if version is None:
        return Refused(line.row, name, TAMPERED)
    owner = line.owner if version.moved("owner", line.owner) else None
    comment = line.comment if version.moved("comment", line.comment) else None
    if owner is None and comment is None:
        return None
    if twice:
        return Refused(line.row, name, "Its number stands in the file twice.")
    return Wish(line.row, number, line.version, owner, comment)


def sealed(wishes: list[Wish], *, person: User, checksum: str) -> str:
    """Return the wishes for the page to carry to the next click; FileRefused where they are too long."""
    told = {"who": person.pk, "file": checksum, "wishes": [asdict(one) for one in wishes]}
    text = signing.dumps(told, salt=SALT, compress=True)
    if len(text) > KEPT_MAX:
        raise FileRefused("Its comments are too long for one file: send it back in two.")
    return text


def opened(text: str, *, person: User) -> tuple[list[Wish], str]:
    """Return the wishes that a page has carried, and the file's SHA-256; raises Malformed."""
    try:
        told = signing.loads(text, salt=SALT, max_age=KEPT_S)
    except signing.BadSignature:
        raise Malformed("The page is too old, or was not whole: send the file back again.") from None
    if told["who"] != person.pk:
        raise Malformed("Somebody else has read that file: send it back yourself.")
    return [Wish(**one) for one in told["wishes"]], told["file"]


def foreseen(wishes: list[Wish], *, person: User, checksum: str) -> Outcome:
    """Say what would be changed and refused: it is done, and undone."""
    with transaction.atomic():
        outcome = _done(wishes, person, checksum)
        transaction.set_rollback(True)
    return outcome


def take(wishes: list[Wish], *, person: User, checksum: str) -> Outcome:
    """Change what can be changed, each with its event, all in one transaction. Raises NotAllowed."""
    with transaction.atomic():
        return _done(wishes, person, checksum)


def _done(wishes: list[Wish], person: User, checksum: str) -> Outcome:
    access.require(person, "assign")
    access.require(person, "comment")
    outcome = Outcome([], [])
    # In one order, whichever file names them: two that come back at once would wait for each other.
    for wish in sorted(wishes, key=lambda one: one.number):
        name = f"Number {wish.number}"
        try:
            with transaction.atomic():
                finding = _still(wish)
                name = _named(finding)
                change = _changed(wish, finding, name, person=person, checksum=checksum)
        except TieoutError as error:
            outcome.refused.append(Refused(wish.row, name, error.detail))
        else:
            if change is None:
                outcome.same += 1
            else:
                outcome.changes.append(change)
    outcome.changes.sort(key=lambda one: one.row)
    outcome.refused.sort(key=lambda one: one.row)
    return outcome


def _still(wish: Wish) -> Finding:
    """Return the difference as it stands now; NotNow where it is none to be changed."""
    sent = Finding.objects.select_related(*READ).filter(pk=wish.number).first()
    if sent is None:
        raise NotNow(UNSEEN)
    latest = leaves.current(sent)
    if latest is None:
        raise NotNow(GONE)
    if not latest.is_open or (latest.case is not None and latest.case.closed_at is not None):
        raise NotNow(CLOSED)
    version = Version.read(wish.number, wish.version)
    if version is None or version.moved("found", latest.fingerprint):
        raise NotNow(CHANGED)
    return latest


def _changed(wish: Wish, finding: Finding, name: str, *, person: User, checksum: str) -> Change | None:
    version = Version.read(wish.number, wish.version)
    assert version is not None  # asked just before
    remark = remarking.latest([finding]).get(finding.pk)
    written, whose = remark.text if remark else "", owner_of(finding.case, finding)
    owner, comment = wish.owner, _kept(wish.comment)
    if owner == whose:
        owner = None
    if comment == written:
        comment = None
    if owner is None and comment is None:
        return None
    if owner is not None and version.moved("owner", whose):
        raise NotNow(STALE_OWNER.format(now=whose))
    if comment is not None and version.moved("comment", written):
        raise NotNow(STALE_COMMENT)
    if owner is not None:
        _give(finding, owner, note=comment or "", person=person)
    if comment is not None:
        command_id = uuid.uuid5(uuid.NAMESPACE_OID, f"{checksum} {wish.number} {wish.version} {comment}")
        actor = actors.person(person.get_username())
        remarking.write(finding, actor=actor, text=comment, command_id=command_id)
    return Change(
        wish.row,
        name,
        (str(finding.run.uid), finding.pk),
        None if owner is None else (whose, owner),
        None if comment is None else (written, comment),
    )


def _kept(comment: str | None) -> str | None:
    """Return a comment as it would be kept; Malformed where it cannot be."""
    if comment is None:
        return None
    if not comment or len(comment) > REASON_MAX:
        raise Malformed(f"A comment has 1 to {REASON_MAX} characters; one that was written stays.")
    return redact_text(comment, REASON_MAX)


def _give(finding: Finding, owner: str, *, note: str, person: User) -> None:
    if finding.case is None:
        raise NotNow(NO_CASE)
    if not owner:
        raise Malformed(NO_OWNER)
    is_person, is_team = owner in cases.takers(), owner in cases.teams(finding.case.owner)
    if is_person and is_team:
        raise Malformed(f"{owner} is a person and a team: give it on its page.")
    if not is_person and not is_team:
        raise Malformed(f"{owner[:60]} is neither an active reviewer or approver nor a team.")
    given = {"to": owner} if is_person else {"team": owner}
    # Its own case row: a later step of this very file may have changed it.
    finding.case.refresh_from_db()
    if handing.from_another(finding.case, person, given.get("to", "")) and not note:
        raise Malformed(f"Write a comment: {finding.case.assignee} has it now, who is to read why.")
    handing.assign(finding.case, person=person, note=note or NOTE, **given)


def _named(finding: Finding) -> str:
    amount = amounts.whole(finding.amount, finding.currency)
    name = finding.reference or (finding.destination[0]["id"] if finding.destination else "Without a number")
    return f"{name} · {amount}" if amount else name


def checksum_of(parts: Iterable[bytes]) -> str:
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(part)
    return digest.hexdigest()
