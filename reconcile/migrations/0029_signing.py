"""What one person prepared and another one signed, with the guards that keep it."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import ledger.models.clock
from reconcile.signing.guards import GUARDS, UNGUARDED


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0038_revealed"),
        ("reconcile", "0028_attach"),
    ]

    operations = [
        migrations.CreateModel(
            name="SignOff",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("way", models.CharField(max_length=10)),
                ("digest", models.CharField(max_length=64)),
                ("maker", models.CharField(max_length=150)),
                ("maker_account", models.IntegerField(editable=False, null=True)),
                ("reason", models.CharField(blank=True, max_length=1000)),
                ("command_id", models.UUIDField(unique=True)),
                ("made_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("expires_at", models.DateTimeField()),
                ("escalated_at", models.DateTimeField(null=True)),
                ("answer", models.CharField(blank=True, max_length=10)),
                ("decided_at", models.DateTimeField(null=True)),
                ("decided_by", models.CharField(blank=True, max_length=150)),
                ("decided_by_account", models.IntegerField(editable=False, null=True)),
                ("why", models.CharField(blank=True, max_length=1000)),
                ("signed", models.JSONField(null=True)),
                ("signed_digest", models.CharField(blank=True, max_length=64)),
                ("ended_at", models.DateTimeField(null=True)),
                (
                    "of",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="reopenings",
                        to="reconcile.signoff",
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
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="reconcile.plan"
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="signoffs",
                        to="reconcile.run",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("answer", "")), fields=["expires_at"], name="signoff_open"
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(
                            ("answer__in", ["", "approved"]), ("ended_at", None), ("way", "sign")
                        ),
                        fields=("run",),
                        name="signoff_one_of_run",
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("answer", ""), ("way", "reopen")),
                        fields=("of",),
                        name="signoff_one_reopening",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("of", None), ("way", "sign")),
                            models.Q(
                                models.Q(("of__isnull", False), ("way", "reopen")),
                                models.Q(("reason", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="signoff_way_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("maker", ""), _negated=True), models.Q(("digest", ""), _negated=True)
                        ),
                        name="signoff_has_maker",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("expires_at__gt", models.F("made_at"))),
                        name="signoff_expires_later",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("answer", ""), ("decided_at", None), ("decided_by", ""), ("why", "")),
                            models.Q(
                                models.Q(
                                    ("answer__in", ["approved", "lapsed", "refused", "voided", "withdrawn"]),
                                    ("decided_at__isnull", False),
                                ),
                                models.Q(("decided_by", ""), _negated=True),
                                models.Q(("why", ""), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="signoff_answered_whole",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("answer", "approved"), _negated=True),
                            models.Q(
                                models.Q(("decided_by_account__isnull", False)),
                                models.Q(("decided_by_account", models.F("maker_account")), _negated=True),
                                models.Q(("decided_by", models.F("maker")), _negated=True),
                            ),
                            _connector="OR",
                        ),
                        name="signoff_by_another",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("answer", "approved"), _negated=True),
                            ("decided_at__lt", models.F("expires_at")),
                            _connector="OR",
                        ),
                        name="signoff_in_time",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(
                                models.Q(("answer", "approved"), ("signed__isnull", False), ("way", "sign")),
                                models.Q(("signed_digest", ""), _negated=True),
                            ),
                            models.Q(
                                models.Q(("answer", "approved"), ("way", "sign"), _negated=True),
                                models.Q(("ended_at", None), ("signed__isnull", True), ("signed_digest", "")),
                            ),
                            _connector="OR",
                        ),
                        name="signoff_kept_whole",
                    ),
                ],
            },
        ),
        migrations.RunSQL(GUARDS, UNGUARDED),
    ]
