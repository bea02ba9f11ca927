"""The page of deliveries in a real browser: it passes axe and fits, and sends again without a script."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from ledger.models import Delivery
from tests import stories
from tests.browser.conftest import Windows
from tests.browser.test_looks import looked_at
from tests.receivers import Receiver, receiving
from tests.review.test_deliveries import in_each_state


@pytest.fixture
def shop() -> Iterator[Receiver]:
    with receiving() as receiver:
        yield receiver


def test_deliveries_pass_axe_and_are_sent_again_without_script(
    durban: stories.Durban, windows: Windows, shop: Receiver
) -> None:
    page, plain = windows.of("vic"), windows.of("ada", script=False)
    page.goto("/deliveries/")
    assert looked_at(page, "no-deliveries") == []
    in_each_state(durban, shop)
    page.goto("/deliveries/")
    assert looked_at(page, "deliveries-viewer") == []
    keeper = windows.of("ada")
    keeper.goto("/deliveries/")
    assert looked_at(keeper, "deliveries") == []
    plain.goto("/")
    plain.get_by_role("link", name="Deliveries").click()
    plain.get_by_role("link", name="Given up").click()
    plain.get_by_role("button", name="Send again").click()
    expect(plain.get_by_text("It is sent again within seconds")).to_be_visible()
    assert not Delivery.objects.filter(state="given_up").exists()
