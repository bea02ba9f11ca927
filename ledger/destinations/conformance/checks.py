"""What a connector must do in each scene, and whether it does."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ledger.destinations.conformance import calling
from ledger.destinations.conformance.calling import Called, Subject
from ledger.destinations.conformance.doubles import KEY
from ledger.destinations.conformance.scenes import PAGES, REFUSALS, Double, Held, Play, Scene, Stage
from ledger.destinations.connectors.base import ConfigurationError, IncompletePull
from ledger.destinations.connectors.guarded import Unusable
from ledger.rules.outcomes import Report, classify
from ledger.rules.records import Found, judge
from ledger.rules.states import Outcome, Verdict

OURS, OTHER, ANOTHER = Held(KEY, 1), Held("conformance/2", 2), Held("conformance/3", 3)
TROUBLES = (
    *(Scene.REFUSES, Scene.RESETS, Scene.SILENT, Scene.DRIPS),
    *(Scene.GARBLES, Scene.FAILS, Scene.BREAKS_OFF),
)
"""What goes wrong at a step of a send."""
FAILED = 500
HELD, BROKEN, UNPLAYED = "holds", "does not hold", "was not played"


@dataclass(frozen=True)
class Result:
    """One thing that must hold, whether it does, and what was seen where it does not."""

    name: str
    verdict: str
    why: str = ""


class _Unplayed(Exception):
    """A double does not play a scene."""


def check(subject: Subject, double: Double) -> Iterator[Result]:
    """Yield what holds: look-ups and lists first; sends only at an account for tests.

    Where a look-up goes says nothing of where a send goes, so the double alone makes no send safe.
    """
    if subject.calls.lookup is not None:
        yield from _look_ups(subject, double)
    if subject.calls.list is not None:
        yield from _lists(subject, double)
    if subject.calls.send is not None:
        if subject.may_send:
            yield from _sends(subject, double)
        else:
            why = (
                "a send might go to the real destination; where it is an account for tests, say drills = true"
            )
            yield Result("sends", UNPLAYED, why)


def _judged(
    name: str,
    play: Play,
    double: Double,
    *,
    subject: Subject,
    call: Callable[..., Called],
    why: Callable[..., str],
) -> tuple[Result, Stage | None]:
    """Play one scene to one call; `why` says what is wrong with what came of it, or nothing."""
    if play.scene not in double.scenes:
        return Result(name, UNPLAYED, "this double does not play it"), None
    try:
        with double.playing(play, subject.target) as stage:
            called = call(subject, stage)
            wrong = _wrong_anyway(called, stage, subject, asked=play.asked) or why(called, stage)
    except ConfigurationError as error:
        return Result(name, UNPLAYED, error.detail), None
    if stage.trouble:
        return Result(name, UNPLAYED, stage.trouble), stage
    return Result(name, BROKEN if wrong else HELD, wrong), stage


def _wrong_anyway(called: Called, stage: Stage, subject: Subject, *, asked: str) -> str:
    """Say what is wrong whatever was asked."""
    if called.late:
        return f"it had not ended {calling.LATE_S:g} s after its deadline of {calling.TIMEOUT_S:g} s"
    if called.left_open or stage.in_transaction:
        return "it has a transaction of Tieout's database open while it calls"
    if any(secret in called.shown for secret in subject.secrets):
        return "a secret stands in its repr, its words or a place"
    if isinstance(called.error, Unusable):
        return str(called.error)
    if called.error is not None and not (asked == "list" and isinstance(called.error, IncompletePull)):
        return f"it raised {type(called.error).__name__}"
    return ""


# --- sends


def _sends(subject: Subject, double: Double) -> Iterator[Result]:
    def play(scene: Scene, at: int = 1) -> Play:
        return Play(scene, "send", at=at)

    def answered(called: Called, stage: Stage) -> str:
        outcome = _report(subject, called).outcome
        return "" if outcome is Outcome.SUCCEEDED else f"its answer proves {outcome}, not succeeded"

    name = "send: what is answered is succeeded"
    result, stage = _judged(
        name, play(Scene.ANSWERS), double, subject=subject, call=calling.send, why=answered
    )
    yield result
    if stage is None or result.verdict != HELD:
        return
    steps = list(stage.requests)
    for at, (step, _) in enumerate(steps or [("the request", True)], start=1):
        last = at == max(len(steps), 1)
        for scene in TROUBLES if last else (Scene.REFUSES, Scene.RESETS, Scene.FAILS):
            name = f"send: step {at}, {step}: {scene.value}"
            why = _after(subject, scene, steps, at=at)
            yield _judged(name, play(scene, at), double, subject=subject, call=calling.send, why=why)[0]
    yield _again(subject, double, steps)


def _after(subject: Subject, scene: Scene, steps: list[tuple[str, bool]], *, at: int) -> Callable[..., str]:
    """Return what judges a send whose step went wrong."""

    listed = {*subject.contract.not_done, *subject.contract.rejected}

    def why(called: Called, stage: Stage) -> str:
        if scene is Scene.FAILS and FAILED in listed:
            return ""  # by this contract it proves that nothing was done
        if len(stage.requests) > at - (scene is Scene.REFUSES) and at == len(steps):
            return "it asks again by itself; tries belong to Tieout"
        outcome = _report(subject, called).outcome
        if stage.made and outcome not in (Outcome.UNCERTAIN, Outcome.ACCEPTED):
            return f"a request that may have made something was there, and it proves {outcome}, not uncertain"
        if not stage.made and outcome in (Outcome.SUCCEEDED, Outcome.ACCEPTED):
            return f"nothing that makes anything was sent, and it proves {outcome}"
        return ""

    return why


def _again(subject: Subject, double: Double, steps: list[tuple[str, bool]]) -> Result:
    """Send once with its last step reset, and then again: what the first one used up is not used again."""
    name = "send: the next one works after one that went wrong"
    play = Play(Scene.RESETS, "send", at=max(len(steps), 1))

    def twice(subject: Subject, stage: Stage) -> Called:
        calling.send(subject, stage)
        return calling.send(subject, stage)

    def why(called: Called, stage: Stage) -> str:
        outcome = _report(subject, called).outcome
        return "" if outcome is Outcome.SUCCEEDED else f"the next send proves {outcome}, not succeeded"

    return _judged(name, play, double, subject=subject, call=twice, why=why)[0]


def _report(subject: Subject, called: Called) -> Report:
    return classify(
        called.value,
        contract=subject.contract,
        map=subject.calls.record,
        reference=KEY,
        amount=None,
        currency=None,
        call=subject.calls.send,
    )


# --- look-ups


def _deaf(subject: Subject) -> list[Scene]:
    """Return the scenes in which a question is not answered; a listed absence is an answer, a page none."""
    refusals = (scene for scene, status in REFUSALS.items() if status not in subject.contract.absent)
    return [*TROUBLES, *refusals, *PAGES]


def _look_ups(subject: Subject, double: Double) -> Iterator[Result]:
    def one(name: str, play: Play, *allowed: Verdict) -> Result:
        def why(called: Called, stage: Stage) -> str:
            verdict = _found(subject, called).verdict
            return "" if verdict in allowed else f"it says {verdict}"

        result, stage = _judged(name, play, double, subject=subject, call=calling.look_up, why=why)
        steps.append(len(stage.requests) if stage is not None else 0)
        return result

    steps: list[int] = []
    everything = (OTHER, ANOTHER, OURS)
    blind = Verdict.COULD_NOT_LOOK
    yield one(
        "look-up: one that is there is found", Play(Scene.ANSWERS, "look_up", (OURS,)), Verdict.ONE_MATCH
    )
    yield one(
        "look-up: one that is not there is absent", Play(Scene.ANSWERS, "look_up", (OTHER,)), Verdict.ABSENT
    )
    ignoring = Play(Scene.ANSWERS, "look_up", everything, ignores_filter=True)
    yield one(
        "look-up: of all records, ours is found, or it could not look", ignoring, Verdict.ONE_MATCH, blind
    )
    pages = steps[-1]
    others = Play(Scene.ANSWERS, "look_up", (OTHER, ANOTHER), ignores_filter=True)
    yield one("look-up: records of others are not taken for ours", others, Verdict.ABSENT, blind)
    for scene in _deaf(subject):
        play = Play(scene, "look_up", (OURS,))
        yield one(f"look-up: it could not look where the destination {scene.value}", play, blind)
    if pages > 1:
        for scene in (Scene.RESETS, Scene.BREAKS_OFF, Scene.GARBLES):
            play = Play(scene, "look_up", everything, at=pages, ignores_filter=True)
            yield one(f"look-up: it could not look where page {pages} {scene.value}", play, blind)
        play = Play(Scene.RESTARTS, "look_up", everything, ignores_filter=True)
        yield one("look-up: it could not look where the list starts again", play, blind)


def _found(subject: Subject, called: Called) -> Found:
    assert subject.calls.record is not None  # nothing is looked up without
    looked = called.value
    return judge(
        looked.items,
        map=subject.calls.record,
        reference=KEY,
        amount=None,
        currency=None,
        complete=looked.complete,
        why=looked.why,
        single_page=looked.single_page,
    )


# --- lists


def _lists(subject: Subject, double: Double) -> Iterator[Result]:
    held = (OTHER, ANOTHER, OURS)

    def one(name: str, play: Play, why: Callable[..., str]) -> tuple[Result, Stage | None]:
        return _judged(name, play, double, subject=subject, call=calling.pull, why=why)

    def whole(called: Called, stage: Stage) -> str:
        if called.error is not None:
            return f"it says that it was not read to its end: {called.error}"
        return "" if len(called.value) == len(held) else f"{len(called.value)} of {len(held)} records came"

    def broken(called: Called, stage: Stage) -> str:
        return "" if isinstance(called.error, IncompletePull) else "it ends as if it were whole"

    result, stage = one("list: it is read to its end", Play(Scene.ANSWERS, "list", held), whole)
    yield result
    for scene in _deaf(subject):
        yield one(
            f"list: it is not whole where the destination {scene.value}", Play(scene, "list", held), broken
        )[0]
    pages = len(stage.requests) if stage is not None and result.verdict == HELD else 0
    if pages > 1:
        for scene in (Scene.RESETS, Scene.BREAKS_OFF, Scene.GARBLES, Scene.FAILS):
            play = Play(scene, "list", held, at=pages)
            yield one(f"list: it is not whole where page {pages} {scene.value}", play, broken)[0]
        yield one("list: it is not whole where it starts again", Play(Scene.RESTARTS, "list", held), broken)[
            0
        ]
        yield _goes_on(subject, double, held)


def _goes_on(subject: Subject, double: Double, held: tuple[Held, ...]) -> Result:
    """Go on from the place of the first page, as another process would."""

    def after_the_first(subject: Subject, stage: Stage) -> Called:
        whole = calling.pull(subject, stage)
        place = whole.places[0] if whole.places else None
        return whole if place is None else calling.pull(subject, stage, place)

    def why(called: Called, stage: Stage) -> str:
        came = 0 if called.error is not None else len(called.value)
        if called.places and called.places[0] is None and came == len(held):
            return ""  # it has no places, and is begun anew
        return (
            "" if 0 < came < len(held) else f"{came} records came after the first page of {len(held)} in all"
        )

    play = Play(Scene.ANSWERS, "list", held)
    name = "list: it goes on from a place, or begins anew"
    return _judged(name, play, double, subject=subject, call=after_the_first, why=why)[0]
