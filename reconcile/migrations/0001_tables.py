"""Plans, runs, what runs stage, and what they find."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import ledger.models.clock


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("ledger", "0003_guards"),
    ]

    operations = [
        migrations.CreateModel(
            name="Plan",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.SlugField(max_length=100, unique=True)),
                ("schedule", models.CharField(blank=True, max_length=100)),
                ("timezone", models.CharField(max_length=64)),
                ("window_s", models.FloatField()),
                ("grace_s", models.FloatField()),
                ("tolerance", models.JSONField(default=dict)),
                ("recipients", models.JSONField(default=list)),
                ("next_run_at", models.DateTimeField(null=True)),
                ("changed_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                (
                    "operation_type",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="plans",
                        to="ledger.operationtype",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Run",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("actor", models.CharField(max_length=150)),
                ("window_from", models.DateTimeField()),
                ("window_to", models.DateTimeField()),
                ("first_day", models.DateField(null=True)),
                ("last_day", models.DateField(null=True)),
                ("dry_run", models.BooleanField(default=False)),
                ("grace_s", models.FloatField()),
                (
                    "state",
                    models.CharField(
                        choices=[("running", "Running"), ("done", "Done"), ("failed", "Failed")],
                        default="running",
                        max_length=10,
                    ),
                ),
                (
                    "step",
                    models.CharField(
                        choices=[
                            ("listing", "Listing"),
                            ("comparing", "Comparing"),
                            ("settling", "Settling"),
                        ],
                        default="listing",
                        max_length=10,
                    ),
                ),
                ("place", models.JSONField(null=True)),
                ("started_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("finished_at", models.DateTimeField(null=True)),
                ("lease_until", models.DateTimeField(null=True)),
                ("hold", models.PositiveSmallIntegerField(default=1)),
                ("session_pid", models.IntegerField(null=True)),
                ("session_since", models.DateTimeField(null=True)),
                ("nudged_at", models.DateTimeField(null=True)),
                ("pages", models.JSONField(default=list)),
                ("records", models.PositiveIntegerField(default=0)),
                ("repeated", models.PositiveIntegerField(default=0)),
                ("counted", models.JSONField(default=dict)),
                ("classes", models.JSONField(default=dict)),
                ("tie", models.JSONField(default=dict)),
                ("totals", models.JSONField(default=dict)),
                ("residual", models.JSONField(default=dict)),
                ("settled", models.JSONField(default=dict)),
                ("digest", models.CharField(blank=True, max_length=64)),
                ("why_failed", models.CharField(blank=True, max_length=500)),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="runs", to="reconcile.plan"
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Record",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "side",
                    models.CharField(
                        choices=[("ledger", "Ledger"), ("destination", "Destination")], max_length=11
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("external_id", models.CharField(blank=True, max_length=200)),
                ("reference", models.CharField(blank=True, max_length=200)),
                ("amount", models.DecimalField(decimal_places=4, max_digits=20, null=True)),
                ("currency", models.CharField(blank=True, max_length=3)),
                ("status", models.CharField(blank=True, max_length=200)),
                ("standing", models.CharField(blank=True, max_length=10)),
                ("occurred_at", models.DateTimeField(null=True)),
                ("occurred_on", models.DateField(null=True)),
                ("seen_at", models.DateTimeField(null=True)),
                ("readable", models.BooleanField(default=True)),
                ("why", models.CharField(blank=True, max_length=300)),
                ("own", models.BooleanField(default=False)),
                ("state", models.CharField(blank=True, max_length=10)),
                ("cancelled", models.BooleanField(default=False)),
                ("held", models.BooleanField(default=False)),
                ("fresh", models.BooleanField(default=False)),
                ("looked", models.CharField(blank=True, max_length=20)),
                ("item_class", models.CharField(max_length=30, null=True)),
                (
                    "operation",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="ledger.operation",
                    ),
                ),
                (
                    "pair",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="paired_with",
                        to="reconcile.record",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="lines",
                        to="reconcile.run",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Finding",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("item_class", models.CharField(max_length=30)),
                ("reference", models.CharField(blank=True, max_length=200)),
                ("items", models.PositiveIntegerField(default=1)),
                ("state", models.CharField(blank=True, max_length=10)),
                ("amount", models.DecimalField(decimal_places=4, max_digits=20, null=True)),
                ("currency", models.CharField(blank=True, max_length=3)),
                ("why", models.CharField(max_length=500)),
                ("destination", models.JSONField(default=list)),
                ("seen_at", models.DateTimeField(null=True)),
                ("first_seen_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("came_back", models.BooleanField(default=False)),
                ("lives", models.BooleanField(default=True)),
                ("fingerprint", models.CharField(max_length=64)),
                ("is_open", models.BooleanField(default=True)),
                (
                    "case",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="findings",
                        to="ledger.case",
                    ),
                ),
                (
                    "operation",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="findings",
                        to="ledger.operation",
                    ),
                ),
                (
                    "gone_in",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="gone",
                        to="reconcile.run",
                    ),
                ),
                (
                    "run",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="findings",
                        to="reconcile.run",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.AddConstraint(
            model_name="plan",
            constraint=models.CheckConstraint(
                condition=models.Q(("window_s__gt", 0)), name="plan_window_positive"
            ),
        ),
        migrations.AddConstraint(
            model_name="plan",
            constraint=models.CheckConstraint(
                condition=models.Q(("grace_s__gte", 0)), name="plan_grace_not_negative"
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(fields=["plan", "-id"], name="run_of_plan"),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("state", "running")), fields=("plan",), name="run_one_running"
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["running", "done", "failed"])), name="run_state_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("window_from__lt", models.F("window_to"))), name="run_window_has_length"
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        ("finished_at__isnull", True), ("lease_until__isnull", False), ("state", "running")
                    ),
                    models.Q(
                        models.Q(("state", "running"), _negated=True),
                        ("finished_at__isnull", False),
                        ("lease_until__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="run_lease_while_running",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("state", "running"), ("place__isnull", True), _connector="OR"),
                name="run_place_while_running",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("state", "failed"), ("why_failed", ""), _negated=True),
                name="run_failure_has_words",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("digest", ""), ("state", "done"), _negated=True),
                name="run_done_has_digest",
            ),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=models.Q(("step__in", ["listing", "comparing", "settling"])), name="run_step_known"
            ),
        ),
        migrations.AddIndex(
            model_name="record",
            index=models.Index(fields=["run", "external_id"], name="record_by_id"),
        ),
        migrations.AddConstraint(
            model_name="record",
            constraint=models.UniqueConstraint(fields=("run", "side", "number"), name="record_number_once"),
        ),
        migrations.AddConstraint(
            model_name="record",
            constraint=models.CheckConstraint(
                condition=models.Q(("side__in", ["ledger", "destination"])), name="record_side_known"
            ),
        ),
        migrations.AddConstraint(
            model_name="record",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("item_class__isnull", True),
                    (
                        "item_class__in",
                        [
                            "ambiguous",
                            "amount_over",
                            "amount_under",
                            "currency_differs",
                            "duplicate_at_destination",
                            "in_flight",
                            "matched",
                            "missing_at_destination",
                            "never_submitted",
                            "out_of_scope",
                            "payload_differs",
                            "status_differs",
                            "uncertain",
                            "unexpected_at_destination",
                            "unreadable",
                        ],
                    ),
                    _connector="OR",
                ),
                name="record_class_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="record",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("standing", ""), ("standing__in", ["done", "failed", "pending", "void"]), _connector="OR"
                ),
                name="record_standing_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="record",
            constraint=models.CheckConstraint(
                condition=models.Q(("operation__isnull", True), ("side", "ledger"), _negated=True),
                name="record_ledger_has_operation",
            ),
        ),
        migrations.AddConstraint(
            model_name="record",
            constraint=models.CheckConstraint(
                condition=models.Q(("side", "ledger"), ("pair__isnull", True), _connector="OR"),
                name="record_pair_of_ledger",
            ),
        ),
        migrations.AddConstraint(
            model_name="record",
            constraint=models.CheckConstraint(
                condition=models.Q(("readable", True), models.Q(("why", ""), _negated=True), _connector="OR"),
                name="record_unreadable_says_why",
            ),
        ),
        migrations.AddConstraint(
            model_name="record",
            constraint=models.CheckConstraint(
                condition=models.Q(("occurred_at", None), ("occurred_on", None), _connector="OR"),
                name="record_instant_or_day",
            ),
        ),
        migrations.AddIndex(
            model_name="finding",
            index=models.Index(fields=["item_class", "reference", "-id"], name="finding_latest"),
        ),
        migrations.AddIndex(
            model_name="finding",
            index=models.Index(
                condition=models.Q(("reference", "")),
                fields=["item_class", "fingerprint", "-id"],
                name="finding_latest_unnamed",
            ),
        ),
        migrations.AddIndex(
            model_name="finding",
            index=models.Index(condition=models.Q(("lives", True)), fields=["run"], name="finding_living"),
        ),
        migrations.AddConstraint(
            model_name="finding",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "item_class__in",
                        [
                            "ambiguous",
                            "amount_over",
                            "amount_under",
                            "currency_differs",
                            "duplicate_at_destination",
                            "in_flight",
                            "matched",
                            "missing_at_destination",
                            "never_submitted",
                            "out_of_scope",
                            "payload_differs",
                            "status_differs",
                            "uncertain",
                            "unexpected_at_destination",
                            "unreadable",
                        ],
                    )
                ),
                name="finding_class_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="finding",
            constraint=models.CheckConstraint(
                condition=models.Q(("why", ""), _negated=True), name="finding_says_why"
            ),
        ),
        migrations.AddConstraint(
            model_name="finding",
            constraint=models.CheckConstraint(
                condition=models.Q(("items__gte", 1)), name="finding_stands_for_items"
            ),
        ),
        migrations.AddConstraint(
            model_name="finding",
            constraint=models.CheckConstraint(
                condition=models.Q(("gone_in", None), ("lives", False), _connector="OR"),
                name="finding_gone_lives_not",
            ),
        ),
        migrations.AddConstraint(
            model_name="finding",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("amount__isnull", True), ("currency", "")),
                    models.Q(("amount__isnull", False), models.Q(("currency", ""), _negated=True)),
                    _connector="OR",
                ),
                name="finding_amount_with_currency",
            ),
        ),
    ]
