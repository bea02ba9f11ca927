"""A paused destination as people see it: the banner, an operation's page, and the administrators' button."""

import re
import uuid

from ledger import actions
from ledger.models import Operation, OperationType, Pause
from ledger.rules.decisions import UNREADY
from ledger.rules.facts import UNCONFIGURED
from ledger.rules.outcomes import Report
from ledger.rules.states import Outcome
from tests import stories
from tests.people import browser_of


def paused(durban: stories.Durban) -> tuple[Operation, Operation, str]:
    """One invoice that was refused, one that waits, and the address of the pause."""
    waiting = durban.invoiced(412)
    refused = durban.tried(durban.invoiced(483), stories.UNKNOWN_TO_THEM)
    return refused, waiting, f"/pauses/{Pause.objects.get().uid}/"


def test_the_queue_says_so_on_top_and_counts_one_case_for_all(durban: stories.Durban) -> None:
    ann = browser_of("ann")
    assert "is paused" not in ann.get("/queue/").content.decode()
    _, _, address = paused(durban)
    page = ann.get("/queue/").content.decode()
    assert "<b>Durban Books is paused</b>" in page
    assert f'<a href="{address}">See the pause</a>' in page
    assert re.search(r'q-next"><span class="soft">Paused</span>', page), "what waits says why"
    assert "0 need a person" in page
    assert "no operation: see the runs" not in page, "a pause is no difference of a run"


def test_an_operations_page_says_why_nothing_goes_on(durban: stories.Durban) -> None:
    refused, waiting, address = paused(durban)
    ann = browser_of("ann")
    page = ann.get(f"/operations/{waiting.uid}/").content.decode()
    assert "Nothing exists there. It waits until Durban Books is resumed." in page
    assert address in page
    page = ann.get(f"/operations/{refused.uid}/").content.decode()
    assert "Durban Books refused our credentials: The token is wrong. Nothing was created." in page
    assert "An administrator resumes it first." in page, "sending again waits for that"
    assert "Correct it" not in page.split("Other ways")[0], "its payload is not at fault"


def test_a_destination_that_is_not_set_up_rightly_says_what_is_missing(durban: stories.Durban) -> None:
    operation = durban.invoiced(483)
    words = "The environment variable BOOKS_TOKEN is not set."
    unready = Report(Outcome.RETRYABLE, error_code=UNCONFIGURED, message=words)
    for _ in range(UNREADY):
        claimed = actions.claim_to_send(operation.pk, actor="worker")
        assert claimed is not None
        actions.record(claimed.attempt.uid, token=claimed.token, report=unready, actor="worker")
        durban.clock.advance(60)
    ann = browser_of("ann")
    assert "it cannot be used as it is set up." in ann.get("/queue/").content.decode()
    page = ann.get(f"/pauses/{Pause.objects.get().uid}/").content.decode()
    assert f"Durban Books cannot be used as it is set up. {words}" in page
    assert "credentials" not in page


def test_rules_that_cannot_be_read_take_no_list_down_and_the_page_says_whose(durban: stories.Durban) -> None:
    operation = durban.silent(483)
    OperationType.objects.filter(pk=durban.invoice.pk).update(calls={"from the next version": 1})
    ann = browser_of("ann")
    ann.raise_request_exception = False
    assert "Not checked yet" in ann.get("/queue/").content.decode()
    response = ann.get(f"/operations/{operation.uid}/")
    assert response.status_code == 503
    assert "The rules of invoice.create cannot be read by this version." in response.content.decode()


def test_reviewers_see_who_resumes_it_and_cannot(durban: stories.Durban) -> None:
    _, _, address = paused(durban)
    form = {"reason": "I want to.", "command_id": str(uuid.uuid4())}
    for name in ("ann", "bob", "vic"):
        browser = browser_of(name)
        page = browser.get(address).content.decode()
        assert 'aria-disabled="true"' in page
        assert "An administrator resumes it: destinations are theirs." in page
        assert "An administrator resumes it" in browser.post(address, form).content.decode()
    assert Pause.objects.open().exists()


def test_an_administrator_resumes_it_with_a_reason_and_each_refused_one_asks_a_reviewer(
    durban: stories.Durban,
) -> None:
    refused, _, address = paused(durban)
    ada = browser_of("ada")
    page = ada.get(address).content.decode()
    assert "It refused our credentials at" in page
    assert "1 operation waits for it." in page
    assert "Order 483" in page
    click = re.search(r'name="command_id" value="([^"]+)"', page)
    assert click is not None
    form = {"reason": "", "command_id": click[1]}
    assert "Write a reason" in ada.post(address, form).content.decode()
    form["reason"] = "The new token is in place."
    for _ in range(2):  # a double click
        assert ada.post(address, form).status_code == 303
    page = ada.get(address).content.decode()
    assert "Durban Books was paused" in page
    assert "<b>ada</b> resumed Durban Books. “The new token is in place.”" in page
    assert "Resume</button>" not in page
    again = ada.post(address, {**form, "command_id": str(uuid.uuid4())}).content.decode()
    assert "ada resumed it already" not in again, "what is over has no form"
    page = browser_of("ann").get("/queue/").content.decode()
    assert "is paused" not in page
    assert "1 need" in page
    assert f"/operations/{refused.uid}/" in page
