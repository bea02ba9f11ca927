"""Bulk actions: their frozen lists, what people said about them, and what the database holds them to."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import ledger.models.clock
from review.sql import statement


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0028_hours"),
        ("review", "0005_saved_views"),
    ]

    operations = [
        migrations.CreateModel(
            name="Bulk",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("action", models.CharField(max_length=20)),
                ("status", models.CharField(default="preview", max_length=10)),
                ("source", models.CharField(blank=True, max_length=2000)),
                ("picked", models.BooleanField()),
                ("frozen", models.PositiveIntegerField()),
                ("frozen_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("maker", models.CharField(max_length=150)),
                ("maker_account", models.IntegerField(editable=False, null=True)),
                ("reason", models.CharField(blank=True, max_length=1000)),
                ("per_minute", models.PositiveIntegerField(default=60)),
                ("asked_at", models.DateTimeField(null=True)),
                ("starts_at", models.DateTimeField(null=True)),
                ("approved_by", models.CharField(blank=True, max_length=150)),
                ("approved_account", models.IntegerField(editable=False, null=True)),
                ("approved_at", models.DateTimeField(null=True)),
                ("why", models.CharField(blank=True, max_length=500)),
                ("ended_at", models.DateTimeField(null=True)),
                ("nudged_at", models.DateTimeField(null=True)),
                ("stepped_at", models.DateTimeField(null=True)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("status__in", ["done"]), _negated=True),
                        fields=["id"],
                        name="bulk_open",
                    )
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("action__in", ["check", "did_not_happen", "send_again"])),
                        name="bulk_action_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            (
                                "status__in",
                                ["asked", "cancelled", "done", "paused", "preview", "running", "stopped"],
                            )
                        ),
                        name="bulk_status_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("frozen__gte", 1), ("frozen__lte", 20000)), name="bulk_size"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("per_minute__gte", 1), ("per_minute__lte", 100000)),
                        name="bulk_pace",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("maker", ""), _negated=True), name="bulk_has_maker"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("status", "preview"), models.Q(("reason", ""), _negated=True), _connector="OR"
                        ),
                        name="bulk_has_reason",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("approved_by", ""),
                            models.Q(("approved_by", models.F("maker")), _negated=True),
                            _connector="OR",
                        ),
                        name="bulk_by_another",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("approved_by", ""),
                            models.Q(("approved_account", models.F("maker_account")), _negated=True),
                            _connector="OR",
                        ),
                        name="bulk_by_another_account",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="BulkItem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("may", models.BooleanField(null=True)),
                ("foreseen", models.CharField(blank=True, max_length=20)),
                ("looked_at", models.DateTimeField(null=True)),
                ("ready_at", models.DateTimeField(null=True)),
                ("turn", models.PositiveSmallIntegerField(default=0)),
                ("canary", models.BooleanField(default=False)),
                ("acted_at", models.DateTimeField(null=True)),
                ("command_id", models.UUIDField(null=True, unique=True)),
                ("surprised_at", models.DateTimeField(null=True)),
                ("outcome", models.CharField(blank=True, max_length=10)),
                ("why", models.CharField(blank=True, max_length=500)),
                ("done_at", models.DateTimeField(null=True)),
                (
                    "bulk",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="items",
                        to="review.bulk",
                    ),
                ),
                (
                    "looked",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="ledger.lookup",
                    ),
                ),
                (
                    "operation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="bulk_items",
                        to="ledger.operation",
                    ),
                ),
                (
                    "seen",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="ledger.lookup",
                    ),
                ),
            ],
            options={
                "ordering": ["number"],
                "indexes": [
                    models.Index(
                        condition=models.Q(("outcome", "")), fields=["bulk", "number"], name="bulkitem_left"
                    ),
                    models.Index(fields=["bulk", "outcome"], name="bulkitem_outcome"),
                    models.Index(
                        condition=models.Q(("canary", True)), fields=["bulk"], name="bulkitem_canary"
                    ),
                    models.Index(
                        condition=models.Q(("acted_at__isnull", False), ("outcome", "")),
                        fields=["bulk", "number"],
                        name="bulkitem_under_way",
                    ),
                    models.Index(fields=["bulk", "looked_at"], name="bulkitem_looked"),
                    models.Index(fields=["bulk", "acted_at"], name="bulkitem_acted"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("bulk", "number"), name="bulkitem_number"),
                    models.UniqueConstraint(fields=("bulk", "operation"), name="bulkitem_once"),
                    models.CheckConstraint(
                        condition=models.Q(("outcome__in", ["", "held", "refused", "unseen", "verified"])),
                        name="bulkitem_outcome_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("done_at__isnull", True), ("outcome", "")),
                            models.Q(models.Q(("outcome", ""), _negated=True), ("done_at__isnull", False)),
                            _connector="OR",
                        ),
                        name="bulkitem_outcome_dated",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("acted_at__isnull", True), ("canary", False)),
                            ("command_id__isnull", False),
                            _connector="OR",
                        ),
                        name="bulkitem_acted_by_command",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="BulkWord",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("command_id", models.UUIDField(unique=True)),
                ("action", models.CharField(max_length=20)),
                ("actor", models.CharField(max_length=150)),
                ("reason", models.CharField(max_length=1000)),
                ("given_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                (
                    "bulk",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="words", to="review.bulk"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("actor", ""), _negated=True), name="bulkword_has_actor"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("reason", ""), _negated=True), name="bulkword_has_reason"
                    ),
                ],
            },
        ),
        migrations.RunSQL(statement("bulk"), migrations.RunSQL.noop),
    ]
