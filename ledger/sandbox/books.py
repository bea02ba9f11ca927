"""The durable file: what Durban Books did, which answers it repeats, and what was delivered to it."""

import json
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ledger.sandbox.messages import Answer, operation_of

FIRST_NUMBER = 1101

SCHEMA = """
CREATE TABLE IF NOT EXISTS invoices (
    number INTEGER PRIMARY KEY, status TEXT NOT NULL, operation TEXT, sent TEXT NOT NULL,
    created_at TEXT NOT NULL, updated_at TEXT NOT NULL, opens_at TEXT);
CREATE INDEX IF NOT EXISTS invoices_by_change ON invoices (updated_at, number);
CREATE INDEX IF NOT EXISTS invoices_by_operation ON invoices (operation);
CREATE INDEX IF NOT EXISTS invoices_opening ON invoices (opens_at) WHERE status = 'processing';
CREATE TABLE IF NOT EXISTS reminders (
    number INTEGER PRIMARY KEY, operation TEXT, sent TEXT NOT NULL, created_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS orders (
    number TEXT PRIMARY KEY, total TEXT NOT NULL, currency TEXT NOT NULL, status TEXT NOT NULL,
    placed_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS saved_answers (
    key TEXT PRIMARY KEY, fingerprint TEXT, status INTEGER NOT NULL, body BLOB NOT NULL,
    content_type TEXT NOT NULL, saved_at TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS deliveries (
    number INTEGER PRIMARY KEY, target TEXT NOT NULL, key TEXT, reference TEXT, arrived_at TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS deliveries_by_key ON deliveries (key);
CREATE INDEX IF NOT EXISTS deliveries_by_reference ON deliveries (reference);
"""


def written(instant: datetime) -> str:
    """An instant as the books write it: UTC, microseconds, so that text sorts as time does."""
    return instant.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


@dataclass(frozen=True)
class Saved:
    """An answer kept under an idempotency key; without a fingerprint it answers any body."""

    answer: Answer
    fingerprint: str | None


@dataclass(frozen=True)
class Filter:
    """Which invoices are asked for; `after` is the (updated_at, number) where the last page ended."""

    reference: str | None = None
    substring: bool = False
    updated_since: str | None = None
    after: tuple[str, int] | None = None


