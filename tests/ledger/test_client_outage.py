"""The one-file Python client while Tieout is away: closed, open, and what stands on disk meanwhile."""

import hashlib
import os
import shutil
import signal
import socket
import ssl
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from ledger.door import client
from ledger.models import Attempt, Event, Operation
from tests.clients import BARE, Shop, Way, copied, forwarding, way_to
from tests.clients import books as books
from tests.clients import shop as shop
from tests.doors import PAYLOAD, new_key
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving
from tests.ledger.wires import answering, certificate
from tests.ledger.wires import serving as wired
from tests.workers import until

SCRIPT = """
import os, sys
from tieout_client import Tieout

tieout = Tieout(patience_s=0.2, when_unreachable=sys.argv[1])
body = {"order": "483", "total": "1240.00"}
with tieout.operation("reminder.send", key=os.environ["KEY"], payload=body) as op:
    print(op.decision, op.open, flush=True)
    if op.proceed:
        op.succeeded(input() or None)
"""


def reminder(tieout: client.Tieout, key: str, **members: Any) -> client.Operation:
    return tieout.operation("reminder.send", key=key, payload=PAYLOAD, **members)


def state(key: str) -> str | None:
    return Operation.objects.filter(key=key).values_list("state", flat=True).first()


def impatient(shop: Shop, way: Way, **changes: Any) -> client.Tieout:
    return shop.client(url=way.url, patience_s=0.2, **changes)


