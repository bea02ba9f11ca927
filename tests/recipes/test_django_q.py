"""A real cluster of django-q2 runs docs/recipes/django_q_task.py: killed half-way, it makes one invoice."""

import ast
import json
import sys
from typing import Any

import psutil
import pytest

from tests.processes import LOGS
from tests.recipes.shops import Shop, new_order, worked_until
from tests.workers import until

SETTINGS = '''\
"""A shop's own project."""

SECRET_KEY = "only for tests"
INSTALLED_APPS = ["django_q"]
DATABASES = {{"default": {{"ENGINE": "django.db.backends.sqlite3", "NAME": "shop.sqlite3"}}}}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
USE_TZ = True
Q_CLUSTER = {cluster}
'''
FASTER = {"timeout": 2, "retry": 3, "poll": 0.1, "workers": 1}
"""As the recipe has it, with less patience."""
SET_UP = "import django, json, sys; django.setup(); "
PREPARE = SET_UP + "from django.core.management import call_command; call_command('migrate')"
PUT = SET_UP + "import django_q_task; django_q_task.hand_in(json.loads(sys.argv[1]))"
PUT_NAIVELY = (
    SET_UP + "from django_q.tasks import async_task; "
    "async_task('naive_q.make_naively', json.loads(sys.argv[1]))"
)


def recipes_cluster(shop: Shop) -> dict[str, Any]:
    """The settings that the recipe names in its first lines."""
    text = ast.get_docstring(ast.parse((shop.folder / "django_q_task.py").read_text())) or ""
    cluster: dict[str, Any] = ast.literal_eval(text.partition("Q_CLUSTER = ")[2])
    return cluster


@pytest.mark.parametrize(
    ("put", "invoices"), [(PUT, 1), pytest.param(PUT_NAIVELY, 2, marks=pytest.mark.long)]
)
def test_a_task_whose_process_is_killed_comes_again(
    shop: Shop, request: pytest.FixtureRequest, put: str, invoices: int
) -> None:
    order, log = new_order(), shop.folder / "cluster.log"
    log.touch()
    request.node.stash[LOGS].append(log)
    cluster = {**recipes_cluster(shop), **FASTER}
    (shop.folder / "shop_settings.py").write_text(SETTINGS.format(cluster=cluster))
    python = (sys.executable, "-c")
    told = {"DJANGO_SETTINGS_MODULE": "shop_settings", "PYTHONPATH": str(shop.folder)}
    status, words = shop.ran(*python, PREPARE, **told)
    assert status == 0, words
    shop.makes_and_keeps_silent()
    status, words = shop.ran(*python, put, json.dumps(order), **told)
    assert status == 0, words
    with shop.running("-m", "django", "qcluster", log=log, **told) as main:
        until(lambda: shop.effects(order), what="The invoice")
        worker_of(main.pid).kill()
        if put == PUT:
            until(lambda: ": wait. " in log.read_text(), what="Its being told to wait")
        shop.api.clock.advance(300)
        worked_until(lambda: "Processed" in log.read_text(), what="The task's end")
    assert shop.effects(order) == invoices


def worker_of(main: int) -> psutil.Process:
    """The one worker: it is started before what writes results back and what fetches tasks."""
    [sentinel] = [one for one in psutil.Process(main).children() if one.children()]
    return min(sentinel.children(), key=lambda process: process.pid)
