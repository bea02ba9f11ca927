"""When each destination is called next, and until when it rests."""

import django.db.models.deletion
from django.db import migrations, models

import ledger.models.clock


class Migration(migrations.Migration):
    """Create the paces."""

    dependencies = [
        ("ledger", "0009_first_guard"),
    ]

    operations = [
        migrations.CreateModel(
            name="Pace",
            fields=[
                (
                    "destination",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        primary_key=True,
                        related_name="pace",
                        serialize=False,
                        to="ledger.destination",
                    ),
                ),
                ("next_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("rests_until", models.DateTimeField(null=True)),
            ],
        ),
    ]
