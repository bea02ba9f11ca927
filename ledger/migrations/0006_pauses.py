"""Pauses of destinations that refuse our credentials, their guards, and the kind of case that they are."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import ledger.models.clock
from ledger.sql import statement

ID = models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")
RESUMED = models.Q(("resumed_at__isnull", False), models.Q(("resumed_by", ""), _negated=True))
CASE_KINDS = [
    "absent",
    "accepted",
    "could_not_look",
    "differs",
    "expired",
    "lapsed",
    "limit",
    "missing",
    "never_submitted",
    "paused",
    "refused",
    "several",
    "there_after_all",
    "unproved",
]


class Migration(migrations.Migration):
    """Two tables that only grow, and what guards them."""

    dependencies = [("ledger", "0008_keys")]

    operations = [
        migrations.RemoveConstraint(model_name="case", name="case_kind_known"),
        migrations.AddConstraint(
            model_name="case",
            constraint=models.CheckConstraint(
                condition=models.Q(("kind__in", CASE_KINDS)), name="case_kind_known"
            ),
        ),
        migrations.CreateModel(
            name="Pause",
            fields=[
                ("id", ID),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("http_status", models.PositiveSmallIntegerField()),
                ("paused_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("resumed_at", models.DateTimeField(null=True)),
                ("resumed_by", models.CharField(blank=True, max_length=150)),
                ("command_id", models.UUIDField(null=True, unique=True)),
                (
                    "case",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="pause", to="ledger.case"
                    ),
                ),
                (
                    "destination",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="pauses",
                        to="ledger.destination",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("resumed_at__isnull", True)),
                        fields=("destination",),
                        name="pause_one_open",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("resumed_at__isnull", True), ("resumed_by", "")),
                            RESUMED,
                            _connector="OR",
                        ),
                        name="pause_resumed_by_somebody",
                    ),
                ]
            },
        ),
        migrations.CreateModel(
            name="Refusal",
            fields=[
                ("id", ID.clone()),
                (
                    "attempt",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="refusal",
                        to="ledger.attempt",
                    ),
                ),
                (
                    "pause",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="refusals",
                        to="ledger.pause",
                    ),
                ),
            ],
        ),
        migrations.RunSQL(statement("0006_pauses"), migrations.RunSQL.noop),
    ]
