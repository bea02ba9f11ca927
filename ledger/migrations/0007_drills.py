"""Drills: whether a destination and a type allow them, what they did, and what came of each promise."""

import uuid

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

import ledger.models.clock
from ledger.sql import statement

KINDS = ["sending", "made", "voided", "result", "ended"]
PROMISES = [
    "at_once",
    "changed_data",
    "key_retention",
    "list_whole",
    "lookup_absent",
    "lookup_finds",
    "lost_answer",
    "rejected",
    "replay_marked",
    "same_key",
    "saves",
    "void",
]
TRIED = ["broken", "held", "not_tried"]


class Migration(migrations.Migration):
    dependencies = [("ledger", "0006_grants")]
    operations = [
        migrations.AddField("destination", "drills", models.BooleanField(db_default=False, default=False)),
        migrations.AddField("operationtype", "drill", models.JSONField(null=True)),
        migrations.CreateModel(
            name="Drill",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("actor", models.CharField(max_length=150)),
                ("stem", models.CharField(max_length=30, unique=True)),
                ("rules", models.JSONField()),
                ("rules_digest", models.CharField(max_length=64)),
                ("place_digest", models.CharField(max_length=64)),
                ("begun_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                (
                    "operation_type",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="drills",
                        to="ledger.operationtype",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="DrillStep",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "kind",
                    models.CharField(choices=[(kind, kind.capitalize()) for kind in KINDS], max_length=10),
                ),
                ("reference", models.CharField(blank=True, max_length=200)),
                ("record", models.CharField(blank=True, max_length=200)),
                ("promise", models.CharField(blank=True, max_length=20)),
                ("tried", models.CharField(blank=True, max_length=10)),
                ("hindered", models.BooleanField(default=False)),
                ("why", models.CharField(blank=True, max_length=500)),
                ("at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                (
                    "drill",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="steps", to="ledger.drill"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.CheckConstraint(condition=Q(kind__in=KINDS), name="drill_step_known"),
                    models.CheckConstraint(
                        condition=Q(kind="result", promise__in=PROMISES, tried__in=TRIED)
                        | (~Q(kind="result") & Q(promise="", tried="")),
                        name="drill_result_known",
                    ),
                    models.UniqueConstraint(
                        condition=Q(kind="ended"), fields=["drill"], name="drill_ends_once"
                    ),
                ],
            },
        ),
        migrations.RunSQL(statement("0007_drills"), migrations.RunSQL.noop),
    ]
