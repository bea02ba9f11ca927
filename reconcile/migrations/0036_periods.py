"""Accounting periods, their reports as of the cut-off, and which period a signature is of."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import ledger.models.clock
from reconcile.periods.guards import GUARDS, UNGUARDED


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0039_busy_sessions"),
        ("reconcile", "0035_rules"),
    ]

    operations = [
        migrations.CreateModel(
            name="PeriodReport",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("as_of_at", models.DateTimeField()),
                ("ties", models.BooleanField()),
                ("open_count", models.PositiveIntegerField()),
                ("document", models.JSONField()),
                ("digest", models.CharField(max_length=64)),
                ("made_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
            ],
        ),
        migrations.AddField(
            model_name="plan",
            name="period",
            field=models.JSONField(db_default=models.Value({}, models.JSONField()), default=dict),
        ),
        migrations.CreateModel(
            name="Period",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("first_day", models.DateField()),
                ("last_day", models.DateField()),
                ("timezone", models.CharField(max_length=64)),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("grace_business_days", models.PositiveSmallIntegerField(default=0)),
                ("holidays", models.CharField(blank=True, max_length=20)),
                ("cut_off_at", models.DateTimeField()),
                ("made_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="periods",
                        to="reconcile.plan",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="signoff",
            name="period",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="signoffs",
                to="reconcile.period",
            ),
        ),
        migrations.AddConstraint(
            model_name="signoff",
            constraint=models.UniqueConstraint(
                condition=models.Q(
                    ("answer__in", ["", "approved"]),
                    ("ended_at", None),
                    ("way", "sign"),
                ),
                fields=("period",),
                name="signoff_one_of_period",
            ),
        ),
        migrations.AddField(
            model_name="periodreport",
            name="period",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="reports", to="reconcile.period"
            ),
        ),
        migrations.AddField(
            model_name="periodreport",
            name="run",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.PROTECT, related_name="period_report", to="reconcile.run"
            ),
        ),
        migrations.AddConstraint(
            model_name="period",
            constraint=models.UniqueConstraint(fields=("plan", "first_day"), name="period_once"),
        ),
        migrations.AddConstraint(
            model_name="period",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("cut_off_at__gte", models.F("ends_at")), ("starts_at__lt", models.F("ends_at"))
                ),
                name="period_in_order",
            ),
        ),
        migrations.AddConstraint(
            model_name="periodreport",
            constraint=models.CheckConstraint(
                condition=models.Q(("digest__regex", "^[0-9a-f]{64}$")), name="periodreport_digest"
            ),
        ),
        migrations.RunSQL(GUARDS, UNGUARDED),
    ]
