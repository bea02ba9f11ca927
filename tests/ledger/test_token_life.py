"""A token's life: issued for a while, rotated with an overlap, revoked at once; the name stays who it is."""

import uuid
from dataclasses import replace
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from ledger.models import ApiToken, Attempt, Event
from tests.doors import Api, new_key, problem
from tests.doors import api as api
from tests.doors import clock as clock
from tests.doors import database as database
from tests.doors import serving as serving
from tests.processes import Manage


def issued(api: Api, name: str, *arguments: str) -> Api:
    """An automation with the token that the command prints."""
    return replace(api, token=said("issue_key", name, *arguments))


def said(*command: str) -> str:
    out = StringIO()
    call_command(*command, stdout=out)
    return out.getvalue().strip()


def new_name() -> str:
    return f"shop {uuid.uuid4().hex[:8]}"


def refused(api: Api) -> str:
    """The words with which its token is not let in."""
    told = problem(api.claim(new_key()), 401, "unauthenticated")
    assert told["retry"] == "never"
    words: str = told["detail"]
    return words


def let_in(api: Api) -> bool:
    return api.claim(new_key()).status_code == 201


def test_a_token_expires_at_its_time_and_says_so(api: Api) -> None:
    name = new_name()
    shop = issued(api, name, "--expires", "90d")
    api.clock.advance(90 * 86400 - 60)
    assert let_in(shop)
    api.clock.advance(60)
    assert "has expired" in refused(shop)
    with pytest.raises(CommandError, match="has no token that lives"):
        said("revoke_key", name)
    again = issued(api, name)
    assert let_in(again)
    assert "has expired" in refused(shop)


def test_revoking_ends_every_token_of_a_name_at_once(api: Api) -> None:
    name = new_name()
    first, other = issued(api, name), issued(api, new_name())
    second = issued(api, name, "--rotate")
    assert let_in(first) and let_in(second)
    assert said("revoke_key", name) == f"2 tokens of {name} ended: its next request is refused."
    assert "was revoked" in refused(first) and "was revoked" in refused(second)
    assert let_in(other)
    event = Event.objects.filter(kind="key_revoked").latest("pk")
    assert (event.actor, event.reason, event.data) == (
        "revoke_key",
        f"2 API tokens of {name} revoked",
        {"name": name, "ended": 2},
    )
    with pytest.raises(CommandError, match=f"{name} has no token that lives. Tokens live for: "):
        said("revoke_key", name)
    assert let_in(issued(api, name)), "the name is free again"


def test_a_rotated_token_lives_on_for_the_overlap(api: Api) -> None:
    """However long it is.

    | said           | the one before ends  |
    |----------------|----------------------|
    | nothing        | after an hour        |
    | --overlap 10m  | after ten minutes    |
    | --overlap 0    | at once              |
    """
    for overlap, left_s in (((), 3600), (("--overlap", "10m"), 600), (("--overlap", "0"), 0)):
        name = new_name()
        before = issued(api, name)
        after = issued(api, name, "--rotate", *overlap)
        if left_s:
            api.clock.advance(left_s - 30)
            assert let_in(before)
            api.clock.advance(30)
        assert "another one took its place" in refused(before)
        assert let_in(after)


def test_an_overlap_lets_no_token_live_longer_than_it_would_have(api: Api) -> None:
    name = new_name()
    before = issued(api, name, "--expires", "1m")
    after = issued(api, name, "--rotate", "--expires", "2h", "--overlap", "1h")
    row = ApiToken.objects.filter(name=name).earliest("pk")
    assert row.revoked_at == row.expires_at, "as the trail says it"
    api.clock.advance(61)
    assert "has expired" in refused(before)
    assert let_in(after)


def test_the_next_token_has_types_rate_and_length_of_life_of_the_one_before(api: Api) -> None:
    name = new_name()
    issued(api, name, "--type", "reminder.send", "--per-minute", "600", "--expires", "30d")
    api.clock.advance(86400)
    issued(api, name, "--rotate")
    issued(api, name, "--rotate", "--type", "refund.pay", "--per-minute", "60", "--expires", "7d")
    rows = ApiToken.objects.filter(name=name).order_by("pk")
    assert [(row.types, row.per_minute, life_days(row)) for row in rows] == [
        (["reminder.send"], 600, 30),
        (["reminder.send"], 600, 30),
        (["refund.pay"], 60, 7),
    ]
    told = Event.objects.filter(data__name=name).order_by("pk")
    assert [(event.kind, event.actor) for event in told] == [
        ("key_issued", "issue_key"),
        ("key_rotated", "issue_key"),
        ("key_rotated", "issue_key"),
    ]
    assert told[1].data == {
        "name": name,
        "types": ["reminder.send"],
        "per_minute": 600,
        "expires_at": rows[1].expires_at.isoformat() if rows[1].expires_at else None,
    }
    assert "the one before ends at" in told[1].reason


def life_days(token: ApiToken) -> float:
    assert token.expires_at is not None
    return (token.expires_at - token.created_at).total_seconds() / 86400


def test_after_a_rotation_the_automation_is_still_the_same(api: Api) -> None:
    """A claim begun with the old token is repeated, started and finished with the new one."""
    name, key, attempt_id = new_name(), new_key(), str(uuid.uuid4())
    before = issued(api, name)
    first = before.claimed(key, attempt_id=attempt_id)
    after = issued(api, name, "--rotate", "--overlap", "0")
    again = after.claim(key, attempt_id=attempt_id)
    assert (again.status_code, again.json()["attempt"]["id"]) == (200, first["id"])
    held = again.json()["attempt"]
    assert after.start(held).status_code == 200
    assert after.outcome(held, "succeeded").json()["decision"] == "skip"
    assert Attempt.objects.get(uid=held["id"]).actor == f"api:{name}"
    stranger = issued(api, new_name())
    problem(stranger.claim(new_key(), attempt_id=attempt_id), 409, "attempt-id-elsewhere")


def test_what_cannot_be_is_refused_in_words_and_changes_nothing(api: Api) -> None:
    name, before = new_name(), ApiToken.objects.count()
    for arguments, words in (
        (("--rotate",), "has no token to rotate"),
        (("--overlap", "1h"), "--overlap belongs to --rotate"),
        (("--expires", "soon"), 'write a duration such as "30s"'),
        (("--expires", "0"), "give 90d, say"),
        (("--per-minute", "0"), "no whole number from 1 to 1000000"),
    ):
        with pytest.raises(CommandError, match=words):
            said("issue_key", name, *arguments)
    assert ApiToken.objects.count() == before


def test_a_typing_error_in_a_name_is_told(api: Api, run_manage: Manage) -> None:
    name = new_name()
    issued(api, name)
    done = run_manage("revoke_key", name[:-1], check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert f"Tokens live for: {name}" in done.stderr
    assert "Traceback" not in done.stderr
