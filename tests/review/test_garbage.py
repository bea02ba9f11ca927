"""What is no form, or half of one, at every address that takes a form: refused in words, and nothing changes.

| what is sent                                               | answer                                |
|------------------------------------------------------------|---------------------------------------|
| a body that is no form, or is in no UTF-8                  | 400, in words                         |
| more fields, or more bytes, than any form has              | 400 or 413, in words                  |
| an id that nothing has, or that is too large to be one     | 404, in words                         |
| no field; each with a NUL, a wrong kind, or far too much   | the page again, which says it         |
| one field left out, or with a NUL                          | no error of ours                      |
"""

import re
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.db import connection
from django.test import Client

from tests.people import browser_of
from tests.review.test_every_door import COUNTED, DECIDED, DOORS, OWN, Form, Place, rows
from tests.review.test_every_door import place as place

FORM = "application/x-www-form-urlencoded"
HUGE = "487 " * 30_000
NO_FORM: dict[str, tuple[bytes, str, int]] = {
    "JSON in the place of a form": (b'{"reason": ["', "application/json", 0),
    "files without a boundary": (b"abc", "multipart/form-data", 400),
    "bytes that are no UTF-8": (b"reason=%ff%fe&command_id=%C3%28", FORM, 400),
    "parts that are no UTF-8": (
        b'--x\r\nContent-Disposition: form-data; name="reason"\r\n\r\n\xff\xfe\r\n--x--\r\n',
        "multipart/form-data; boundary=x",
        400,
    ),
    "another alphabet": (b"reason=a", f"{FORM}; charset=utf-16", 400),
    "too many fields": ("&".join(f"a{n}=1" for n in range(1500)).encode(), FORM, 400),
    "too many bytes": (b"reason=" + b"x" * (1100 * 1024), FORM, 413),
}
OF_EACH = {"nothing": None, "blanks": " \u2003", "a NUL": "a\0b", "another kind": "\u0663", "too much": HUGE}
BUTTONS = {
    *("operations/<uuid:uid>/check/", "operations/<uuid:uid>/undo/", "cases/<uuid:uid>/wake/"),
    *("views/<uuid:uid>/delete/", "compare/forget/", "compare/example/", "runs/histories/<uuid:uid>/check/"),
    *("compare/columns/", "runs/plans/<slug:name>/run/", "periods/<uuid:uid>/run/", "you/"),
    "deliveries/<uuid:uid>/again/",
}
"""What needs no field: which one it is about stands in its address, or is one's own."""
TOLD = re.compile(
    r'class="[^"]*\b(?:said|wrong)\b[^"]*"[^>]*>\s*(?:<[^>]+>\s*)*[^<\s]|there is nothing to give'
)


def posted(client: Client, address: str, body: bytes, kind: str = FORM) -> Any:
    """Post it as a browser does that has the page: with the token of its cookie."""
    token = client.cookies["csrftoken"].value if "csrftoken" in client.cookies else ""
    return client.generic("POST", address, body, content_type=kind, HTTP_X_CSRFTOKEN=token)


def encoded(form: Form) -> bytes:
    return urlencode({name: value for name, value in form.items() if value is not None}, doseq=True).encode()


def words(client: Client, answer: Any) -> str:
    """What the answer shows, or the page that it leads to."""
    shown = client.get(answer["Location"]) if answer.status_code in (302, 303) else answer
    return shown.content.decode() if not shown.streaming else ""


def unknown(address: str) -> Iterator[str]:
    """The same address of things that are not there."""
    yield re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", str(uuid.UUID(int=0)), address)
    for number in (0, 2**31, 2**63, 10**30):
        yield re.sub(r"/\d+/", f"/{number}/", address)


def ready(place: Place, route: str) -> tuple[Client, str, Form]:
    """Whoever may, at the address, with the whole form and the page's token."""
    door = DOORS[route]
    name = door.may[0] if door.may else "ann"
    address, form = door.scene(place, name)
    form = {"reason": "I want to.", "command_id": str(uuid.uuid4()), **form}
    client = browser_of(name, csrf=True)
    client.get("/you/")
    return client, address.partition("?")[0], {n: v for n, v in form.items() if not hasattr(v, "read")}


def kept(text: str) -> list[str]:
    """The tables that hold a text."""
    tables = [name for name in connection.introspection.table_names() if name.startswith(COUNTED)]
    one = "SELECT '{0}' FROM {0} AS row WHERE row::text LIKE %s"
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(one.format(name) for name in tables), [f"%{text}%"] * len(tables))
        return [row[0] for row in cursor.fetchall()]


def no_forms(client: Client, address: str) -> list[str]:
    """Send what is no form; return what was refused without a word."""
    silent = []
    for what, (body, kind, status) in NO_FORM.items():
        if address in settings.STREAMED_BODIES and kind.startswith("multipart"):
            continue  # files of any size are taken apart as they come
        answer = posted(client, address, body, kind)
        assert answer.status_code in ((status,) if status else range(500)), (what, answer)
        if status and re.fullmatch(r"\s*|.*Bad Request.*", answer.content.decode(), re.DOTALL):
            silent.append(what)
    return silent


def garbage(client: Client, address: str, form: Form, *, free: bool) -> list[str]:
    """Send a form of garbage alone; return what was refused without a word. `free`: any text would do."""
    silent = []
    for what, value in OF_EACH.items():
        if free and what == "another kind":
            continue
        answer = posted(client, address, encoded(dict.fromkeys(form, value)))
        assert answer.status_code < 500, (what, answer)
        if not TOLD.search(words(client, answer)):
            silent.append(what)
    return silent


@pytest.mark.parametrize("route", DECIDED + OWN)
def test_garbage_is_refused_in_words_and_changes_nothing(place: Place, route: str) -> None:
    client, address, form = ready(place, route)
    before = rows()
    silent = no_forms(client, address)
    for other in {*unknown(address)} - {address}:
        answer = posted(client, other, encoded(form))
        refused = answer.status_code == 404 or TOLD.search(words(client, answer)) or route in OWN
        assert refused and answer.status_code < 500, (other, answer)
    unsaid = garbage(client, address, form, free=route == "views/")
    if route not in BUTTONS:
        assert rows() == before
    assert silent + ([] if route in OWN or route in BUTTONS else unsaid) == []
    for name in form:
        for value in (None, "a\0b"):
            answer = posted(client, address, encoded({**form, name: value}))
            assert answer.status_code < 500, (name, value, answer)
    assert kept(HUGE[:1100]) == []
