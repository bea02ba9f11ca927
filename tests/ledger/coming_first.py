"""What a story's operation comes after: a draft, and all that may become of it meanwhile."""

import uuid
from typing import Any

from ledger import actions
from ledger.actions import Correction, Reply, Report
from ledger.models import Operation, OperationType
from ledger.rules.errors import NotNow, PayloadChanged, TieoutError
from ledger.rules.following import Earlier
from ledger.rules.states import CaseKind, State
from tests import factories as make
from tests.ledger.stage import CORRECTING, SHOP, Stage

REPORTS = {"refused": make.REFUSED, "silence": make.SILENCE, "unreached": make.UNREACHED}
BEFORE = ["done", "done", "running", *REPORTS]
"""How far a draft may have come before what comes after it is handed over."""
MOVES = ["done", "done", "done", *REPORTS, "absent", "absent", "one", "several", "allow", "end", "correct"]


class ComingFirst(Stage):
    """The draft, claimed and reported by its caller; whatever happens to it moves nothing but itself."""

    drafts: OperationType
    draft_key = ""

    def make_first(self, how: str) -> None:
        """Hand a draft over, which has come so far."""
        self.draft_key, self.draft_token = f"draft of {self.key}", ("", "")
        self.draft_moves(how)

    @property
    def earlier(self) -> Earlier | None:
        """How the operation of the story names its draft."""
        return Earlier(self.drafts.name, self.draft_key) if self.draft_key else None

    @property
    def first(self) -> Operation | None:
        """The draft, or the correction that stands in its place."""
        named = Operation.objects.filter(operation_type=self.drafts, key=self.draft_key).first()
        return (actions.correction_of(named) or make.again(named)) if named is not None else None

    @property
    def first_is_done(self) -> bool:
        """Whether what comes after it may go; always where nothing comes first."""
        first = self.first
        return first is None or (first.state == State.COMPLETED and first.held_at is None)

    @property
    def first_is_as_claimed(self) -> bool:
        """Whether the draft is done and the one that the latest try names."""
        first = self.first
        named = self.seen.operation.after_reference
        return first is None or (self.first_is_done and first.destination_reference == named)

    def draft_moves(self, what: str) -> None:
        """One thing happens to the draft."""
        first = self.first
        if what == "running" or what == "done" or what in REPORTS:
            self._draft_tried(what)
        elif first is not None and what in ("absent", "one", "several"):
            known = first.destination_reference or f"SEEN-{first.pk}"
            ids = {"absent": (), "one": (known,), "several": (known, "OTHER")}[what]
            self.act(lambda: make.looked(first, make.there(first, *ids) if ids else make.ABSENT, actor="ann"))
        elif first is not None and what == "correct":
            meant = Correction({"order": "483", "total": "9.00"}, "9.00", "ZAR")
            original = first.corrects_id or first.pk
            given: Any = {"who": "ann", "actor": "ann", "reason": "Wrong."}
            self.act(lambda: actions.correct(original, meant, **given), NotNow, *CORRECTING)
        elif first is not None:
            press: Any = {"allow": actions.permit, "end": actions.end}[what]
            given = {"actor": "ann", "reason": "It was asked for.", "command_id": uuid.uuid4()}
            self.act(lambda: press(first.pk, **given), NotNow)

    def _draft_tried(self, what: str) -> None:
        """Its caller claims it where it may, and says what came of the latest try."""
        first = self.first
        changes: Any = {} if first is None or first.corrects_id is None else {"payload": None}
        if changes:
            changes |= {"amount": None, "currency": None}
        key = self.draft_key if first is None else first.key
        asked = make.submission(self.drafts, key, **changes)
        reply = self.act(lambda: actions.claim(asked, actor=SHOP), PayloadChanged)
        if isinstance(reply, Reply) and reply.attempt is not None:
            self.draft_token = (str(reply.attempt.uid), reply.token or "")
        uid, token = self.draft_token
        if what == "running" or not uid:
            return
        report = REPORTS.get(what) or make.done(f"DR-{uid[:8]}")
        self.act(lambda: self._told(uid, token, report), TieoutError)

    def _told(self, uid: str, token: str, report: Report) -> object:
        return actions.record(uuid.UUID(uid), token=token, report=report, actor=SHOP)

    # --- what is promised of the two

    def sweep(self, items_max: int | None) -> None:
        """As the worker does; and what waits for its draft is taken up exactly when that leads somewhere."""
        before = self.seen.operation
        picked = bool(self.draft_key) and Operation.objects.to_follow().filter(pk=self.pk).exists()
        super().sweep(items_max)
        after = self.seen.operation
        moved = (before.held_at, before.next_try_at is None) != (after.held_at, after.next_try_at is None)
        if not picked:
            waits = before.state == after.state == State.PENDING and self.draft_key
            assert not (waits and moved), "nobody would have taken it up"
        else:
            assert moved or after.state != State.PENDING, "it would be taken up for ever"
        self._nobody_waits_for_nothing()

    def _nobody_waits_for_nothing(self) -> None:
        operation, first = self.seen.operation, self.first
        if first is None or operation.state != State.PENDING:
            return
        kinds = {one.kind for one in self.seen.cases if one.closed_at is None}
        if kinds <= {CaseKind.FIRST}:
            alive = first.held_at is not None or first.permits.open().exists()
            over = first.state == State.FAILED and not alive
            assert (kinds == {CaseKind.FIRST}) == over, "held exactly while nobody goes on with its draft"
        if not kinds:
            assert (operation.next_try_at is not None) == self.first_is_done, "due exactly while that is done"