def at_work(shop: Shop, way: Way, key: str, how: str = "open") -> "subprocess.Popen[str]":
    """A script that does it in a process of its own, and ends when it is given a line."""
    folder = shop.folder / "script"
    copied(folder)
    (folder / "script.py").write_text(SCRIPT)
    command = [sys.executable, *BARE, "-c", "import sys; sys.path.insert(0, sys.argv.pop(1)); import script"]
    environ = {**shop.environ, "KEY": key, "TIEOUT_URL": way.url}
    process = subprocess.Popen(
        [*command, str(folder), how], env=environ, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == f"proceed {how == 'open'}\n"
    return process


# --- closed


def test_closed_nothing_is_done_without_a_claim(shop: Shop) -> None:
    key = new_key()
    with way_to(shop) as way:
        way.cut()
        with (
            pytest.raises(client.TieoutUnavailable, match="Nothing was done"),
            reminder(impatient(shop, way), key),
        ):
            pytest.fail("Nobody was asked.")
    assert state(key) is None
    assert shop.files(".outcome") == []


def test_what_came_back_is_on_disk_and_told_by_the_next_call(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    key = new_key()
    with way_to(shop) as way:
        way.cut("/outcome")
        with reminder(impatient(shop, way), key) as op:
            op.succeeded("MSG-1")
        assert "what came back is on disk, and told later" in caplog.text
        (name,) = shop.files(".outcome")
        file = shop.spool / name
        assert (stat.S_IMODE(file.stat().st_mode), stat.S_IMODE(shop.spool.stat().st_mode)) == (0o600, 0o700)
        assert shop.api.token not in file.read_text()
        assert PAYLOAD["total"] not in file.read_text()
        assert state(key) == "running"
        way.mend()
        with reminder(impatient(shop, way), new_key()) as other:
            assert state(key) == "completed"
            other.succeeded()
    assert shop.files() == []


def test_what_is_said_and_not_told_is_not_done_again(shop: Shop) -> None:
    key = new_key()
    with way_to(shop) as way:
        way.cut("/outcome")
        with reminder(impatient(shop, way), key) as op:
            op.succeeded("MSG-1")
        with reminder(impatient(shop, way), key) as again:
            assert (again.decision, again.reference) == ("skip", "MSG-1")
            assert "not told to Tieout yet" in again.why
        way.mend()
        assert impatient(shop, way).flush() == []
    assert state(key) == "completed"


def test_late_words_are_kept_as_evidence_and_no_longer_on_disk(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    key = new_key()
    with way_to(shop) as way:
        way.cut("/outcome")
        with reminder(impatient(shop, way), key) as op:
            op.rejected(http_status=422)
        shop.api.clock.advance(61)
        shop.api.claim(key)
        way.mend()
        assert impatient(shop, way).flush() == []
    assert state(key) == "uncertain"
    assert "kept as evidence" in caplog.text
    assert Event.objects.filter(operation__key=key, kind="late").count() == 1


def test_words_of_another_tieout_stay_for_that_one(shop: Shop) -> None:
    with way_to(shop) as way, way_to(shop) as another:
        way.cut("/outcome")
        with reminder(impatient(shop, way), new_key()) as op:
            op.succeeded("MSG-1")
        (name,) = shop.files(".outcome")
        assert impatient(shop, another).flush() == [name]
        assert another.requests == []


def test_words_that_tieout_refuses_stay_for_a_person(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    key, gone, whole = new_key(), answering(b'{"detail": "Gone."}', "404 Not Found"), forwarding(shop)

    def handle(connection: socket.socket, request: bytes) -> None:
        (gone if b"/outcome " in request else whole)(connection, request)

    with (
        wired(handle) as wire,
        reminder(shop.client(url=wire.url), key) as op,
        pytest.raises(client.Problem, match="404"),
    ):
        op.succeeded("MSG-1")
    assert (op.said, state(key)) == ("succeeded", "running")
    (name,) = shop.files()
    assert name.endswith(".outcome.refused")
    assert "Look at it, then remove it." in caplog.text
    assert shop.client().flush() == [name]


# --- open


def test_open_the_work_goes_on_and_is_told_later(shop: Shop) -> None:
    key = new_key()
    with way_to(shop) as way:
        way.cut()
        with reminder(impatient(shop, way, when_unreachable="open"), key) as op:
            assert (op.proceed, op.open, op.idempotency_key, op.lost) == (True, True, None, False)
            op.succeeded("MSG-1")
        with reminder(impatient(shop, way), key, when_unreachable="open") as again:
            assert (again.decision, again.reference) == ("skip", "MSG-1")
        assert state(key) is None
        way.mend()
        assert impatient(shop, way).flush() == []
    attempt = Attempt.objects.get(operation__key=key)
    assert (state(key), attempt.outcome, attempt.destination_reference) == ("completed", "succeeded", "MSG-1")
    assert attempt.started_at is not None


@pytest.mark.parametrize("before", [True, False], ids=["the request", "the answer"])
@pytest.mark.parametrize("lost", ["operations/claim", "/start"])
def test_open_what_was_claimed_and_what_is_told_are_one(shop: Shop, lost: str, before: bool) -> None:
    key = new_key()
    with way_to(shop) as way:
        way.cut(lost, before=before)
        with reminder(impatient(shop, way, when_unreachable="open"), key) as op:
            assert (op.open, op.idempotency_key is None) == (True, lost == "operations/claim")
            op.succeeded("MSG-1")
        way.mend()
        assert impatient(shop, way).flush() == []
    assert state(key) == "completed"
    assert Attempt.objects.filter(operation__key=key).count() == 1


def test_open_two_processes_of_a_machine_do_it_once_also_when_tieout_is_back(shop: Shop) -> None:
    key = new_key()
    with way_to(shop) as way:
        way.cut()
        first = at_work(shop, way, key)
        with reminder(impatient(shop, way, when_unreachable="open"), key) as second:
            assert (second.decision, second.proceed) == ("wait", False)
        way.mend()
        with reminder(impatient(shop, way), key) as third:
            assert (third.decision, third.proceed) == ("wait", False)
        assert state(key) is None
        first.communicate("MSG-1\n")
        assert impatient(shop, way).flush() == []
    assert state(key) == "completed"


@pytest.mark.parametrize("lost", ["", "/start"], ids=["unclaimed", "claimed, and not started"])
def test_open_and_killed_it_may_have_happened_and_is_not_done_again(shop: Shop, lost: str) -> None:
    key = new_key()
    with way_to(shop) as way:
        way.cut(lost)
        first = at_work(shop, way, key)
        first.send_signal(signal.SIGKILL)
        first.communicate()
        with reminder(impatient(shop, way, when_unreachable="open"), key) as again:
            assert again.decision in ("wait", "hold")
        way.mend()
        with reminder(impatient(shop, way), key) as back:
            assert back.decision == "hold"
    assert (state(key), Attempt.objects.get(operation__key=key).error_code) == ("uncertain", "nothing_said")
    assert shop.files() == []


def test_open_who_asks_here_already_keeps_another_from_doing_it(shop: Shop) -> None:
    key = new_key()
    done: list[tuple[str, bool]] = []

    def patient() -> None:
        with reminder(shop.client(url=way.url, patience_s=2.0, when_unreachable="open"), key) as op:
            done.append((op.decision, op.open))
            op.succeeded("MSG-1")

    with way_to(shop) as way:
        way.cut()
        thread = threading.Thread(target=patient)
        thread.start()
        until(lambda: way.requests, what="Its first question")
        with reminder(impatient(shop, way, when_unreachable="open"), key) as second:
            assert second.decision == "wait"
        with reminder(impatient(shop, way), key) as third:
            assert third.decision == "wait"
        thread.join()
    assert done == [("proceed", True)]
    assert [path.name for path in shop.spool.glob(".*.lock")] == []


def test_open_is_closed_while_another_asks_here_who_waits_for_tieout(shop: Shop) -> None:
    key = new_key()
    asked: list[object] = []

    def patient() -> None:
        with pytest.raises(client.TieoutUnavailable) as away, reminder(closed, key):
            pytest.fail("Nobody was asked.")
        asked.append(away)

    with way_to(shop) as way:
        way.cut()
        closed = shop.client(url=way.url, patience_s=2.0)
        thread = threading.Thread(target=patient)
        thread.start()
        until(lambda: way.requests, what="Its first question")
        opening = reminder(impatient(shop, way, when_unreachable="open"), key)
        with pytest.raises(client.TieoutUnavailable, match="Nothing was done"), opening:
            pytest.fail("The other one may be let in at any moment.")
        thread.join()
    assert len(asked) == 1


def test_open_what_is_told_and_lost_on_the_way_is_in_doubt_and_not_done_again(shop: Shop) -> None:
    key = new_key()
    with way_to(shop) as way:
        way.cut()
        with reminder(impatient(shop, way, when_unreachable="open"), key) as op:
            op.succeeded("MSG-1")
        way.cut("/attempts/")
        assert len(impatient(shop, way).flush()) == 1
    shutil.rmtree(shop.spool)
    shop.api.clock.advance(61)
    with reminder(shop.client(), key) as again:
        assert again.decision == "hold"


def test_open_what_another_did_meanwhile_is_said_as_such(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    key = new_key()
    with way_to(shop) as way:
        way.cut()
        with reminder(impatient(shop, way, when_unreachable="open"), key) as op:
            op.succeeded("MSG-1")
        shop.api.outcome(shop.api.claimed(key), "succeeded", destination_reference="MSG-2")
        way.mend()
        (name,) = impatient(shop, way).flush()
    assert name.endswith(".doubled")
    assert "Done unasked (MSG-1), and Tieout has it done under MSG-2: look for two." in caplog.text


def test_open_what_another_is_at_is_told_when_that_has_ended(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    key = new_key()
    with way_to(shop) as way:
        way.cut()
        with reminder(impatient(shop, way, when_unreachable="open"), key) as op:
            op.succeeded("MSG-1")
        held = shop.api.claimed(key)
        way.mend()
        (name,) = impatient(shop, way).flush()
        assert name.endswith(".outcome")
        assert "was done unasked, and cannot be told yet" in caplog.text
        shop.api.outcome(held, "succeeded", destination_reference="MSG-1")
        assert impatient(shop, way).flush() == []


# --- the spool itself


def test_where_the_spool_cannot_be_written_nothing_is_begun(shop: Shop) -> None:
    key = new_key()
    shop.spool.write_text("no folder")
    with pytest.raises(client.SpoolError, match="cannot be written"), reminder(shop.client(), key):
        pytest.fail("What was claimed could not be kept.")
    assert state(key) is None


@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_spool_that_others_may_write_to_is_not_used(shop: Shop, mode: int) -> None:
    key = new_key()
    shop.spool.mkdir()
    shop.spool.chmod(mode)
    with pytest.raises(client.SpoolError, match="others may write to it"), reminder(shop.client(), key):
        pytest.fail("Others may write what was done.")
    with pytest.raises(client.SpoolError):
        shop.client().flush()
    assert state(key) is None


def test_a_disk_that_fills_up_meanwhile_loses_no_word(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    told, untold = new_key(), new_key()
    with way_to(shop) as way:
        tieout = impatient(shop, way)
        with reminder(tieout, told) as op:
            break_spool(shop)
            op.succeeded("MSG-1")
        assert state(told) == "completed"
        assert "cannot be written" in caplog.text
        shop.spool.unlink()
        with (
            pytest.raises(client.SpoolError, match=r"MSG-2.* nor with Tieout"),
            reminder(tieout, untold) as op,
        ):
            say_into_nothing(op, shop, way)
    assert state(untold) == "running"


def say_into_nothing(op: client.Operation, shop: Shop, way: Way) -> None:
    break_spool(shop)
    way.cut()
    op.succeeded("MSG-2")


def break_spool(shop: Shop) -> None:
    shutil.rmtree(shop.spool)
    shop.spool.write_text("full")


@pytest.mark.parametrize("way", ["used up", "dangling"])
def test_a_claim_that_stays_in_the_way_is_said_and_not_asked_for_for_ever(shop: Shop, way: str) -> None:
    key = new_key()
    with tempfile.TemporaryDirectory() as place, ExitStack() as locked:
        folder, tieout = Path(place), shop.client(spool=place)
        with reminder(tieout, new_key()) as op:
            (used,) = (path.read_bytes() for path in folder.glob("*.claim"))
            op.succeeded()
        claim = folder / claim_of(shop, key)
        if way == "used up":  # as a kill leaves it after the outcome was told
            claim.write_bytes(used)
            locked.enter_context(unwritable(folder))
        else:
            claim.symlink_to("nothing")
        words = "cannot be written" if way == "used up" else "Look at it, then remove it"
        with pytest.raises(client.SpoolError, match=words), reminder(tieout, key):
            pytest.fail("What is claimed could not be kept.")
    assert state(key) is None


def claim_of(shop: Shop, key: str) -> str:
    about = f"{shop.api.server.url}\nreminder.send\n{key}"
    return f"{hashlib.sha256(about.encode()).hexdigest()[:32]}.claim"


@contextmanager
def unwritable(folder: Path) -> Iterator[None]:
    """Let nothing in a folder be written or removed; root, who may always, is nobody for that while."""
    root, nobody = os.geteuid() == 0, 65534
    for path in (folder, *folder.iterdir()) if root else ():
        os.chown(path, nobody, -1)
    folder.chmod(0o500)
    try:
        if root:
            os.seteuid(nobody)
        yield
    finally:
        if root:
            os.seteuid(0)
        folder.chmod(0o700)


def test_a_garbled_file_is_set_aside_and_said_and_its_operation_is_not_done(
    shop: Shop, caplog: pytest.LogCaptureFixture
) -> None:
    key = new_key()
    with way_to(shop) as way:
        way.cut("/outcome")
        with reminder(impatient(shop, way), key) as op:
            op.succeeded("MSG-1")
        (name,) = shop.files(".outcome")
        (shop.spool / name).write_bytes(b"\0" * 40)
        way.mend()
        with reminder(impatient(shop, way), key) as again:
            assert again.decision == "wait"
        assert f"{name}.unreadable: It cannot be read." in caplog.text
        with reminder(impatient(shop, way), new_key()) as other:
            other.succeeded()
        assert impatient(shop, way).flush() == [f"{name}.unreadable"]


def test_a_garbled_claim_is_asked_anew(shop: Shop) -> None:
    key, tieout = new_key(), shop.client()
    with way_to(shop) as way:
        way.cut("operations/claim")
        with pytest.raises(client.TieoutUnavailable), reminder(impatient(shop, way), key):
            pytest.fail("Nobody was asked.")
    for name in shop.files(".claim"):
        (shop.spool / name).write_text('{"v": 1')
    with reminder(tieout, key) as op:
        op.succeeded()
    assert state(key) == "completed"


def test_claims_that_nobody_came_back_for_are_swept_away(shop: Shop) -> None:
    with way_to(shop) as way:
        way.cut()
        with pytest.raises(client.TieoutUnavailable), reminder(impatient(shop, way), new_key()):
            pytest.fail("Nobody was asked.")
    (name,) = shop.files()
    assert shop.client().flush() == []
    assert shop.files() == [name]
    os.utime(shop.spool / name, (0, 0))
    shop.client().flush()
    assert shop.files() == []


# --- the lease


def lease_until(key: str) -> Any:
    return Operation.objects.get(key=key).lease_until


def test_heartbeats_extend_the_lease_of_long_work_until_it_is_said(shop: Shop) -> None:
    key = new_key()
    with reminder(shop.client(), key, lease_s=1.0, heartbeat=True) as op:
        first = lease_until(key)
        until(lambda: lease_until(key) > first, what="A longer lease")
        assert not op.lost
        op.succeeded("MSG-1")
    assert state(key) == "completed"


def test_a_lost_lease_is_told_to_the_work_and_its_word_still_counts(shop: Shop) -> None:
    def beat(op: client.Operation) -> bool:
        op.heartbeat()
        return op.lost

    key = new_key()
    with reminder(shop.client(), key, lease_s=30.0) as op:
        assert beat(op) is False
        shop.api.clock.advance(31)
        with pytest.raises(client.LeaseLost, match="not revived"):
            beat(op)
        assert op.lost
        op.succeeded("MSG-1")
    assert state(key) == "completed"


def test_the_thread_notices_a_lost_lease(shop: Shop, caplog: pytest.LogCaptureFixture) -> None:
    key = new_key()
    with reminder(shop.client(), key, lease_s=1.0, heartbeat=True) as op:
        shop.api.clock.advance(3600)
        until(lambda: op.lost, what="The end of its lease")
        until(lambda: "not revived" in caplog.text, what="A word of it")
        op.succeeded("MSG-1")
    assert state(key) == "completed"


def test_a_lease_ends_by_this_machine_s_own_clock_where_nobody_answers(shop: Shop) -> None:
    with way_to(shop) as way, reminder(impatient(shop, way), new_key(), lease_s=1.0, heartbeat=True) as op:
        way.cut()
        until(lambda: op.lost, what="The end of its lease")
        way.mend()
        op.succeeded("MSG-1")


# --- the way there


def test_over_tls_with_an_authority_of_one_s_own(shop: Shop) -> None:
    pem = certificate(shop.folder)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(pem)
    with wired(forwarding(shop), tls=tls) as wire:
        with reminder(shop.client(url=wire.url, cafile=str(pem)), new_key()) as op:
            op.succeeded("MSG-1")
        with (
            pytest.raises(client.TieoutUnavailable, match="SSLCertVerificationError"),
            reminder(shop.client(url=wire.url, patience_s=0.1), new_key()),
        ):
            pytest.fail("Nobody has vouched for it.")


def test_by_the_proxy_that_the_environment_names(shop: Shop, monkeypatch: pytest.MonkeyPatch) -> None:
    with way_to(shop) as way:
        monkeypatch.setenv("http_proxy", way.url)
        monkeypatch.delenv("no_proxy", raising=False)
        with reminder(shop.client(), new_key()) as op:
            op.succeeded("MSG-1")
        assert [line.split()[1].decode().startswith("http://") for line in way.requests] == [True] * 3
