"""Seals over the trail, and what people did in it found apart from what software does."""

from django.db import migrations, models

import ledger.models.clock
from ledger.sql import statement


class Migration(migrations.Migration):
    """Create the seals; they go with their table."""

    dependencies = [
        ("ledger", "0022_due"),
    ]

    operations = [
        migrations.CreateModel(
            name="Seal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField(unique=True)),
                ("after", models.BigIntegerField()),
                ("through", models.BigIntegerField(unique=True)),
                ("count", models.PositiveIntegerField()),
                ("previous", models.CharField(max_length=64)),
                ("head", models.CharField(max_length=64)),
                ("sealed_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
            ],
            options={
                "ordering": ["-number"],
            },
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(
                condition=models.Q(
                    ("actor__contains", ":"),
                    ("actor__startswith", "reconciliation "),
                    (
                        "actor__in",
                        [
                            "api",
                            "command line",
                            "configure",
                            "issue_key",
                            "policy",
                            "reconcile",
                            "reconciliation",
                            "revoke_key",
                            "schedule",
                            "software",
                            "sweep",
                            "tieout",
                            "worker",
                        ],
                    ),
                    _connector="OR",
                    _negated=True,
                ),
                fields=["id"],
                name="event_of_people",
            ),
        ),
        migrations.AddConstraint(
            model_name="seal",
            constraint=models.CheckConstraint(
                condition=models.Q(("count__gt", 0), ("through__gt", models.F("after"))), name="seal_goes_on"
            ),
        ),
        migrations.RunSQL(statement("0023_seals"), migrations.RunSQL.noop),
    ]
