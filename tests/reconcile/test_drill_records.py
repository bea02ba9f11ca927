"""What a drill has made is nobody's operation, and no difference either."""

from tests.reconcile.books import HELD, Books, adds_up, counts, record

DRILL = "drill/0123456789ab"


def test_records_of_a_drill_are_out_of_scope_and_all_adds_up(listed: Books) -> None:
    HELD.pages = [
        [
            record(1, key=f"{DRILL}/key"),
            record(2, key=f"{DRILL}/key"),
            record(3, key=f"{DRILL}/lost", total="much"),
            record(4, key=f"{DRILL}/at-once", status="void"),
        ]
    ]
    run, found = listed.run()
    assert counts(run) == {"out_of_scope": 4}
    assert found == []
    adds_up(run)


def test_only_the_exact_form_is_a_drill_s(listed: Books) -> None:
    HELD.pages = [
        [record(1, key="drill/press/483"), record(2, key="drill/0123456789ab"), record(3, key=f"x{DRILL}/y")]
    ]
    run, found = listed.run()
    assert counts(run) == {"unexpected_at_destination": 3}
    assert len(found) == 3
