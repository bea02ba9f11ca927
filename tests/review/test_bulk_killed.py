"""A list of a known mix whose worker is killed again and again: each item ends once, as it has to.

| of a list                                    | checked  | sent again                     |
|----------------------------------------------|----------|--------------------------------|
| not there                                    | verified | sent once, and verified        |
| there already, once                          | verified | verified, and nothing is sent  |
| several there, or one that differs           | held     | held                           |
| nobody can ask about it                      | held     | held                           |
| the destination refuses it                   |          | refused                        |
| corrected since the preview                  |          | refused                        |
| closed to it at the preview                  | refused  | refused                        |

What was on its way in the moment of a kill may have happened or not: it is counted as what is there proves.
"""

import os
import random
import sqlite3
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Set
from contextlib import closing, suppress
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path

import pytest
from django.db.models import F

from ledger import actions, audit
from ledger.actions.submission import Submission, open_payload, prepare
from ledger.models import Event, Operation
from ledger.rules.errors import NotNow
from ledger.rules.leaves import Action
from ledger.rules.states import State
from review.bulk import commanding, counting
from review.models import Bulk
from tests import stories
from tests.copies import alike, as_kept
from tests.databases import Clock
from tests.processes import Spawn
from tests.review.test_bulk import answering, frozen, said, started, written
from tests.sandboxes import Sandbox
from tests.stories import Durban
from tests.workers import Worker, until

MANY = int(os.environ.get("BULK_ITEMS", "20000"))
"""How many the long ones take: all that one list may hold."""
EVERY_S = 0.2
"""How often it is asked how far they are: each question costs as much as a step."""
STOPS_EACH = 5
"""Of each kind that stops the sending: a stop waits for the next sweep and calls back what waits to go."""


@dataclass
class Mix:
    """Operations of one list, and what each has to end as."""

    durban: Durban
    sandbox: Sandbox
    expected: dict[int, str] = field(default_factory=dict)
    numbers: Iterator[int] = field(default_factory=lambda: count(1000))
    corrected: list[Operation] = field(default_factory=list)

    def add(self, outcome: str, *operations: Operation) -> None:
        self.expected |= dict.fromkeys((one.pk for one in operations), outcome)

    def troubled(self, made: Callable[[int], list[Operation]], each: int) -> None:
        """So many of each kind that ends otherwise than sent or absent."""
        there, several, differs, blind = (made(each) for _ in range(4))
        for one in (*there, *several, *several):
            written(self.sandbox, one.key)
        for one in differs:
            body = {"total": "1.00", "currency": "ZAR", "metadata": {"operation": one.key}}
            assert self.sandbox.call("POST", "/invoices", body=body).status == 201
        for one in blind:
            self.sandbox.faults("error_before", f"GET /invoices?reference={one.key} ", count=None, arg=503)
        self.add("verified", *there)
        self.add("held", *several, *differs, *blind)

    def refused(self, count: int) -> list[Operation]:
        """Sent once, and refused then: the customer was blocked."""
        first = self.durban.tried(self.durban.invoiced(next(self.numbers)), stories.REFUSED)
        return [first, *alike(self.durban.clock.database, first, islice(self.numbers, count - 1))]

    def silent(self, count: int) -> list[Operation]:
        return [self.durban.silent(next(self.numbers)) for _ in range(count)]

    def operations(self) -> list[Operation]:
        return list(Operation.objects.filter(pk__in=self.expected))


def to_check(durban: Durban, sandbox: Sandbox, size: int, *, each: int) -> Mix:
    """Operations that were cancelled before they were sent, and reminders that nobody can look up."""
    mix = Mix(durban, sandbox)
    first = durban.invoiced(next(mix.numbers))
    actions.cancel(first.pk, actor="ann", reason="Not wanted.", command_id=uuid.uuid4())
    durban.has_thousands_alike(size - each - 1, state=State.FAILED)
    rest = iter(Operation.objects.filter(state=State.FAILED).order_by("?"))
    mix.troubled(lambda count: [next(rest) for _ in range(count)], each)
    mix.add("verified", *rest)
    mix.add("refused", *(durban.expired(next(mix.numbers)) for _ in range(each)))
    return mix


