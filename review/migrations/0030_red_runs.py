"""What was due and has not reported is told under the bell, and in the team's chat."""

from django.db import migrations, models
from django.db.models import Q

from review.sql import statement

KINDS = ["answered", "escalated", "given", "named", "overdue", "red"]


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0024_expected"), ("review", "0029_addresses")]
    operations = [
        migrations.AddField("channel", "red", models.PositiveIntegerField(db_default=0)),
        # Backwards: no notice of the new kind may be left for the old check to refuse.
        migrations.RunSQL(
            migrations.RunSQL.noop,
            "ALTER TABLE review_notice DISABLE TRIGGER USER; DELETE FROM review_notice WHERE kind = 'red';"
            " ALTER TABLE review_notice ENABLE TRIGGER USER;",
        ),
        migrations.RemoveConstraint("notice", "notice_kind_known"),
        migrations.AddConstraint(
            "notice", models.CheckConstraint(name="notice_kind_known", condition=Q(kind__in=KINDS))
        ),
        migrations.RunSQL(
            statement("red_runs"),
            "DROP TRIGGER event_red ON ledger_event; DROP FUNCTION review_notice_of_red_run();",
        ),
    ]
