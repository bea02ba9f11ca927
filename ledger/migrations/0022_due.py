"""A request is due before the key's window closes, which its answer may depend on."""

from django.db import migrations, models
from django.db.models import F, Q

from ledger.sql import statement

AS_LONG_AS_IT_COUNTS = """
ALTER TABLE ledger_approval DISABLE TRIGGER USER;
UPDATE ledger_approval SET due_at = expires_at;
ALTER TABLE ledger_approval ENABLE TRIGGER USER;
"""


class Migration(migrations.Migration):
    dependencies = [("ledger", "0021_together")]
    operations = [
        migrations.AddField("approval", "due_at", models.DateTimeField(null=True)),
        migrations.RunSQL(AS_LONG_AS_IT_COUNTS, migrations.RunSQL.noop),
        migrations.AlterField("approval", "due_at", models.DateTimeField()),
        migrations.AddConstraint(
            "approval",
            models.CheckConstraint(
                name="approval_due_while_it_counts",
                condition=Q(due_at__gt=F("made_at"), due_at__lte=F("expires_at")),
            ),
        ),
        migrations.RunSQL(statement("0022_due"), migrations.RunSQL.noop),
    ]
