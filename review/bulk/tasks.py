"""What the queue calls: a line each; arguments are plain ids."""

import logging

from ledger.models import TieoutNow
from ledger.rules.errors import TieoutError
from ledger.worker import heart
from ledger.worker.words import in_words
from review.bulk import running
from review.bulk.sweeping import TIMEOUT_S
from review.models import Bulk

log = logging.getLogger(__name__)


def carry_on(bulk_id: int) -> None:
    """Go on with a bulk action for a step; what goes wrong is said, for the sweep comes again."""
    ours = True
    try:
        with heart.busy(TIMEOUT_S):
            ours = running.carry_on(bulk_id)
    except TieoutError as error:
        log.warning("Bulk action %s: %s", bulk_id, in_words(error))
    except Exception as error:  # noqa: BLE001 - the queue would keep it whole, with values
        log.error("Bulk action %s: %s", bulk_id, in_words(error))  # noqa: TRY400
    finally:
        if ours:
            Bulk.objects.filter(pk=bulk_id).update(nudged_at=None, stepped_at=TieoutNow())
