"""An Airflow task that is retried, cleared and back-filled, and makes one invoice for an order."""

from datetime import timedelta

from airflow.sdk import dag, task
from airflow.sdk.exceptions import AirflowFailException
from durban_books import invoice_once
from tieout_client import Hold, Refused


@task(retries=20, retry_delay=timedelta(minutes=1), execution_timeout=timedelta(minutes=2))
def make_invoice(order: dict) -> str:
    """Return the invoice's number. What else it raises is retried; Tieout decides what a retry may do."""
    try:
        return invoice_once(order)
    except (Hold, Refused) as stop:
        raise AirflowFailException(str(stop)) from stop


@dag(schedule=None, catchup=False)
def invoices():
    """One mapped task for each paid order; the shop names them when it triggers the run."""

    @task
    def paid(params: dict) -> list[dict]:
        return params["orders"]

    make_invoice.expand(order=paid())


invoices()
