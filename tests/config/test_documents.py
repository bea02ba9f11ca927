"""What the documents say is so: settings, problems, tests, files and links are compared with the code."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from config.environment import ROOT, Environment
from config.urls import api as served_api
from ledger.rules import calls, connections, events, hours
from ledger.rules.contracts import Contract, Section
from ledger.rules.errors import WrongMethod
from ledger.rules.escalating import Step
from reconcile.configuration import sections
from reconcile.rules.declared import Rule
from reconcile.rules.payouts import Payout
from reconcile.sources.rules import RowMap, SourceRules
from reconcile.statements.profiles.rules import ProfileColumns, ProfileRules, Trailer

README = ROOT / "README.md"
DOCUMENTS = [README, ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
COVERED = " ".join(
    (
        "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19",
        "20 21 22 23 24 25 26 27 28",
        "29 30 31 32 33 34 35 36 37 38 39 40 41 42 43",
        "44 45 46 47 48 49 50",
        "51 52 53 54 55 56 57 58 59 60 61 62 63 64 65 66",
    )
).split()


def section(document: Path, heading: str) -> str:
    """The text under a heading, up to the next one of its rank."""
    found = re.search(rf"^(#+) {re.escape(heading)}$(.*?)(?=^\1 |\Z)", document.read_text(), re.M | re.S)
    assert found, f"{document.name} has no heading {heading}"
    return found[2]


def test_every_setting_and_no_other_stands_in_the_readme_with_its_default() -> None:
    rows = re.findall(r"^\| `([A-Z_]+)` \| (.*?) \|", section(README, "Settings"), re.M)
    fields = Environment.model_fields
    assert {name for name, _ in rows} == {name.upper() for name in fields}
    plain = {
        name: fields[name.lower()].default for name, default in rows if re.fullmatch(r"`[^`]+`", default)
    }
    said = {name: default.strip("`") for name, default in rows if name in plain}
    assert said == {name: written(default) for name, default in plain.items()}


def written(default: object) -> str:
    """A default as one would set it."""
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, list):
        return ",".join(default)
    if isinstance(default, Path):
        return str(default.relative_to(ROOT))
    return str(default)


def test_every_kind_of_problem_stands_in_the_api_s_table() -> None:
    rows = re.findall(r"^\| `/problems/([\w-]+)` \| (\d+) \| ([\w-]+) \|", section(api(), "Problems"), re.M)
    document = served_api.get_openapi_schema(path_prefix="/api/v1/")
    told = {
        (kind, str(example["value"]["status"]), str(example["value"]["retry"]))
        for methods in document["paths"].values()
        for operation in methods.values()
        for answer in operation["responses"].values()
        for kind, example in answer.get("content", {})
        .get("application/problem+json", {})
        .get("examples", {})
        .items()
    }
    # A method that an address does not take is no part of that document.
    wrong_method = (WrongMethod.type, str(WrongMethod.status), WrongMethod.retry)
    assert sorted(rows) == sorted(told | {wrong_method})


SECTIONS: dict[str, tuple[type[Section], ...]] = {
    "`[destinations.NAME]`": (sections.DestinationHead, connections.Connection, connections.Tls),
    "Rate": (connections.Rate,),
    "OAuth 2": (connections.Auth,),
    "`[destinations.NAME.contract]`": (Contract,),
    "`[destinations.NAME.hours]`": (hours.WorkingHours,),
    "`[destinations.NAME.events]`": (events.EventRules,),
    '`[operation_types."NAME"]`': (sections.TypeHead,),
    '`.send`: required where `performed_by = "tieout"`': (calls.SendCall,),
    "`.record`: how one record is read; required with `lookup` or `list`": (calls.RecordMap,),
    "`.lookup`: a look-up exists if this section does": (calls.LookupCall,),
    "`paging` of both": (calls.Paging,),
    "`.retry`": (calls.RetryPolicy,),
    "`.review`": (calls.ReviewPolicy,),
    "`.void`": (calls.VoidCall,),
    "`.drill`: what a drill may send": (calls.DrillSample,),
    "`[automations.NAME]`": (sections.AutomationHead,),
    "`[plans.NAME]`": (sections.PlanHead,),
    "`[[plans.NAME.rules]]`": (Rule,),
    "`[plans.NAME.payout]`": (Payout,),
    "`[plans.NAME.source]`": (sections.SourceHead, SourceRules),
    "`record` of a source": (RowMap,),
    "`[plans.NAME.period]`": (sections.PlanPeriod,),
    "`[webhooks.NAME]`": (sections.WebhookHead,),
    "`[teams.NAME]`": (sections.TeamHead, Step),
    "`[display]`": (sections.DisplayHead,),
    "`[profiles.NAME]`": (ProfileRules, ProfileColumns, Trailer),
}


def test_every_line_of_a_configuration_file_and_no_other_is_documented() -> None:
    """A table has no line that its section's model has not, and each line of that stands in the section."""
    known = {kind for kinds in SECTIONS.values() for kind in kinds}
    assert {*sections.OF_TYPE.values(), *sections.OF_DESTINATION.values()} - known == {calls.ListCall}
    whole = (ROOT / "docs" / "configuration.md").read_text()
    wrong = []
    for heading, kinds in SECTIONS.items():
        parts = re.split(rf"^#+ {re.escape(heading)}$", whole, flags=re.M)
        assert len(parts) == 2, heading
        own = re.split(r"^#+ ", parts[1], flags=re.M)[0]
        there = {name for kind in kinds for name in sections.members(kind)}
        cells = re.findall(r"^\| (`\w+`(?:,? `\w+`)*) \|", own, re.M)
        rows = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
        text = (
            own
            if heading != "OAuth 2"
            else own + section(ROOT / "docs" / "configuration.md", "`[destinations.NAME]`")
        )
        named = {name for name in there if re.search(rf"(?<![\w-]){name}(?![\w-])", text)}
        wrong += [f"{heading}: {name} is no line" for name in rows - there]
        named |= {name for name in there if f"`[destinations.NAME.{name}]`" in SECTIONS}
        wrong += [f"{heading}: {name} is not documented" for name in there - named]
    assert wrong == []


