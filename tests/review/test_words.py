"""What the page says in each state, as the product's table has it: no more than is proved.

| state | badge | sentence |
|---|---|---|
| completed | Done | Durban Books confirmed INV-1187 at 09:43. |
| failed | Did not happen | Durban Books refused it: why. Nothing was created. |
| uncertain | May have happened | We sent it at 09:42 and got no answer. It may already exist. |
| several, differs | Done, but doubled / differs | Four invoices carry its reference; three are too many. |
| accepted | Accepted, not final | Durban Books took it at 09:42 and is still working on it. |
| running | In progress | Sent 09:42. Answer expected by 09:43. |
| pending | Waiting | Nothing exists there. |
"""

import re
import uuid
from datetime import UTC, datetime

import pytest

from ledger import actions
from ledger.models import Attempt, Operation
from ledger.rules.drills import Promise, Result, Tried
from ledger.rules.errors import OutcomeDiffers
from ledger.rules.outcomes import Report
from ledger.rules.states import CaseKind, Standing
from ledger.worker.sweep import Sweep
from review.own import EVENTS_SHOWN
from tests import factories, stories
from tests.databases import Clock
from tests.people import browser_of

NINE = datetime(2026, 11, 30, 7, 42, tzinfo=UTC)
"""09:42 in Durban."""


@pytest.fixture
def durban(clock: Clock) -> stories.Durban:
    clock.set(NINE)
    return stories.Durban(clock)


def shown(operation: Operation, who: str = "ann") -> str:
    html = browser_of(who).get(f"/operations/{operation.uid}/").content.decode()
    return re.sub(r"\s+", " ", html.replace("\u00a0", " "))


def says(operation: Operation, *words: str) -> None:
    page = shown(operation)
    for word in words:
        assert word in page


def test_completed(durban: stories.Durban) -> None:
    operation = durban.tried(durban.invoiced(402), stories.done("INV-1187"), after_s=60)
    says(
        operation,
        'data-state="completed" data-verdict=""',
        ">Done<",
        "Durban Books confirmed INV-1187 at 09:43.",
    )
    says(operation, "http://127.0.0.1:8010/invoices/INV-1187", "Open it in Durban Books")


def test_found_by_a_check(durban: stories.Durban) -> None:
    operation = durban.silent(402)
    operation = durban.looked(operation, stories.one(operation, "INV-1187"))
    says(operation, 'data-state="completed" data-verdict="one_match"', "One match: INV-1187")
    says(operation, "Durban Books confirmed INV-1187 at 09:42, by a check.")


def test_refused(durban: stories.Durban) -> None:
    operation = durban.tried(durban.invoiced(455), stories.REFUSED)
    says(operation, 'data-state="failed" data-verdict=""', "Did not happen", "Nothing was created.")


def test_absent_and_long_enough_to_be_sure(durban: stories.Durban) -> None:
    operation = durban.silent(483)
    durban.clock.advance(9 * 60)
    operation = durban.looked(operation, stories.ABSENT)
    says(
        operation,
        'data-state="failed" data-verdict="absent"',
        "Absent, long enough to be sure",
        "We got no answer at 09:42; Durban Books does not hold it (checked 09:51). "
        "Nothing tries it again by itself.",
        "read to its end at",
    )


def test_38_a_timed_out_call_may_have_happened_and_the_first_button_looks_it_up(
    durban: stories.Durban,
) -> None:
    operation = durban.silent(483)
    page = shown(operation)
    assert 'data-state="uncertain" data-verdict=""' in page
    assert "We sent it at 09:42 and got no answer. It may already exist." in page
    assert "Not checked yet" in page
    buttons = re.findall(r'class="btn( primary)?"[^>]*>(?:<span class="idle">)?([^<]+)', page)
    assert buttons[0] == (" primary", "Check Durban Books now")
    assert "failed" not in page.lower().replace('id="failed"', "")
    assert "try again" not in page.lower()


def test_absent_but_too_early(durban: stories.Durban) -> None:
    operation = durban.looked(durban.silent(483), stories.ABSENT)
    says(
        operation,
        'data-state="uncertain"',
        "Absent, but too early to be proof",
        "absence is proof from 09:42:33",
    )


