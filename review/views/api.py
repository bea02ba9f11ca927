"""The API as a page: every address, what it takes and answers, and a form that tries it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from ledger.door.api import api
from ledger.door.openapi import JSON

ROOT = "/api/v1/"
RECORDED = "It acts for real: what you send is put on record for good."
ACTS = {
    "submit": "It acts for real: Tieout sends this to the destination, and it is on record for good.",
    "claim": "It acts for real: the claim is yours until its lease ends, and it is on record for good.",
    "claim_batch": "It acts for real: each claim is yours until its lease ends, and is on record for good.",
    "correct": "It acts for real: the correction goes out, or is asked for, and it is on record for good.",
    "start_run": "It acts for real: a worker reads the whole list, and puts on record what it finds.",
}
"""What sending a call from the page leads to; every other POST is put on record."""


@dataclass(frozen=True)
class Field:
    """What stands in an address or in a header."""

    name: str
    place: str
    words: str
    required: bool


@dataclass(frozen=True)
class Example:
    """A body that can be sent as it is."""

    words: str
    body: str


@dataclass(frozen=True)
class Answer:
    """One status: what it means, or which kinds of problems have it."""

    status: str
    words: str
    problems: list[tuple[str, str]]


@dataclass(frozen=True)
class Call:
    """One address with one method."""

    name: str
    method: str
    path: str
    summary: str
    words: str
    acts: str
    """What sending it from the page does for real; empty where it only asks."""
    fields: list[Field]
    members: list[Field]
    """What the body may have, those of its objects with dots."""
    examples: list[Example]
    answers: list[Answer]
    signed: bool
    """The destination signs it, so that it cannot be sent by hand."""


@require_safe
def show(request: HttpRequest) -> HttpResponse:
    """Show the OpenAPI document to people; nothing is told here that it does not tell."""
    context = {"section": "api", "calls": _known(), "openapi": reverse("api-1:openapi-json")}
    return render(request, "review/api.html", context)


@cache
def _known() -> list[Call]:
    """Return every address, read once in a process."""
    schema: dict[str, Any] = json.loads(json.dumps(api.get_openapi_schema(path_prefix=ROOT)))
    return list(_calls(schema))


def _calls(schema: dict[str, Any]) -> Iterator[Call]:
    known = schema["components"]["schemas"]
    for path, methods in schema["paths"].items():
        for method, told in methods.items():
            yield Call(
                name=told["operationId"],
                method=method.upper(),
                path=path,
                summary=told["summary"],
                words=told.get("description", ""),
                acts=ACTS.get(told["operationId"], RECORDED) if method == "post" else "",
                fields=[_field(one) for one in told.get("parameters", [])],
                members=list(_members(_body(told).get("schema", {}), known)),
                examples=list(_examples(told)),
                answers=[_answer(status, one) for status, one in told["responses"].items()],
                signed="security" not in told,
            )


def _field(told: dict[str, Any]) -> Field:
    words = told.get("description") or told["schema"].get("description") or ""
    return Field(told["name"], told["in"], words, bool(told.get("required")))


def _body(told: dict[str, Any]) -> dict[str, Any]:
    body: dict[str, Any] = told.get("requestBody", {}).get("content", {}).get(JSON, {})
    return body


def _members(schema: dict[str, Any], known: dict[str, Any], above: str = "") -> Iterator[Field]:
    """Yield the members of a body, and of the objects in it; what an item of a list has stands under it."""
    schema = _followed(schema, known)
    for name, told in schema.get("properties", {}).items():
        inner = _followed(told, known)
        words = told.get("description") or inner.get("description", "")
        yield Field(f"{above}{name}", "body", words, name in schema.get("required", []))
        yield from _members(inner, known, f"{above}{name}.")


def _followed(schema: dict[str, Any], known: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of an object that is referred to, or may be left out; else the schema itself."""
    ways = [schema, *schema.get("anyOf", []), *schema.get("allOf", [])]
    named = next((way["$ref"] for way in ways if "$ref" in way), None)
    return known[named.rpartition("/")[2]] if named else schema


def _answer(status: str, told: dict[str, Any]) -> Answer:
    problems = [
        (kind, one["value"]["title"])
        for content in told.get("content", {}).values()
        for kind, one in content.get("examples", {}).items()
    ]
    return Answer(status, "" if problems else told["description"], problems)


def _examples(told: dict[str, Any]) -> Iterator[Example]:
    for one in _body(told).get("examples", {}).values():
        yield Example(one["summary"], json.dumps(one["value"], indent=2, ensure_ascii=False))
