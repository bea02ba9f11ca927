"""Who answers a proposal, or a request about a difference, is another: the one rule of the ledger."""

from django.db import migrations

ANOTHER = """
CREATE TRIGGER proposal_by_another AFTER UPDATE ON reconcile_proposal FOR EACH ROW
    WHEN (OLD.answer = '' AND NEW.answer IN ('approved', 'refused'))
    EXECUTE FUNCTION ledger_answered_by_another('decided_by', 'decided_by_account', 'made_at', 'decided_at');
DROP TRIGGER proposal_then_one_hand ON reconcile_proposal;
DROP FUNCTION reconcile_proposal_one_hand();
CREATE TRIGGER decision_by_another AFTER UPDATE ON reconcile_decision FOR EACH ROW
    WHEN (OLD.answer = '' AND NEW.answer IN ('approved', 'refused'))
    EXECUTE FUNCTION ledger_answered_by_another('decided_by', 'decided_by_account', 'made_at', 'decided_at');
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0036_second_person"), ("reconcile", "0016_held")]
    operations = [migrations.RunSQL(ANOTHER, migrations.RunSQL.noop)]
