"""The function of docs/recipes/airflow_dag.py, called again and again, with a stand-in for Airflow.

Airflow is too large to be installed for a test. Airflow 3.3.2 itself ran this file by hand on 2026-11-30:
an answer was lost, the task was retried, and there was one invoice.
"""

import json
import sys
from typing import Any

from tests.recipes.shops import Shop, new_order

STAND_IN = {
    "__init__.py": "",
    "sdk/__init__.py": """
class Task:
    def __init__(self, function, **options):
        self.function, self.options = function, options
    def expand(self, **given):
        pass
    def __call__(self, *given):
        pass
def task(function=None, **options):
    return Task(function) if function else lambda function: Task(function, **options)
def dag(**options):
    return lambda function: function
""",
    "sdk/exceptions.py": "class AirflowFailException(Exception):\n    pass\n",
}
TRY = """
import json, sys
import airflow_dag
try:
    print(airflow_dag.make_invoice.function(json.loads(sys.argv[1])))
except BaseException as error:
    print(type(error).__name__, error)
"""


def tried(shop: Shop, order: dict[str, Any]) -> str:
    """One try of the task, in a process of its own."""
    for name, text in STAND_IN.items():
        file = shop.folder / "airflow" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    status, words = shop.ran(sys.executable, "-c", TRY, json.dumps(order))
    assert status == 0, words
    return words.strip()


def test_a_task_that_is_tried_again_makes_one_invoice_and_ends_where_a_person_decides(shop: Shop) -> None:
    order, refused = new_order(), {**new_order(), "customer": "Blocked & Sons"}
    shop.books.faults("ignore_keys", count=None)
    shop.books.faults("drop_after", "POST /invoices")
    assert tried(shop, order).startswith("RemoteDisconnected")
    assert tried(shop, order).startswith("Wait")
    shop.time_passes()
    done = tried(shop, order)
    assert done == shop.operation(order).destination_reference
    assert tried(shop, order) == done, "cleared, and run once more"
    assert shop.effects(order) == 1
    assert tried(shop, refused).startswith("AirflowFailException")
