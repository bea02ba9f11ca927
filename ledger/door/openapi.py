"""The OpenAPI document: each status that an address answers, its media type, its headers, and examples."""

from typing import Any

from django.views.decorators.http import conditional_page
from ninja import NinjaAPI
from ninja.openapi.schema import OpenAPISchema
from ninja.operation import Operation
from pydantic import BaseModel

from ledger.door.examples import ANSWERS, REQUESTS, problem_example
from ledger.door.problems import CONTENT_TYPE
from ledger.door.refusals import BY_TOKEN, SERVED, Kinds, by_status
from ledger.door.schemas import AnswerOut, ProblemOut
from ledger.door.words import MEMBERS, PARAMETERS, SUCCESSES
from ledger.rules import errors

JSON = "application/json"
KEY_HEADER: dict[str, Any] = {
    "parameters": [
        {
            "in": "header",
            "name": "Idempotency-Key",
            "required": False,
            "schema": {"type": "string", "minLength": 1, "maxLength": 200},
            "description": 'The operation\'s key, instead of "key" in the body or the same as it; once.',
        }
    ]
}
ANY_EVENT: dict[str, Any] = {
    "requestBody": {
        "description": "The event as the destination sends it, with its signature in headers of its own.",
        "required": True,
        "content": {JSON: {"schema": {"type": "object"}}},
    }
}
BY_THE_SERVER = {
    414: "The address is over 8,190 bytes; the web server says so in HTML.",
    431: "The headers are over 8 KiB; the web server says so in HTML.",
}
"""Refusals that no code of ours sees."""
_REFUSES = "x-refuses"
"""Where the kinds of an address wait in its part of the document until it is built."""

_RETRY_AFTER = {
    "description": "In how many seconds to ask again.",
    "schema": {"type": "integer", "minimum": 1},
}
_REPLAYED = {"description": "The answer was known before.", "schema": {"type": "string", "enum": ["true"]}}
_CHALLENGE = {"description": "How to say who calls.", "schema": {"type": "string"}}
_HEADERS: dict[int, dict[str, Any]] = {
    401: {"WWW-Authenticate": _CHALLENGE},
    **{status: {"Retry-After": _RETRY_AFTER} for status in (408, 409, 429, 503)},
}
_TOKEN = {"token": "$response.body#/attempt/token"}
_OF_ATTEMPT = {
    name: {"operationId": name, "parameters": {"uid": "$response.body#/attempt/id"}, "requestBody": _TOKEN}
    for name in ("start", "heartbeat", "outcome")
}
_OF_OPERATION = {
    name: {"operationId": name, "parameters": {"uid": "$response.body#/operation/id"}}
    for name in ("read", "correct")
}
_LINKS: dict[tuple[str, int], dict[str, Any]] = {
    ("submit", 202): _OF_OPERATION,
    ("claim", 201): _OF_ATTEMPT | _OF_OPERATION,
    ("find", 200): {"find": {"operationId": "find", "parameters": {"cursor": "$response.body#/next_cursor"}}},
}


def answering(
    *statuses: int,
    schema: type[BaseModel] = AnswerOut,
    refusing: Kinds = (),
    signed: bool = False,
    extra: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Return what an address answers, for its decorator: successes, refusals of every address and its own.

    `signed`: whoever calls signs, and has no token. `extra` is more of its part of the document.
    """
    kinds = by_status((*SERVED, *(() if signed else BY_TOKEN), *refusing))
    refusals = dict.fromkeys(kinds, ProblemOut) | dict.fromkeys(BY_THE_SERVER)
    return {
        "response": dict.fromkeys(statuses, schema) | dict(sorted(refusals.items())),
        "openapi_extra": {**(extra or {}), _REFUSES: kinds},
    }


class Documented(NinjaAPI):
    """Ninja's API, which writes every error as application/json, told better."""

    def __init__(self, **options: Any) -> None:
        super().__init__(docs_decorator=conditional_page, **options)
        self._built: dict[str, OpenAPISchema] = {}

    def get_openapi_operation_id(self, operation: Operation) -> str:
        """Return the view's own name."""
        return operation.view_func.__name__

    def get_openapi_schema(self, **options: Any) -> OpenAPISchema:
        """Return the OpenAPI document with problem documents under their own media type.

        It is built once in a process: that takes up to a second, and anybody may ask. Treat it as read only.
        """
        asked = repr(sorted(options.items()))
        if asked not in self._built:
            self._built[asked] = self._build(**options)
        return self._built[asked]

    def _build(self, **options: Any) -> OpenAPISchema:
        schema = super().get_openapi_schema(**options)
        for path, methods in schema["paths"].items():
            for method, operation in methods.items():
                kinds = operation.pop(_REFUSES)
                _tell_request(operation, path)
                for status, answer in operation["responses"].items():
                    _tell_answer(
                        answer, int(status), operation["operationId"], writes=method == "post", kinds=kinds
                    )
        _tell_members(schema["components"]["schemas"])
        return schema


def _tell_request(operation: dict[str, Any], path: str) -> None:
    above = path.partition("/{")[0].rpartition("/")[2]
    for parameter in operation.get("parameters", []):
        parameter["schema"] = _never_null(parameter["schema"])
        if "description" not in parameter:
            parameter["description"] = PARAMETERS[above if parameter["in"] == "path" else parameter["name"]]
    if operation["operationId"] in REQUESTS:  # another floor brings its own with it
        operation["requestBody"]["content"][JSON]["examples"] = REQUESTS[operation["operationId"]]


def _never_null(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter: what stands in an address may be left out, and is never null."""
    ways = [way for way in schema.get("anyOf", []) if way.get("type") != "null"]
    if len(ways) != 1:
        return schema
    said = {name: value for name, value in schema.items() if name not in ("anyOf", "default")}
    return {**said, **ways[0]}


def _tell_members(schemas: dict[str, Any]) -> None:
    """Say of members what they are, where their own place says nothing."""
    for (name, member), words in MEMBERS.items():
        schemas[name]["properties"][member].setdefault("description", words)


def _tell_answer(
    answer: dict[str, Any],
    status: int,
    name: str,
    *,
    writes: bool,
    kinds: dict[int, list[type[errors.TieoutError]]],
) -> None:
    if status in BY_THE_SERVER:
        answer["content"] = {"text/html": {}}
        answer["description"] = BY_THE_SERVER[status]
    elif status >= 400:
        told = {kind.type: problem_example(kind) for kind in kinds[status]}
        answer["content"] = {CONTENT_TYPE: {**answer["content"].pop(JSON), "examples": told}}
        answer["description"] = ", ".join(told)
    else:
        answer["description"] = SUCCESSES.get((name, status), answer["description"])
        if (name, status) in ANSWERS:
            answer["content"][JSON]["example"] = ANSWERS[name, status]
    headers = {"Retry-After": _RETRY_AFTER, "Idempotent-Replayed": _REPLAYED} if writes else {}
    headers = _HEADERS.get(status, {}) if status >= 400 else headers
    if headers:
        answer["headers"] = headers
    if (name, status) in _LINKS:
        answer["links"] = _LINKS[name, status]
