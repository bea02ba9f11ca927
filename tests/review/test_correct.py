"""Correct it, on the pages: written in a form, read again, confirmed once; the original never runs again."""

import json
import re
import uuid
from html import unescape
from typing import Any
from urllib.parse import urlencode

from django.db import connection
from django.test.utils import CaptureQueriesContext

from ledger import actions
from ledger.models import Approval, Event, Operation
from ledger.rules.states import State
from review.instants import zone
from tests import stories
from tests.people import browser_of, person

PAYLOAD: dict[str, Any] = {
    "order": "0455",
    "total": "7315.00",
    "lines": [{"sku": "A-1", "count": 3, "price": 2438.3333333333335}, {"sku": "B-2", "count": 1e21}],
    "paid": False,
    "note": None,
    "tags": [],
    "text": "one\r\ntwo",
    "customer": {"name": "Ballito Surf", "email": "zola@ballito.example", "vat": "4-77"},
    "api_key": "k-918273",
}


def refused(durban: stories.Durban, payload: dict[str, Any] | None = None, order: int = 455) -> Operation:
    """An invoice that the destination refused for what it says."""
    submission = actions.Submission(
        "invoice.create",
        PAYLOAD if payload is None else payload,
        key=f"order/webshop/{order}/v1",
        description=f"Order {order}",
        subject="Ballito Surf",
        amount="7315.00",
        currency="ZAR",
    )
    return durban.tried(actions.submit(submission, actor="api:webshop").operation, stories.REFUSED)


def address(operation: Operation) -> str:
    return f"/operations/{operation.uid}/correct/"


class Form:
    """A tab with the form of one correction: what it shows, and what is typed into it."""

    def __init__(self, operation: Operation, name: str = "ann") -> None:
        self.browser, self.operation = browser_of(name), operation
        self.take(self.browser.get(address(operation)))

    def take(self, answer: Any) -> "Form":
        """Read a page as a browser does."""
        self.answer, self.page = answer, unescape(answer.content.decode())
        html = answer.content.decode()
        self.fields = {
            unescape(name): unescape(value or "")
            for name, value in re.findall(r'<input[^>]*? name="([^"]+)"(?:[^>]*? value="([^"]*)")?', html)
        }
        for name, value in re.findall(r'<textarea[^>]*? name="([^"]+)"[^>]*>\n?(.*?)</textarea>', html, re.S):
            self.fields[name] = unescape(value)
        for name, options in re.findall(r'<select[^>]*? name="([^"]+)"[^>]*>(.*?)</select>', html, re.S):
            self.fields[name] = (re.findall(r"<option selected>(\w+)<", options) or ["true"])[0]
        return self

    def named(self, place: str) -> str:
        """Return the name of the field at a path."""
        if place in ("amount", "currency"):
            return place
        found = re.search(rf'id="n-(\w+)">{re.escape(place)}(?: <|<)', self.page)
        assert found is not None, place
        return found[1]

    def send(self, step: str = "", **values: str) -> "Form":
        """Send what is on the page, with other values at some paths, and read the answer."""
        written = {self.named(path.replace("__", ".")): value for path, value in values.items()}
        form = self.fields | written | ({"step": step} if step else {})
        return self.take(self.browser.post(address(self.operation), form))

    def confirm(self, **more: str) -> Any:
        """Confirm what was reviewed."""
        form = self.fields | {"step": "confirm", "reason": "The customer was blocked."} | more
        self.take(self.browser.post(address(self.operation), form))
        return self.answer


def made_of(operation: Operation) -> Operation:
    return operation.corrections.get()


def meant(operation: Operation) -> dict[str, Any]:
    """Its payload, but for what the rules write."""
    payload = actions.open_payload(operation)
    payload.pop("metadata")
    return payload


def test_35_a_refused_one_is_corrected_by_its_first_button(durban: stories.Durban) -> None:
    operation = refused(durban)
    page = browser_of("ann").get(f"/operations/{operation.uid}/").content.decode()
    first = page.split('class="act"')[1].split("</button>")[0]
    assert "Correct it" in first and "primary" in first and f'action="{address(operation)}"' in first


