"""Two exports dropped on a page: their comparison, and both files in sealed pieces."""

import datetime
import uuid

import django.db.models.deletion
import django.db.models.expressions
from django.conf import settings
from django.db import migrations, models

import ledger.models.clock


class Migration(migrations.Migration):
    dependencies = [
        ("reconcile", "0008_compared"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Comparison",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("uid", models.UUIDField(default=uuid.uuid4, editable=False, unique=True)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("reading", "Reading"),
                            ("read", "Read"),
                            ("comparing", "Comparing"),
                            ("done", "Done"),
                            ("failed", "Failed"),
                        ],
                        default="reading",
                        max_length=10,
                    ),
                ),
                ("files", models.JSONField()),
                ("read", models.JSONField(default=dict)),
                ("report", models.JSONField(default=dict)),
                ("goes_on", models.BooleanField(default=False)),
                ("why", models.CharField(blank=True, max_length=1000)),
                ("lines", models.PositiveIntegerField(default=0)),
                ("tries", models.PositiveSmallIntegerField(default=0)),
                ("nudged_at", models.DateTimeField(null=True)),
                ("dropped_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("done_at", models.DateTimeField(null=True)),
                ("forget_at", models.DateTimeField()),
                (
                    "owner",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Piece",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "of",
                    models.CharField(
                        choices=[
                            ("source", "Source"),
                            ("destination", "Destination"),
                            ("differences", "Differences"),
                        ],
                        max_length=11,
                    ),
                ),
                ("number", models.PositiveIntegerField()),
                ("sealed", models.BinaryField()),
                (
                    "comparison",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pieces",
                        to="reconcile.comparison",
                    ),
                ),
            ],
            options={
                "ordering": ["number"],
            },
        ),
        migrations.AddConstraint(
            model_name="comparison",
            constraint=models.CheckConstraint(
                condition=models.Q(("state__in", ["reading", "read", "comparing", "done", "failed"])),
                name="comparison_state_known",
            ),
        ),
        migrations.AddConstraint(
            model_name="comparison",
            constraint=models.CheckConstraint(
                condition=models.Q(("state", "failed"), ("why", ""), _negated=True),
                name="comparison_failure_has_words",
            ),
        ),
        migrations.AddConstraint(
            model_name="comparison",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    (
                        "forget_at__lte",
                        django.db.models.expressions.CombinedExpression(
                            models.F("dropped_at"), "+", models.Value(datetime.timedelta(seconds=3600))
                        ),
                    )
                ),
                name="comparison_kept_for_an_hour",
            ),
        ),
        migrations.AddConstraint(
            model_name="piece",
            constraint=models.UniqueConstraint(fields=("comparison", "of", "number"), name="piece_once"),
        ),
        migrations.AddConstraint(
            model_name="piece",
            constraint=models.CheckConstraint(
                condition=models.Q(("of__in", ["source", "destination", "differences"])),
                name="piece_of_known",
            ),
        ),
    ]
