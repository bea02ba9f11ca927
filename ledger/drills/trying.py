"""What a drill sends, step by step: what may have been made is on record before each of them."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from datetime import timedelta

from django.db import connections

from ledger import actions
from ledger.destinations import listing
from ledger.destinations.connectors.base import IncompletePull
from ledger.drills.probe import Heard, Probe, Range
from ledger.rules import records
from ledger.rules.facts import IN_USE
from ledger.rules.records import Found, Unreadable
from ledger.rules.states import Standing, Verdict

AT_ONCE = 10
PATIENCE_S = 15.0
"""How long an answer that the key is being worked on is waited for."""
LOOKS = 3
"""Look-ups in a row that could not look, before that is believed."""
PAUSE_S = 0.5
MARGIN = timedelta(days=1)
"""The list is asked for from this long before the drill, as reconciliation does: clocks differ."""
NEARLY = ("key", "key-and", "key-and-more")
"""The first and the last are sent; the one between is not, begins with the first and begins the last."""


@dataclass
class Listed:
    """The list as it was read: the drill's own records by reference, and why it was not read to its end."""

    pages: int = 0
    records: dict[str, set[str]] = field(default_factory=dict)
    why: str = ""
    status: int | None = None


@dataclass
class Evidence:
    """All that a drill has seen: answers and look-ups by the name of what was sent, and the list."""

    heard: dict[str, list[Heard]] = field(default_factory=dict)
    probes: dict[str, Probe] = field(default_factory=dict)
    found: dict[str, Found] = field(default_factory=dict)
    listed: Listed | None = None
    voided: dict[str, bool] = field(default_factory=dict)
    """The records that were to be voided, by their own name, and whether they are seen to be void."""
    finds: bool = False
    """Whether the look-up is known to find what is there, by what it found before."""
    lists: bool = False
    """Whether the list is known to be whole, by an earlier drill."""

    def answered(self, name: str) -> set[str]:
        """Return the records that answers named for a reference."""
        return {heard.report.destination_reference for heard in self.heard.get(name, ())} - {""}

    def seen(self, name: str) -> set[str]:
        """Return the records that a look-up or the list showed under a reference."""
        found = self.found.get(name)
        looked = {record.id for record in found.records} if found else set()
        probe = self.probes.get(name)
        listed = self.listed.records.get(probe.reference, set()) if self.listed and probe else set()
        return looked | listed

    @property
    def sees(self) -> bool:
        """Say whether a look-up or the list showed anything at all: one that never does proves no absence."""
        return any(self.seen(name) for name in self.probes)

    def made(self, name: str) -> set[str]:
        """Return the records that exist under a reference, as far as anything tells."""
        mine = self.answered(name) if name != "other" else set()
        return mine | self.seen(name)

    def counted(self, name: str) -> bool:
        """Say whether these are all: something was read to its end, and shows what answers named."""
        whole = self._looked(name) or self._listed
        return whole and (name == "other" or self.answered(name) <= self.seen(name))

    def accounted(self, name: str) -> bool:
        """Say whether all that a reference may have made is known: it never went out, or it was counted.

        That nothing is shown says so only of what was refused, or by what is known to show.
        """
        heard = self.heard.get(name, [])
        if heard and all(one.unsent for one in heard):
            return True
        missed = name != "other" and any(one.taken for one in heard) and not self.made(name)
        if missed or not self.counted(name):
            return False
        refused = bool(heard) and all(one.refused for one in heard)
        return bool(self.seen(name)) or refused or self._silence_counts(name)

    def _looked(self, name: str) -> bool:
        found = self.found.get(name)
        return found is not None and found.verdict is not Verdict.COULD_NOT_LOOK

    @property
    def _listed(self) -> bool:
        return self.listed is not None and not self.listed.why

    def _silence_counts(self, name: str) -> bool:
        """Say whether what shows nothing of a reference was ever known to show what is there."""
        finds = self.finds or any(found.records for found in self.found.values())
        lists = self.lists or (self.listed is not None and bool(self.listed.records))
        return (self._looked(name) and finds) or (self._listed and lists)


def send_all(there: Range, evidence: Evidence) -> None:
    """Send everything that the contract's promises are tried by; stops where the sample is not taken."""
    first = _send(there, evidence, "key")
    if not first.taken:
        return
    if there.kind.promises.takes_key:
        _under_one_key(there, evidence)
    _send(there, evidence, NEARLY[-1])
    _refused(there, evidence)