def test_what_is_written_becomes_a_new_operation_and_everything_else_stays_as_it_was(
    durban: stories.Durban,
) -> None:
    operation = refused(durban)
    tab = Form(operation)
    assert re.search(r'">total <span class="small soft">text, the amount once more: change both<', tab.page)
    assert tab.page.count("once more") == 1 and 'value="7315.00"' in tab.page
    tab.send(customer__name="Ballito Surf (Pty) Ltd", lines__0__count="4", paid="true", amount="7000")
    for line in (
        "Durban Books, account main",
        "7\u00a0000.00\u00a0ZAR",
        "was 7\u00a0315.00\u00a0ZAR",
        "order/webshop/455/v1/c1",
        "“Ballito Surf (Pty) Ltd”",
        "was “Ballito Surf”",
        "was 3",
        "this says it as it was: total",
        "Ten seconds to undo",
    ):
        assert line in tab.page, line
    assert "was “0455”" not in tab.page
    assert not operation.corrections.exists(), "nothing is made before it is confirmed"
    assert tab.confirm(who="zola").status_code == 303
    made = made_of(operation)
    expected = json.loads(json.dumps(PAYLOAD))
    expected["customer"]["name"], expected["lines"][0]["count"], expected["paid"] = (
        "Ballito Surf (Pty) Ltd",
        4,
        True,
    )
    assert json.dumps(meant(made), sort_keys=True) == json.dumps(expected, sort_keys=True)
    assert (str(made.amount), made.currency, made.key) == ("7000.0000", "ZAR", f"{operation.key}/c1")
    told = operation.events.get(kind="corrected")
    assert (told.actor, told.reason, told.data["who"]) == ("ann", "The customer was blocked.", "zola")
    assert told.data["changed"] == ["amount", "customer.name", "lines.0.count", "paid"]
    assert made.events.get(kind="accepted").actor == "ann"


WRONG = (
    ("lines__0__count", "three", "Write a number"),
    ("lines__0__count", "1,5", "Write a number"),
    ("lines__0__count", "NaN", "which JSON does not have"),
    ("lines__0__count", "9007199254740993", "beyond 2^53"),
    ("lines__0__price", "0.12345678901234567890", "finer than a double"),
    ("paid", "yes", "Choose true or false"),
    ("amount", "7 315", "amount"),
    ("amount", "7315.001", "3 decimals"),
    ("amount", "", "amount"),
    ("currency", "zar", "capitals"),
)


def test_what_cannot_be_kept_exactly_is_refused_beside_its_field(durban: stories.Durban) -> None:
    operation = refused(durban)
    for place, raw, words in WRONG:
        tab = Form(operation).send(**{place: raw, "order": "77"})
        assert words in tab.page and 'aria-invalid="true"' in tab.page, (place, raw)
        assert ">Confirm<" not in tab.page
        kept = tab.fields[tab.named("order")], tab.fields[tab.named(place.replace("__", "."))]
        assert kept == ("77", raw) or place == "paid", "nothing typed is lost"


def test_types_stay_as_they_are(durban: stories.Durban) -> None:
    operation = refused(durban)
    tab = Form(operation).send(order="12", lines__0__count="2.5", note="3", total="")
    assert tab.confirm().status_code == 303
    said = meant(made_of(operation))
    assert (said["order"], said["lines"][0]["count"], said["note"], said["total"]) == ("12", 2.5, "3", "")
    assert said["text"] == "one\r\ntwo" and said["tags"] == [] and said["paid"] is False


def test_what_is_hidden_is_never_shown_and_never_lost(durban: stories.Durban) -> None:
    """By its name, by its pattern, and by the type's own list."""
    durban.invoice.review = {"due": "4h", "redact": ["customer.vat", "lines.sku"]}
    durban.invoice.save(update_fields=["review"])
    operation = refused(durban)
    secrets = ("zola@ballito.example", "k-918273", "4-77", "A-1", "B-2", "n-665544")
    tab = Form(operation)
    shown = [tab.page]
    shown += [tab.send("json").page]
    assert "[kept: customer.email]" in tab.fields["json"] and "[kept: lines.1.sku]" in tab.fields["json"]
    shown += [tab.send("fields").page]
    shown += [tab.send(api_key="n-665544", customer__name="Ballito").page]
    assert "was hidden" in tab.page
    shown += [tab.send("edit").page, tab.send("json").page, tab.send().page]
    assert tab.confirm().status_code == 303
    made = made_of(operation)
    shown += [browser_of("bob").get(f"/operations/{o.uid}/").content.decode() for o in (operation, made)]
    assert [(secret, n) for n, page in enumerate(shown) for secret in secrets if secret in page] == []
    said = meant(made)
    assert said["customer"] == {"name": "Ballito", "email": "zola@ballito.example", "vat": "4-77"}
    assert (said["api_key"], [line["sku"] for line in said["lines"]]) == ("n-665544", ["A-1", "B-2"])
    told = json.dumps([*Event.objects.values_list("data", "reason")])
    assert not [secret for secret in secrets if secret in told]


