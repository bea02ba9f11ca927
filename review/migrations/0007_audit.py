"""Auditors' terms, samples and access reviews; what was written stays."""

import datetime
import uuid

import django.db.models.deletion
import django.db.models.expressions
from django.conf import settings
from django.db import migrations, models

import ledger.models.clock
from review.sql import statement


class Migration(migrations.Migration):
    dependencies = [
        ("review", "0006_bulk"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AccessReview",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("reviewed_by", models.CharField(max_length=150)),
                ("reviewed_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("words", models.CharField(max_length=1000)),
                ("seen", models.JSONField()),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("words", ""), _negated=True), name="review_has_words"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Sample",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("drawn_by", models.CharField(max_length=150)),
                ("drawn_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("purpose", models.CharField(max_length=1000)),
                ("population", models.JSONField()),
                ("seal", models.PositiveIntegerField()),
                ("head", models.CharField(max_length=64)),
                ("through", models.BigIntegerField()),
                ("count", models.PositiveIntegerField()),
                ("without_amount", models.PositiveIntegerField()),
                ("totals", models.JSONField()),
                ("digest", models.CharField(max_length=64)),
                ("way", models.CharField(max_length=10)),
                ("seed", models.CharField(max_length=100)),
                ("size", models.PositiveSmallIntegerField()),
                ("items", models.JSONField()),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("way__in", ["random", "value"])), name="sample_way_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("purpose", ""), _negated=True), models.Q(("seed", ""), _negated=True)
                        ),
                        name="sample_has_purpose",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="AuditorTerm",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                ("name", models.CharField(max_length=150)),
                ("begins_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("reason", models.CharField(max_length=1000)),
                ("given_by", models.CharField(max_length=150)),
                ("given_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("ended_at", models.DateTimeField(null=True)),
                ("ended_by", models.CharField(blank=True, max_length=150)),
                (
                    "person",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="auditor_terms",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(
                            ("ends_at__gt", models.F("begins_at")),
                            (
                                "ends_at__lte",
                                django.db.models.expressions.CombinedExpression(
                                    models.F("begins_at"), "+", models.Value(datetime.timedelta(days=366))
                                ),
                            ),
                        ),
                        name="term_has_an_end",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("given_by", models.F("name")), _negated=True),
                        name="term_by_another",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            models.Q(("ended_at", None), ("ended_by", "")),
                            models.Q(("ended_at__isnull", False), models.Q(("ended_by", ""), _negated=True)),
                            _connector="OR",
                        ),
                        name="term_ended_by_somebody",
                    ),
                ],
            },
        ),
        migrations.RunSQL(statement("audit"), migrations.RunSQL.noop),
    ]