def to_send(durban: Durban, sandbox: Sandbox, size: int, *, each: int) -> Mix:
    """Invoices that were refused or lost, and may be sent again now."""
    mix = Mix(durban, sandbox)
    mix.troubled(mix.silent, each)
    done = (next(mix.numbers) for _ in range(each))
    mix.add("refused", *(durban.tried(durban.invoiced(one), stories.done(f"INV-9{one}")) for one in done))
    declined, mix.corrected = mix.refused(each), mix.refused(each)
    for one in declined:
        sandbox.faults("error_before", f'"{one.key}"', count=None, arg=422)
    mix.add("refused", *declined, *mix.corrected)
    mix.add("verified", *mix.refused(size - len(mix.expected)))
    return mix


def progress(bulk: Bulk, part: float) -> Callable[[], bool]:
    most = int(part * bulk.frozen)
    return lambda: bulk.items.exclude(outcome="").count() >= most


def pressed_on(bulk: Bulk, met: Callable[[], bool]) -> Callable[[], bool]:
    """Each surprise stops the others: a person looks, and goes on."""

    def there() -> bool:
        if Bulk.objects.get(pk=bulk.pk).status == "stopped" and not met():
            with suppress(NotNow):  # it ended meanwhile
                said(bulk, commanding.resume)
        return met()

    return there