def test_a_line_goes_as_json_and_takes_along_what_is_hidden_in_it(durban: stories.Durban) -> None:
    durban.invoice.review = {"due": "4h", "redact": ["lines.sku"]}
    durban.invoice.save(update_fields=["review"])
    operation = refused(durban)
    tab = Form(operation).send("json")
    whole = json.loads(tab.fields["json"])
    for moved, words in (
        ({"order": "[kept: lines.0.sku]"}, "order: what is hidden can only stay in its own field"),
        ({"order": "[kept: order]"}, "can only stay in its own field"),
        ({"order": 2**53 + 1}, "beyond 2^53"),
    ):
        tab.fields["json"] = json.dumps(whole | moved)
        assert words in tab.send().page
    for text, words in (("[]", "in braces"), ("{", "not JSON"), ('{"a": 1, "a": 2}', "twice")):
        tab.fields["json"] = text
        assert words in tab.send().page and tab.fields["json"] == text
    tab.fields["json"] = json.dumps(whole | {"lines": whole["lines"][1:]})
    assert "lines.1" in tab.send().page
    assert tab.confirm().status_code == 303
    assert [line["sku"] for line in meant(made_of(operation))["lines"]] == ["B-2"]


def test_a_payload_too_big_for_fields_is_json_and_one_too_big_for_a_page_says_where_to_go(
    durban: stories.Durban,
) -> None:
    many = refused(durban, {"lines": [{"sku": str(n)} for n in range(151)]})
    tab = Form(many)
    assert "more than 150 values" in tab.page and "Write it by fields" not in tab.page
    tab.fields["json"] = tab.fields["json"].replace('"17"', '"seventeen"')
    assert "lines.17.sku" in tab.send().page
    assert tab.confirm().status_code == 303
    assert meant(made_of(many))["lines"][17] == {"sku": "seventeen"}
    large = refused(durban, {"text": "x" * 131_072}, order=456)
    page = Form(large).page
    assert "128 KiB that a page takes" in page and f"POST /api/v1/operations/{large.uid}/correction" in page
    assert "<textarea" not in page.split("<footer")[0]


def test_the_largest_payloads_that_a_page_takes_go_through_a_browsers_form(durban: stories.Durban) -> None:
    """Sent as browsers do, each line break is six bytes, and so is a quote with its backslash."""
    large: list[dict[str, Any]] = [{"text": one * 65_000} for one in ("\n", '"', "ü")]
    for order, payload in enumerate([*large, {"lines": [1] * 9_990}], 1):
        operation = refused(durban, payload, order)
        tab = Form(operation)
        if "json" not in tab.fields:
            tab.send("json")
        sent = urlencode({**tab.fields, "amount": "1.00"}).replace("%0A", "%0D%0A")
        answer = tab.browser.post(address(operation), sent, "application/x-www-form-urlencoded")
        assert (answer.status_code, ">Confirm<" in answer.content.decode()) == (200, True), order
    tab = Form(refused(durban, {"order": "9"}, 9)).send("json")
    tab.fields["json"] = json.dumps({"order": "9" * 131_072})
    assert "128 KiB at most" in tab.send().page


def test_30_two_clicks_are_one_correction_and_two_tabs_too(durban: stories.Durban) -> None:
    operation = refused(durban)
    one, other = Form(operation).send(total="1.00"), Form(operation).send(total="2.00")
    twice = dict(one.fields)
    assert one.confirm().status_code == 303
    one.fields = twice
    again = one.confirm()
    assert (again.status_code, again["Location"]) == (303, f"/operations/{made_of(operation).uid}/")
    late = other.confirm()
    assert late.status_code == 200
    assert "It has changed since you opened the form." in other.page and ">Confirm<" not in other.page
    assert operation.corrections.count() == 1
    third = Form(operation)
    assert "Its correction is not finished yet: one at a time." in third.page and "draft" not in third.fields


def test_what_has_moved_meanwhile_is_said_and_nothing_written_is_lost(durban: stories.Durban) -> None:
    operation = refused(durban)
    tab, reviewed = Form(operation), Form(operation).send(total="7000.00")
    durban.looked(operation, stories.ABSENT, actor="bob")
    assert "It has changed since you opened the form." in tab.send(total="7000.00").page
    assert tab.fields[tab.named("total")] == "7000.00"
    assert reviewed.confirm().status_code == 200
    assert ">Confirm<" not in reviewed.page and ">Change it<" in reviewed.page
    assert not operation.corrections.exists()
    assert reviewed.send("edit").fields[reviewed.named("total")] == "7000.00"
    assert "See below where it stands now" in reviewed.send().page
    assert reviewed.send().confirm().status_code == 303
    assert meant(made_of(operation))["total"] == "7000.00"