class Books:
    """The file, behind one lock; every method but `transaction` and `close` is for inside a transaction."""

    def __init__(self, path: Path, *, retention_s: float) -> None:
        self._lock = threading.Lock()
        self._retention = timedelta(seconds=retention_s)
        self._file = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._file.row_factory = sqlite3.Row
        self._file.execute("PRAGMA journal_mode = WAL")
        self._file.execute("PRAGMA synchronous = FULL")
        self._file.executescript(SCHEMA)

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """All of it or nothing, one at a time, on the disk before it ends."""
        with self._lock:
            self._file.execute("BEGIN IMMEDIATE")
            try:
                self._open_what_is_due()
                yield
                self._file.execute("COMMIT")
            finally:
                if self._file.in_transaction:
                    self._file.execute("ROLLBACK")

    def close(self) -> None:
        """Finish what is being written and close; the lock stays taken, so that nothing starts after it."""
        self._lock.acquire()
        self._file.close()

    def _open_what_is_due(self) -> None:
        # Done at the next look instead of by a timer: it also holds after a kill and a restart.
        self._file.execute(
            "UPDATE invoices SET status = 'open', updated_at = opens_at, opens_at = NULL"
            " WHERE status = 'processing' AND opens_at <= ?",
            (self._now(),),
        )

    def _now(self) -> str:
        return written(datetime.now(UTC))

    def add_invoice(
        self, sent: dict[str, object], *, status: str, opens_in_s: float | None
    ) -> dict[str, object]:
        """Make an invoice under the next number; a processing one opens by itself after so many seconds."""
        now = datetime.now(UTC)
        opens_at = None if opens_in_s is None else written(now + timedelta(seconds=opens_in_s))
        row = self._file.execute(
            "INSERT INTO invoices (number, status, operation, sent, created_at, updated_at, opens_at)"
            " SELECT coalesce(max(number) + 1, ?), ?, ?, ?, ?, ?, ? FROM invoices RETURNING *",
            (
                FIRST_NUMBER,
                status,
                operation_of(sent),
                json.dumps(sent),
                written(now),
                written(now),
                opens_at,
            ),
        ).fetchone()
        return _invoice(row)

    def invoice(self, reference: str) -> dict[str, object] | None:
        """The invoice with that id (INV-1101), or None."""
        row = self._file.execute("SELECT * FROM invoices WHERE number = ?", (_number(reference),)).fetchone()
        return _invoice(row) if row else None

    def invoices(self, wanted: Filter, *, limit: int) -> list[tuple[tuple[str, int], dict[str, object]]]:
        """A page of invoices in the order of their last change, each with its place in that order."""
        conditions, values = _conditions(wanted)
        rows = self._file.execute(
            f"SELECT * FROM invoices WHERE {conditions}"  # noqa: S608 - made of this file's own words
            " ORDER BY updated_at, number LIMIT ?",
            (*values, limit),
        )
        return [((row["updated_at"], row["number"]), _invoice(row)) for row in rows]

    def void(self, reference: str) -> dict[str, object] | None:
        """Void an open or processing invoice; None where there is no such one."""
        return self._reverse(reference, "void", of=("open", "processing"))

    def credit(self, reference: str) -> dict[str, object] | None:
        """Credit an open or paid invoice in full; None where there is no such one."""
        return self._reverse(reference, "credited", of=("open", "paid"))

    def _reverse(self, reference: str, status: str, *, of: tuple[str, str]) -> dict[str, object] | None:
        row = self._file.execute(
            "UPDATE invoices SET status = ?, updated_at = ?"
            " WHERE number = ? AND status IN (?, ?) RETURNING *",
            (status, self._now(), _number(reference), *of),
        ).fetchone()
        return _invoice(row) if row else None

    def settle(self, operation: str, *, status: str) -> list[dict[str, object]]:
        """Give every processing invoice of that operation its final status."""
        rows = self._file.execute(
            "UPDATE invoices SET status = ?, updated_at = ?, opens_at = NULL"
            " WHERE operation = ? AND status = 'processing' RETURNING *",
            (status, self._now(), operation),
        ).fetchall()
        return [_invoice(row) for row in rows]

    def add_reminder(self, sent: dict[str, object]) -> dict[str, object]:
        """Keep a reminder as sent; nothing lists them."""
        row = self._file.execute(
            "INSERT INTO reminders (operation, sent, created_at) VALUES (?, ?, ?) RETURNING *",
            (operation_of(sent), json.dumps(sent), self._now()),
        ).fetchone()
        return _reminder(row)

    def keep_order(self, order: Mapping[str, str]) -> dict[str, object]:
        """Keep an order of the shop; one that is known keeps the time when it was placed."""
        row = self._file.execute(
            "INSERT INTO orders (number, total, currency, status, placed_at)"
            " VALUES (:number, :total, :currency, :status, :placed_at) ON CONFLICT (number) DO UPDATE"
            " SET total = excluded.total, currency = excluded.currency, status = excluded.status RETURNING *",
            order,
        ).fetchone()
        return dict(row)

    def orders(self, since: str) -> list[dict[str, object]]:
        """Every order of the shop that was placed at that instant or later."""
        rows = self._file.execute(
            "SELECT * FROM orders WHERE placed_at >= ? ORDER BY placed_at, number", (since,)
        )
        return [dict(row) for row in rows]

    def effects(self, operation: str) -> list[dict[str, object]]:
        """Every live record that was made for that operation."""
        invoices = self._file.execute(
            "SELECT * FROM invoices WHERE operation = ? AND status NOT IN ('void', 'declined', 'credited')"
            " ORDER BY number",
            (operation,),
        )
        effects = [_invoice(row) for row in invoices]
        reminders = self._file.execute(
            "SELECT * FROM reminders WHERE operation = ? ORDER BY number", (operation,)
        )
        return effects + [_reminder(row) for row in reminders]

    def note_delivery(self, target: str, *, key: str | None, reference: str | None) -> None:
        """Count a POST that arrived, whatever comes of it."""
        self._file.execute(
            "INSERT INTO deliveries (target, key, reference, arrived_at) VALUES (?, ?, ?, ?)",
            (target, key, reference, self._now()),
        )

    def deliveries(self, key: str) -> int:
        """How many POST requests arrived under that idempotency key or with that reference."""
        row = self._file.execute(
            "SELECT count(*) FROM deliveries WHERE key = ? OR reference = ?", (key, key)
        ).fetchone()
        return int(row[0])

    def saved(self, key: str) -> Saved | None:
        """The answer that is kept under the key, unless its time is over."""
        oldest = written(datetime.now(UTC) - self._retention)
        self._file.execute("DELETE FROM saved_answers WHERE key = ? AND saved_at <= ?", (key, oldest))
        row = self._file.execute("SELECT * FROM saved_answers WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        return Saved(Answer(row["status"], row["body"], row["content_type"]), row["fingerprint"])

    def save(self, key: str, answer: Answer, *, fingerprint: str | None) -> None:
        """Keep the answer under the key, instead of any other."""
        self._file.execute(
            "INSERT OR REPLACE INTO saved_answers VALUES (?, ?, ?, ?, ?, ?)",
            (key, fingerprint, answer.status, answer.body, answer.content_type, self._now()),
        )


def _conditions(wanted: Filter) -> tuple[str, Sequence[str | int]]:
    conditions = ["true"]
    values: list[str | int] = []
    if wanted.reference is not None:
        conditions.append("instr(operation, ?) > 0" if wanted.substring else "operation = ?")
        values.append(wanted.reference)
    if wanted.updated_since is not None:
        conditions.append("updated_at >= ?")
        values.append(wanted.updated_since)
    if wanted.after is not None:
        conditions.append("(updated_at, number) > (?, ?)")
        values.extend(wanted.after)
    return " AND ".join(conditions), values


def _number(reference: str) -> int | None:
    prefix, _, digits = reference.partition("-")
    plain = prefix == "INV" and digits.isascii() and digits.isdecimal() and len(digits) < 16
    return int(digits) if plain and not digits.startswith("0") else None


def _invoice(row: sqlite3.Row) -> dict[str, object]:
    sent = json.loads(row["sent"])
    usual = {name: sent.pop(name, None) for name in ("total", "currency", "customer", "order")}
    metadata = sent.pop("metadata", {})
    own = {"id": f"INV-{row['number']}", "status": row["status"]}
    times = {"created_at": row["created_at"], "updated_at": row["updated_at"]}
    return {**own, **usual, "metadata": metadata, **sent, **own, **times}


def _reminder(row: sqlite3.Row) -> dict[str, object]:
    sent = json.loads(row["sent"])
    own = {"id": f"REM-{row['number']}"}
    return {**own, **sent, **own, "created_at": row["created_at"]}
