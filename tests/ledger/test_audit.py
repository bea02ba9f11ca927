"""The trail is sealed while it grows, and nobody changes, removes or slips in an event unseen."""

import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from django.db import IntegrityError, connections

from ledger import audit
from ledger.models import Event, Seal
from ledger.rules import chain
from ledger.worker.sweep import Sweep
from tests import factories as make
from tests.databases import Clock, Database
from tests.processes import Manage

WRITERS = 64
WRITE = """
    INSERT INTO ledger_event (uid, kind, actor, reason, state_from, state_to, data)
    VALUES (gen_random_uuid(), 'settled', 'worker', %s, '', '', '{"ö": 1.10}')
"""


def test_49_a_chain_that_sixty_four_write_at_once_neither_forks_nor_misses_one(database: Database) -> None:
    """Numbers are given before they commit: what was slow to commit is under a seal all the same."""
    begun, sealed = threading.Barrier(WRITERS + 2), threading.Event()

    def write(number: int) -> None:
        with closing(psycopg.connect(database.app_url)) as connection:
            begun.wait()
            for turn in range(4):
                assert turn < 3 or sealed.wait(60), "it was sealed while they wrote"
                connection.execute(WRITE, [f"{number} begins {turn}."])
                connection.execute("SELECT pg_sleep(%s)", [0.002 * ((number * 7 + turn) % 13)])
                connection.execute(WRITE, [f"{number} ends {turn}."])
                connection.rollback() if number % 16 == turn else connection.commit()

    def seal() -> None:
        begun.wait()
        while any(writer.is_alive() for writer in writers):
            if audit.seal() is not None:
                sealed.set()
        connections.close_all()

    writers = [threading.Thread(target=write, args=[number]) for number in range(WRITERS)]
    sealers = [threading.Thread(target=seal) for _ in range(2)]
    for thread in (*writers, *sealers):
        thread.start()
    for thread in (*writers, *sealers):
        thread.join()
    last = audit.seal_all()
    found = audit.verify()
    assert last is not None and (found.faults, found.left) == ([], 0)
    assert found.events == Event.objects.count() == WRITERS * 8 - 32
    assert found.seals > 1, "it was sealed while they wrote"


def trail(*, seals: int = 3) -> list[Event]:
    """So many seals over three events each, and one event that has none."""
    for number in range(seals):
        for turn in range(3):
            Event.objects.create(kind="settled", actor="ann", reason=f"Ä {number}.{turn}", data={"n": turn})
        assert audit.seal() is not None
    Event.objects.create(kind="settled", actor="ann", reason="The last one.")
    return list(Event.objects.order_by("pk"))


SWITCHED = "ALTER TABLE ledger_event DISABLE TRIGGER USER"
REWRITTEN = "ALTER TABLE ledger_seal DISABLE TRIGGER USER"


@pytest.mark.parametrize(
    ("rewrites", "says"),
    [
        (
            "UPDATE ledger_event SET reason = 'Nothing.' WHERE id = {second}",
            "Seal 2, events 4 to 6: an event was changed.",
        ),
        ("UPDATE ledger_event SET at = at + '1us' WHERE id = {second}", "an event was changed."),
        ("UPDATE ledger_event SET data = '{{\"n\": 8}}' WHERE id = {second}", "an event was changed."),
        ("DELETE FROM ledger_event WHERE id = {second}", "Seal 2, events 4 to 6: 2 of 3 events are there."),
        (
            "UPDATE ledger_event SET id = -id WHERE id = {second}",
            "Seal 1, events 1 to 3: 4 of 3 events are there.",
        ),
        ("DELETE FROM ledger_seal WHERE number = 2", "Seal 3 does not follow the one before it."),
        ("DELETE FROM ledger_seal WHERE number = 3", ""),
    ],
)
def test_what_the_owner_rewrites_no_longer_fits_its_seal(
    database: Database, rewrites: str, says: str
) -> None:
    events = trail()
    database.as_owner(SWITCHED, REWRITTEN, rewrites.format(second=events[4].pk))
    faults = audit.verify().faults
    assert says in faults[0] if says else not faults, faults


def test_a_whole_new_chain_is_told_by_a_head_that_was_kept(
    database: Database, run_manage: Manage, tmp_path: Path
) -> None:
    """Who owns the database can rewrite the seals as well; a head on paper they cannot."""
    events = trail()
    first = run_manage("verify_audit", "--export", str(tmp_path / "trail.jsonl"))
    assert first.returncode == 0 and "10 events are sealed by 4 seals" in first.stdout
    kept = first.stdout.split("keep this head: ")[1].split()[0]
    heads = chain.kept([kept])
    assert audit.verify(kept=heads).faults == []
    database.as_owner(
        SWITCHED,
        REWRITTEN,
        f"UPDATE ledger_event SET reason = 'x' WHERE id = {events[4].pk}",
        "DELETE FROM ledger_seal",
    )
    assert audit.seal_all() is not None and audit.verify().faults == [], "it is whole by itself"
    second = run_manage("verify_audit", "--kept", kept, check=False)
    assert second.returncode == 1 and "Seal 4, whose head was kept, is not there." in second.stderr
    with pytest.raises(ValueError, match="SEAL:HEAD"):
        chain.kept(["4:short"])
    # Without Tieout: the export of before is whole, and tells of a line that is changed.
    file = tmp_path / "trail.jsonl"
    assert file.stat().st_mode & 0o777 == 0o600
    for text, status in ((file.read_text(), 0), (file.read_text().replace("1.1", "1.2", 1), 1), ("{}\n", 2)):
        file.write_text(text)
        alone = [sys.executable, "-I", chain.__file__, str(file), kept]
        assert subprocess.run(alone, capture_output=True, check=False).returncode == status


def test_nobody_forks_or_changes_the_chain(database: Database) -> None:
    trail()
    last = Seal.objects.order_by("-number").first()
    assert last is not None
    row = {"count": 1, "through": last.through + 1, "after": last.through, "head": "0" * 64}
    for wrong in ({"number": 3, "previous": last.head}, {"number": 4, "previous": "1" * 64}):
        with pytest.raises(IntegrityError):
            Seal.objects.create(**{**row, **wrong})
    for change in ("UPDATE ledger_seal SET head = ''", "DELETE FROM ledger_seal", "TRUNCATE ledger_seal"):
        with pytest.raises(psycopg.Error), closing(psycopg.connect(database.owner_url)) as owner:
            owner.execute(change.encode())


def test_the_sweep_seals_within_a_minute_and_waits_for_who_is_writing(clock: Clock) -> None:
    make.handed(make.invoice_type())
    Sweep().run()
    first = audit.latest()
    assert first is not None and first.count == Event.objects.count()
    with closing(psycopg.connect(clock.database.app_url)) as slow:
        slow.execute(WRITE.encode(), ["Slow."])
        Event.objects.create(kind="settled", actor="worker", reason="Quick.")
        clock.advance(61)
        Sweep().run()
        assert audit.latest() == first, "the slow one has the lower number"
        slow.commit()
    Sweep().run()
    assert [seal.count for seal in Seal.objects.all()] == [2, first.count]
