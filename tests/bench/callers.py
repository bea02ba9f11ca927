"""Calling processes, kept for the whole run: each works when it is told to, and they begin together."""

import json
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from config.environment import ROOT


@dataclass(frozen=True)
class Callers:
    """Processes that speak the protocol of `loop`."""

    processes: list[subprocess.Popen[str]]
    rest: bool = False
    """Whether they are stopped while nothing is asked of them: a library may be busy by itself."""

    @classmethod
    @contextmanager
    def started(
        cls, count: int, *command: str, environ: Mapping[str, str], rest: bool = False
    ) -> Iterator["Callers"]:
        """Start so many; they end when their orders end."""
        processes = [
            subprocess.Popen(
                command, cwd=ROOT, env=dict(environ), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
            )
            for _ in range(count)
        ]
        try:
            yield cls(processes, rest)
        finally:
            _tell(processes, signal.SIGCONT)
            for process in processes:
                process.communicate()

    def rate(self, work: str, count: int, *, seconds: float, duplicates: bool = False) -> float:
        """Let the first `count` work at once for so many seconds; gives units a second of all together."""
        order = json.dumps({"work": work, "seconds": seconds, "duplicates": duplicates}) + "\n"
        busy = self.processes[:count]
        _tell(self.processes if self.rest else [], signal.SIGCONT)
        for process in busy:
            assert process.stdin is not None
            process.stdin.write(order)
            process.stdin.flush()
        answers = [_answer(process) for process in busy]
        _tell(self.processes if self.rest else [], signal.SIGSTOP)
        return sum(float(answer["done"] / answer["elapsed"]) for answer in answers)


def _tell(processes: list[subprocess.Popen[str]], what: signal.Signals) -> None:
    for process in processes:
        process.send_signal(what)


def _answer(process: subprocess.Popen[str]) -> dict[str, Any]:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise RuntimeError(f"A caller ended with {process.wait()}; what it said stands above.")
    answer: dict[str, Any] = json.loads(line)
    return answer
