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
class Call:
    """One address with one method."""

    name: str
    method: str
    path: str
    summary: str
    words: str
    fields: list[Field]
    examples: list[Example]
    answers: list[tuple[str, str]]
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
    for path, methods in schema["paths"].items():
        for method, told in methods.items():
            yield Call(
                name=told["operationId"],
                method=method.upper(),
                path=path,
                summary=told["summary"],
                words=told.get("description", ""),
                fields=[_field(one) for one in told.get("parameters", [])],
                examples=list(_examples(told)),
                answers=[(status, one["description"]) for status, one in told["responses"].items()],
                signed="security" not in told,
            )


def _field(told: dict[str, Any]) -> Field:
    words = told.get("description") or told["schema"].get("description") or ""
    return Field(told["name"], told["in"], words, bool(told.get("required")))


def _examples(told: dict[str, Any]) -> Iterator[Example]:
    body = told.get("requestBody", {}).get("content", {}).get(JSON, {})
    for one in body.get("examples", {}).values():
        yield Example(one["summary"], json.dumps(one["value"], indent=2, ensure_ascii=False))
