"""Who approves a list of many is another: the one rule of the ledger."""

from django.db import migrations

ANOTHER = """
CREATE TRIGGER bulk_by_another AFTER UPDATE ON review_bulk FOR EACH ROW
    WHEN (OLD.approved_by = '' AND NEW.approved_by <> '')
    EXECUTE FUNCTION ledger_answered_by_another('approved_by', 'approved_account', 'frozen_at', 'approved_at');
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0036_second_person"), ("review", "0015_at_risk")]
    operations = [migrations.RunSQL(ANOTHER, migrations.RunSQL.noop)]
