"""What only waits for its turn is listed by an index of its own, without what people decide."""

from django.db import migrations, models

import ledger.rules.states


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0023_seals"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                condition=models.Q(
                    ("held_at__isnull", True),
                    (
                        "state__in",
                        [ledger.rules.states.State["PENDING"], ledger.rules.states.State["RUNNING"]],
                    ),
                ),
                fields=["id"],
                name="operation_waits",
            ),
        ),
    ]
