"""Proposals, and requests about differences, go on to all approvers when nobody answers in time."""

from django.db import migrations, models

MARKED = """
CREATE TRIGGER {table}_marked_once BEFORE UPDATE ON reconcile_{table} FOR EACH ROW
    WHEN (OLD.escalated_at IS DISTINCT FROM NEW.escalated_at AND (OLD.escalated_at IS NOT NULL OR {answered}))
    EXECUTE FUNCTION ledger_refuse();
CREATE CONSTRAINT TRIGGER {table}_mark_told AFTER UPDATE ON reconcile_{table} DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.escalated_at IS DISTINCT FROM NEW.escalated_at)
    EXECUTE FUNCTION ledger_mark_told('{table}');
-- That one tells of the mark; this one of who asks, answers and ends.
DROP TRIGGER {table}_told ON reconcile_{table};
CREATE CONSTRAINT TRIGGER {table}_told AFTER INSERT ON reconcile_{table} DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW EXECUTE FUNCTION reconcile_{table}_told();
CREATE CONSTRAINT TRIGGER {table}_told_again AFTER UPDATE ON reconcile_{table} DEFERRABLE INITIALLY DEFERRED
    FOR EACH ROW WHEN (OLD.escalated_at IS NOT DISTINCT FROM NEW.escalated_at)
    EXECUTE FUNCTION reconcile_{table}_told();
"""
PROPOSAL = MARKED.format(table="proposal", answered="NEW.answer <> ''")
DECISION = MARKED.format(table="decision", answered="NEW.answer <> '' OR NEW.in_force_at IS NOT NULL")


class Migration(migrations.Migration):
    dependencies = [("ledger", "0037_marked"), ("reconcile", "0017_by_another")]
    operations = [
        migrations.AddField("proposal", "escalated_at", models.DateTimeField(null=True)),
        migrations.AddField("decision", "escalated_at", models.DateTimeField(null=True)),
        migrations.AddConstraint(
            "decision",
            models.CheckConstraint(
                name="decision_before_its_end",
                condition=~models.Q(answer="approved")
                | models.Q(until=None)
                | models.Q(decided_at__lt=models.F("until")),
            ),
        ),
        migrations.RunSQL(PROPOSAL, migrations.RunSQL.noop),
        migrations.RunSQL(DECISION, migrations.RunSQL.noop),
    ]
