"""What a configuration file calls things is what people read, from the next page on."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import models

from ledger.models import Case, Destination, OperationType
from tests import factories as make
from tests import stories
from tests.people import browser_of

OPEN = "https://books.example.com/records/{destination_reference}"
CHANGES: dict[str, tuple[type[models.Model], dict[str, Any], str]] = {
    "name": (Destination, {"title": "Umgeni Ledgers"}, "Umgeni Ledgers"),
    "entity": (Destination, {"entity": "Umgeni Trading"}, "Umgeni Trading"),
    "open_url": (
        Destination,
        {"connection": {"base_url": "http://127.0.0.1:1", "open_url": OPEN}},
        "/records/INV-",
    ),
    "label": (OperationType, {"label": "Write a bill"}, "Write a bill"),
    "noun": (OperationType, {"noun": "statement of account"}, "statement of account"),
    "owner": (OperationType, {"owner": "treasury"}, "treasury"),
}


def read(durban: stories.Durban) -> str:
    """The queue, the page of what is there twice, and the dialog of what may be sent again."""
    ann = browser_of("ann")
    absent, doubled = (
        durban.absent(1 + Case.objects.count() * 10),
        durban.silent(2 + Case.objects.count() * 10),
    )
    durban.looked(doubled, make.there(doubled, "INV-1", "INV-2"))
    durban.looked(absent, make.ABSENT, actor="ann")
    pages = ["/queue/", f"/operations/{doubled.uid}/", f"/operations/{absent.uid}/send-again/"]
    answers = [ann.get(page) for page in pages]
    assert [answer.status_code for answer in answers] == [200] * len(pages)
    return "".join(answer.content.decode() for answer in answers)


@pytest.mark.parametrize("line", CHANGES)
def test_people_read_it_as_the_file_calls_it(durban: stories.Durban, line: str) -> None:
    kind, columns, words = CHANGES[line]
    assert words not in read(durban)
    kind._default_manager.update(**columns)
    assert words in read(durban)


def test_whether_others_see_an_effect_is_the_first_answer(durban: stories.Durban) -> None:
    page = f"/operations/{durban.silent(483).uid}/"
    says = "Yes. It makes something that others see."
    assert says in browser_of("ann").get(page).content.decode()
    OperationType.objects.update(side_effect=False)
    assert says not in browser_of("ann").get(page).content.decode()


def test_a_case_is_due_as_long_after_its_opening_as_the_type_says(durban: stories.Durban) -> None:
    for due, hours in (("4h", 4), ("90m", 1.5)):
        OperationType.objects.update(review={"due": due})
        durban.absent(hours * 2)  # type: ignore[arg-type]
        case = Case.objects.latest("pk")
        assert case.due_at - case.opened_at == timedelta(hours=hours)