def test_33_the_corrected_one_never_runs_again_and_says_where_it_goes_on(durban: stories.Durban) -> None:
    operation = refused(durban)
    assert Form(operation).send(total="7000.00").confirm().status_code == 303
    made, ann = made_of(operation), browser_of("ann")
    durban.looked(operation, stories.ABSENT, actor="ann")
    page = ann.get(f"/operations/{operation.uid}/send-again/").content.decode()
    assert "It was corrected: it never runs again." in page and ">Confirm<" not in page
    form = {"command_id": str(uuid.uuid4()), "reason": "Again."}
    assert ann.post(f"/operations/{operation.uid}/send-again/", form).status_code == 200
    durban.clock.advance(11)
    assert not operation.permits.exists()
    assert actions.claim_to_send(operation.pk, actor="worker") is None
    shown = ann.get(f"/operations/{operation.uid}/").content.decode()
    assert f'<a href="/operations/{made.uid}/">{made.key}</a>' in shown
    assert f'<a href="/operations/{operation.uid}/">' in ann.get(f"/operations/{made.uid}/").content.decode()


def test_34_its_case_closes_with_the_correction_and_its_state_stays_what_is_known(
    durban: stories.Durban,
) -> None:
    operation = refused(durban)
    assert Form(operation).send(total="7000.00").confirm().status_code == 303
    durban.clock.advance(11)
    durban.tried(made_of(operation), stories.done("INV-9"))
    operation = durban.again(operation)
    assert (operation.state, operation.held_at) == (State.FAILED, None)
    page = browser_of("ann").get(f"/operations/{operation.uid}/").content.decode()
    assert "stands in its place: done" in page


def test_ten_seconds_to_undo_before_anything_goes_out(durban: stories.Durban) -> None:
    operation = refused(durban)
    Form(operation).send(total="7000.00").confirm()
    made, ann = made_of(operation), browser_of("ann")
    assert actions.claim_to_send(made.pk, actor="worker") is None, "it waits"
    page = ann.get(f"/operations/{made.uid}/").content.decode()
    assert 'data-left="10"' in page and ">Undo<" in page and "hx-trigger" in page
    form = {"command_id": str(uuid.uuid4())}
    done = ann.post(f"/operations/{made.uid}/undo/", form, follow=True).content.decode()
    assert "Undone: the correction is cancelled, and nothing was sent by it." in done
    made = durban.again(made)
    assert (made.state, made.cancelled_at is not None) == (State.FAILED, True)
    assert Form(operation).send(total="7100.00").confirm().status_code == 303, "it is corrected once more"
    second = operation.corrections.latest("correction_number")
    durban.clock.advance(11)
    form = {"command_id": str(uuid.uuid4())}
    late = ann.post(f"/operations/{second.uid}/undo/", form, follow=True).content.decode()
    assert "Not undone. Too late to undo: the ten seconds are over." in late
    assert actions.claim_to_send(second.pk, actor="worker") is not None


def test_the_next_correction_starts_with_what_the_last_one_said(durban: stories.Durban) -> None:
    operation = refused(durban)
    Form(operation).send(total="7000.00").confirm()
    durban.clock.advance(11)
    durban.tried(made_of(operation), stories.REFUSED)
    tab = Form(operation)
    assert tab.fields[tab.named("total")] == "7000.00" and "“7315.00”" in tab.page
    assert tab.page.count("<b data-changed>changed</b>") == 1


def test_waiting_done_and_differing_ones_say_what_follows(durban: stories.Durban) -> None:
    waiting = durban.invoiced(412)
    tab = Form(waiting).send(total="9.00")
    assert "It is cancelled, and the correction is made instead." in tab.page
    assert tab.confirm().status_code == 303
    assert durban.again(waiting).cancelled_at is not None
    done = durban.tried(durban.invoiced(402), stories.done("INV-1187"))
    assert "what stands in Durban Books stays until it is reversed" in Form(done).send(total="9.00").page
    differs = durban.silent(466, "4960.00")
    differs = durban.looked(differs, stories.differing(differs, "INV-1160", "5580.00"))
    page = browser_of("ann").get(f"/operations/{differs.uid}/").content.decode()
    assert ">Correct it<" in page.split("Other ways")[0]
    nothing = Form(durban.tried(durban.invoiced(403), stories.REFUSED)).send()
    assert "says what the operation says already" in nothing.page


