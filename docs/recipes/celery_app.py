"""A Celery task that may be delivered twice, retried and killed, and makes one invoice."""

import json
import os

from celery import Celery
from durban_books import invoice_once
from tieout_client import TieoutUnavailable, Wait

PAUSE_S = float(os.environ.get("PAUSE_S", 30))

app = Celery("shop", broker=os.environ["BROKER_URL"])
app.conf.update(
    broker_transport_options=json.loads(os.environ.get("BROKER_OPTIONS", '{"visibility_timeout": 3600}')),
    task_acks_late=True,  # a task whose worker dies is delivered again …
    task_reject_on_worker_lost=True,  # … also where only its child process died
    worker_prefetch_multiplier=1,
)


@app.task(bind=True, max_retries=None)
def make_invoice(self, order):
    """Return the invoice's number. Hold and Refused end the task: a person decides in Tieout."""
    try:
        return invoice_once(order)
    except (Wait, TieoutUnavailable, OSError) as why:
        raise self.retry(exc=why, countdown=PAUSE_S)
