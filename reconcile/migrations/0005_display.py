"""The rates by which screens put amounts of different currencies in one order."""

from django.db import migrations, models

import ledger.models.clock


class Migration(migrations.Migration):
    dependencies = [
        ("reconcile", "0004_proposals"),
    ]

    operations = [
        migrations.CreateModel(
            name="Display",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(default="display", max_length=100, unique=True)),
                ("currency", models.CharField(max_length=3)),
                ("rates", models.JSONField(default=dict)),
                ("as_of", models.DateField()),
                ("source", models.CharField(max_length=100)),
                ("changed_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=models.Q(("name", "display")), name="display_alone"),
                    models.CheckConstraint(
                        condition=models.Q(("source", ""), _negated=True), name="display_has_source"
                    ),
                ],
            },
        ),
    ]