def test_what_may_have_happened_is_corrected_by_two_people_only(durban: stories.Durban) -> None:
    person("bob")
    operation = durban.blind(318, "1840.00")
    tab = Form(operation).send(total="1800.00")
    assert "Nothing happens yet: it needs bob." in tab.page
    assert "If the first one arrived all the same, Durban Books would hold both." in tab.page
    for field in ("where", "looked_at", "risk", "reason"):
        at = durban.clock.now().astimezone(zone())
        said = {"where": "Their list", "looked_at": f"{at:%Y-%m-%dT%H:%M:%S}", "risk": "The month closes."}
        assert tab.confirm(**(said | {field: ""})).status_code == 200
        assert 'class="wrong small"' in tab.page, field
    assert tab.confirm(**said).status_code == 303
    assert not operation.corrections.exists()
    asked = Approval.objects.get()
    assert (asked.maker, asked.data["changed"]) == ("ann", ["total"])
    page = browser_of("bob").get(f"/operations/{operation.uid}/").content.decode()
    assert "Waits for a second person" in page and "Changes total" in page
    assert "ann has asked for a second person" in Form(operation).page
    durban.looked(operation, stories.BLIND, actor="bob")
    form = {"command_id": str(uuid.uuid4()), "reason": "Agreed.", "approval": str(asked.uid)}
    assert browser_of("bob").post(f"/operations/{operation.uid}/approve/", form).status_code == 303
    assert meant(made_of(operation))["total"] == "1800.00"
    assert durban.again(operation).state == State.UNCERTAIN


def test_a_callers_operation_is_written_whole_for_nothing_of_it_is_kept(durban: stories.Durban) -> None:
    operation, attempt, token = durban.reminded(398)
    stories.report(attempt, token, stories.REFUSED)
    tab = Form(durban.again(operation))
    assert "Tieout does not keep what was handed over" in tab.page
    tab.fields["json"] = '{"order": "398", "to": "x"}'
    page = tab.send().page
    assert "was not kept" in page and "Its automation claims the new one by its key" in page
    assert "“398”" not in page, "what is the same is no change"
    assert tab.confirm().status_code == 303
    made = made_of(operation)
    assert actions.open_payload(made) == {"order": "398", "to": "x"}


def test_a_form_that_is_not_whole_or_another_persons_makes_nothing(durban: stories.Durban) -> None:
    operation, other = refused(durban), refused(durban, order=456)
    tab = Form(operation).send(total="7000.00")
    draft = tab.fields["draft"]
    for who, of, fields in (
        ("bob", operation, {}),
        ("ann", other, {}),
        ("ann", operation, {"draft": draft[:-8] + "AAAAAAA="}),
        ("ann", operation, {"draft": "ü"}),
        ("ann", operation, {"command_id": ""}),
    ):
        form = tab.fields | {"step": "confirm", "reason": "Mine."} | fields
        answer = browser_of(who).post(address(of), form).content.decode()
        assert "The form was not whole" in answer, (who, fields)
    assert not Operation.objects.filter(corrects__isnull=False).exists()


def test_who_only_looks_finds_no_form(durban: stories.Durban) -> None:
    operation = refused(durban)
    tab = Form(operation).send(total="7000.00")
    for name, words in (("vic", "Your role looks only."), ("ada", "Administrators decide no items.")):
        assert words in Form(operation, name).page and "7315.00" not in Form(operation, name).page
    reviewer = person("ann")
    reviewer.groups.clear()
    reviewer.groups.add(*person("vic").groups.all())
    assert tab.confirm().status_code == 200
    assert "Your role looks only." in tab.page and not operation.corrections.exists()


def test_the_form_costs_the_same_queries_however_many_fields_it_has(durban: stories.Durban) -> None:
    counts = []
    for order, amount in ((8, "99999.00"), (9, "0.01")):
        durban.silent(
            order, amount, subject="Ballito Surf"
        )  # a neighbour on either side, with the same subject
    for order, lines in ((1, 1), (2, 140)):
        operation = refused(durban, {"lines": [str(n) for n in range(lines)]}, order)
        ann = browser_of("ann")
        with CaptureQueriesContext(connection) as queries:
            ann.get(address(operation))
        counts.append(len(queries))
    assert counts[0] == counts[1] <= 34, counts
