"""Each line of a configuration file, and the test that shows what it changes; none may be without one.

Where a line is only kept until something uses it, its document says so, and it stands under `KEPT`.
"""

# ruff: noqa: E501  # a test's name is as long as it is

from collections.abc import Iterator

from config.environment import ROOT
from reconcile.configuration import sections
from tests.config.test_documents import SECTIONS, names_in

DESTINATION, CONTRACT = "`[destinations.NAME]`", "`[destinations.NAME.contract]`"
HOURS, WORKED = "`[destinations.NAME.hours]`", "ledger/test_hours.py"
EVENTS, TYPE = "`[destinations.NAME.events]`", '`[operation_types."NAME"]`'
SEND = '`.send`: required where `performed_by = "tieout"`'
RECORD = "`.record`: how one record is read; required with `lookup` or `list`"
LOOKUP, PAGING = "`.lookup`: a look-up exists if this section does", "`paging` of both"
DRILL = "`.drill`: what a drill may send"
HTTP, LISTS, BODIES = (
    "ledger/test_http_connector.py",
    "ledger/test_http_lists.py",
    "ledger/test_question_bodies.py",
)
RECORDS, OUTCOMES, KEYS = "ledger/test_records.py", "ledger/test_outcomes.py", "ledger/test_key_life.py"
ACCESS, ROUTES, PACING = "ledger/test_access.py", "ledger/test_routes.py", "ledger/test_pacing.py"
HEARD, REGISTER, OUTBOX = "ledger/test_events_heard.py", "ledger/test_register.py", "ledger/test_outbox.py"
FILES, WORDS = "ledger/test_file_connector.py", "review/test_configured_words.py"
CLAIMS, REVERSALS = "ledger/test_drill_claims.py", "ledger/test_reversals.py"
SOURCE = "reconcile/test_source"
SCHEDULE = "reconcile/test_scheduling.py"
SHOWN: dict[str, dict[str, str]] = {
    DESTINATION: {
        "preset": "reconcile/test_presets.py::test_what_the_file_does_not_write_comes_from_its_preset",
        "connector": "reconcile/test_sql_destination.py::test_doubt_ends_with_what_the_database_holds",
        "account": "ledger/test_policy.py::test_28_another_account_forgets_every_key",
        "base_url": f"{HTTP}::test_a_refused_connection_is_not_sent",
        "url": "ledger/test_sql_connector.py::test_a_look_up_brings_the_rows_as_records_by_column_name",
        "options": "ledger/test_own_connectors.py::test_a_draft_without_its_posting_is_doubt_and_without_a_token_nothing_was_sent",
        "path": f"{FILES}::test_a_row_is_an_object_of_text_by_its_column",
        "pattern": f"{FILES}::test_the_newest_by_its_name_counts_whenever_it_was_copied",
        **dict.fromkeys(
            ("format", "encoding", "separator"),
            f"{FILES}::test_other_forms_and_encodings_are_read_as_they_are_stated",
        ),
        "as_of": f"{FILES}::test_a_name_that_tells_a_day_tells_of_its_beginning",
        **dict.fromkeys(("name", "entity", "open_url"), f"{WORDS}::test_people_read_it_as_the_file_calls_it"),
        "timeout": f"{HTTP}::test_no_answer_in_time_is_silence",
        "auth": f"{HTTP}::test_the_destination_is_told_who_we_are",
        "tls": f"{ROUTES}::test_a_destination_knows_us_by_our_certificate",
        "certificate": f"{ROUTES}::test_a_destination_knows_us_by_our_certificate",
        "key": f"{ROUTES}::test_a_key_may_come_from_the_environment",
        "ca": f"{ROUTES}::test_an_authority_of_ones_own_stands_in_place_of_the_systems",
        "proxy": f"{ROUTES}::test_a_proxy_opens_the_way_and_sees_nothing_of_the_request",
        "rate": f"{PACING}::test_calls_of_all_workers_keep_their_distance",
        "drills": "ledger/test_drill_safety.py::test_nothing_is_drilled_that_nobody_allowed",
        "events": f"{HEARD}::test_no_destination_without_events_is_there_and_no_secret_is_a_reason_to_come_again",
    },
    "Rate": {
        "per_second": f"{PACING}::test_turns_are_a_distance_apart_whoever_takes_them",
        "concurrency": f"{PACING}::test_no_more_calls_are_at_work_at_once_than_the_rate_allows",
    },
    "OAuth 2": {
        **dict.fromkeys(
            ("kind", "token", "name", "value", "user", "password"),
            f"{HTTP}::test_the_destination_is_told_who_we_are",
        ),
        "token_url": f"{ACCESS}::test_one_token_serves_every_worker_and_is_kept_sealed",
        "scope": f"{ACCESS}::test_one_token_serves_every_worker_and_is_kept_sealed",
        "client_id": f"{ACCESS}::test_another_client_forgets_the_token_of_the_one_before",
        "client_secret": f"{ACCESS}::test_a_client_that_is_refused_pauses_too",
        "client_auth": f"{ACCESS}::test_the_client_shows_itself_as_the_rules_say",
        "refresh_token": f"{ACCESS}::test_a_refresh_token_that_serves_once_is_stored_as_it_comes",
    },
    CONTRACT: {
        "idempotency": f"{HTTP}::test_without_keys_none_is_sent",
        "key_name": f"{HTTP}::test_a_key_in_a_field_is_written_into_the_body_alone",
        "key_max": f"{KEYS}::test_a_key_is_no_longer_than_its_destination_takes",
        "key_retention": f"{KEYS}::test_28_the_window_is_looked_at_in_the_claim_with_its_margin",
        "key_margin": "ledger/test_contracts.py::test_28_the_window_closes_before_the_new_lease_and_the_margin_would_end",
        "changed_data": "ledger/test_drills.py::test_what_a_destination_breaks_is_what_the_drill_finds",
        "saves": f"{KEYS}::test_27_an_error_that_was_received_and_is_saved_is_not_asked_for_again",
        "replay_header": f"{KEYS}::test_27_an_answer_that_says_it_was_given_before_is_not_asked_for_again",
        **dict.fromkeys(
            ("not_done", "rejected", "in_use"), f"{OUTCOMES}::test_each_row_of_the_outcome_table"
        ),
        "exists": f"{OUTCOMES}::test_exists_is_looked_up_at_once_by_status_or_by_body",
        "absent": f"{LISTS}::test_a_404_that_the_contract_lists_is_an_empty_whole_answer",
        "when": f"{OUTCOMES}::test_the_body_comes_before_the_status",
        "settle": "ledger/test_decisions.py::test_absence_is_proof_from_the_moment_it_is_settled",
        "final_within": "ledger/test_final_words.py::test_what_is_not_final_in_time_is_held_and_still_completes_by_a_persons_check",
        "retry_owner": f"{REGISTER}::test_the_destinations_own_client_may_own_the_retries",
    },
    HOURS: {
        **dict.fromkeys(("timezone", "opens", "closes"), f"{WORKED}::test_only_working_hours_count"),
        **dict.fromkeys(("days", "holidays"), f"{WORKED}::test_only_working_hours_count"),
    },
    EVENTS: {
        **dict.fromkeys(
            ("scheme", "secret", "tolerance", "signature_header", "timestamp_header", "encoding", "prefix"),
            f"{HEARD}::test_only_who_signs_with_a_secret_of_ours_is_heard",
        ),
        "type": f"{HEARD}::test_the_trail_calls_an_event_as_its_destination_does",
        "id": f"{HEARD}::test_an_event_that_is_too_large_or_cannot_be_read_is_refused",
        "reference": f"{HEARD}::test_what_is_not_about_ours_is_not_kept",
        "account": f"{HEARD}::test_what_is_not_about_ours_is_not_kept",
        "record": f"{HEARD}::test_an_event_that_says_what_is_known_leads_to_nothing",
    },
    TYPE: {
        "preset": "reconcile/test_presets.py::test_what_the_file_does_not_write_comes_from_its_preset",
        "destination": "ledger/test_sending.py::test_each_type_is_sent_to_the_destination_that_it_names",
        "performed_by": "callers/test_known_failures.py::test_known_failure_4_the_winner_of_a_claim_whose_answer_was_lost_still_holds_it",
        "key": "ledger/test_api_decisions.py::test_the_key_is_made_from_every_part_of_the_template",
        **dict.fromkeys(("label", "noun", "owner"), f"{WORDS}::test_people_read_it_as_the_file_calls_it"),
        "side_effect": f"{WORDS}::test_whether_others_see_an_effect_is_the_first_answer",
        "lease": "ledger/test_leases.py::test_a_lease_lasts_as_asked_within_a_day",
        "permit_for": "ledger/test_permits.py::test_unused_it_lapses_back_to_its_case",
        "payload_keep": "ledger/test_payload_life.py::test_it_is_removed_after_its_time_and_only_where_it_can_never_be_sent",
    },
    SEND: {
        "method": f"{HTTP}::test_a_send_is_made_by_the_stated_method",
        "path": f"{HTTP}::test_placeholders_in_a_path_cannot_leave_their_place",
        "body": f"{HTTP}::test_a_form_carries_nested_fields_in_brackets",
        "form_arrays": f"{BODIES}::test_lists_in_forms_are_written_as_the_destination_reads_them",
        "wrap": f"{BODIES}::test_a_payload_goes_out_inside_what_the_rules_put_around_it",
        "item": f"{OUTCOMES}::test_a_record_inside_an_answer_is_success_only_without_an_error_beside_it",
        "fails": f"{OUTCOMES}::test_an_error_in_a_200_without_a_record_is_no_success_and_a_records_own_error_is_no_failure",
        "headers": f"{HTTP}::test_a_header_that_http_cannot_carry_is_not_sent",
        "set": "ledger/test_placeholders.py::test_set_writes_by_dotted_path_and_leaves_the_callers_payload_alone",
    },
    RECORD: {
        "id": f"{OUTCOMES}::test_success_names_the_destinations_record",
        "reference": f"{RECORDS}::test_a_reference_may_be_put_together_from_a_records_fields",
        "amount": f"{RECORDS}::test_an_amount_inside_an_object_is_read_by_its_path_and_never_with_separators",
        "amount_unit": f"{RECORDS}::test_55_the_factor_100_is_a_difference_unless_the_unit_is_stated",
        "amount_sign": f"{RECORDS}::test_an_amount_below_nought_there_may_be_above_it_here",
        "minor_decimals": "ledger/test_money.py::test_a_destinations_own_smallest_units_count_both_ways",
        "currency": f"{RECORDS}::test_a_record_without_a_currency_of_its_own_has_the_assumed_one",
        **dict.fromkeys(
            ("status", "pending_statuses", "failed_statuses"),
            f"{RECORDS}::test_the_standing_of_the_one_match",
        ),
        "done_statuses": f"{RECORDS}::test_without_done_statuses_every_status_but_the_others_is_done",
        "compare": "reconcile/test_contents.py"
        "::test_contents_that_are_as_meant_match_and_others_say_in_which_fields",
        "deleted": "reconcile/test_deleted.py::test_what_is_listed_as_deleted_stands_for_nothing",
        "void_statuses": f"{RECORDS}::test_only_void_records_are_a_difference_not_absence",
        **dict.fromkeys(
            ("paid", "sent", "period"),
            f"{RECORDS}::test_what_tells_several_apart_is_read_in_words_and_is_a_part_of_what_was_found",
        ),
        **dict.fromkeys(
            ("occurred_at", "time_format", "timezone"),
            "ledger/test_moments.py::test_a_time_is_placed_as_the_rules_say",
        ),
    },
    LOOKUP: {
        "method": f"{LISTS}::test_a_question_may_be_a_post",
        "path": f"{LISTS}::test_a_list_at_a_wrong_address_is_incomplete_even_where_404_means_absent",
        "query": "ledger/test_sql_connector.py::test_values_stand_beside_the_query_and_never_in_it",
        "headers": f"{BODIES}::test_a_secret_in_a_header_is_read_from_its_place",
        "body": f"{BODIES}::test_a_body_has_nested_tables_and_lists_and_only_its_texts_are_filled",
        "body_as": f"{BODIES}::test_a_question_may_be_a_form",
        "form_arrays": f"{BODIES}::test_a_question_may_be_a_form",
        "items": f"{LISTS}::test_an_answer_without_a_list_is_no_absence",
        "fails": f"{BODIES}::test_where_failures_stand_may_be_said",
        "match": f"{RECORDS}::test_where_no_field_carries_the_key_all_of_several_must_match_exactly",
        "paging": f"{LISTS}::test_every_way_of_paging_is_read_to_its_end",
        "since_format": f"{LISTS}::test_a_list_asks_since_an_instant_in_the_destinations_own_form",
        "timezone": f"{LISTS}::test_a_list_asks_since_an_instant_in_the_destinations_own_form",
    },
    PAGING: {
        **dict.fromkeys(
            ("style", "next", "parameter", "first", "more"),
            f"{LISTS}::test_every_way_of_paging_is_read_to_its_end",
        ),
        "in": f"{BODIES}::test_a_list_goes_on_inside_the_body_also_from_the_place_of_each_page",
        "pages": f"{BODIES}::test_a_list_is_read_as_far_as_it_says",
        "total": f"{BODIES}::test_a_list_that_went_on_later_still_knows_how_many_there_were",
        "overlap": f"{BODIES}::test_a_row_that_went_is_seen_by_the_overlap_alone",
    },
    "`.retry`": {
        "attempts": f"{KEYS}::test_16_tries_end_by_count_and_by_time_and_each_is_on_record",
        "elapsed": f"{KEYS}::test_16_tries_end_by_count_and_by_time_and_each_is_on_record",
        "base": "ledger/test_decisions.py::test_pauses_double_up_to_their_cap_and_jitter_takes_off_up_to_half",
        "cap": "ledger/test_decisions.py::test_pauses_double_up_to_their_cap_and_jitter_takes_off_up_to_half",
    },
    "`.review`": {
        "due": f"{WORDS}::test_a_case_is_due_as_long_after_its_opening_as_the_type_says",
        "four_eyes_above": "ledger/test_approvals.py::test_above_the_limit_closing_takes_two_people_and_sending_again_does_not",
        "priority": "review/test_display.py::test_what_has_no_amount_stands_by_its_types_priority",
        "timezone": "ledger/test_together.py::test_a_day_is_one_of_its_types_zone",
        "refunds": "ledger/test_refunds.py::test_refunds_of_one_source_are_summed_and_what_exceeds_it_stops",
        "redact": "review/test_correct.py::test_what_is_hidden_is_never_shown_and_never_lost",
    },
    DRILL: {
        "payload": "ledger/test_drill_safety.py::test_nothing_is_drilled_that_nobody_allowed",
        **dict.fromkeys(
            ("amount", "currency"),
            f"{CLAIMS}::test_a_record_with_another_amount_or_currency_is_not_the_sample",
        ),
        "refused": "ledger/test_drills.py::test_what_cannot_be_tried_is_not_said_to_hold",
    },
    "`[automations.NAME]`": {
        **dict.fromkeys(
            ("name", "owner"),
            "reconcile/test_register_configuration.py::test_people_read_what_it_is_called_and_who_runs_it",
        ),
        "types": f"{REGISTER}::test_a_token_and_the_types_that_were_said_are_compared",
        "layers": f"{REGISTER}::test_the_retries_of_an_automation",
        "retries": f"{REGISTER}::test_the_retries_of_an_automation",
        "stable_key": f"{REGISTER}::test_the_key_of_an_automation",
        "last_failure": f"{REGISTER}::test_where_the_last_failure_goes",
    },
    "`.void`": {
        **dict.fromkeys(
            ("method", "path"),
            f"{REVERSALS}::test_the_one_that_is_chosen_is_kept_and_the_others_are_void_and_that_is_proved",
        ),
        "when_closed": f"{REVERSALS}::test_what_is_in_a_closed_period_is_never_voided_where_that_is_barred",
        "credit": f"{REVERSALS}::test_what_cannot_be_voided_is_credited_where_the_rules_say_how",
        "headers": f"{CLAIMS}::test_a_reversal_has_headers_and_a_body_of_its_own",
        "body": f"{CLAIMS}::test_a_reversal_has_headers_and_a_body_of_its_own",
        "body_as": f"{CLAIMS}::test_a_reversal_has_headers_and_a_body_of_its_own",
    },
    "`[teams.NAME]`": {
        **dict.fromkeys(
            ("escalate", "to", "after"),
            "ledger/test_escalating.py::test_levels_come_one_after_the_other_in_the_entitys_working_hours",
        ),
        **dict.fromkeys(
            ("chat", "chat_kind", "allow_private"),
            "review/test_notices.py::test_a_team_s_chat_hears_once_how_much_was_passed_on_to_it",
        ),
    },
    "`[display]`": dict.fromkeys(
        ("currency", "rates", "as_of", "source"),
        "review/test_display.py::test_by_rates_of_a_day_currencies_stand_in_one_order_and_the_page_names_them",
    ),
    "`[profiles.NAME]`": {
        **dict.fromkeys(
            (
                *(
                    "name",
                    "form",
                    "encoding",
                    "separator",
                    "header",
                    "columns",
                    "decimal",
                    "days",
                    "timezone",
                ),
                *("sign", "sums", "trailer", "begins", "count", "total"),
                *("reference", "amount", "currency", "date"),
            ),
            "reconcile/test_profiles.py::test_a_file_of_a_profile_is_read_as_it_says_and_nothing_is_asked",
        ),
        **dict.fromkeys(
            ("sheet", "unit"),
            "reconcile/test_profiles.py::test_banks_statements_and_workbooks_have_profiles_too",
        ),
        **dict.fromkeys(
            ("id", "debit", "credit"),
            "reconcile/test_profiles.py::test_66_a_total_that_its_lines_do_not_come_to_refuses_the_file",
        ),
        "entity": "review/test_compare_page.py::test_profiles_of_other_entities_are_not_offered_nor_taken",
    },
    "`[plans.NAME]`": {
        "period": "reconcile/test_months.py::test_how_months_are_closed_is_configured_and_told",
        "operation_type": "reconcile/test_both_sides.py::test_a_plan_compares_the_operations_of_its_type_alone",
        "schedule": f"{SCHEDULE}::test_a_plan_without_a_schedule_waits_to_be_asked",
        "timezone": "reconcile/test_windows.py::test_a_day_of_twenty_five_hours_is_a_whole_day",
        "window": "reconcile/test_windows.py::test_without_days_the_window_ends_now_and_is_as_long_as_the_plan_says",
        "grace": "reconcile/test_absence.py::test_57_within_the_plan_s_grace_nothing_is_missing",
        "tolerance": "reconcile/test_classes.py::test_differences_within_the_plan_s_tolerance_are_matched",
        "attach": "review/test_reports_mailed.py::test_the_workbook_goes_only_to_who_may_see_it_where_the_plan_says_so",
        "rules": "reconcile/test_rules.py::test_a_change_of_rules_is_a_new_version_and_stands_there_as_it_was_written",
        "payout": "reconcile/test_payouts.py::test_a_net_with_its_parts_is_matched_with_what_it_pays",
        "tolerance_cap": "reconcile/test_tolerance_cap.py::test_beyond_the_cap_all_that_was_let_pass_is_a_difference",
        "recipients": "review/test_reports_mailed.py::test_recipients_get_totals_and_a_link_and_nothing_else",
        "report_by": "reconcile/test_expected.py::test_what_is_late_incomplete_or_not_started_is_red_wherever_it_is_told",
    },
    "`[[plans.NAME.rules]]`": {
        "name": "reconcile/test_rules.py::test_one_record_that_fits_one_operation_is_matched_by_the_rule",
        "days": "reconcile/test_rules.py::test_one_record_that_fits_one_operation_is_matched_by_the_rule",
        "on": "reconcile/test_rules.py::test_a_reference_of_others_is_kept_and_given_back_before_each_comparison",
        **dict.fromkeys(
            ("tolerance", "percent"),
            "reconcile/test_rules.py::test_amounts_may_differ_as_far_as_the_rule_says",
        ),
        "split": "reconcile/test_rules_groups.py::test_what_has_one_key_and_the_same_sum_is_matched",
        "renumbered": "reconcile/test_rules.py::test_what_is_known_there_by_a_number_is_found_by_that_number_or_by_nothing",
    },
    "`[plans.NAME.period]`": {
        "grace_business_days": "reconcile/test_months.py::test_the_cut_off_lies_so_many_business_days_after_the_month",
        "holidays": "reconcile/test_months.py::test_the_cut_off_lies_so_many_business_days_after_the_month",
        "first": "reconcile/test_months.py::test_no_month_before_the_first_one_that_is_closed_here_has_a_period",
    },
    "`[plans.NAME.payout]`": {
        **dict.fromkeys(
            ("fee", "tax", "refund", "reserve", "fx"),
            "reconcile/test_payouts.py::test_a_net_with_its_parts_is_matched_with_what_it_pays",
        ),
        "gross": "reconcile/test_payouts.py::test_a_gross_that_is_told_and_adds_up_leaves_a_difference_and_nothing_unexplained",
        "signed": "reconcile/test_payouts.py::test_parts_may_have_signs_of_their_own",
    },
    "`[plans.NAME.source]`": {
        "name": f"{SOURCE}.py::test_each_row_is_beside_its_operation_or_in_a_class_of_its_own",
        **dict.fromkeys(
            ("connector", "connection", "query", "record"),
            f"{SOURCE}_pull.py::test_a_shop_s_own_database_says_what_should_exist",
        ),
        "list": f"{SOURCE}_pull.py::test_over_http_a_source_is_listed_and_counted",
        "control": f"{SOURCE}_pull.py::test_what_the_source_counts_itself_proves_it_complete_or_fails_the_run",
        "alone": f"{SOURCE}.py::test_where_a_source_is_not_alone_what_it_has_no_row_of_is_not_its_business",
        "lead": f"{SOURCE}_pull.py::test_a_row_may_be_older_than_its_operation_by_the_lead",
    },
    "`record` of a source": {
        **dict.fromkeys(
            ("key", "reference", "system", "version", "id", "amount", "currency", "date", "status"),
            f"{SOURCE}_rows.py::test_a_row_is_read_part_by_part",
        ),
        **dict.fromkeys(
            ("amounts", "amount_unit", "amount_sign", "minor_decimals", "time_format", "timezone"),
            f"{SOURCE}_rows.py::test_a_row_is_read_part_by_part",
        ),
        "cancelled_statuses": f"{SOURCE}_rows.py::test_a_row_is_read_part_by_part",
    },
    "`[webhooks.NAME]`": {
        "url": f"{OUTBOX}::test_the_address_that_was_checked_is_the_one_that_is_connected_to",
        "secret": f"{OUTBOX}::test_while_a_secret_is_replaced_each_of_them_verifies",
        "events": f"{OUTBOX}::test_each_kind_is_told_to_who_wants_it_and_of_its_types_only",
        "types": f"{OUTBOX}::test_each_kind_is_told_to_who_wants_it_and_of_its_types_only",
        "allow_private": f"{OUTBOX}::test_a_private_network_is_not_reached_under_any_name",
    },
}
KEPT = {
    (PAGING, "size"),
}


def lines() -> Iterator[tuple[str, str]]:
    """Every line that a file may have, by its section."""
    for heading, kinds in SECTIONS.items():
        yield from ((heading, name) for kind in kinds for name in sections.members(kind))


def test_each_line_has_a_test_that_shows_what_it_changes() -> None:
    shown = {(heading, name) for heading, tests in SHOWN.items() for name in tests}
    assert not shown & KEPT
    assert shown | KEPT == {*lines()}


def test_each_of_these_tests_exists() -> None:
    named = {test for tests in SHOWN.values() for test in tests.values()}
    missing = [
        test
        for test in named
        if test.partition("::")[2] not in names_in(ROOT / "tests" / test.partition("::")[0])
    ]
    assert missing == []
