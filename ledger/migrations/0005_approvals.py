"""Requests for a second person, and the guards that keep maker and checker apart."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import ledger.models.clock
import ledger.rules.approvals
from ledger.sql import statement


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0003_guards"),
    ]

    operations = [
        migrations.CreateModel(
            name="Approval",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("action", models.CharField(max_length=30)),
                ("maker", models.CharField(max_length=150)),
                ("reason", models.CharField(max_length=1000)),
                ("command_id", models.UUIDField(unique=True)),
                ("made_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("expires_at", models.DateTimeField()),
                ("payload_digest", models.CharField(max_length=100)),
                ("attempt_count", models.PositiveSmallIntegerField()),
                ("data", models.JSONField(default=dict)),
                ("answer", models.CharField(blank=True, max_length=10)),
                ("decided_at", models.DateTimeField(null=True)),
                ("decided_by", models.CharField(blank=True, max_length=150)),
                ("why", models.CharField(blank=True, max_length=1000)),
                (
                    "lookup",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="approvals",
                        to="ledger.lookup",
                    ),
                ),
                (
                    "operation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="approvals",
                        to="ledger.operation",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="permit",
            name="approval",
            field=models.OneToOneField(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="permit",
                to="ledger.approval",
            ),
        ),
        migrations.AddConstraint(
            model_name="permit",
            constraint=models.CheckConstraint(
                condition=models.Q(("actor", ""), _negated=True), name="permit_has_actor"
            ),
        ),
        migrations.AddConstraint(
            model_name="permit",
            constraint=models.CheckConstraint(
                condition=models.Q(("reason", ""), _negated=True), name="permit_has_reason"
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.UniqueConstraint(
                condition=models.Q(("decided_at__isnull", True)),
                fields=("operation",),
                name="approval_one_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "action__in",
                        [
                            ledger.rules.approvals.Ask["ATTEST"],
                            ledger.rules.approvals.Ask["END"],
                            ledger.rules.approvals.Ask["OVERRIDE_END"],
                            ledger.rules.approvals.Ask["OVERRIDE_PERMIT"],
                        ],
                    )
                ),
                name="approval_action_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(("maker", ""), _negated=True), name="approval_has_maker"
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(("reason", ""), _negated=True), name="approval_has_reason"
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("answer", ""), ("decided_at__isnull", True), ("decided_by", ""), ("why", "")),
                    models.Q(
                        (
                            "answer__in",
                            [
                                ledger.rules.approvals.Answer["APPROVED"],
                                ledger.rules.approvals.Answer["LAPSED"],
                                ledger.rules.approvals.Answer["REFUSED"],
                                ledger.rules.approvals.Answer["VOIDED"],
                                ledger.rules.approvals.Answer["WITHDRAWN"],
                            ],
                        ),
                        ("decided_at__isnull", False),
                        models.Q(("decided_by", ""), _negated=True),
                        models.Q(("why", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="approval_answered_whole",
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        (
                            "answer__in",
                            [
                                ledger.rules.approvals.Answer["APPROVED"],
                                ledger.rules.approvals.Answer["REFUSED"],
                            ],
                        ),
                        _negated=True,
                    ),
                    models.Q(("decided_by", models.F("maker")), _negated=True),
                    _connector="OR",
                ),
                name="approval_by_another",
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("answer", ledger.rules.approvals.Answer["APPROVED"]), _negated=True),
                    ("decided_at__lt", models.F("expires_at")),
                    _connector="OR",
                ),
                name="approval_in_time",
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(("expires_at__gt", models.F("made_at"))), name="approval_expires_later"
            ),
        ),
        migrations.RunSQL(statement("0005_approvals"), migrations.RunSQL.noop),
    ]
