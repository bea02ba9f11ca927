"""The one-file JavaScript client under a real Node: the same words, and one effect wherever it is killed."""

import hashlib
import json
import os
import shutil
import socket
import subprocess
import uuid

import pytest

from config.environment import ROOT
from ledger.models import Attempt, Operation
from tests.clients import Shop, way_to
from tests.clients import books as books
from tests.clients import shop as shop
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import new_key
from tests.doors import serving as serving
from tests.workers import one_round, until

pytestmark = pytest.mark.long
CALLS = 4
"""A claim, a start, the send and an outcome."""
JOB = """
import { writeFileSync } from "node:fs";
import { Tieout, notSent } from "./tieout_client.mjs";

// Killed before its n-th call, or with a minus after it.
const [killAt, call] = [Number(process.env.KILL_AT ?? 0), globalThis.fetch];
let count = 0;
globalThis.fetch = async (...given) => {
  count += 1;
  if (count === killAt) process.kill(process.pid, "SIGKILL");
  const answer = await call(...given);
  if (count === -killAt) process.kill(process.pid, "SIGKILL");
  if (count === 1 && process.env.OPENED) writeFileSync(process.env.OPENED, '{"v": 1}');
  return answer;
};

const { KEY: key, BOOKS: books, WORK: work = "send" } = process.env;
const body = { order: "483", total: "75.00", currency: "ZAR", metadata: { operation: key } };
const works = {
  async send(op) {
    const headers = { "Content-Type": "application/json" };
    const answer = await fetch(`${books}/invoices`, { method: "POST", body: JSON.stringify(body), headers });
    const made = await answer.json();
    await op.succeeded(made.id);
  },
  refused: () => fetch(process.env.CLOSED),
  unknown: () => fetch("http://nobody.invalid/"),
  broken: () => { throw new RangeError("x"); },
  silent: () => {},
  number: (op) => op.succeeded(4711),
  long_reference: (op) => op.succeeded("x".repeat(201)),
  tab: () => "INV\\t1",
  bytes: () => Buffer.from("INV-1"),
  circle: (op) => op.succeeded("INV-1", { response: globalThis }),
  unknown_member: (op) => op.succeeded("INV-1", { answer: 201, outcome: "rejected", message: "\\0\\ud800" }),
  wordy: (op) => op.rejected({ error_code: " not here ", message: "x".repeat(10001) }),
  twice: async (op) => { await op.succeeded("A-1"); await op.rejected(); },
  long: async (op) => {
    const { setTimeout } = await import("node:timers/promises");
    process.stdin.once("data", () => process.stdin.pause() );
    while (!process.stdin.isPaused() && !op.lost) await setTimeout(20);
    await op.succeeded(op.lost ? "LOST" : "KEPT");
  },
};
const tieout = new Tieout({ patience_s: Number(process.env.PATIENCE ?? 20) });
if (process.env.FLUSH) {
  console.log(JSON.stringify(await tieout.flush()));
} else {
  const members = { type: "ticket.open", key, payload: body, amount: "75.00", currency: "ZAR" };
  const lease = work === "long" ? { lease_s: 1, heartbeat: true } : {};
  try {
    if (process.env.ONCE) console.log(await tieout.once(members, works[work]));
    const op = await tieout.operation({ ...members, ...lease }, works[work]);
    console.log(op.decision, op.said, op.reference);
  } catch (error) {
    console.log(error.name, notSent(error), error.message, error.exitStatus);
  }
}
"""


def node() -> str:
    found = shutil.which("node")
    if found is None:
        pytest.fail("node is missing. Install the package nodejs.")
    return found


