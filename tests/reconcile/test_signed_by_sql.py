"""Past every action: who prepares is somebody who decides, and what is signed is what the run came to."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.db.utils import DatabaseError

from reconcile.signing import freezing
from tests.databases import Clock
from tests.people import person
from tests.reconcile.books import Books
from tests.reconcile.signatures import prepared
from tests.reconcile.test_signing import REFUSED, by_sql, inserted, listed  # noqa: F401  # the fixture


def test_a_run_is_prepared_by_an_open_account_that_decides(listed: Books) -> None:  # noqa: F811
    run, _ = listed.run()
    for name in ("vic", "ada", "ira", "kim"):
        person(name)
    User.objects.filter(username="kim").update(is_active=False)
    for maker in ("ghost", "vic", "ada", "ira", "kim", "ANN"):
        with pytest.raises(REFUSED, match="prepared by somebody whose account is open and decides"):
            inserted(run, maker=maker)
    inserted(run, maker="bob")


def test_what_is_signed_is_the_runs_own_row_and_its_people(listed: Books, clock: Clock) -> None:  # noqa: F811
    one = prepared(listed.run()[0])
    clock.advance(60)
    now = clock.now()
    whole = freezing.frozen(one, signer="bob", why="", now=now)
    (still,) = whole["open"]
    others: list[dict[str, Any]] = [
        {"residual": {"ZAR": "5.00"}},
        {"totals": whole["totals"] | {"items": 7}},
        {"classes": {}},
        {"run": one.run_id + 1},
        {"provenance": whole["provenance"] | {"digest": "0" * 64}},
        {"tie_out": whole["tie_out"] | {"destination": {}}},
        {"tie_out": {}},
        {"open": []},
        {"open": [still, still]},
        {"open": [still | {"amount": "1.00"}]},
        {"open": [still | {"reference": "other"}]},
        {"prepared": whole["prepared"] | {"by": "eve"}},
        {"signed": whole["signed"] | {"by": "eve"}},
        {"signed": whole["signed"] | {"at": (now - timedelta(days=1)).isoformat()}},
    ]
    for other in others:
        with pytest.raises(REFUSED, match="what is signed is what the run came to"):
            by_sql(one, signed=whole | other, decided_at=now)
    for missing in whole.keys() - {"open", "tie_out", "digest"}:
        with pytest.raises(REFUSED, match="what is signed is what the run came to"):
            by_sql(one, signed={name: whole[name] for name in whole.keys() - {missing}}, decided_at=now)
    odd: list[dict[str, Any]] = [
        {"signed": {"digest": one.digest}},
        {"signed": whole | {"open": {}}},
        {"signed_digest": "x" * 64},
        {"decided_at": one.made_at - timedelta(seconds=1)},
        {"decided_at": now + timedelta(days=2)},
    ]
    for change in odd:
        with pytest.raises(REFUSED, match="what is signed is whole, and of now"):
            by_sql(one, **({"decided_at": now} | change))
    clock.set(one.expires_at + timedelta(days=10))
    with pytest.raises(DatabaseError, match="whole, and of now"):
        by_sql(one, decided_at=now)
    clock.set(now)
    by_sql(one)
    one.refresh_from_db()
    assert one.is_signed
