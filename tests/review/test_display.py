"""Money at risk × age across currencies: by rates of a day, named; without any by figures; never a sum.

| case                                | then                                               |
|-------------------------------------|----------------------------------------------------|
| rates are set                       | one order by them; the page names day, source, rate |
| a currency without a rate, or none  | by its figures, and said                           |
| no amount                           | by its type's priority, else after all money       |
| a rate, day or currency that is none | refused with its line; nothing is stored           |
"""

from pathlib import Path

import pytest

from ledger.models import Event
from reconcile.configuration import Refused, configure
from reconcile.models import Display
from tests import stories
from tests.people import browser_of
from tests.review.test_queue import listed

RATES = """[display]
currency = "ZAR"
rates = {{ EUR = "{euro}" }}
as_of = "2026-11-27"
source = "Reserve Bank, closing"
"""


def set_rates(folder: Path, euro: str) -> list[str]:
    file = folder / "display.toml"
    file.write_text(RATES.format(euro=euro))
    return configure(file).changes


def order(query: str = "") -> list[str]:
    return listed(browser_of("ann"), query)


def said() -> str:
    return browser_of("vic").get("/queue/").content.decode().replace("\u00a0", " ")


@pytest.fixture
def three(durban: stories.Durban) -> stories.Durban:
    durban.silent(1, "1000.00")
    durban.silent(2, "100.00", currency="EUR")
    durban.silent(3, "500.00", currency="USD")
    durban.clock.advance(86400)
    return durban


def test_by_rates_of_a_day_currencies_stand_in_one_order_and_the_page_names_them(
    three: stories.Durban, tmp_path: Path
) -> None:
    assert order() == ["Order 1", "Order 3", "Order 2"]
    assert "Ordered by the figures of each currency: no display rates are set." in said()
    assert set_rates(tmp_path, "20.10") == ["+ rates of the display"]
    assert order() == ["Order 2", "Order 1", "Order 3"]
    rated = "Ordered by display rates of 27 Nov 2026, Reserve Bank, closing: 1 EUR = 20.10 ZAR."
    assert f"{rated} USD: no display rate, ordered by its figures." in said()
    assert "2 010" not in said() and "Each amount in its own currency; nothing is added across." in said()
    assert set_rates(tmp_path, "6.00")[0].startswith("~ rates of the display: rates.EUR")
    assert order() == ["Order 1", "Order 2", "Order 3"]
    assert order("?order=amount") == ["Order 1", "Order 3", "Order 2"]
    assert Event.objects.filter(kind="configured", data__section="display.display").count() == 2


def test_what_has_no_amount_stands_by_its_types_priority(three: stories.Durban) -> None:
    three.expired(398)
    three.clock.advance(10 * 86400)
    assert order()[-1] == "Reminder for order 398"
    three.reminder.review = {"due": "4h", "priority": "900.00"}
    three.reminder.save(update_fields=["review"])
    assert order() == ["Order 1", "Reminder for order 398", "Order 3", "Order 2"]
    assert "What has no amount counts as its type’s priority." in said()


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (('"20.10"', '"0"'), '"0" is no rate'),
        (('"20.10"', '"x"'), '"x" is no rate'),
        (("EUR =", "ZAR ="), "ZAR is what the others are counted in"),
        (("EUR =", "XXY ="), "line 3: display.rates.XXY"),
        (("2026-11-27", "27.11.2026"), "is no day"),
        (('currency = "ZAR"', 'currency = "rand"'), "line 2: display.currency"),
        (("source =", "whose ="), "source is missing"),
    ],
)
def test_what_is_no_rate_is_refused(
    durban: stories.Durban, tmp_path: Path, change: tuple[str, str], why: str
) -> None:
    file = tmp_path / "display.toml"
    file.write_text(RATES.format(euro="20.10").replace(*change))
    with pytest.raises(Refused, match=why):
        configure(file)
    assert not Display.objects.exists()