def test_an_early_check_stays_early_once_a_later_one_proves_absence(durban: stories.Durban) -> None:
    operation = durban.looked(durban.silent(483), stories.ABSENT)
    durban.clock.advance(9 * 60)
    page = shown(durban.looked(operation, stories.ABSENT))
    assert "absent, but too early to be proof" in page
    assert "absent, long enough to be sure" in page


def test_what_a_run_finds_absent_once_software_has_stopped_is_said_one_way(durban: stories.Durban) -> None:
    """Not "may already exist" beside "absent, long enough to be sure": a person decides what is known."""
    operation = durban.blind(318, "18400.00", subject="Marine Parade Hotel")
    says(operation, "May have happened", "It may already exist.", "Not yet: nothing proves it. A check can.")
    durban.clock.advance(9 * 60)
    shown_now = shown(durban.looked(operation, stories.ABSENT, actor="reconciliation 2"))
    assert 'data-state="uncertain" data-verdict="absent"' in shown_now
    assert "Not there, to be decided" in shown_now and "Absent, long enough to be sure" in shown_now
    assert "Durban Books does not hold it (checked " in shown_now
    assert "A check has proved it: one made by you in the last five minutes closes it." in shown_now
    assert "may already exist" not in shown_now and "May have happened" not in shown_now
    assert "Not there, to be decided" in browser_of("vic").get("/queue/").content.decode()


def absent_and_held(durban: stories.Durban) -> Operation:
    """What a run has found absent after software had stopped."""
    operation = durban.blind(318, "18400.00", subject="Marine Parade Hotel")
    durban.clock.advance(9 * 60)
    return durban.looked(operation, stories.ABSENT, actor="reconciliation 2")


def test_what_a_person_has_decided_does_not_wait_to_be_decided(durban: stories.Durban) -> None:
    operation = absent_and_held(durban)
    durban.allowed(operation)
    says(operation, "ann allowed another try at", "May have happened")
    for page in (shown(operation), browser_of("vic").get("/queue/").content.decode()):
        assert "to be decided" not in page
    assert ">Allowed, " in browser_of("vic").get("/queue/").content.decode()


def test_a_check_that_a_drill_has_refuted_since_proves_nothing(durban: stories.Durban) -> None:
    operation = absent_and_held(durban)
    refuted = Result(Promise.LOOKUP_ABSENT, Tried.BROKEN, "It told of what is not there.")
    drill = actions.begin_drill(durban.invoice, actor="ann")
    actions.end_drill(drill, [refuted], actor="ann", why="", finds=False)
    says(operation, "May have happened", "It may already exist.", "Absent, but its silence proves nothing")
    for page in (shown(operation), browser_of("vic").get("/queue/").content.decode()):
        assert "to be decided" not in page
    assert "does not hold it" not in shown(operation)


def test_a_check_that_could_not_look_leaves_what_was_found_before_it_in_sight(durban: stories.Durban) -> None:
    operation = durban.silent(471)
    durban.clock.advance(60)
    found = stories.several(operation, "INV-1", "INV-2", "INV-3", "INV-4")
    durban.looked(operation, found)
    durban.clock.advance(840)
    durban.looked(operation, stories.BLIND)
    blind = "it could not look. The list broke off after page 2. At"
    says(operation, blind, "when it last could: four invoices stand there under this reference")
    says(operation, "Four invoices carry it</b>", "when it could look last", "INV-4")
    row = browser_of("vic").get("/queue/").content.decode()
    assert re.search(r"Could not look\. [0-9:]+( SAST)?: four invoices carry it", row)
    durban.clock.advance(60)
    tried = durban.blind(472, "10.00")
    says(tried, "it could not look, so nothing is known.")
    assert "when it could look last" not in shown(tried), "the try since then may have made another"


def test_could_not_look(durban: stories.Durban) -> None:
    operation = durban.looked(durban.silent(483), stories.BLIND)
    says(operation, 'data-verdict="could_not_look"', "Could not look", "The list broke off after page 2.")


