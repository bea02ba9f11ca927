"""Webhooks to others, and the outbox that is written with each event."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import ledger.models.clock
from ledger.sql import statement


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0007_drills"),
    ]

    operations = [
        migrations.CreateModel(
            name="Webhook",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=100, unique=True)),
                ("url", models.CharField(max_length=500)),
                ("secrets", models.JSONField()),
                ("events", models.JSONField()),
                ("types", models.JSONField(default=list)),
                ("allow_private", models.BooleanField(default=False)),
                ("changed_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("failures", models.PositiveIntegerField(db_default=0, default=0)),
                ("failing_since", models.DateTimeField(null=True)),
                ("rests_until", models.DateTimeField(null=True)),
                ("busy_until", models.DateTimeField(null=True)),
                ("nudged_at", models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name="Delivery",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("kind", models.CharField(max_length=30)),
                ("made_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("state", models.CharField(max_length=10)),
                ("due_at", models.DateTimeField(null=True)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("tried_at", models.DateTimeField(null=True)),
                ("http_status", models.PositiveSmallIntegerField(null=True)),
                ("words", models.CharField(blank=True, max_length=300)),
                ("delivered_at", models.DateTimeField(null=True)),
                (
                    "event",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deliveries",
                        to="ledger.event",
                    ),
                ),
                (
                    "operation",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deliveries",
                        to="ledger.operation",
                    ),
                ),
                (
                    "webhook",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="deliveries",
                        to="ledger.webhook",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=models.Q(("state", "waiting")),
                        fields=["webhook", "due_at"],
                        name="delivery_due",
                    ),
                    models.Index(
                        condition=models.Q(("state", "given_up")), fields=["-id"], name="delivery_given_up"
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("webhook", "event"), name="delivery_once"),
                    models.CheckConstraint(
                        condition=models.Q(("state__in", ["delivered", "dropped", "given_up", "waiting"])),
                        name="delivery_state_known",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("due_at__isnull", False), ("state", "waiting")),
                            models.Q(models.Q(("state", "waiting"), _negated=True), ("due_at__isnull", True)),
                            _connector="OR",
                        ),
                        name="delivery_due_while_waiting",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("delivered_at__isnull", False), ("state", "delivered")),
                            models.Q(
                                models.Q(("state", "delivered"), _negated=True),
                                ("delivered_at__isnull", True),
                            ),
                            _connector="OR",
                        ),
                        name="delivery_mark",
                    ),
                ],
            },
        ),
        migrations.RunSQL(statement("0008_outbox"), migrations.RunSQL.noop),
    ]
