"""A django-q2 task that may be picked twice and killed, and makes one invoice.

Settings: Q_CLUSTER = {"orm": "default", "timeout": 60, "retry": 120, "max_attempts": 50, "workers": 2}
"""

from django_q.tasks import async_task
from durban_books import invoice_once


def hand_in(order):
    """Call this where the order is paid."""
    return async_task("django_q_task.make_invoice", order, task_name=f"invoice {order['id']}")


def make_invoice(order):
    """Return the invoice's number. What it raises makes django-q2 try again after `retry` seconds."""
    return invoice_once(order)