@pytest.mark.parametrize("done", [False, True])
def test_several(durban: stories.Durban, done: bool) -> None:
    operation = durban.tried(durban.invoiced(471), stories.done("INV-1")) if done else durban.silent(471)
    found = stories.several(operation, "INV-1", "INV-2", "INV-3", "INV-4")
    operation = durban.looked(operation, found)
    says(operation, 'data-verdict="several"', "Done, but doubled", "Stop: likely duplicates.")
    says(operation, "Four invoices carry its reference; three are too many.")
    assert ">Send again<" not in shown(operation).replace('aria-disabled="true"', "")


def test_differs(durban: stories.Durban) -> None:
    operation = durban.silent(466, "4960.00")
    operation = durban.looked(operation, stories.differing(operation, "INV-9", "5580.00"))
    says(operation, 'data-verdict="differs"', "Done, but differs", "5 580.00 there, 620.00 too much")


def test_accepted(durban: stories.Durban) -> None:
    operation = durban.tried(durban.invoiced(377), stories.TAKEN)
    says(operation, "Accepted, not final", "Durban Books took it at 09:42 and is still working on it.")


def test_accepted_and_not_final_in_time(durban: stories.Durban) -> None:
    operation = durban.tried(durban.invoiced(377), stories.TAKEN)
    durban.clock.advance(3600)
    operation = durban.looked(operation, stories.one(operation, "INV-7", Standing.PENDING))
    says(
        operation,
        "Accepted, not final",
        "Durban Books took it at 09:42; it should have been final by 10:42, and is not known to be.",
        "it is never sent twice",
        "owner <b>finance</b>",
    )


@pytest.mark.parametrize("by", ["tieout", "caller"])
def test_a_permit_that_nobody_used(durban: stories.Durban, by: str) -> None:
    """The worker stood still for a day, or the automation did not come for fifteen minutes."""
    if by == "tieout":
        operation, ended, until = durban.absent(483), 86400, "09:42"
    else:
        kind = factories.kind(name="ticket.open", contract={"idempotency": "none"})
        operation, ended, until = factories.uncertain_operation(kind), 900, "09:57"
        durban.clock.advance(34)
        actions.hold(operation.pk, kind=CaseKind.UNPROVED, actor="policy", reason="Look at it.")
    durban.allowed(operation)
    durban.clock.advance(ended + 10)
    Sweep().run()
    given = "Mon 09:42" if by == "tieout" else "09:42"
    says(
        operation,
        f"ann allowed another try at {given}; nobody used it until {until}, and it lapsed: nothing was sent.",
        "<b>The permit lapsed:</b> nobody used it, nothing was sent.",
        "let an unused permit lapse.",
    )
    says(operation, "Send again waits for a check made by you" if by == "tieout" else "Allow another try")
    queue = browser_of("ann").get("/queue/?view=person").content.decode()
    assert str(operation.uid) in queue


def test_running(durban: stories.Durban) -> None:
    operation = durban.invoiced(485)
    durban.clock.advance(30)
    durban.started(operation)
    operation = durban.again(operation)
    says(
        operation,
        'data-state="running" data-verdict=""',
        "In progress",
        "Sent 09:42. Answer expected by 09:43.",
    )
    assert ">Check Durban Books now<" not in shown(operation)


def test_heartbeats_do_not_crowd_out_what_happened(durban: stories.Durban) -> None:
    kind = factories.reminder_type(name="reminder.long")
    operation, attempt, token = factories.claimed(kind)
    for _ in range(EVENTS_SHOWN):
        durban.clock.advance(30)
        actions.extend(attempt.uid, token=token, lease_s=None, actor="api:shop")
    assert operation.events.filter(kind=actions.EXTENDED).count() == EVENTS_SHOWN
    says(operation, "handed it over", "Answer expected by 10:13")


def test_the_trail_says_nothing_twice_and_quotes_only_what_people_wrote(durban: stories.Durban) -> None:
    operation = durban.looked(durban.silent(413), stories.ABSENT, actor="ann")
    trail = shown(operation).partition("h-trail")[2]
    assert "</b> handed it over.</p>" in trail and "</b> began to send.</p>" in trail
    assert '<b>ann</b> checked Durban Books. <span class="soft">A look.</span>' in trail


