"""What people decide about differences, with the guards that keep it."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import ledger.models.clock
from reconcile.differences.guards import GUARDS


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0032_settled"),
        ("reconcile", "0009_dropped"),
    ]

    operations = [
        migrations.CreateModel(
            name="Decision",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("name", models.CharField(max_length=200)),
                ("item_class", models.CharField(max_length=30)),
                ("fingerprint", models.CharField(max_length=64)),
                ("way", models.CharField(max_length=10)),
                ("amount", models.DecimalField(decimal_places=4, max_digits=20, null=True)),
                ("currency", models.CharField(blank=True, max_length=3)),
                ("until", models.DateTimeField(null=True)),
                ("record", models.JSONField(null=True)),
                ("maker", models.CharField(max_length=150)),
                ("maker_account", models.IntegerField(editable=False, null=True)),
                ("reason", models.CharField(max_length=1000)),
                ("command_id", models.UUIDField(unique=True)),
                ("made_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("expires_at", models.DateTimeField()),
                ("answer", models.CharField(blank=True, max_length=10)),
                ("decided_at", models.DateTimeField(null=True)),
                ("decided_by", models.CharField(blank=True, max_length=150)),
                ("decided_by_account", models.IntegerField(editable=False, null=True)),
                ("why", models.CharField(blank=True, max_length=1000)),
                ("in_force_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("ended_by", models.CharField(blank=True, max_length=150)),
                ("why_ended", models.CharField(blank=True, max_length=1000)),
                (
                    "approval",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="matches",
                        to="ledger.approval",
                    ),
                ),
                (
                    "finding",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decisions",
                        to="reconcile.finding",
                    ),
                ),
                (
                    "operation",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decisions",
                        to="ledger.operation",
                    ),
                ),
                (
                    "operation_type",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="ledger.operationtype",
                    ),
                ),
                (
                    "other",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="matches",
                        to="reconcile.finding",
                    ),
                ),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="decisions",
                        to="reconcile.plan",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["plan", "way", "name"], name="decision_of_plan")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("answer__in", ["", "approved"]), ("ended_at", None)),
                        fields=("plan", "item_class", "name"),
                        name="decision_one_open",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("way__in", ["close", "match", "take_in", "waive"])),
                        name="decision_way_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("reason", ""), _negated=True), models.Q(("maker", ""), _negated=True)
                        ),
                        name="decision_has_reason",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("until__gt", models.F("made_at")), ("way", "waive")),
                            models.Q(models.Q(("way", "waive"), _negated=True), ("until", None)),
                            _connector="OR",
                        ),
                        name="decision_waiver_ends",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                ("operation__isnull", False),
                                ("other__isnull", False),
                                ("record__isnull", False),
                                ("way", "match"),
                            ),
                            models.Q(
                                models.Q(("way", "match"), _negated=True),
                                ("approval", None),
                                ("other", None),
                                ("record", None),
                            ),
                            _connector="OR",
                        ),
                        name="decision_match_whole",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("amount", None), ("currency", "")),
                            models.Q(("amount__isnull", False), models.Q(("currency", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="decision_amount_with_currency",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("expires_at__gt", models.F("made_at"))),
                        name="decision_expires_later",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("answer", ""), ("decided_at", None), ("decided_by", ""), ("why", "")),
                            models.Q(
                                ("answer__in", ["approved", "lapsed", "refused", "voided", "withdrawn"]),
                                ("decided_at__isnull", False),
                                models.Q(("decided_by", ""), _negated=True),
                                models.Q(("why", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="decision_answered_whole",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("answer", "approved"), _negated=True),
                            models.Q(
                                ("decided_by_account__isnull", False),
                                models.Q(("decided_by_account", models.F("maker_account")), _negated=True),
                                models.Q(("decided_by", models.F("maker")), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="decision_by_another",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("answer", "approved"), _negated=True),
                            ("decided_at__lt", models.F("expires_at")),
                            _connector="OR",
                        ),
                        name="decision_in_time",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at", None), ("ended_by", ""), ("why_ended", "")),
                            models.Q(
                                ("ended_at__isnull", False),
                                ("in_force_at__isnull", False),
                                models.Q(("ended_by", ""), _negated=True),
                                models.Q(("why_ended", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="decision_ended_whole",
                    ),
                ],
            },
        ),
        migrations.RunSQL(GUARDS, migrations.RunSQL.noop),
    ]
