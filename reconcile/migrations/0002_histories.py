"""Run histories: files taken in, their successful runs, and triggers with several; what was taken in stays."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import ledger.models.clock

STAYS = """
CREATE TRIGGER past_run_stays BEFORE UPDATE OR DELETE ON reconcile_pastrun
    FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER past_run_no_truncate BEFORE TRUNCATE ON reconcile_pastrun
    FOR EACH STATEMENT EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER history_stays BEFORE DELETE ON reconcile_history FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
CREATE TRIGGER repeat_stays BEFORE DELETE ON reconcile_repeat FOR EACH ROW EXECUTE FUNCTION ledger_refuse();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0013_repeated"),
        ("reconcile", "0001_tables"),
    ]

    operations = [
        migrations.CreateModel(
            name="History",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("automation", models.CharField(max_length=100)),
                ("system", models.CharField(max_length=100)),
                ("file_name", models.CharField(max_length=200)),
                ("checksum", models.CharField(max_length=64)),
                ("rules", models.JSONField()),
                ("actor", models.CharField(max_length=150)),
                ("taken_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("rows", models.PositiveIntegerField(default=0)),
                ("bad", models.PositiveIntegerField(default=0)),
                ("statuses", models.JSONField(default=dict)),
                ("added", models.PositiveIntegerField(default=0)),
                ("repeated", models.PositiveIntegerField(default=0)),
                (
                    "operation_type",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="histories",
                        to="ledger.operationtype",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="PastRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("automation", models.CharField(max_length=100)),
                ("system", models.CharField(max_length=100)),
                ("reference", models.CharField(max_length=200)),
                ("version", models.CharField(blank=True, max_length=100)),
                ("run", models.CharField(max_length=200)),
                ("started_at", models.DateTimeField()),
                (
                    "history",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="runs",
                        to="reconcile.history",
                    ),
                ),
                (
                    "operation_type",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="ledger.operationtype",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Repeat",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("system", models.CharField(max_length=100)),
                ("reference", models.CharField(max_length=200)),
                ("version", models.CharField(blank=True, max_length=100)),
                ("key", models.CharField(blank=True, max_length=200)),
                ("item_class", models.CharField(default="uncertain", max_length=30)),
                ("why", models.CharField(max_length=500)),
                ("runs", models.PositiveIntegerField()),
                ("first_run_at", models.DateTimeField()),
                ("last_run_at", models.DateTimeField()),
                ("first_seen_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("came_back", models.BooleanField(default=False)),
                ("looked_at", models.DateTimeField(null=True)),
                ("looked_by", models.CharField(blank=True, max_length=150)),
                ("records", models.JSONField(default=list)),
                ("surplus", models.PositiveIntegerField(default=0)),
                ("amount", models.DecimalField(decimal_places=4, max_digits=20, null=True)),
                ("currency", models.CharField(blank=True, max_length=3)),
                (
                    "case",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="repeats", to="ledger.case"
                    ),
                ),
                (
                    "history",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="repeats",
                        to="reconcile.history",
                    ),
                ),
                (
                    "operation",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="repeats",
                        to="ledger.operation",
                    ),
                ),
                (
                    "operation_type",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="repeats",
                        to="ledger.operationtype",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="history",
            constraint=models.UniqueConstraint(
                fields=("operation_type", "automation", "checksum"), name="history_file_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="pastrun",
            constraint=models.UniqueConstraint(
                fields=("operation_type", "system", "reference", "version", "automation", "run"),
                name="past_run_once",
            ),
        ),
        migrations.AddConstraint(
            model_name="pastrun",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("reference", ""), _negated=True), models.Q(("run", ""), _negated=True)
                ),
                name="past_run_named",
            ),
        ),
        migrations.AddConstraint(
            model_name="repeat",
            constraint=models.UniqueConstraint(
                fields=("operation_type", "system", "reference", "version"), name="repeat_once"
            ),
        ),
        migrations.AddConstraint(
            model_name="repeat",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "item_class__in",
                        [
                            "ambiguous",
                            "duplicate_at_destination",
                            "matched",
                            "missing_at_destination",
                            "status_differs",
                            "uncertain",
                        ],
                    )
                ),
                name="repeat_class_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="repeat",
            constraint=models.CheckConstraint(
                condition=models.Q(("why", ""), _negated=True), name="repeat_says_why"
            ),
        ),
        migrations.AddConstraint(
            model_name="repeat",
            constraint=models.CheckConstraint(condition=models.Q(("runs__gt", 1)), name="repeat_ran_again"),
        ),
        migrations.AddConstraint(
            model_name="repeat",
            constraint=models.CheckConstraint(
                condition=models.Q(("first_run_at__lte", models.F("last_run_at"))),
                name="repeat_runs_in_order",
            ),
        ),
        migrations.AddConstraint(
            model_name="repeat",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("amount__isnull", True), ("currency", "")),
                    models.Q(("amount__isnull", False), models.Q(("currency", ""), _negated=True)),
                    _connector="OR",
                ),
                name="repeat_amount_with_currency",
            ),
        ),
        migrations.RunSQL(STAYS, migrations.RunSQL.noop),
    ]