def test_pending(durban: stories.Durban) -> None:
    operation = durban.invoiced(412)
    says(operation, 'data-state="pending"', "Waiting", "Nothing exists there.", ">Cancel<")


def test_a_caller_that_fell_silent(durban: stories.Durban) -> None:
    says(durban.expired(398), "Mailroom cannot be checked", "Its automation began at 09:42 and fell silent.")


def test_a_later_refused_try_says_nothing_of_the_first(durban: stories.Durban) -> None:
    operation = durban.silent(483)
    durban.looked(operation, stories.BLIND, actor="ann")
    actions.permit(operation.pk, actor="ann", reason="Same key.", command_id=uuid.uuid4())
    durban.clock.advance(11)
    operation = durban.tried(durban.again(operation), stories.UNSENT)
    says(operation, 'data-state="uncertain"', "May have happened")
    says(operation, "Try 2 did nothing, which proves nothing of try 1.")


def test_the_verdict_is_empty_again_once_another_try_has_ended(durban: stories.Durban) -> None:
    operation = durban.absent(483)
    durban.allowed(operation)
    durban.clock.advance(11)
    operation = durban.tried(durban.again(operation), stories.SILENT)
    says(operation, 'data-state="uncertain" data-verdict=""', "Not checked yet")
    says(operation, "before the last try ended")


def told_late(attempt: Attempt, token: str, outcome: Report, *, actor: str) -> None:
    with pytest.raises(OutcomeDiffers):
        actions.record(attempt.uid, token=token, report=outcome, actor=actor)


def test_what_is_only_reported_is_said_to_be_reported(durban: stories.Durban) -> None:
    taken, attempt, token = durban.reminded(397)
    stories.report(attempt, token, stories.REFUSED)
    told_late(attempt, token, stories.TAKEN, actor="api:webshop")
    says(taken, "its automation has since reported that it was taken.", "Later reported as taken.")
    operation, attempt, token = durban.reminded(398)
    stories.report(attempt, token, stories.REFUSED)
    told_late(attempt, token, stories.done("MV-7"), actor="api:webshop")
    says(
        operation,
        "It was closed as not done; its automation has since reported that it was done, as MV-7.",
        "Mailroom refused it: status 422, The customer is blocked. Later reported as done: MV-7.",
        "reported late: done, as MV-7.",
    )
    assert "holds it after all" not in shown(operation)
    asked = browser_of("ann").get(f"/operations/{operation.uid}/confirm-with-reference/").content.decode()
    assert re.search(r"Reported as\s*</dt>\s*<dd[^>]*>\s*(<[^>]+>\s*)*MV-7", asked)


def test_a_later_check_says_more_than_a_report(durban: stories.Durban) -> None:
    operation = durban.invoiced(483)
    started = durban.started(operation)
    assert started is not None
    actions.record(started[0].uid, token=started[1], report=stories.REFUSED, actor="worker")
    told_late(*started, stories.done("INV-7"), actor="worker")
    says(operation, "its sender has since reported that it was done, as INV-7.")
    durban.clock.advance(60)
    durban.looked(operation, stories.ABSENT)
    assert "has since reported" not in shown(operation)


def test_another_record_that_is_only_reported_is_named(durban: stories.Durban) -> None:
    operation = durban.invoiced(471)
    started = durban.started(operation)
    assert started is not None
    actions.record(started[0].uid, token=started[1], report=stories.done("INV-1"), actor="worker")
    told_late(*started, stories.done("INV-2"), actor="worker")
    says(operation, "It is known as INV-1, and was reported as INV-2 too. One invoice was meant.")
    asked = browser_of("ann").get(f"/operations/{operation.uid}/confirm-with-reference/").content.decode()
    assert "Known as" in asked and "Reported as" in asked