def api() -> Path:
    return ROOT / "docs" / "api.md"


@cache
def names_in(file: Path) -> set[str]:
    """The names of a file's tests."""
    return {node.name for node in ast.walk(ast.parse(file.read_text())) if isinstance(node, ast.FunctionDef)}


def test_every_failure_names_a_test_that_exists() -> None:
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (`.+`) \|$", (ROOT / "docs" / "failures.md").read_text(), re.M)
    named = [name for _, _, tests in rows for name in re.findall(r"`([\w/]+\.py)::(\w+)`", tests)]
    missing = [
        f"{file}::{test}"
        for file, test in named
        if not (ROOT / "tests" / file).exists() or test not in names_in(ROOT / "tests" / file)
    ]
    assert len(rows) == len(COVERED)
    assert len(named) >= len(rows)
    assert missing == []


def test_the_map_shows_what_is_there() -> None:
    block = section(README, "Map").split("```")[1]
    above: list[str] = []
    missing = []
    for line in block.splitlines():
        indent, names = re.match(r"( *)((?:[\w./]+)?(?:, [\w./]+)*)", line).groups()  # type: ignore[union-attr]
        for name in filter(None, names.split(", ")):
            del above[len(indent) // 2 :]
            place = ROOT.joinpath(*above, name)
            if not place.exists():
                missing.append(str(place.relative_to(ROOT)))
            if name.endswith("/"):
                above.append(name)
    assert missing == []


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_every_link_leads_somewhere(document: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", document.read_text())
    targets += re.findall(r'<img[^>]* src="([^"]+)"', document.read_text())
    for target in targets:
        file, _, anchor = target.partition("#")
        if "://" in file:
            continue
        found = (document.parent / file).resolve() if file else document
        assert found.exists(), target
        if anchor:
            headings = re.findall(r"^#+ (.+)$", found.read_text(), re.M)
            assert anchor in {
                re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings
            }
