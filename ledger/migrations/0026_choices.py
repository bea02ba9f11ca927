"""Which of several records is kept, and operations that reverse the others."""

import uuid

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

import ledger.models.clock
from ledger.sql import statement

ASKS = ["attest", "choose", "end", "override_correct", "override_end", "override_permit"]
KINDS = [
    "absent",
    "accepted",
    "both_there",
    "by_hand",
    "could_not_look",
    "differs",
    "expired",
    "first",
    "lapsed",
    "limit",
    "missing",
    "never_submitted",
    "paused",
    "refused",
    "repeated",
    "several",
    "there_after_all",
    "unproved",
]


def _to(table: str, **options: object) -> models.ForeignKey:
    return models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, to=f"ledger.{table}", **options)


def _known(model: str, name: str, condition: Q) -> list[migrations.operations.base.Operation]:
    constraint = models.CheckConstraint(condition=condition, name=name)
    return [migrations.RemoveConstraint(model, name), migrations.AddConstraint(model, constraint)]


class Migration(migrations.Migration):
    """Add choices and reversals, with the guards that keep what is kept."""

    dependencies = [("ledger", "0025_whose")]
    operations = [
        migrations.CreateModel(
            name="Choice",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("kept", models.CharField(max_length=200)),
                ("reversed", models.JSONField()),
                ("amount", models.DecimalField(decimal_places=4, max_digits=20, null=True)),
                ("currency", models.CharField(blank=True, max_length=3)),
                ("actor", models.CharField(max_length=150)),
                ("account", models.IntegerField(editable=False, null=True)),
                ("reason", models.CharField(max_length=1000)),
                ("command_id", models.UUIDField(unique=True)),
                ("made_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("operation", _to("operation", related_name="choices")),
                ("lookup", _to("lookup", related_name="choices")),
                ("approval", _to("approval", null=True, related_name="choices")),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=~Q(kept="") & ~Q(actor="") & ~Q(reason=""), name="choice_said_whole"
                    )
                ],
            },
        ),
        *_known("approval", "approval_action_known", Q(action__in=ASKS)),
        *_known("case", "case_kind_known", Q(kind__in=KINDS)),
        migrations.AddField(
            "operationtype", "reverses", _to("operationtype", null=True, related_name="reversals")
        ),
        migrations.AddField(
            "operation", "reversed_reference", models.CharField(blank=True, db_default="", max_length=200)
        ),
        migrations.AddField(
            "operation", "reverses", _to("operation", null=True, related_name="reversals", db_index=False)
        ),
        migrations.AddIndex(
            "operation",
            models.Index(condition=Q(reverses__isnull=False), fields=["reverses"], name="operation_reverses"),
        ),
        migrations.AddConstraint(
            "operation",
            models.UniqueConstraint(
                condition=Q(corrected_at__isnull=True, reverses__isnull=False),
                fields=("reverses", "reversed_reference"),
                name="operation_one_reversal",
            ),
        ),
        migrations.RunSQL(statement("0026_choices"), migrations.RunSQL.noop),
    ]
