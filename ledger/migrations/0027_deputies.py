"""Who stands in for whom: one hand, in the eyes of the database."""

import datetime
import uuid

from django.db import migrations, models

import ledger.models.clock
from ledger.sql import statement


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0026_choices"),
    ]

    operations = [
        migrations.CreateModel(
            name="Deputy",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("principal", models.CharField(max_length=150)),
                ("principal_account", models.IntegerField(editable=False)),
                ("deputy", models.CharField(max_length=150)),
                ("deputy_account", models.IntegerField(editable=False)),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("reason", models.CharField(max_length=1000)),
                ("command_id", models.UUIDField(unique=True)),
                ("made_by", models.CharField(max_length=150)),
                ("made_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("ended_at", models.DateTimeField(null=True)),
                ("ended_by", models.CharField(blank=True, max_length=150)),
                ("why", models.CharField(blank=True, max_length=1000)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["deputy_account", "ends_at"], name="deputy_of"),
                    models.Index(fields=["principal_account", "ends_at"], name="deputy_for"),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("deputy_account", models.F("principal_account")), _negated=True),
                        name="deputy_is_another",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("ends_at__gt", models.F("starts_at"))), name="deputy_ends_later"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("ends_at__lt", datetime.datetime(2100, 1, 2, tzinfo=datetime.UTC)),
                            ("starts_at__gte", datetime.datetime(1999, 12, 31, tzinfo=datetime.UTC)),
                        ),
                        name="deputy_in_range",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("reason", ""), _negated=True), models.Q(("made_by", ""), _negated=True)
                        ),
                        name="deputy_has_reason",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at__isnull", True), ("ended_by", ""), ("why", "")),
                            models.Q(
                                ("ended_at__isnull", False),
                                models.Q(("ended_by", ""), _negated=True),
                                models.Q(("why", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="deputy_ended_whole",
                    ),
                ],
            },
        ),
        migrations.RunSQL(statement("0027_deputies"), migrations.RunSQL.noop),
    ]
