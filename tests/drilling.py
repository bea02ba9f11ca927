"""A destination that may be drilled, as its configuration file says it."""

import os
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from io import StringIO
from pathlib import Path

from django.core.management import call_command

from ledger.destinations.connectors.base import ListPage, ListRequest, Looked, LookRequest, SendRequest
from ledger.destinations.connectors.http import HttpConnector
from ledger.drills import running
from ledger.drills.running import Done
from ledger.models import OperationType
from ledger.rules.outcomes import Answer
from reconcile.configuration import configure
from tests.sandboxes import Sandbox

DURBAN = (Path(__file__).parent.parent / "config" / "demo" / "durban.toml").read_text()
SHORT = {
    "rate = { per_second = 10, concurrency = 4 }\n": "",
    'settle = "10s"': 'settle = "0s"',
    "&limit=200": "&limit=2",
    "attempts = 1\n": "attempts = 5\n",
}


@dataclass
class Drills:
    """Durban Books in a sandbox, taken in from the demo's own file with short times and short pages."""

    folder: Path
    sandbox: Sandbox
    said: list[str] = field(default_factory=list)

    def set_up(self, changed: dict[str, str] | None = None) -> OperationType:
        """Take the file in, with some of its text changed."""
        text = DURBAN.replace("http://127.0.0.1:8010", self.sandbox.url)
        for old, new in (SHORT | (changed or {})).items():
            assert old in text, old
            text = text.replace(old, new)
        file = self.folder / "durban.toml"
        file.write_text(text)
        configure(file)
        return self.kind()

    def kind(self) -> OperationType:
        """The type as it stands."""
        return OperationType.objects.select_related("destination").get(name="invoice.create")

    def through(self, connector: str) -> None:
        """Let another connector carry it."""
        there = self.kind().destination
        there.connector = connector
        there.save(update_fields=["connector"])

    def run(self) -> Done:
        """Drill it."""
        return running.run(self.kind(), say=self.said.append)


@dataclass(frozen=True)
class Told:
    """What the command said, and its exit status."""

    stdout: str
    stderr: str
    returncode: int


def commanded(*arguments: str) -> Told:
    """Run the command in this process."""
    stdout, stderr, status = StringIO(), StringIO(), 0
    try:
        call_command("drill", *arguments, stdout=stdout, stderr=stderr)
    except SystemExit as ended:
        status = int(str(ended.code))
    return Told(stdout.getvalue(), stderr.getvalue(), status)


class DiesAtTheSecond(HttpConnector):
    """The process is killed before it sends for the second time."""

    sent = 0

    def send(self, request: SendRequest) -> Answer:
        if DiesAtTheSecond.sent:
            os.kill(os.getpid(), signal.SIGKILL)
        DiesAtTheSecond.sent += 1
        return super().send(request)


class RefusesAndMakes(HttpConnector):
    """It makes what it refuses."""

    def send(self, request: SendRequest) -> Answer:
        answer = super().send(request)
        if answer.status == 422 and "refused" in str(request.values.get("source.version")):
            made = {**request.payload, "customer": {"name": "Drill"}}
            super().send(replace(request, payload=made, idempotency_key=f"{request.idempotency_key}-second"))
        return answer


class FailsToHangUp(HttpConnector):
    """It cannot close its connection early, and raises."""

    def send(self, request: SendRequest) -> Answer:
        if request.hang_up:
            raise NotImplementedError
        return super().send(request)


class TakesAndShowsNothing(HttpConnector):
    """It takes everything and names nothing; its look-up and its list are empty."""

    def send(self, request: SendRequest) -> Answer:
        super().send(request)
        return Answer("answered", status=202, body={"queued": True}, readable=True)

    def look_up(self, request: LookRequest) -> Looked:
        return Looked((), complete=True)

    def pages(self, request: ListRequest) -> Iterator[ListPage]:
        return iter(())


def broken(done: Done) -> set[str]:
    """The promises that did not hold."""
    return {one.promise.value for one in done.results if one.tried == "broken"}


def held(done: Done) -> set[str]:
    """The promises that held."""
    return {one.promise.value for one in done.results if one.tried == "held"}


def hindered(done: Done) -> set[str]:
    """The promises that the drill could not try."""
    return {one.promise.value for one in done.results if one.hindered}
