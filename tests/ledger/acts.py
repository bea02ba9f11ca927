"""What may happen in a story, and how often: acts with their own odds, and destinations of every kind."""

from typing import Any

from hypothesis import strategies as st

from tests.ledger.coming_first import MOVES
from tests.ledger.stage import WORKER
from tests.ledger.world import FATES, Request

one_of = st.sampled_from
# How long a key is remembered (None: none is taken), and what the look-up is worth.
destinations = one_of(
    [
        ("24h", "none"),
        ("24h", "none"),
        ("24h", "none"),
        ("1h", "none"),
        ("24h", "proved"),
        ("1h", "unproved"),
        ("24h", "wrong"),
        ("unknown", "proved"),
        ("unknown", "none"),
        (None, "proved"),
        (None, "proved"),
        (None, "proved"),
        (None, "unproved"),
        (None, "wrong"),
        (None, "none"),
    ]
)
breaks_off = one_of([None, None, None, 0, 1])
rarely = one_of([False] * 9 + [True])
sometimes = one_of([False, True])
mostly = one_of([True, True, False])
requests = st.builds(
    Request,
    fate=one_of(["made", "made", "unsent", *FATES]),
    lands_after_s=one_of([0, 0, 2, 1000]),
    shown_after_s=one_of([0, 0, 2, 1000]),
    answered=st.booleans(),
)


# What may come next, and how often. Each has its own odds: most orders of rare acts alone come to nothing.
ACTS: list[tuple[int, str, dict[str, st.SearchStrategy[Any]]]] = [
    (
        3,
        "try_it",
        {"request": requests, "items_max": breaks_off, "answer_lost": sometimes, "afresh": sometimes},
    ),
    (
        3,
        "try_it_among_others",
        {
            "request": requests,
            "items_max": breaks_off,
            "answer_lost": sometimes,
            "takes_s": one_of([0.5, 11, 50, 70]),
            "intruder": st.integers(0, 3),
            "reports": mostly,
        },
    ),
    (2, "allow_and_try_it", {"request": requests, "items_max": breaks_off, "saw": breaks_off}),
    (
        2,
        "one_step_of_a_try",
        {
            "own_id": sometimes,
            "answer_lost": sometimes,
            "lease_s": one_of([None, None, 2, 600]),
            "items_max": breaks_off,
            "request": requests,
            "beats": rarely,
        },
    ),
    (
        2,
        "look_into_it",
        {
            "who": one_of(["sweep", "sweep", WORKER, "ann", "bob"]),
            "items_max": breaks_off,
            "slowly": rarely,
        },
    ),
    (
        1,
        "meanwhile",
        {
            "seconds": one_of([0.5, 4, 31, 61, 301, 1000, 3700, 45000, 90000]),
            "what": one_of(["time", "time", "time", "open", "declined", "void", "by hand", "a run"]),
            "indeed": rarely,
        },
    ),
    (
        1,
        "out_of_turn",
        {
            "number": st.integers(0, 9),
            "what": one_of(
                ["late", "late", "invented", "start", "claim", "beat", "changed", "keep", "press"]
            ),
        },
    ),
    (
        1,
        "a_person_decides",
        {
            "who": one_of(["ann", "bob"]),
            "what": one_of(
                ["allow", "end", "withdraw", "cancel", "attest", "correct", "override", "answer", "answer"]
            ),
            "items_max": one_of([None, None, 0]),
            "looks": mostly,
            "agrees": mostly,
        },
    ),
    (2, "its_draft_moves", {"what": one_of(MOVES), "sweeps": sometimes}),
]
acts = st.one_of(
    [st.tuples(st.just(name), st.fixed_dictionaries(how)) for odds, name, how in ACTS for _ in range(odds)]
)
