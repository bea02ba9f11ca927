"""The API's page: everything is listed, and tried with a token that is kept nowhere but in its field."""

import json
import re
import urllib.request
import uuid

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


def body_of(page: Page, call: str) -> str:
    """What stands in the body of a call."""
    return page.locator(f"#{call}-body").input_value()


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
    posts = {name for name, method, _ in calls if method == "POST"} - {"hear"}
    warned = page.locator(".call", has_text="It acts for real").evaluate_all("all => all.map(one => one.id)")
    assert set(warned) == posts
    assert "`" not in page.locator("main").inner_text(), "names are shown as such"
    members = page.locator("#claim .members dt").all_inner_texts()
    assert {"type required", "source.reference", "attempt_id"} <= {" ".join(one.split()) for one in members}


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
    assert operation.key == json.loads(body_of(page, "claim"))["key"]
    assert token not in str(stored(page))
    before = {name: body_of(page, name) for name in ("submit", "claim", "start")}
    page.reload()
    expect(page.get_by_label("API token")).to_have_value("")
    # Nobody's orders, and other ones each time: what is tried is really done.
    for name, body in before.items():
        assert body_of(page, name) != body, name
    made = json.loads(body_of(page, "claim"))
    assert re.fullmatch(r"try/\d{6}/v1", made["key"]) and made["source"]["system"] == "try"
    assert uuid.UUID(made["attempt_id"]).version == 4
    assert made["description"] and made["subject"] == "Nobody"
    assert json.loads(body_of(page, "submit"))["key"] == made["key"], "one order all through the page"
    expect(page.locator("#claim [data-send]")).to_be_visible()
    # A path, a query, another example, and refusals with their headers.
    page.get_by_label("API token").fill(token)
    page.locator("#read > summary").click()
    page.locator("#read-uid").fill(str(operation.uid))
    assert operation.key in answer(page, "read", "200 OK")
    page.locator("#find > summary").click()
    page.locator("#find-state").fill("completed")
    assert '"items": []' in answer(page, "find", "200 OK")
    page.locator("#correct > summary").click()
    page.locator("#correct-example").select_option(index=1)
    assert '"override"' in page.locator("#correct-body").input_value()
    answer(page, "claim", "201 Created")
    page.locator("#claim-body").fill(json.dumps({**made, "attempt_id": str(uuid.uuid4())}))
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
    page.locator("#submit > summary").click()
    expect(page.locator("#submit [data-send]")).to_be_disabled()
    assert page.locator("main form").count() == 0, "nothing could put a token into an address"
