"""What the pages of the recipes show stands in the files that the other tests run."""

import json
import re
from pathlib import Path

import pytest

from tests.databases import Database
from tests.processes import Manage
from tests.recipes.shops import RECIPES

SHOWN = {
    "node-red.md": ("js", "node-red/flow.json"),
    "celery.md": ("python", "celery_app.py"),
    "django-q.md": ("python", "django_q_task.py"),
    "airflow.md": ("python", "airflow_dag.py"),
    "curl.md": ("sh", "invoice.sh"),
    "cron.md": ("", "crontab"),
}
LINES_OF_ITS_READER = ("docs/recipes/", "pip install")


@pytest.mark.parametrize("page", SHOWN)
def test_what_a_page_shows_is_what_runs(page: str) -> None:
    language, file = SHOWN[page]
    runs = (RECIPES / file).read_text()
    if file.endswith(".json"):
        runs = "\n".join(node.get("func", "") for node in json.loads(runs))
    blocks = re.findall(rf"^```{language}\n(.*?)^```", (RECIPES / page).read_text(), re.M | re.S)
    shown = [block for block in blocks if not block.startswith(LINES_OF_ITS_READER)]
    assert len(shown) == 1
    assert shown[0] in runs


def test_every_recipe_stands_in_the_index() -> None:
    index = (RECIPES / "README.md").read_text()
    named = {name for name in re.findall(r"\]\(([\w./-]+)\)", index) if not name.startswith("..")}
    there = {str(file.relative_to(RECIPES)) for file in RECIPES.rglob("*") if file.is_file()}
    assert named == {file for file in there if not file.startswith("__")} - {"README.md"}


def test_the_flow_has_core_nodes_and_no_secret() -> None:
    text = (RECIPES / "node-red" / "flow.json").read_text()
    kinds = {node["type"] for node in json.loads(text)}
    assert kinds == {"tab", "http in", "function", "http request", "catch", "delay", "http response", "debug"}
    assert "credentials" not in text and "Bearer ${env.get" in text


def test_what_pages_say_for_the_register_is_taken(database: Database, tmp_path: Path) -> None:
    pages = "".join((RECIPES / page).read_text() for page in ("n8n.md", "zapier.md", "make.md"))
    sections = re.findall(r"^```toml\n(.*?)^```", pages, re.M | re.S)
    assert len(sections) == 3
    file = tmp_path / "told.toml"
    file.write_text("\n".join([(RECIPES / "handed_over.toml").read_text(), *sections]))
    said = Manage(database)("configure", str(file), "--check").stdout
    assert "up to 6 calls; 6 by Zapier" in said, "the first one and five replays"
    assert "up to 5 calls; 5 by n8n" in said
