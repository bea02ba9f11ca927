"""docs/clients.md from its top, as it is read: configuration, token, client and script; one effect."""

import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from config.environment import ROOT
from tests.databases import Database
from tests.doors import Api, new_key
from tests.ledger.test_client_node import node
from tests.ledger.wires import Wire, answering, reset
from tests.ledger.wires import serving as wired
from tests.processes import Manage

PAGE = (ROOT / "docs" / "clients.md").read_text()
KEY = "reminder/483/1"


def shown(language: str, *, of: str = PAGE) -> list[str]:
    """The page's blocks of one language, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```", of, re.M | re.S)


PYTHON = next(block for block in shown("python") if "import Tieout" in block)
STATUS = next(block for block in shown("python") if "exit_status" in block)


@dataclass
class Reader:
    """An empty folder, what the page exports, and a mail service that can lose its answer."""

    folder: Path
    exports: str
    mail: Wire
    lost: list[bool]

    def run(self, command: str, files: Mapping[str, str] = {}) -> tuple[int, str]:
        """Put files there and run a command as the page's reader does; its exit status, and what it said."""
        for name, text in files.items():
            (self.folder / name).write_text(text.replace("https://mail.example.com", self.mail.url))
        done = subprocess.run(
            ["/bin/sh", "-ec", f"{self.exports}\n{command}"],
            cwd=self.folder,
            env={"PATH": "/usr/bin:/bin", "HOME": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )
        return done.returncode, done.stdout + done.stderr

    def python(self, script: str) -> tuple[int, str]:
        """Run a script with nothing installed."""
        return self.run(f"{sys.executable} -E -S remind.py", {"remind.py": script})


@pytest.fixture(scope="module")
def reader(database: Database, serving: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Reader]:
    """Who has done the first two steps, word for word."""
    folder, lost = tmp_path_factory.mktemp("empty"), list[bool]()
    done = answering(b'{"id": "MAIL-1"}')

    def handle(connection: socket.socket, request: bytes) -> None:
        reset(connection) if lost and lost.pop() else done(connection, request)

    (configuration,) = shown("toml")
    (folder / "mail.toml").write_text(configuration)
    first, second = (block for block in shown("sh") if "manage.py" in block or "curl" in block)
    configure, issue = (line.partition("#")[0].split()[2:] for line in first.splitlines())
    manage = Manage(database)
    manage(*[str(folder / word) if word.endswith(".toml") else word for word in configure])
    token = manage(*issue).stdout.strip()
    exports = second.replace("https://tieout.example.com", serving.server.url).replace("…", token)
    with wired(handle) as mail:
        made = Reader(folder, "", mail, lost)
        assert made.run(exports)[0] == 0
        made.exports = "\n".join(line for line in exports.splitlines() if line.startswith("export"))
        yield made


def test_the_first_script_does_it_once_and_prints_the_reference(reader: Reader) -> None:
    assert reader.python(PYTHON) == reader.python(PYTHON) == (0, "MAIL-1\n")
    assert len(reader.mail.requests) == 1


def test_the_first_script_never_ends_well_where_it_was_not_done(reader: Reader) -> None:
    script = PYTHON.replace(KEY, new_key())
    reader.lost.append(True)
    assert reader.python(script)[0] == 1
    sent = len(reader.mail.requests)
    status, words = reader.python(script)
    assert (status, "Hold: " in words, "Decide at http" in words) == (1, True, True)
    named = f"import sys\nfrom tieout_client import TieoutError\n{script}".replace(
        "print(remind())\n", STATUS
    )
    status, words = reader.python(named)
    assert (status, words.count("\n"), "Traceback" in words) == (76, 1, False)
    assert len(reader.mail.requests) == sent


def test_a_block_that_goes_on_says_so_on_standard_error(reader: Reader) -> None:
    block = next(block for block in shown("python") if "op.proceed" in block).replace(KEY, key := new_key())
    script = f"{MAIL}\ntieout = Tieout()\n{block}"
    assert reader.python(script.replace('op.succeeded(sent["id"])', "op.uncertain()")) == (0, "")
    status, words = reader.python(script)
    assert (status, words.startswith(f"reminder.send {key}: hold. "), words.count("http")) == (0, True, 1)


MAIL = """
from tieout_client import Tieout
class mail:
    def send(body, idempotency_key): return {"id": "MAIL-2"}
body = {"invoice": "484"}
"""


def test_the_readme_s_five_lines_are_enough(reader: Reader) -> None:
    (block,) = (block for block in shown("python", of=(ROOT / "README.md").read_text()) if "once" in block)
    script = f"{MAIL}\n{block.replace(KEY, new_key())}\nprint(remind())\n"
    assert reader.python(script) == reader.python(script) == (0, "MAIL-2\n")


@pytest.mark.long
def test_the_first_script_in_javascript_is_the_same_one(reader: Reader) -> None:
    (script,) = shown("js")
    client = (ROOT / "ledger" / "door" / "client.mjs").read_text()
    files = {"tieout_client.mjs": client, "remind.mjs": script.replace(KEY, new_key())}
    sent = len(reader.mail.requests)
    assert reader.run(f"{node()} remind.mjs", files) == (0, "MAIL-1\n")
    assert reader.run(f"{node()} remind.mjs") == (0, "MAIL-1\n")
    assert len(reader.mail.requests) == sent + 1
    files["remind.mjs"] = script.replace(KEY, new_key())
    reader.lost.append(True)
    assert reader.run(f"{node()} remind.mjs", files)[0] == 1
    status, words = reader.run(f"{node()} remind.mjs")
    assert (status, "Hold: reminder.send" in words, "Decide at http" in words) == (1, True, True)
