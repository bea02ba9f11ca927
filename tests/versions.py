"""Which tests are run again on the oldest PostgreSQL: those that another version could change."""

import pytest

SAME_ON_EACH = (
    # Browsers, clients, recipes and the bench ask the same server the same things.
    "tests/bench/",
    "tests/browser/",
    "tests/callers/",
    "tests/recipes/",
    "tests/ledger/test_client",
    "tests/ledger/test_api_access.py",
    "tests/ledger/test_api_malformed.py",
    "tests/ledger/test_contract.py",
    "tests/ledger/test_issue_key.py",
    "tests/ledger/test_question_bodies.py",
    "tests/ledger/test_request_limits.py",
    "tests/ledger/test_slow_bodies.py",
    "tests/ledger/test_token_life.py",
    # What destinations answer, and what is made of it: connectors, presets, drills.
    "tests/ledger/test_drill",
    "tests/ledger/test_every_fault.py",
    "tests/ledger/test_events_heard.py",
    "tests/ledger/test_final_words.py",
    "tests/ledger/test_http_",
    "tests/ledger/test_lookups.py",
    "tests/ledger/test_own_connectors.py",
    "tests/ledger/test_preset_",
    "tests/ledger/test_rest_preset.py",
    "tests/ledger/test_sending.py",
    "tests/ledger/test_stripe",
    "tests/ledger/test_webhooks_delivered.py",
    "tests/ledger/test_worker_sends.py",
    # What a file of rules says, and how it is refused.
    "tests/reconcile/test_call_",
    "tests/reconcile/test_configuration.py",
    "tests/reconcile/test_connector_configuration.py",
    "tests/reconcile/test_event_configuration.py",
    "tests/reconcile/test_presets.py",
    "tests/reconcile/test_reconcile_command.py",
    "tests/reconcile/test_register_configuration.py",
    "tests/reconcile/test_webhook_configuration.py",
    # Words, forms and sign-in. What opens every page for every role is run, and so is each query of lists.
    "tests/review/test_access.py",
    "tests/review/test_actors.py",
    "tests/review/test_bulk_pages.py",
    "tests/review/test_cases.py",
    "tests/review/test_check.py",
    "tests/review/test_choose.py",
    "tests/review/test_closing.py",
    "tests/review/test_configured_words.py",
    "tests/review/test_correct.py",
    "tests/review/test_deliveries.py",
    "tests/review/test_display.py",
    "tests/review/test_drilled_words.py",
    "tests/review/test_every_door.py::test_who_may",
    "tests/review/test_evidence.py",
    "tests/review/test_following.py",
    "tests/review/test_navigation.py",
    "tests/review/test_pauses.py",
    "tests/review/test_person_command.py",
    "tests/review/test_polling.py",
    "tests/review/test_register.py",
    "tests/review/test_second_",
    "tests/review/test_send_again.py",
    "tests/review/test_sessions.py",
    "tests/review/test_single_sign_on.py",
    "tests/review/test_words.py",
    "tests/review/test_zones.py",
)
"""How the names begin of tests that need a database and say the same on each version of it.

A new file is run on both. Guards, locks, races, migrations, statements by hand and what compares two ways of
counting never stand here.
"""


def stands_on_its_version(item: pytest.Item) -> bool:
    """Say whether a test needs PostgreSQL, and may go another way on an older one."""
    return "database" in getattr(item, "fixturenames", ()) and not item.nodeid.startswith(SAME_ON_EACH)
