"""What is built once is asked anew each time, and answers nobody with what another one sees."""

from datetime import datetime
from decimal import Decimal
from threading import Thread
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import F, QuerySet, Value
from django.template import engines
from django.test import RequestFactory

from ledger import sight
from ledger.models import Operation, OperationType
from reconcile.models import Proposal
from review.built import built
from review.row import Row
from review.wording import Badge
from tests import factories, stories
from tests.people import browser_of, limited


@built
def of_type(name: str, before: datetime, beyond: int, not_this: UUID) -> QuerySet[Operation]:
    """Ask with each kind of value, a value in two places, an annotation, and one that never changes."""
    found = Operation.objects.filter(operation_type__name=name, accepted_at__lte=before, pk__gt=beyond)
    found = found.exclude(description__startswith="'100 %s_%").annotate(always=Value("'100 %s %%\\"))
    named = (
        found.exclude(uid=not_this).exclude(key=name).annotate(there=F("operation_type__destination__name"))
    )
    return named.select_related("operation_type__destination").order_by("pk")


@built
def proposals(beyond: int) -> QuerySet[Proposal]:
    """Ask for what nobody sees who is limited."""
    return Proposal.objects.filter(pk__gt=beyond)


def test_each_question_is_asked_with_what_it_is_given(durban: stories.Durban) -> None:
    first, second = durban.silent(1), durban.silent(2)
    name, now = first.operation_type.name, second.accepted_at
    for _ in range(2):
        assert [one.pk for one in of_type(name, now, 0, UUID(int=1))] == [first.pk, second.pk]
        assert [one.pk for one in of_type(name, now, first.pk, UUID(int=1))] == [second.pk]
        assert [one.pk for one in of_type(name, now, 0, second.uid)] == [first.pk]
        assert of_type("nobody", now, 0, UUID(int=1)) == []
    (found,) = of_type(name, now, 0, second.uid)
    told: Any = found
    assert (told.there, found.operation_type.destination.name) == ("books", "books")
    assert told.always == "'100 %s %%\\"
    third = durban.silent(3)
    assert [one.pk for one in of_type(name, third.accepted_at, first.pk, second.uid)] == [third.pk]


def test_the_server_plans_it_once_for_a_connection_and_again_on_another(durban: stories.Durban) -> None:
    operation = durban.silent(1)
    given = operation.operation_type.name, operation.accepted_at, 0, UUID(int=1)
    for _ in range(2):
        for _ in range(3):
            assert [one.pk for one in of_type(*given)] == [operation.pk]
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT calls FROM (SELECT generic_plans + custom_plans AS calls, statement "
                "FROM pg_prepared_statements) AS kept WHERE statement LIKE %s",
                ["%'100 \\%s \\%\\%%"],
            )
            assert cursor.fetchall() == [(3,)]
        connection.close()


def test_who_is_limited_is_not_answered_with_what_was_built_for_others(durban: stories.Durban) -> None:
    operation = durban.silent(1)
    given = operation.operation_type.name, operation.accepted_at, 0, UUID(int=1)
    nobody = sight.Sight(lambda: frozenset({"nowhere"}))
    for _ in range(2):
        assert len(of_type(*given)) == 1
        with sight.limited(nobody):
            assert of_type(*given) == []
    everybodys, theirs = browser_of("ann"), browser_of("vic")
    limited("vic", "nowhere")
    for _ in range(2):
        assert "Order 1" in everybodys.get("/queue/").content.decode()
        assert "Order 1" not in theirs.get("/queue/").content.decode()


def test_who_is_limited_is_answered_by_what_is_there_of_their_entities_now(durban: stories.Durban) -> None:
    given = durban.silent(1).operation_type.name, durban.clock.now(), 0, UUID(int=1)
    here, elsewhere = durban.invoice.destination.entity, "Cape Trading"
    moved = factories.destination("cape", entity=elsewhere)

    def seen(*entities: str) -> int:
        with sight.limited(sight.Sight(lambda: frozenset(entities))):
            return len(of_type(*given))

    for _ in range(2):
        assert (seen(here), seen(elsewhere), seen(here, elsewhere), seen("nowhere")) == (1, 0, 1, 0)
    OperationType.objects.filter(name=given[0]).update(destination=moved)
    assert (seen(here), seen(elsewhere), seen(here, elsewhere)) == (0, 1, 1)
    with sight.limited(sight.Sight(lambda: frozenset({here}))):
        assert proposals(1) == [], "there is no such question for who is limited at all"


def test_threads_that_ask_at_once_get_their_own_answers(durban: stories.Durban) -> None:
    made = [durban.silent(number) for number in range(4)]
    name, now = made[0].operation_type.name, made[-1].accepted_at
    wrong: list[object] = []

    def ask(own: Operation) -> None:
        for _ in range(50):
            found = of_type(name, now, own.pk - 1, UUID(int=1))
            wrong.extend(found[:1] if found[0].pk != own.pk else [])
        connection.close()

    threads = [Thread(target=ask, args=[one]) for one in made]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_what_anybody_wrote_stands_in_a_row_as_text() -> None:
    wrote = "<script>&\"'"
    operation = SimpleNamespace(uid=UUID(int=1))
    texts = dict.fromkeys(
        ("noun", "currency", "name", "found", "age", "due", "owner", "escalated", "next"), wrote
    )
    rows = [
        (
            Row(
                operation=operation,
                address="/?q=" + wrote,
                amount=Decimal(1),
                at_risk=Decimal(2),
                badge=Badge("failed", wrote, "failed"),
                found_icon="failed",
                due_at=None,
                late=asks,
                rests_until=None,
                case=UUID(int=2),
                asks=asks,
                **texts,
            ),
            f"?carry={wrote}",
        )
        for asks in (True, False)
    ]
    request = RequestFactory().get(f"/queue/?text={wrote}")
    form = "{% load rows %}{% queue_rows rows %}"
    page = engines["django"].from_string(form).render({"rows": rows, "picks": True}, request)
    assert "<script" not in page and "&amp;lt;" not in page
    assert page.count("&lt;script&gt;&amp;&quot;&#x27;") == 2 * 14 + 3
