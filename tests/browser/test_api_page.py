"""The API's page: everything is listed, and tried with a token that is kept nowhere but in its field."""

import json
import urllib.request

from playwright.sync_api import Page, expect

from ledger.models import ApiToken, Operation
from ledger.rules.tokens import new_token, token_hash
from tests import stories
from tests.browser.conftest import Windows
from tests.browser.test_looks import looked_at, outgrown, unfold

DOCS = "/api/v1/docs"


def answer(page: Page, call: str, status: str) -> str:
    """Send a call and return what its answer shows once it has this status."""
    page.locator(f"#{call} [data-send]").click()
    told = page.locator(f"#{call} .answer")
    expect(told).to_contain_text(status)
    return told.inner_text()


def stored(page: Page) -> object:
    """What the page has left in the browser."""
    return page.evaluate("[JSON.stringify(localStorage), JSON.stringify(sessionStorage)]")


def test_it_lists_every_address_passes_axe_and_fits(durban: stories.Durban, windows: Windows) -> None:
    page = windows.of(None)
    page.goto(DOCS)
    assert looked_at(page, "api") == []
    unfold(page)
    page.locator("#claim [data-send]").click()
    expect(page.locator("#claim .answer")).to_have_text("Fill in your API token, at the top.")
    assert looked_at(page, "api-unfolded") == []
    for width in range(360, 1601, 240):
        page.set_viewport_size({"width": width, "height": 900})
        assert outgrown(page) == [], width
    with urllib.request.urlopen(f"{windows.server.url}/api/v1/openapi.json", timeout=30) as told:
        document = json.load(told)
    calls = {
        (one["operationId"], method.upper(), path)
        for path, methods in document["paths"].items()
        for method, one in methods.items()
    }
    listed = page.locator(".call").evaluate_all(
        "all => all.map(one => [one.id, one.dataset.method, one.dataset.path])"
    )
    assert {tuple(one) for one in listed} == calls
    expect(page.locator("#hear [data-send]")).to_have_count(0)


def test_what_is_tried_is_done_and_the_token_stays_in_its_field(
    durban: stories.Durban, windows: Windows
) -> None:
    token = new_token()
    ApiToken.objects.create(name="webshop", token_hash=token_hash(token), types=[])
    page = windows.of("ann")
    page.goto(f"{DOCS}#claim")
    page.get_by_label("API token").fill(token)
    told = answer(page, "claim", "201 Created")
    assert '"decision": "proceed"' in told
    operation = Operation.objects.get()
    assert operation.key == "order/webshop/483/v1"
    assert token not in str(stored(page))
    page.reload()
    expect(page.get_by_label("API token")).to_have_value("")
    # A path, a query, another example, and refusals with their headers.
    page.get_by_label("API token").fill(token)
    page.locator("#read summary").click()
    page.locator("#read-uid").fill(str(operation.uid))
    assert operation.key in answer(page, "read", "200 OK")
    page.locator("#find summary").click()
    page.locator("#find-state").fill("completed")
    assert '"items": []' in answer(page, "find", "200 OK")
    page.locator("#correct summary").click()
    page.locator("#correct-example").select_option(index=1)
    assert '"override"' in page.locator("#correct-body").input_value()
    body = page.locator("#claim-body")
    body.fill(body.input_value().replace("0b5f7c1e-", "1b5f7c1e-"))
    assert "Retry-After: " in answer(page, "claim", "409 Conflict")
    page.get_by_label("API token").fill("tieout_wrong")
    assert "not known here" in answer(page, "claim", "401 Unauthorized")
    page.get_by_label("API token").fill("schlüssel–")
    assert "Not sent" in answer(page, "claim", "plain characters")

    assert token not in str(stored(page))
    assert token not in page.url
    assert token not in str(page.context.cookies())
    refused = [line for line in windows.complaints if "status of 4" in line]
    assert len(refused) == 2, "the browser itself tells of the two refusals"
    windows.complaints[:] = [line for line in windows.complaints if line not in refused]


def test_without_script_it_is_read_and_sends_nothing(durban: stories.Durban, windows: Windows) -> None:
    page = windows.of("vic", script=False)
    page.goto("/queue/")
    page.get_by_role("contentinfo").get_by_role("link", name="API").click()
    expect(page.get_by_text("Without JavaScript nothing can be sent from here")).to_be_visible()
    page.locator("#submit summary").click()
    expect(page.locator("#submit [data-send]")).to_be_disabled()
    assert page.locator("main form").count() == 0, "nothing could put a token into an address"
