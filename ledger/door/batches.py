"""Batches: each item is read, acted on and answered by itself, in the words that it would have got alone."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from django.http import HttpRequest, HttpResponse
from pydantic import ValidationError

from ledger import actions
from ledger.actions import Reply, Submission, Told, statements
from ledger.door import answers, auth, problems, replies, wrongs
from ledger.door.schemas import AttemptOutcomeIn, ClaimIn, Taken
from ledger.rules.errors import Conflict, Malformed, TieoutError

Given = TypeVar("Given")
Taking = TypeVar("Taking")
Body = TypeVar("Body", bound=Taken)

Item = dict[str, Any]
"""The members of one item's answer, without its index."""
Say = Callable[[HttpRequest, Reply], Item]
"""Writes a reply's members; raises the refusal that it is."""


def claims(request: HttpRequest, items: Sequence[object]) -> HttpResponse:
    """Claim every item, and answer each."""

    def read(item: object) -> Submission:
        handed = _read(ClaimIn, item)
        replies.require(request, handed)
        return replies.submission(handed, handed.key)

    good, told = _each(request, dict(enumerate(items)), read)
    answered = actions.claim_all([*good.values()], actor=auth.actor(request))
    for index, answer in zip(good, answered, strict=True):
        told[index] = _item(request, answer, replies.claimed)
    return _respond(told)


def outcomes(request: HttpRequest, items: Sequence[object]) -> HttpResponse:
    """Record every item, and answer each."""
    handed, told = _each(request, dict(enumerate(items)), lambda item: _read(AttemptOutcomeIn, item))
    asked = {"uids": [one.attempt for one in handed.values()]}
    owners = {row["uid"]: row for row in statements.run_for_all("attempts", asked)}

    def admitted(one: AttemptOutcomeIn) -> Told:
        replies.admit(request, owners.get(one.attempt))
        return Told(one.attempt, one.token, one.report())

    good, refused = _each(request, handed, admitted)
    answered = actions.record_all([*good.values()], actor=auth.actor(request))
    for (index, one), answer in zip(good.items(), answered, strict=True):
        about = owners[one.attempt_uid]["operation_id"]
        told[index] = _item(request, answer, replies.members, about=about)
    return _respond(told | refused)


def _each(
    request: HttpRequest, items: Mapping[int, Given], take: Callable[[Given], Taking]
) -> tuple[dict[int, Taking], dict[int, Item]]:
    """Return what was taken of each item by its index, and how the others are refused."""
    taken: dict[int, Taking] = {}
    refused: dict[int, Item] = {}
    for index, item in items.items():
        try:
            taken[index] = take(item)
        except TieoutError as refusal:
            refused[index] = problems.members(problems.told(request, refusal))
    return taken, refused


def _read(body: type[Body], item: object) -> Body:
    """Read an item as the body of a single call; raises what is wrong with it, Malformed with the members."""
    if isinstance(item, TieoutError):
        raise item
    if not isinstance(item, dict):
        raise Malformed("The item must be a JSON object, as {…}.")
    try:
        return body.model_validate(item)
    except ValidationError as error:
        # As ninja says it of a body.
        found = [{**one, "loc": ("body", "item", *one["loc"])} for one in error.errors(include_url=False)]
        raise wrongs.malformed(found) from None


def _item(request: HttpRequest, answer: Reply | Exception, say: Say, *, about: int | None = None) -> Item:
    """Return what an item is told; a conflict carries the operation that it is about, by its number."""
    try:
        if isinstance(answer, Conflict) and about is not None:
            replies.carry(answer, about)
        if isinstance(answer, Exception):
            raise answer
        return {"status": replies.status(answer), **say(request, answer)}
    except Exception as error:  # noqa: BLE001  # each is told as it would have been alone
        return problems.members(problems.told(request, error))


def _respond(told: Mapping[int, Item]) -> HttpResponse:
    return answers.respond({"items": [{"index": index, **told[index]} for index in range(len(told))]})
