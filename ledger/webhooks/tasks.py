"""What the queue calls: a line each; arguments and results are plain ids."""

import logging

from ledger.rules.errors import TieoutError
from ledger.webhooks import outbox
from ledger.worker import heart
from ledger.worker.words import in_words

log = logging.getLogger(__name__)


def deliver(webhook_id: int) -> None:
    """Deliver what is due to a webhook; what goes wrong is said, for the sweep comes again."""
    try:
        with heart.busy(outbox.BUSY_S):
            outbox.deliver(webhook_id)
    except TieoutError as error:
        log.warning("Webhook %s: %s", webhook_id, in_words(error))
    except Exception as error:  # noqa: BLE001 - the queue would keep it whole, with values
        log.error("Webhook %s: %s", webhook_id, in_words(error))  # noqa: TRY400