def _under_one_key(there: Range, evidence: Evidence) -> None:
    _send(there, evidence, "key")
    other = evidence.probes["other"] = there.probe("other")
    if other.payload != evidence.probes["key"].payload:
        heard = there.send(other, under=evidence.probes["key"])
        evidence.heard["other"] = [heard]
    _lose(there, evidence)
    if len(evidence.answered("key")) < 2:  # a key that is ignored would make ten of them
        _at_once(there, evidence)


def _send(there: Range, evidence: Evidence, name: str) -> Heard:
    """Send under a name; where the key is being worked on, wait and ask again."""
    probe = evidence.probes.setdefault(name, there.probe(name))
    until, waits = time.monotonic() + PATIENCE_S, True
    while waits:
        heard = there.send(probe)
        waits = heard.report.error_code == IN_USE and time.monotonic() < until
        if waits:
            time.sleep(min(heard.report.retry_after_s or PAUSE_S, PATIENCE_S))
    evidence.heard.setdefault(name, []).append(heard)
    return heard


def _lose(there: Range, evidence: Evidence) -> None:
    """Close the connection once the request is written, and send it again."""
    probe = evidence.probes["lost"] = there.probe("lost")
    lost = there.send(probe, hang_up=True)
    evidence.heard["lost"] = [lost]
    if lost.silent:
        _send(there, evidence, "lost")


def _at_once(there: Range, evidence: Evidence) -> None:
    probe = evidence.probes["at-once"] = there.probe("at-once")
    actions.note_sending(there.drill, [probe.reference])
    with ThreadPoolExecutor(AT_ONCE) as pool:
        sent = [pool.submit(_in_a_thread, there, probe) for _ in range(AT_ONCE)]
    evidence.heard["at-once"] = [one.result() for one in sent]


def _in_a_thread(there: Range, probe: Probe) -> Heard:
    try:
        return there.unnoted(probe)
    finally:
        connections.close_all()  # a connector may have read its access from the database


def _refused(there: Range, evidence: Evidence) -> None:
    """Send what is refused, and then what is taken under the same key."""
    if there.sample.refused is None:
        return
    probe = evidence.probes["refused"] = there.probe("refused", there.sample.refused)
    evidence.heard["refused"] = [there.send(probe)]
    if there.kind.promises.takes_key:
        corrected = replace(probe, payload=there.probe("refused").payload)
        evidence.heard["refused"].append(there.send(corrected))


def look_at_all(there: Range, evidence: Evidence) -> None:
    """Look for what was sent and for what was not, and read the list to its end."""
    evidence.probes[NEARLY[1]] = there.probe(NEARLY[1])
    if there.kind.has_lookup:
        for name, probe in evidence.probes.items():
            evidence.found[name] = _looked(there, probe)
    if there.kind.how.list is not None:
        evidence.listed = _listed(there)


def _looked(there: Range, probe: Probe) -> Found:
    for _ in range(LOOKS - 1):
        found = there.look(probe)
        if found.verdict is not Verdict.COULD_NOT_LOOK or found.others:
            return found
        time.sleep(PAUSE_S)
    return there.look(probe)


def _listed(there: Range) -> Listed:
    """Read the list; what cannot be read of an item is no record of the drill's."""
    listed, record = Listed(), there.kind.how.record
    assert record is not None  # a list is refused without it
    try:
        for page in listing.pages(there.kind, since=there.drill.begun_at - MARGIN):
            listed.pages += 1
            for item in page.items:
                reference = records.search(record.reference, item)
                if isinstance(reference, str) and reference.startswith(f"{there.drill.stem}/"):
                    listed.records.setdefault(reference, set()).add(_identity(record.id, item))
    except IncompletePull as error:
        listed.why, listed.status = error.reason, error.status
    return listed


def _identity(expression: str, item: object) -> str:
    try:
        return records.read_text(records.search(expression, item), "id")
    except Unreadable:
        return ""


def void_all(there: Range, evidence: Evidence) -> None:
    """Void every record that the drill has made, and look whether it is void."""
    if there.kind.how.void is None:
        return
    for name, probe in evidence.probes.items():
        for record in sorted(evidence.made(name) - evidence.voided.keys()):
            patient = there.void(probe, record).taken
            evidence.voided[record] = _is_void(there, probe, record, patient=patient)
            if evidence.voided[record]:
                actions.note_voided(there.drill, probe.reference, record=record)


def _is_void(there: Range, probe: Probe, record: str, *, patient: bool) -> bool:
    """Look whether a record is void; where the call was taken, a few times: some say so a little later."""
    if not there.kind.has_lookup:
        return False
    for pause_s in (0, PAUSE_S, PAUSE_S, 2 * PAUSE_S) if patient else (0,):
        time.sleep(pause_s)
        seen = {one.id: one.standing for one in there.look(probe).records}
        if seen.get(record) is Standing.VOID:
            return True
    return False
