"""The queue knows what was escalated."""

from django.db import migrations, models

from review.sql import statement


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0031_escalation"),
        ("reconcile", "0008_compared"),
        ("review", "0007_audit"),
    ]

    operations = [
        migrations.AddField(
            model_name="item",
            name="level",
            field=models.PositiveSmallIntegerField(db_default=0),
        ),
        migrations.AddIndex(
            model_name="item",
            index=models.Index(condition=models.Q(("level__gt", 0)), fields=["level"], name="item_escalated"),
        ),
        migrations.RunSQL(statement("escalated"), migrations.RunSQL.noop),
    ]