def started(shop: Shop, key: str, **environ: str) -> "subprocess.Popen[str]":
    shutil.copy(ROOT / "ledger" / "door" / "client.mjs", shop.folder / "tieout_client.mjs")
    (shop.folder / "job.mjs").write_text(JOB)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        closed = f"http://127.0.0.1:{listener.getsockname()[1]}/"
    told = {**shop.environ, "KEY": key, "CLOSED": closed, **environ}
    return subprocess.Popen(
        [node(), "job.mjs"],
        env=told,
        cwd=shop.folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ran(shop: Shop, key: str, **environ: str) -> str:
    out, err = started(shop, key, **environ).communicate(timeout=60)
    return (out + err).strip()


def outcome(key: str) -> tuple[str | None, str]:
    attempt = Attempt.objects.get(operation__key=key)
    return attempt.outcome, attempt.error_code


def test_it_is_done_once(shop: Shop) -> None:
    key = new_key()
    assert ran(shop, key).startswith("proceed succeeded INV-")
    (made,) = shop.books.records(key)
    assert ran(shop, key) == f"skip null {made['id']}"
    assert shop.files() == []


def test_killed_before_and_after_each_call_and_run_again_it_makes_one_effect(shop: Shop) -> None:
    keys = {at: new_key() for n in range(1, CALLS + 1) for at in (n, -n)}
    for at, key in keys.items():
        assert ran(shop, key, KILL_AT=str(at)) == ""
        attempt = Attempt.objects.filter(operation__key=key).first()
        begun = attempt is not None and attempt.started_at is not None
        wanted = "skip" if abs(at) == CALLS else "wait" if begun else "proceed"
        assert ran(shop, key).split()[0] == wanted, at
    while Operation.objects.filter(key__in=keys.values(), state__in=["running", "uncertain"]).exists():
        shop.api.clock.advance(60)
        one_round()
    shop.api.clock.advance(3600)
    for at, key in keys.items():
        assert ran(shop, key).split()[0] in ("proceed", "skip")
        assert shop.books.effects(key) == 1, at
        assert Operation.objects.get(key=key).state == "completed"
    assert shop.files() == []


@pytest.mark.parametrize("before", [True, False], ids=["the request", "the answer"])
@pytest.mark.parametrize("lost", ["operations/claim", "/start", "/outcome"])
def test_what_is_lost_on_the_way_is_said_again_and_is_one(shop: Shop, lost: str, before: bool) -> None:
    key = new_key()
    with way_to(shop) as way:
        way.cut(lost, before=before, count=1)
        assert ran(shop, key, TIEOUT_URL=way.url).startswith("proceed succeeded INV-")
    assert Attempt.objects.filter(operation__key=key).count() == shop.books.effects(key) == 1


@pytest.mark.parametrize(
    ("work", "told", "words"),
    [
        ("refused", ("uncertain", "ECONNREFUSED"), "TypeError true"),
        ("unknown", ("uncertain", None), "TypeError true"),
        ("broken", ("uncertain", "RangeError"), "RangeError false"),
        ("silent", ("uncertain", "nothing_said"), "NothingSaid"),
        ("twice", ("succeeded", ""), "TieoutError false"),
        ("number", ("succeeded", ""), "proceed succeeded 4711"),
        ("wordy", ("rejected", "not_here"), "proceed rejected"),
    ],
)
def test_an_error_becomes_an_outcome_by_its_kind(
    shop: Shop, work: str, told: tuple[str, str | None], words: str
) -> None:
    key = new_key()
    assert ran(shop, key, WORK=work).startswith(words)
    word, code = outcome(key)
    assert (word, code if told[1] is not None else None) == told


def test_once_returns_the_reference_or_throws(shop: Shop) -> None:
    """What only goes on is not silent where it was held."""
    key, refused = new_key(), new_key()
    made, again = ran(shop, key, ONCE="1").splitlines()
    assert made.startswith("INV-") and again == f"skip null {made}"
    said = ran(shop, refused, ONCE="1", WORK="wordy")
    assert said.startswith(f"Hold false ticket.open {refused}: hold. It was rejected. Decide at http")
    assert said.endswith(" 76")
    again, warned, *_ = ran(shop, refused).splitlines()
    assert again == "hold null null" and warned.startswith(f"tieout: ticket.open {refused}: hold. ")


@pytest.mark.parametrize(
    ("work", "reference", "without"),
    [
        ("long_reference", "", "destination_reference: Tieout answered 400"),
        ("tab", "", "destination_reference: Tieout answered 400"),
        ("bytes", "", "destination_reference: it is text or a whole number."),
        ("circle", "INV-1", "response: Converting circular structure"),
        ("unknown_member", "INV-1", "answer: Tieout answered 400"),
    ],
)
def test_what_goes_along_with_a_success_does_not_undo_it(
    shop: Shop, work: str, reference: str, without: str
) -> None:
    key = new_key()
    assert f"tieout: ticket.open {key}: told without {without}" in ran(shop, key, WORK=work, ONCE="1")
    assert (outcome(key)[0], shop.files()) == ("succeeded", [])
    assert Operation.objects.get(key=key).destination_reference == reference


def test_a_report_that_tieout_refuses_stays_for_a_person(shop: Shop) -> None:
    key = new_key()
    with way_to(shop) as way:
        away = {"TIEOUT_URL": way.url, "PATIENCE": "0.2"}
        way.cut("/outcome")
        ran(shop, key, **away)
        (name,) = shop.files(".outcome")
        kept = json.loads((shop.spool / name).read_text())
        kept["attempt"]["id"] = str(uuid.uuid4())
        (shop.spool / name).write_text(json.dumps(kept))
        way.mend()
        said = ran(shop, key, FLUSH="1", **away)
    assert json.dumps([f"{name}.refused"]) in said
    assert "Look at it, then remove it." in said


def test_away_nothing_is_done_and_what_came_back_waits_on_disk(shop: Shop) -> None:
    key = new_key()
    with way_to(shop) as way:
        away = {"TIEOUT_URL": way.url, "PATIENCE": "0.2"}
        way.cut()
        assert "Nothing was done" in ran(shop, key, **away)
        way.cut("/outcome")
        said = ran(shop, key, **away)
        assert "proceed succeeded" in said
        assert "told later" in said
        (name,) = shop.files(".outcome")
        assert json.loads((shop.spool / name).read_text())["outcome"]["outcome"] == "succeeded"
        assert ran(shop, key, **away).startswith("skip null INV-")
        way.mend()
        # One spool serves both languages.
        assert shop.client(url=way.url).flush() == []
    assert outcome(key)[0] == "succeeded"
    assert shop.books.effects(key) == 1


def test_heartbeats_extend_the_lease_and_a_lost_one_is_told(shop: Shop) -> None:
    kept, lost = new_key(), new_key()
    process = begun(shop, kept)
    first = Operation.objects.get(key=kept).lease_until
    until(lambda: Operation.objects.get(key=kept).lease_until != first, what="A longer lease")
    assert process.communicate("go\n", timeout=60)[0].startswith("proceed succeeded KEPT")
    process = begun(shop, lost)
    shop.api.clock.advance(3600)
    assert process.communicate(timeout=60)[0].startswith("proceed succeeded LOST")


def begun(shop: Shop, key: str) -> "subprocess.Popen[str]":
    process = started(shop, key, WORK="long")
    attempts = Attempt.objects.filter(operation__key=key, started_at__isnull=False)
    until(attempts.exists, what="Its start")
    return process


def test_what_is_begun_unasked_here_meanwhile_is_not_begun_again(shop: Shop) -> None:
    key = new_key()
    said = ran(shop, key, OPENED=str(shop.spool / f"{name_of(shop, key)}.open"))
    assert said.startswith("wait null")
    assert f"tieout: ticket.open {key}: wait. What was done for it is not told" in said
    assert Attempt.objects.get(operation__key=key).started_at is None
    assert shop.books.effects(key) == 0


def name_of(shop: Shop, key: str) -> str:
    return hashlib.sha256(f"{shop.api.server.url}\nticket.open\n{key}".encode()).hexdigest()[:32]


def test_what_nobody_came_back_for_is_swept_away(shop: Shop) -> None:
    shop.spool.mkdir(mode=0o700)
    for name in ("old.claim", ".old", "kept.claim"):
        (shop.spool / name).touch()
    for name in ("old.claim", ".old"):
        os.utime(shop.spool / name, (0, 0))
    assert ran(shop, new_key(), FLUSH="1") == "[]"
    assert [path.name for path in shop.spool.iterdir()] == ["kept.claim"]


@pytest.mark.parametrize("broken", ["file", "shared", "dangling", "garbled"])
def test_a_spool_that_cannot_be_used_is_said(shop: Shop, broken: str) -> None:
    key = new_key()
    if broken == "dangling":
        shop.spool.mkdir(mode=0o700)
        (shop.spool / f"{name_of(shop, key)}.claim").symlink_to("nothing")
        assert ran(shop, key).startswith("SpoolError false")
        return
    if broken != "garbled":
        if broken == "file":
            shop.spool.write_text("no folder")
        else:
            shop.spool.mkdir()
        shop.spool.chmod(0o770)
        words = "is somebody else's" if broken == "shared" else "cannot be written"
        assert ran(shop, key).startswith(f"SpoolError false The spool folder {shop.spool} {words}")
        assert shop.books.effects(key) == 0
        return
    with way_to(shop) as way:
        way.cut("/outcome")
        ran(shop, key, TIEOUT_URL=way.url, PATIENCE="0.2")
        (name,) = shop.files(".outcome")
        (shop.spool / name).write_text("{")
        way.mend()
        said = ran(shop, key, TIEOUT_URL=way.url)
        assert said.startswith("wait null")
        assert f"{name}.unreadable: It cannot be read." in said
        assert ran(shop, key, FLUSH="1", TIEOUT_URL=way.url) == json.dumps([f"{name}.unreadable"])
