"""Layered retries, as those who run them say them: read exactly or refused, and multiplied out.

| said                     | calls                                      |
|--------------------------|--------------------------------------------|
| 3 replays                | 4: what comes again after the first        |
| 3 calls                  | 3: the first one counts                    |
| none                     | 1                                          |
| not known                | nobody knows, so nobody knows the product  |
"""

import pytest

from ledger.rules.layers import Layer, calls_of, multiplied


@pytest.mark.parametrize(
    ("said", "who", "calls"),
    [
        ("Zapier: 3 autoreplays", "Zapier", 4),
        ("requests: 1 retry", "requests", 2),
        ("connector: 0 repeats", "connector", 1),
        ("Zapier : 3 Replays in 10 h", "Zapier", 4),
        ("requests: 4 calls", "requests", 4),
        ("cron: 1 attempt", "cron", 1),
        ("cron: 2 tries", "cron", 2),
        ("proxy: none", "proxy", 1),
        ("proxy: Not known", "proxy", None),
    ],
)
def test_a_layer_says_who_and_how_often(said: str, who: str, calls: int | None) -> None:
    assert Layer.read(said) == Layer(who, calls)


@pytest.mark.parametrize(
    "said",
    [
        *(
            "Zapier",
            ": 3 replays",
            "Zapier:",
            "Zapier: some",
            "Zapier: 3",
            "Zapier: 3 hours",
            "Zapier: a few replays",
        ),
        *(
            "Zapier: 0 calls",
            "Zapier: 1000 replays",
            "Zapier: -1 replays",
            "Zapier: 99999 replays",
            "Zapier: none at all",
        ),
    ],
)
def test_what_does_not_say_how_often_is_refused_and_never_guessed(said: str) -> None:
    with pytest.raises(ValueError, match='write "Zapier: 3 replays"'):
        Layer.read(said)


def test_layers_multiply() -> None:
    three, two, none, open_ = (
        Layer.read(said)
        for said in ("platform: 2 replays", "connector: 2 calls", "proxy: none", "cron: not known")
    )
    assert multiplied([three, two]) == "3 by platform × 2 by connector = up to 6 calls for one event"
    assert multiplied([three]) == "3 by platform for one event"
    assert multiplied([none, none]) == "1 by proxy × 1 by proxy = one call for one event"
    assert multiplied([three, open_]) == (
        "3 by platform × not known by cron: how many calls that makes of one event is not known"
    )
    assert (calls_of([three, two]), calls_of([two, open_]), calls_of([])) == (6, None, 1)
