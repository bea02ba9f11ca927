"""Each refusal has its own status and type, and a document that a program and a person can act on."""

import re

import pytest

from ledger.rules.errors import OnHold, PayloadChanged, TieoutError, kinds


def test_known_failure_14_each_refusal_has_a_type_of_its_own() -> None:
    types = [kind.type for kind in kinds()]
    assert len(types) == len(set(types))
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", slug) for slug in types)


def test_every_kind_says_when_to_try_again() -> None:
    assert {kind.retry for kind in kinds()} == {"wait", "never", "after-review"}
    assert all(400 <= kind.status <= 503 and kind.title and kind.__doc__ for kind in kinds())


def test_every_type_that_callers_rely_on_has_its_status() -> None:
    statuses = {kind.type: kind.status for kind in kinds()}
    expected = {
        400: "malformed unknown-member amount-not-text too-many-decimals duplicate-member key-missing "
        "key-differs two-keys number-not-exact unknown-currency key-malformed",
        401: "unauthenticated",
        403: "type-not-allowed",
        404: "not-found",
        409: "wrong-door in-flight waiting on-hold stale-token outcome-differs started-elsewhere "
        "attempt-id-elsewhere lost-race",
        413: "too-large",
        422: "payload-changed",
    }
    for status, types in expected.items():
        assert {statuses[slug] for slug in types.split()} == {status}


def test_only_a_changed_payload_is_422() -> None:
    assert [kind for kind in kinds() if kind.status == 422] == [PayloadChanged]


def test_a_problem_document_carries_its_further_members() -> None:
    error = OnHold("A person decides.", decision="hold", case="/operations/7/")
    assert error.problem() == {
        "type": "/problems/on-hold",
        "title": "A person has to decide first",
        "status": 409,
        "detail": "A person decides.",
        "retry": "after-review",
        "decision": "hold",
        "case": "/operations/7/",
    }
    assert str(error) == "A person decides."


def test_a_further_member_cannot_replace_the_status() -> None:
    with pytest.raises(TypeError, match="status"):
        TieoutError("No.", status=200)
