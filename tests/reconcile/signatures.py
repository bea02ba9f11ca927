"""A run that ann prepares and bob signs, as who has its open differences before them."""

import uuid

from ledger.models import database_now
from reconcile.differences import waivers
from reconcile.models import Run, SignOff
from reconcile.signing import actions, freezing


def seen(run: Run) -> str:
    """What the form carries of who looks at a run now."""
    return freezing.seen(freezing.still_open(run, waivers.waived(run, database_now())))


def prepared(run: Run, actor: str = "ann") -> SignOff:
    return actions.prepare(run, actor=actor, note="The surplus is known.", command_id=uuid.uuid4())


def sign(one: SignOff, actor: str = "bob", reason: str = "Seen.") -> None:
    actions.approve(one.uid, actor=actor, reason=reason, seen=seen(one.run))


def signed(run: Run) -> SignOff:
    one = prepared(run)
    sign(one)
    one.refresh_from_db()
    return one