def test_a_correction_and_what_it_corrects_name_each_other(durban: stories.Durban) -> None:
    operation = durban.tried(durban.invoiced(455), stories.REFUSED)
    meant = actions.Correction({"order": "455", "total": "990.00"}, "990.00", "ZAR")
    made, _ = actions.correct(
        operation.pk, meant, actor="api:webshop", reason="The price was wrong.", who="ann"
    )
    link = '<a href="/operations/{}/">{}</a>'
    says(
        operation,
        f"It was corrected and never runs again. {made.key} stands in its place: waiting.",
        f'<dt>Correction 1</dt><dd class="key">{link.format(made.uid, made.key)}</dd>',
        "corrected it for ann.",
    )
    says(
        made,
        f"It corrects {operation.key}.",
        f'<dt>Corrects</dt><dd class="key">{link.format(operation.uid, operation.key)}</dd>',
    )
    actions.reopen(operation.pk, kind=CaseKind.THERE_AFTER_ALL, actor="bob", reason="I saw it there.")
    says(
        made,
        "which is no longer as it was: cancel this one, and correct that one again.",
        "Nothing exists there, and it is not sent.",
    )


def test_the_keys_window_is_shown_with_what_is_left_of_it(durban: stories.Durban) -> None:
    operation = durban.silent(483)
    durban.clock.advance(24 * 60)
    says(operation, "<b>23 h 25 min</b> left in the key’s window", "10 min early to be safe", "Tue 09:32")
    durban.clock.advance(24 * 3600)
    says(operation, "The key’s window has closed")


def test_43_a_page_shows_no_payload(durban: stories.Durban) -> None:
    operation = durban.invoiced(483)
    page = shown(operation)
    assert operation.payload_digest in page
    assert "total" not in page.lower().replace("payload digest", "")


def test_what_was_refused_stays_so_when_a_run_finds_nothing_there(durban: stories.Durban) -> None:
    operation = durban.tried(durban.invoiced(455, "7315.00"), stories.REFUSED)
    durban.clock.advance(60)
    durban.looked(operation, stories.ABSENT)
    verdict = re.findall(r'id="h-verdict".*?</h2>', shown(operation))[0]
    assert "Refused: nothing was created" in verdict and "Absent" not in verdict
    says(operation, "At 09:43 software checked Durban Books: it holds no invoice with this reference.")


def test_the_seventh_question_tells_what_there_is_to_tell(durban: stories.Durban) -> None:
    made = durban.every_state()
    for name, answer in {
        "several": "A check found several after try 1; which try made which, it does not tell.",
        "differs": "A check found one after try 1 that is not as meant; who made it, it does not tell.",
        "refused": "None: Durban Books refused try 1, and nothing was made.",
        "absent": "None: a check proved that nothing is there.",
        "running": "None yet: try 1 is in progress.",
        "accepted": "None yet: Durban Books took try 1, and it is not final.",
        "completed": "Try 1: Durban Books confirmed it. Reference INV-1187.",
        "uncertain": "None yet.",
        "pending": "None yet.",
    }.items():
        asked = "7 · Which try produced the result, and how do we know?</b><span>"
        assert f"{asked}{answer}</span>" in shown(made[name]), name


def test_the_one_next_action_is_in_front_and_it_is_a_check_where_one_must_come_first(
    durban: stories.Durban,
) -> None:
    made = durban.every_state()
    html = browser_of("ann").get("/queue/").content.decode()
    steps = dict(re.findall(r'class="q-next"><a href="/operations/([-0-9a-f]+)/[^"]*">([^<]+)<', html))
    assert steps[str(made["several"].uid)] == "Check, then choose one"
    assert steps[str(made["absent"].uid)] == "Check, then send again"
    assert steps[str(made["refused"].uid)] == "Correct it"
    for name in ("several", "absent", "differs", "uncertain", "could_not_look"):
        buttons = shown(made[name], "bob").split('<div class="act">')[1].split("</div>")[0]
        words = re.findall(r"<button[^>]*>(.*?)</button>", buttons)
        assert "Check Durban Books now" in words[0], (name, words)
    buttons = shown(made["absent"], "ann").split('<div class="act">')[1]
    assert buttons.index("Send again") < buttons.index("Check Durban Books now"), "ann has checked"


def test_every_state_has_its_page(durban: stories.Durban) -> None:
    for name, operation in durban.every_state().items():
        assert "data-verdict" in shown(operation), name
