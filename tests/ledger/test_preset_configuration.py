"""What `configure` takes of each preset: all of it with its secrets, and nothing without one of them."""

import re
import textwrap
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from config.environment import ROOT
from ledger.destinations.connectors import presets
from ledger.models import OperationType
from ledger.rules.calls import COUNTED, Paging
from tests.databases import Clock


def secrets_of(preset: str) -> list[str]:
    """The variables that a preset reads, in the order of its file."""
    return re.findall(r'"env:([A-Z_]+)"', (presets.FOLDER / f"{preset}.toml").read_text())


GIVEN = {"base_url": 'base_url = "https://there.example.com"', "account": 'account = "a1"'}
REST = 'name = "Shop"\nbase_url = "https://shop.example.com"'
OF_REST = 'send = { path = "/x" }\nlookup = { path = "/x?reference={key}" }\n'


def whole(preset: str, *, without: str = "") -> str:
    """A file with each operation of a preset and what only the user can write, less one line; no more."""
    found = presets.read(preset)
    assert found is not None
    given = [GIVEN[line] for line in found.needs if line != without]
    text = f'[destinations.there]\npreset = "{preset}"\nentity = "Durban Trading"\n' + "\n".join(given)
    text += f"\n{REST if preset == 'rest' else ''}\n"
    for operation in found.operations:
        text += f'[operation_types."{operation}.make"]\ndestination = "there"\npreset = "{operation}"\n'
        text += f'performed_by = "tieout"\n{OF_REST if preset == "rest" else ""}'
        wanted = [line for line in found.wants[operation] if line != without]
        text += "".join(
            f'[operation_types."{operation}.make".send]\nset = {{ {line.rpartition(".")[2]} = "a1" }}\n'
            for line in wanted
        )
    return text


def needs() -> list[tuple[str, str]]:
    """Each line that only the user can write, with its preset."""
    found = [preset for name in presets.names() if (preset := presets.read(name)) is not None]
    return [
        (one.name, line)
        for one in found
        for line in (*one.needs, *(line for wanted in one.wants.values() for line in wanted))
    ]


@pytest.fixture
def configure(clock: Clock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Take a text in, with all secrets but one; gives what was said, or why it was refused."""

    def take(text: str, *, unset: str = "", wrong: bool = False) -> str:
        for name in {name for preset in presets.names() for name in secrets_of(preset)}:
            monkeypatch.setenv(name, "a-secret-of-0815")
        monkeypatch.delenv(unset, raising=False)
        (tmp_path / "all.toml").write_text(text)
        said = StringIO()
        try:
            call_command("configure", str(tmp_path / "all.toml"), stdout=said, stderr=said)
        except SystemExit:
            assert wrong, said.getvalue()
        else:
            assert not wrong, said.getvalue()
        return said.getvalue()

    return take


@pytest.mark.parametrize("preset", presets.names())
def test_each_operation_of_each_preset_is_taken_as_it_is(preset: str, configure: Callable[..., str]) -> None:
    """With its secrets and what only the user can write, and nothing else."""
    said = configure(whole(preset))
    found = presets.read(preset)
    assert found is not None and OperationType.objects.count() == len(found.operations) > 0
    assert not [line for line in said.splitlines() if line.startswith("!") and "writes {key}" in line]


@pytest.mark.parametrize("preset", [name for name in presets.names() if secrets_of(name)])
def test_without_one_of_its_secrets_a_preset_is_refused_by_the_secrets_name(
    preset: str, configure: Callable[..., str]
) -> None:
    """What is for its webhooks is needed only where they are taken."""
    begun = BEGUN if "[begun.events]" in (presets.FOLDER / f"{preset}.toml").read_text() else ""
    for secret in secrets_of(preset):
        said = configure(whole(preset) + begun, unset=secret, wrong=True)
        assert f"The environment variable {secret} is not set" in said and "One thing is wrong" in said
    assert not OperationType.objects.exists()
    if begun:
        configure(whole(preset), unset=next(name for name in secrets_of(preset) if "WEBHOOK" in name))


BEGUN = "[destinations.there.events]\n"


@pytest.mark.parametrize(("preset", "line"), needs())
def test_what_only_the_user_knows_is_asked_for(preset: str, line: str, configure: Callable[..., str]) -> None:
    said = configure(whole(preset, without=line), wrong=True)
    assert f"{line.rpartition('.')[2]} is missing, and only you know it.\n    Write " in said
    assert "One thing is wrong" in said


COUNTED_BY_NOTHING = {"xero"}
"""Its pages of a hundred have a number alone, and share nothing with the one before."""


@pytest.mark.parametrize("preset", [name for name in presets.names() if name not in COUNTED_BY_NOTHING])
def test_no_preset_counts_pages_that_could_pass_over_a_record(
    preset: str, configure: Callable[..., str]
) -> None:
    configure(whole(preset))
    for kind in OperationType.objects.all():
        for call in (kind.how.lookup, kind.how.list):
            paging = Paging() if call is None else call.paging
            proved = paging.overlap is not None or paging.total is not None
            assert paging.style not in COUNTED or proved, (kind.name, call)


@pytest.mark.parametrize("document", ["presets.md", "configuration.md"])
def test_the_documents_examples_of_presets_are_taken(document: str, configure: Callable[..., str]) -> None:
    blocks = re.findall(r"^( *)```toml\n(.*?)^ *```", (ROOT / "docs" / document).read_text(), re.M | re.S)
    texts = [textwrap.dedent(text) for _, text in blocks]
    about = [text for text in texts if "preset =" in text or "drill]" in text]
    configure("\n".join(about))
    assert OperationType.objects.exists()
