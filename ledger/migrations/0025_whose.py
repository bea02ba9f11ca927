"""A case may be somebody's, and may be put off."""

from django.db import migrations, models

from ledger.sql import statement


class Migration(migrations.Migration):
    dependencies = [("ledger", "0024_waiting")]
    operations = [
        migrations.AddField("case", "assignee", models.CharField(blank=True, db_default="", max_length=150)),
        migrations.AddField("case", "snoozed_until", models.DateTimeField(null=True)),
        migrations.AddField("case", "snoozed_revision", models.PositiveIntegerField(null=True)),
        migrations.AddIndex(
            "case",
            models.Index(
                name="case_of_person",
                fields=["assignee"],
                condition=models.Q(closed_at__isnull=True) & ~models.Q(assignee=""),
            ),
        ),
        migrations.RunSQL(statement("0025_whose"), migrations.RunSQL.noop),
    ]
