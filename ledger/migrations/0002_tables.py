"""The tables of the ledger, with what may be in them."""

import uuid

import django.db.models.deletion
from django.db import migrations, models

import ledger.models.clock
import ledger.rules.approvals
import ledger.rules.states


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("ledger", "0001_clock"),
    ]

    operations = [
        migrations.CreateModel(
            name="Attempt",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("number", models.PositiveSmallIntegerField()),
                ("caller_id", models.UUIDField(null=True, unique=True)),
                ("start_id", models.UUIDField(null=True)),
                ("token_hash", models.CharField(max_length=64)),
                ("actor", models.CharField(max_length=150)),
                ("run", models.CharField(blank=True, max_length=200)),
                ("idempotency_key", models.CharField(max_length=255)),
                ("payload_digest", models.CharField(max_length=100)),
                ("claimed_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("lease_until", models.DateTimeField()),
                ("started_at", models.DateTimeField(null=True)),
                ("sender_ended_at", models.DateTimeField(null=True)),
                ("closed_at", models.DateTimeField(null=True)),
                ("outcome", models.CharField(max_length=10, null=True)),
                ("http_status", models.PositiveSmallIntegerField(null=True)),
                ("error_code", models.CharField(blank=True, max_length=100)),
                ("message", models.CharField(blank=True, max_length=300)),
                ("destination_reference", models.CharField(blank=True, max_length=200)),
                ("retry_after_s", models.FloatField(null=True)),
                ("replayed", models.BooleanField(db_default=False, default=False)),
                ("outcome_digest", models.CharField(blank=True, max_length=64)),
                ("cleared_at", models.DateTimeField(null=True)),
                ("worded_at", models.DateTimeField(null=True)),
            ],
            options={
                "ordering": ["number"],
            },
        ),
        migrations.CreateModel(
            name="Heartbeat",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=50, unique=True)),
                ("beat_at", models.DateTimeField()),
                ("busy_until", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="ApiToken",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100)),
                ("token_hash", models.CharField(max_length=64, unique=True)),
                ("types", models.JSONField(default=list)),
                ("created_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("revoked_at", models.DateTimeField(null=True)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("revoked_at__isnull", True)),
                        fields=("name",),
                        name="token_name_once",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Destination",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("name", models.SlugField(max_length=100, unique=True)),
                ("title", models.CharField(max_length=200)),
                ("entity", models.CharField(max_length=200)),
                ("connector", models.CharField(max_length=200)),
                ("account", models.CharField(max_length=200)),
                ("connection", models.JSONField()),
                ("changed_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("title", ""), _negated=True), models.Q(("entity", ""), _negated=True)
                        ),
                        name="destination_named",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Operation",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("key", models.CharField(max_length=200)),
                ("state", models.CharField(max_length=10)),
                ("description", models.CharField(blank=True, max_length=300)),
                ("subject", models.CharField(blank=True, max_length=300)),
                ("amount", models.DecimalField(decimal_places=4, max_digits=20, null=True)),
                ("currency", models.CharField(blank=True, max_length=3)),
                ("source_system", models.CharField(blank=True, max_length=100)),
                ("source_reference", models.CharField(blank=True, max_length=200)),
                ("source_version", models.CharField(blank=True, max_length=100)),
                ("payload_digest", models.CharField(max_length=100)),
                ("leaf_digests", models.JSONField()),
                ("payload_sealed", models.BinaryField(null=True)),
                ("idempotency_key", models.CharField(max_length=255)),
                ("generation", models.PositiveSmallIntegerField(default=1)),
                ("first_sent_at", models.DateTimeField(null=True)),
                ("contract_first", models.JSONField(null=True)),
                ("account_first", models.CharField(blank=True, max_length=200)),
                ("accepted_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("changed_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("revision", models.PositiveIntegerField(default=1)),
                ("attempt_count", models.PositiveSmallIntegerField(default=0)),
                ("lease_until", models.DateTimeField(null=True)),
                ("next_try_at", models.DateTimeField(null=True)),
                ("taken_at", models.DateTimeField(null=True)),
                ("settles_at", models.DateTimeField(null=True)),
                ("look_at", models.DateTimeField(null=True)),
                ("look_count", models.PositiveSmallIntegerField(default=0)),
                ("nudged_at", models.DateTimeField(null=True)),
                ("held_at", models.DateTimeField(null=True)),
                ("cancelled_at", models.DateTimeField(null=True)),
                ("destination_reference", models.CharField(blank=True, max_length=200)),
                ("evidence", models.CharField(blank=True, max_length=10)),
                ("evidence_by", models.CharField(blank=True, max_length=150)),
                ("finished_at", models.DateTimeField(null=True)),
                ("correction_number", models.PositiveSmallIntegerField(null=True)),
                ("corrected_at", models.DateTimeField(null=True)),
                ("first_cause", models.CharField(blank=True, max_length=300)),
                (
                    "corrects",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="corrections",
                        to="ledger.operation",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Lookup",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("actor", models.CharField(max_length=150)),
                ("asked_at", models.DateTimeField()),
                ("answered_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("verdict", models.CharField(max_length=20)),
                ("complete", models.BooleanField()),
                ("proof", models.BooleanField(default=False)),
                ("records", models.JSONField(default=list)),
                ("content_digest", models.CharField(max_length=64)),
                ("why", models.CharField(blank=True, max_length=300)),
                ("control_reference", models.CharField(blank=True, max_length=200)),
                (
                    "operation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="lookups",
                        to="ledger.operation",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Event",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("kind", models.CharField(max_length=30)),
                ("actor", models.CharField(max_length=150)),
                ("reason", models.CharField(max_length=1000)),
                ("state_from", models.CharField(blank=True, max_length=10)),
                ("state_to", models.CharField(blank=True, max_length=10)),
                ("command_id", models.UUIDField(null=True)),
                ("revision", models.PositiveIntegerField(null=True)),
                ("data", models.JSONField(default=dict)),
                ("at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                (
                    "attempt",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="events",
                        to="ledger.attempt",
                    ),
                ),
                (
                    "operation",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="events",
                        to="ledger.operation",
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="Command",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("command_id", models.UUIDField(unique=True)),
                ("action", models.CharField(max_length=30)),
                ("actor", models.CharField(max_length=150)),
                ("given_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                (
                    "operation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="commands",
                        to="ledger.operation",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Case",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("kind", models.CharField(max_length=20)),
                ("owner", models.CharField(max_length=100)),
                ("opened_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("due_at", models.DateTimeField()),
                ("closed_at", models.DateTimeField(null=True)),
                ("closed_by", models.CharField(blank=True, max_length=150)),
                (
                    "operation",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="cases",
                        to="ledger.operation",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="attempt",
            name="operation",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT, related_name="attempts", to="ledger.operation"
            ),
        ),
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
                ("meant_digest", models.CharField(blank=True, default="", max_length=100)),
                ("meant_sealed", models.BinaryField(null=True)),
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
        migrations.CreateModel(
            name="OperationType",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100, unique=True)),
                ("label", models.CharField(max_length=200)),
                ("noun", models.CharField(max_length=60)),
                (
                    "performed_by",
                    models.CharField(choices=[("tieout", "Tieout"), ("caller", "Caller")], max_length=10),
                ),
                ("side_effect", models.BooleanField(default=True)),
                ("key_template", models.CharField(blank=True, max_length=300)),
                ("lease_s", models.FloatField()),
                ("permit_for_s", models.FloatField(default=86400)),
                ("payload_keep_s", models.FloatField(default=7776000)),
                ("owner", models.CharField(max_length=100)),
                ("contract", models.JSONField()),
                ("calls", models.JSONField()),
                ("retry", models.JSONField()),
                ("review", models.JSONField()),
                ("changed_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("lookup_changed_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("lookup_proved_at", models.DateTimeField(null=True)),
                (
                    "destination",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="types",
                        to="ledger.destination",
                    ),
                ),
            ],
        ),
        migrations.AddField(
            model_name="operation",
            name="operation_type",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.PROTECT,
                related_name="operations",
                to="ledger.operationtype",
            ),
        ),
        migrations.CreateModel(
            name="Pause",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("http_status", models.PositiveSmallIntegerField()),
                ("why", models.CharField(db_default="", default="", max_length=500)),
                ("callers_only", models.BooleanField(db_default=False, default=False)),
                ("paused_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("resumed_at", models.DateTimeField(null=True)),
                ("resumed_by", models.CharField(blank=True, max_length=150)),
                ("command_id", models.UUIDField(null=True, unique=True)),
                (
                    "case",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT, related_name="pause", to="ledger.case"
                    ),
                ),
                (
                    "destination",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="pauses",
                        to="ledger.destination",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Permit",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "source",
                    models.CharField(choices=[("policy", "Policy"), ("person", "Person")], max_length=10),
                ),
                ("actor", models.CharField(max_length=150)),
                ("reason", models.CharField(max_length=1000)),
                ("command_id", models.UUIDField(null=True, unique=True)),
                ("given_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("effective_at", models.DateTimeField()),
                ("lapses_at", models.DateTimeField()),
                ("spent_at", models.DateTimeField(null=True)),
                ("withdrawn_at", models.DateTimeField(null=True)),
                ("withdrawn_by", models.CharField(blank=True, max_length=150)),
                (
                    "approval",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="permit",
                        to="ledger.approval",
                    ),
                ),
                (
                    "attempt",
                    models.OneToOneField(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="permit",
                        to="ledger.attempt",
                    ),
                ),
                (
                    "lookup",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="permits",
                        to="ledger.lookup",
                    ),
                ),
                (
                    "operation",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="permits",
                        to="ledger.operation",
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Refusal",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "attempt",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="refusal",
                        to="ledger.attempt",
                    ),
                ),
                (
                    "pause",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="refusals",
                        to="ledger.pause",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="lookup",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "verdict__in",
                        [
                            ledger.rules.states.Verdict["ABSENT"],
                            ledger.rules.states.Verdict["COULD_NOT_LOOK"],
                            ledger.rules.states.Verdict["DIFFERS"],
                            ledger.rules.states.Verdict["ONE_MATCH"],
                            ledger.rules.states.Verdict["SEVERAL"],
                        ],
                    )
                ),
                name="lookup_verdict_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="lookup",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("proof", False),
                    models.Q(("complete", True), ("verdict", ledger.rules.states.Verdict["ABSENT"])),
                    _connector="OR",
                ),
                name="lookup_proof_is_absence",
            ),
        ),
        migrations.AddIndex(
            model_name="event",
            index=models.Index(fields=["operation", "id"], name="event_of_operation"),
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.CheckConstraint(
                condition=models.Q(("actor", ""), _negated=True), name="event_has_actor"
            ),
        ),
        migrations.AddConstraint(
            model_name="event",
            constraint=models.CheckConstraint(
                condition=models.Q(("reason", ""), _negated=True), name="event_has_reason"
            ),
        ),
        migrations.AddConstraint(
            model_name="case",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "kind__in",
                        [
                            ledger.rules.states.CaseKind["ABSENT"],
                            ledger.rules.states.CaseKind["ACCEPTED"],
                            ledger.rules.states.CaseKind["BOTH_THERE"],
                            ledger.rules.states.CaseKind["COULD_NOT_LOOK"],
                            ledger.rules.states.CaseKind["DIFFERS"],
                            ledger.rules.states.CaseKind["EXPIRED"],
                            ledger.rules.states.CaseKind["LAPSED"],
                            ledger.rules.states.CaseKind["LIMIT"],
                            ledger.rules.states.CaseKind["MISSING"],
                            ledger.rules.states.CaseKind["NEVER_SUBMITTED"],
                            ledger.rules.states.CaseKind["PAUSED"],
                            ledger.rules.states.CaseKind["REFUSED"],
                            ledger.rules.states.CaseKind["SEVERAL"],
                            ledger.rules.states.CaseKind["THERE_AFTER_ALL"],
                            ledger.rules.states.CaseKind["UNPROVED"],
                        ],
                    )
                ),
                name="case_kind_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="case",
            constraint=models.UniqueConstraint(
                condition=models.Q(("closed_at__isnull", True)), fields=("operation",), name="case_one_open"
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.UniqueConstraint(fields=("operation", "number"), name="attempt_number_once"),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.UniqueConstraint(
                condition=models.Q(("closed_at__isnull", True)),
                fields=("operation",),
                name="attempt_one_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("outcome__isnull", True),
                    (
                        "outcome__in",
                        [
                            ledger.rules.states.Outcome["ACCEPTED"],
                            ledger.rules.states.Outcome["REJECTED"],
                            ledger.rules.states.Outcome["RETRYABLE"],
                            ledger.rules.states.Outcome["SUCCEEDED"],
                            ledger.rules.states.Outcome["UNCERTAIN"],
                        ],
                    ),
                    _connector="OR",
                ),
                name="attempt_outcome_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("closed_at__isnull", True), ("outcome__isnull", True)),
                    models.Q(("closed_at__isnull", False), ("outcome__isnull", False)),
                    _connector="OR",
                ),
                name="attempt_closed_with_outcome",
            ),
        ),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("worded_at__isnull", True),
                    models.Q(("cleared_at__isnull", True), ("closed_at__isnull", False)),
                    _connector="OR",
                ),
                name="attempt_word_is_no_proof",
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
                            ledger.rules.approvals.Ask["OVERRIDE_CORRECT"],
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
                    models.Q(("decided_by__contains", ":"), _negated=True),
                    _connector="OR",
                ),
                name="approval_by_a_person",
            ),
        ),
        migrations.AddConstraint(
            model_name="approval",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(
                        models.Q(("action", ledger.rules.approvals.Ask["OVERRIDE_CORRECT"]), _negated=True),
                        ("meant_digest", ""),
                        ("meant_sealed__isnull", True),
                    ),
                    models.Q(
                        ("action", ledger.rules.approvals.Ask["OVERRIDE_CORRECT"]),
                        models.Q(("meant_digest", ""), _negated=True),
                        models.Q(
                            models.Q(("decided_at__isnull", True), ("meant_sealed__isnull", False)),
                            models.Q(("decided_at__isnull", False), ("meant_sealed__isnull", True)),
                            _connector="OR",
                        ),
                    ),
                    _connector="OR",
                ),
                name="approval_meant_while_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="operationtype",
            constraint=models.CheckConstraint(
                condition=models.Q(("performed_by__in", ["tieout", "caller"])), name="type_performer"
            ),
        ),
        migrations.AddConstraint(
            model_name="operationtype",
            constraint=models.CheckConstraint(
                condition=models.Q(("lease_s__gt", 0)), name="type_lease_positive"
            ),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                condition=models.Q(("state", ledger.rules.states.State["PENDING"])),
                fields=["next_try_at"],
                name="operation_due",
            ),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                condition=models.Q(("state", ledger.rules.states.State["RUNNING"])),
                fields=["lease_until"],
                name="operation_lease",
            ),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                condition=models.Q(("state", ledger.rules.states.State["UNCERTAIN"])),
                fields=["look_at"],
                name="operation_look",
            ),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                condition=models.Q(
                    (
                        "state__in",
                        [
                            ledger.rules.states.State["PENDING"],
                            ledger.rules.states.State["RUNNING"],
                            ledger.rules.states.State["UNCERTAIN"],
                        ],
                    )
                ),
                fields=["id"],
                name="operation_open_unfinished",
            ),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                condition=models.Q(("held_at__isnull", False)), fields=["held_at"], name="operation_held"
            ),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                condition=models.Q(("corrects__isnull", False)),
                fields=["corrects"],
                name="operation_corrects",
            ),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                condition=models.Q(
                    ("payload_sealed__isnull", False),
                    models.Q(
                        ("state", ledger.rules.states.State["COMPLETED"]),
                        ("cancelled_at__isnull", False),
                        ("corrected_at__isnull", False),
                        _connector="OR",
                    ),
                ),
                fields=["operation_type", "finished_at"],
                name="operation_payload",
            ),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(fields=["source_system", "source_reference"], name="operation_source"),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                fields=["operation_type", "state", "changed_at", "uid"], name="operation_listed"
            ),
        ),
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(fields=["operation_type", "accepted_at"], name="operation_window"),
        ),
        migrations.AddConstraint(
            model_name="operation",
            constraint=models.UniqueConstraint(fields=("operation_type", "key"), name="operation_once"),
        ),
        migrations.AddConstraint(
            model_name="operation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "state__in",
                        [
                            ledger.rules.states.State["COMPLETED"],
                            ledger.rules.states.State["FAILED"],
                            ledger.rules.states.State["PENDING"],
                            ledger.rules.states.State["RUNNING"],
                            ledger.rules.states.State["UNCERTAIN"],
                        ],
                    )
                ),
                name="operation_state_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="operation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", ledger.rules.states.State["RUNNING"]), ("lease_until__isnull", False)),
                    models.Q(
                        models.Q(("state", ledger.rules.states.State["RUNNING"]), _negated=True),
                        ("lease_until__isnull", True),
                    ),
                    _connector="OR",
                ),
                name="operation_lease_while_running",
            ),
        ),
        migrations.AddConstraint(
            model_name="operation",
            constraint=models.CheckConstraint(
                condition=models.Q(("key__regex", "^\\s*$"), _negated=True), name="operation_key_not_blank"
            ),
        ),
        migrations.AddConstraint(
            model_name="operation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("amount__isnull", True), ("currency", "")),
                    models.Q(("amount__isnull", False), models.Q(("currency", ""), _negated=True)),
                    _connector="OR",
                ),
                name="operation_amount_with_currency",
            ),
        ),
        migrations.AddConstraint(
            model_name="operation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("state", ledger.rules.states.State["COMPLETED"]), _negated=True),
                    (
                        "evidence__in",
                        [
                            ledger.rules.states.Evidence["ANSWER"],
                            ledger.rules.states.Evidence["ATTESTED"],
                            ledger.rules.states.Evidence["LOOKUP"],
                        ],
                    ),
                    _connector="OR",
                ),
                name="operation_completed_has_evidence",
            ),
        ),
        migrations.AddConstraint(
            model_name="operation",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("correction_number__isnull", True), ("corrects__isnull", True)),
                    models.Q(("correction_number__isnull", False), ("corrects__isnull", False)),
                    _connector="OR",
                ),
                name="operation_correction_numbered",
            ),
        ),
        migrations.AddConstraint(
            model_name="operation",
            constraint=models.UniqueConstraint(
                condition=models.Q(("corrected_at__isnull", True), ("corrects__isnull", False)),
                fields=("corrects",),
                name="operation_one_correction",
            ),
        ),
        migrations.AddConstraint(
            model_name="pause",
            constraint=models.UniqueConstraint(
                condition=models.Q(("resumed_at__isnull", True)),
                fields=("destination", "callers_only"),
                name="pause_one_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="pause",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("resumed_at__isnull", True), ("resumed_by", "")),
                    models.Q(("resumed_at__isnull", False), models.Q(("resumed_by", ""), _negated=True)),
                    _connector="OR",
                ),
                name="pause_resumed_by_somebody",
            ),
        ),
        migrations.AddConstraint(
            model_name="permit",
            constraint=models.UniqueConstraint(
                condition=models.Q(("spent_at__isnull", True), ("withdrawn_at__isnull", True)),
                fields=("operation",),
                name="permit_one_open",
            ),
        ),
        migrations.AddConstraint(
            model_name="permit",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("spent_at__isnull", True), ("withdrawn_at__isnull", True), _connector="OR"
                ),
                name="permit_spent_or_withdrawn",
            ),
        ),
        migrations.AddConstraint(
            model_name="permit",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("attempt__isnull", True), ("spent_at__isnull", True)),
                    models.Q(("attempt__isnull", False), ("spent_at__isnull", False)),
                    _connector="OR",
                ),
                name="permit_spent_by_attempt",
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
            model_name="permit",
            constraint=models.CheckConstraint(
                condition=models.Q(("lapses_at__gt", models.F("effective_at"))), name="permit_lapses_later"
            ),
        ),
    ]
