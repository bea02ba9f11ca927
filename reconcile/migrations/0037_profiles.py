"""How the files of one source are read, under a name."""

from django.db import migrations, models
from django.db.models import Q

import ledger.models.clock


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0036_periods")]

    operations = [
        migrations.CreateModel(
            name="Profile",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100, unique=True)),
                ("entity", models.CharField(blank=True, max_length=200)),
                ("rules", models.JSONField()),
                ("changed_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
            ],
            options={
                "ordering": ["name"],
                "constraints": [
                    models.CheckConstraint(
                        name="profile_has_form",
                        condition=Q(rules__form__in=["csv", "xlsx", "json", "camt", "mt940", "ofx"]),
                    ),
                ],
            },
        ),
    ]