def carried_through(bulk: Bulk, mix: Mix, worker: Worker, *, kills: int) -> None:
    """Let the worker do it; its processes are killed at points that nobody chose."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    chance, clock = random.Random(seed), mix.durban.clock
    seconds = 120 + bulk.frozen
    for part in sorted(chance.uniform(0.02, 0.95) for _ in range(kills)):
        until(pressed_on(bulk, progress(bulk, part)), seconds=seconds, what="Progress", every_s=EVERY_S)
        worker.lose_cluster()
        assert counting.counts(bulk).ties
        clock.advance(31)  # what was being sent is looked up
    over = pressed_on(bulk, lambda: Bulk.objects.get(pk=bulk.pk).status == "done")
    until(over, seconds=seconds, what="Its end", every_s=EVERY_S)


def in_doubt() -> set[int]:
    """What was on its way when a worker was killed."""
    return {*Event.objects.filter(kind="expired").values_list("operation", flat=True)} - {None}


def effects(file: Path, keys: dict[int, str]) -> dict[int, int]:
    """How many live records of each operation the destination holds, from its own file."""
    with closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as books:
        rows = books.execute("SELECT operation, count(*) FROM invoices GROUP BY operation")
        held = Counter(dict(rows.fetchall()))
    return {pk: held[key] for pk, key in keys.items()}


def comes_to(bulk: Bulk, mix: Mix, *, doubt: Set[int] = frozenset()) -> None:
    """Each item ended once, as was known before; and the counts of the page are those of the rows."""
    ended = dict(bulk.items.values_list("operation", "outcome"))
    assert {pk: ended[pk] for pk in ended if pk not in doubt} == {
        pk: outcome for pk, outcome in mix.expected.items() if pk not in doubt
    }
    assert len(ended) == bulk.frozen == len(mix.expected)
    counts, rows = counting.counts(bulk), Counter(ended.values())
    assert (counts.left, counts.under_way, counts.unseen) == (0, 0, 0)
    assert rows == {"verified": counts.verified, "held": counts.held, "refused": counts.refused}
    seen = bulk.items.filter(outcome="verified", seen__operation=F("operation")).count()
    assert seen == counts.verified, "each by a check of its own"
    assert Event.objects.filter(kind="bulk_done").count() == 1


@pytest.fixture
def durban(clock: Clock, sandbox: Sandbox) -> Durban:
    return answering(clock, sandbox)


def test_a_copied_invoice_stands_as_one_that_came_alone(durban: Durban, sandbox: Sandbox) -> None:
    """The thousands below are made in a few statements: nothing that follows may depend on that."""
    mix = Mix(durban, sandbox)
    made = mix.refused(3)
    alone = durban.tried(durban.invoiced(next(mix.numbers)), stories.REFUSED)
    kept = as_kept(alone)
    for number, one in enumerate((*made, alone), 1000):
        assert as_kept(one) == kept
        payload = open_payload(one)
        assert payload == {"order": f"{number}", "total": "1240.00", "metadata": {"operation": one.key}}
        meant = Submission("invoice.create", payload, key=one.key, amount="1240.00", currency="ZAR")
        prepared = prepare(meant, durban.invoice)
        assert prepared.same_as(one.payload_digest) and prepared.leaf_digests() == one.leaf_digests
        assert actions.submit(meant, actor="api:webshop").operation.pk == one.pk
    audit.seal_all()
    assert not audit.verify().faults


def checked(durban: Durban, sandbox: Sandbox, spawn: Spawn, *, size: int, each: int, kills: int) -> None:
    mix = to_check(durban, sandbox, size, each=each)
    bulk = started(frozen(Action.CHECK, *mix.operations()))
    durban.clock.advance(11)
    carried_through(bulk, mix, Worker.started(spawn), kills=kills)
    comes_to(bulk, mix)
    looks = Event.objects.filter(kind="looked", reason__contains=f"(bulk action {bulk.pk}, item")
    assert looks.count() == looks.values("operation").distinct().count() == size - each, "each looked up once"


def sent(durban: Durban, sandbox: Sandbox, spawn: Spawn, *, size: int, each: int, kills: int) -> None:
    mix = to_send(durban, sandbox, size, each=each)
    keys = dict(Operation.objects.filter(pk__in=mix.expected).values_list("pk", "key"))
    before = effects(sandbox.file, keys)
    bulk = frozen(Action.SEND_AGAIN, *mix.operations())
    meant = actions.Correction({"order": "another", "total": "1.00"}, amount="1.00", currency="ZAR")
    for one in mix.corrected:
        actions.correct(one.pk, meant, actor="bob", reason="It was another one.", command_id=uuid.uuid4())
    started(bulk)
    durban.clock.advance(11)
    carried_through(bulk, mix, Worker.started(spawn), kills=kills)
    doubt, after = in_doubt(), effects(sandbox.file, keys)
    comes_to(bulk, mix, doubt=doubt)
    for pk, outcome in bulk.items.values_list("operation", "outcome"):
        made = after[pk] - before[pk]
        assert made <= 1, "never twice"
        if outcome == "verified":
            assert after[pk] == 1
        elif pk not in doubt:
            assert made == 0
    assert len(doubt) <= 8 * kills


def test_29_of_five_hundred_checked_each_ends_once_whatever_is_killed(
    durban: Durban, spawn: Spawn, sandbox: Sandbox
) -> None:
    checked(durban, sandbox, spawn, size=500, each=2, kills=2)


def test_29_30_each_is_sent_once_or_refused_or_held_whatever_is_killed(
    durban: Durban, spawn: Spawn, sandbox: Sandbox
) -> None:
    sent(durban, sandbox, spawn, size=80, each=2, kills=2)


@pytest.mark.long
@pytest.mark.parametrize("size", [MANY])
def test_twenty_thousand_are_checked_once_each(
    durban: Durban, spawn: Spawn, sandbox: Sandbox, size: int
) -> None:
    checked(durban, sandbox, spawn, size=size, each=20, kills=8)


@pytest.mark.long
@pytest.mark.parametrize("size", [500, MANY])
def test_hundreds_and_twenty_thousand_are_sent_once_each(
    durban: Durban, spawn: Spawn, sandbox: Sandbox, size: int
) -> None:
    sent(durban, sandbox, spawn, size=size, each=STOPS_EACH, kills=8)
