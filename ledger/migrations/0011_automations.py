"""Automations as those who run them describe them, for the register."""

from django.db import migrations, models

import ledger.models.clock


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0010_paces"),
    ]

    operations = [
        migrations.CreateModel(
            name="Automation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=100, unique=True)),
                ("title", models.CharField(max_length=200)),
                ("types", models.JSONField(default=list)),
                ("retries", models.CharField(blank=True, max_length=300)),
                ("layers", models.JSONField(default=list)),
                ("stable_key", models.CharField(blank=True, max_length=300)),
                ("last_failure", models.CharField(blank=True, max_length=300)),
                ("owner", models.CharField(blank=True, max_length=100)),
                ("changed_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
            ],
        ),
    ]
