"""Webhooks by the real worker to real receivers: what is down gets all, what was killed is told again."""

from collections.abc import Iterator

import pytest

from ledger.models import Delivery, Operation, Webhook
from tests import stories
from tests.processes import Spawn
from tests.receivers import Documented, Receiver, hooked, receiving
from tests.workers import Worker, until


@pytest.fixture
def shop() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def done(durban: stories.Durban, order: int) -> Operation:
    return durban.tried(durban.invoiced(order), stories.done(f"INV-{order}"))


def waiting(**asked: int) -> int:
    return Delivery.objects.filter(webhook__name="shop", state="waiting", **asked).count()


def test_the_documented_receiver_gets_everything_once_although_it_was_down_and_another_one_is_silent(
    durban: stories.Durban, spawn: Spawn, shop: Receiver
) -> None:
    shop.open.clear()
    hooked(shop.url, "silent")
    receiver = Documented.on_a_free_port(spawn)
    hooked(receiver.url)
    receiver.start()
    operations = [done(durban, order) for order in range(3)]
    Worker.started(spawn)
    until(lambda: len(receiver.worked()) == 3)
    receiver.stop()
    operations += [done(durban, order) for order in range(3, 6)]
    until(lambda: waiting(tries__gt=0) > 0)
    receiver.start()
    durban.clock.advance(6)
    until(lambda: waiting() == 0)
    assert Delivery.objects.filter(webhook__name="silent", state="waiting").count() == 6
    assert sorted(receiver.worked()) == sorted(f"operation.completed {one.key}" for one in operations)


def test_a_worker_that_is_killed_before_its_mark_leaves_it_to_the_next_under_the_same_id(
    durban: stories.Durban, spawn: Spawn, shop: Receiver
) -> None:
    hooked(shop.url)
    done(durban, 483)
    shop.open.clear()
    killed = Worker.started(spawn)
    until(lambda: len(shop.got) == 1)
    killed.kill()
    shop.open.set()
    assert waiting() == 1
    durban.clock.advance(60)
    Worker.started(spawn)
    until(lambda: waiting() == 0)
    assert [one.name for one in shop.got] == [shop.got[0].name] * 2
    until(lambda: Webhook.objects.free().exists())
