"""Secrets and unneeded personal data are taken out before anything is written."""

import ast
import base64
import html
import json
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.rules.redaction import READ_AT_MOST, redact_text

SECRET = "hunter2-s3cr3t"
CARD = "4111111111111111"


@pytest.mark.parametrize(
    "text",
    [
        f"Authorization: Bearer {SECRET}",
        f"authorization: ApiKey {SECRET} more",
        f"got 401 for Bearer {SECRET}, retry",
        f"curl -H 'X-Api-Key: {SECRET}' https://books.example/",
        f"Cookie: sessionid={SECRET}; theme=dark",
        f"Set-Cookie: a=1; b={SECRET}; Path=/",
        f"headers={{'Cookie': 'a=1; b={SECRET}'}}",
        f"password={SECRET}",
        f"password: '{SECRET} with blanks'",
        f"db_password = {SECRET}",
        "x" * 100 + f"_token: {SECRET}",
        f"clientSecret={SECRET}&x=1",
        f"https://books.example/?access_token={SECRET}&page=2",
        f"https://user:{SECRET}@books.example/invoices",
        f"postgresql://tieout:{SECRET}@db/tieout",
        f"https://{SECRET}@books.example/",
        f"api key {SECRET} is not valid",
        f"the password is {SECRET}",
        f"<apiKey>{SECRET}</apiKey>",
        f"{{'token': b'{SECRET}'}}",
        f"pass\x00word={SECRET}",
        "Basic " + base64.b64encode(f"ann:{SECRET}".encode()).decode(),
    ],
)
def test_known_failure_43_secrets_are_taken_out_of_text(text: str) -> None:
    shown = redact_text(text)
    assert "hunter2" not in shown
    assert base64.b64encode(f"ann:{SECRET}".encode()).decode() not in shown
    assert "redacted" in shown
    assert redact_text(shown) == shown


ARGUMENTS = {"user": "ann", "password": f'{SECRET} and "more"\'', "api_key": SECRET}


@pytest.mark.parametrize(
    "text",
    [
        repr(ARGUMENTS),
        json.dumps(ARGUMENTS),
        json.dumps(json.dumps(ARGUMENTS)),
        json.dumps(json.dumps(json.dumps(ARGUMENTS))),
        html.escape(json.dumps(ARGUMENTS)),
        quote(json.dumps(ARGUMENTS)),
        json.dumps(json.dumps(ARGUMENTS)).replace('\\"', "\\u0022"),
    ],
)
def test_known_failure_43_secrets_are_found_however_they_are_escaped(text: str) -> None:
    assert "hunter2" not in redact_text(text, limit=2000)
    assert "more" not in redact_text(text, limit=2000)


@pytest.mark.parametrize(
    "text",
    [
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.sig-of-it",
        "sk_live_" + "a1b2c3d4e5",
        "ghp_" + "a1B2" * 9,
        "AKIA" + "ABCD1234" * 2,
        "-----BEGIN PRIVATE KEY-----\nMIIabc\n-----END PRIVATE KEY-----",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIabc and cut off",
    ],
)
def test_telling_tokens_are_taken_out_wherever_they_stand(text: str) -> None:
    assert redact_text(f"failed with {text}") == "failed with [redacted]"


@pytest.mark.parametrize(
    "text",
    ["ann@example.com", "ann.o'neill+x@mail.example.co.za", "ann%40example.com", "ünal@größe.example"],
)
def test_e_mail_addresses_are_taken_out(text: str) -> None:
    shown = redact_text(f"no customer {text}, sorry")
    assert "@" not in shown
    assert "example" not in shown
    assert shown.startswith("no customer")
    assert shown.endswith("sorry")


@pytest.mark.parametrize(
    "text",
    [
        CARD,
        "4111 1111 1111 1111",
        "4111-1111-1111-1111",
        "4111\u00a01111\u00a01111\u00a01111",
        "12 4111 1111 1111 1111 07",
        "378282246310005",
        "5555555555554444, 5105105105105100",
        "6011 0009 9013 9424 and 4222222222222",
    ],
)
def test_card_numbers_are_taken_out(text: str) -> None:
    shown = redact_text(f"card {text}.")
    assert "[card number]" in shown
    assert sum(character.isdigit() for character in shown) <= 4


@pytest.mark.parametrize(
    "text",
    [
        "Order 483 of customer 77 was refused: the customer is blocked.",
        "4111111111111112",
        "41111111111111110000",
        "created_at 1732923456789",
        "2026-11-29T10:00:00.123456+00:00",
        "1240.4111111111111111",
        "basic validation failed",
        "INV-1187 total 1240.00 ZAR",
        "https://books.example/invoices?reference=order/webshop/483/v1",
        "the token has expired",
        "order/webshop/483/v1",
    ],
)
def test_what_is_no_secret_stays(text: str) -> None:
    assert redact_text(text) == text


def test_text_becomes_one_clipped_line_without_control_characters() -> None:
    assert redact_text("a\r\n\tb\x1b[31m\x00\u202ec\ud800") == "a b[31mc"
    assert redact_text("x" * 500) == "x" * 299 + "…"
    assert redact_text("x" * 300) == "x" * 300
    assert redact_text("abc", limit=2) == "a…"


def test_a_secret_is_taken_out_before_the_text_is_clipped() -> None:
    text = "x" * 285 + f" password={SECRET}"
    assert "hunter" not in redact_text(text)
    assert "hunter" not in redact_text("y " * 140 + f"ann.{SECRET}@example.com")


def test_a_large_answer_is_redacted_in_little_time() -> None:
    begun = time.process_time()
    for unit in ("a", "a@", 'token="', "\\", "1 ", "4", "a.", "eyJ"):
        redact_text(unit * 1_000_000)
    assert time.process_time() - begun < 15


@given(st.text(max_size=600))
def test_any_text_becomes_one_storable_line(text: str) -> None:
    shown = redact_text(text)
    assert len(shown) <= 300
    assert "\x00" not in shown
    shown.encode()


def test_a_text_is_never_passed_on_unread() -> None:
    shown = redact_text("x" * READ_AT_MOST + f" password={SECRET}", limit=2 * READ_AT_MOST)
    assert "hunter" not in shown
    assert shown.endswith("…")


def own_words(module: Path) -> Iterator[str]:
    """The texts of a module but its docstrings, with some words in each place that is filled in."""
    tree = ast.parse(module.read_text())
    told = (node.value for node in ast.walk(tree) if isinstance(node, ast.Expr))
    left_out = {id(part) for node in told for part in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            left_out |= {id(part) for part in ast.walk(node)}
            parts = (one.value if isinstance(one, ast.Constant) else "Some words" for one in node.values)
            yield "".join(map(str, parts))
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.value


@pytest.mark.parametrize("floor", ["actions", "destinations"])
def test_nothing_is_taken_out_of_our_own_sentences(floor: str) -> None:
    modules = (Path(__file__).parents[2] / "ledger" / floor).rglob("*.py")
    for text in (text for module in modules for text in own_words(module) if text.isprintable()):
        assert redact_text(text, limit=10_000) == " ".join(text.split())
