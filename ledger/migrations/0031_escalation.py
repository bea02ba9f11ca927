"""A case that nobody answers in time goes to a next level; teams say to which."""

import django.db.models.deletion
import django.db.models.functions.comparison
from django.db import migrations, models

import ledger.models.clock
from ledger.sql import statement


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0030_refunds"),
    ]

    operations = [
        migrations.CreateModel(
            name="Team",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(max_length=100, unique=True)),
                ("escalate", models.JSONField(null=True)),
                ("chat", models.CharField(blank=True, max_length=300)),
                ("chat_kind", models.CharField(blank=True, max_length=10)),
                ("allow_private", models.BooleanField(default=False)),
                ("hours", models.JSONField(null=True)),
                ("changed_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
            ],
        ),
        migrations.AddField(
            model_name="approval",
            name="escalated_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="case",
            name="destination",
            field=models.ForeignKey(
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="+",
                to="ledger.destination",
            ),
        ),
        migrations.AddField(
            model_name="case",
            name="escalated_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="case",
            name="escalated_to",
            field=models.CharField(blank=True, db_default="", max_length=100),
        ),
        migrations.AddField(
            model_name="case",
            name="escalates_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="case",
            name="level",
            field=models.PositiveSmallIntegerField(db_default=0, default=0),
        ),
        migrations.AddIndex(
            model_name="case",
            index=models.Index(
                django.db.models.functions.comparison.Coalesce("escalates_at", "due_at"),
                condition=models.Q(
                    ("closed_at__isnull", True),
                    models.Q(("level", 0), ("escalates_at__isnull", False), _connector="OR"),
                ),
                name="case_to_escalate",
            ),
        ),
        migrations.AddIndex(
            model_name="case",
            index=models.Index(
                condition=models.Q(("closed_at__isnull", True), ("level__gt", 0)),
                fields=["escalated_to"],
                name="case_escalated",
            ),
        ),
        migrations.AddConstraint(
            model_name="case",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    models.Q(("escalated_at__isnull", True), ("escalated_to", ""), ("level", 0)),
                    models.Q(
                        ("escalated_at__isnull", False),
                        ("level__gt", 0),
                        models.Q(("escalated_to", ""), _negated=True),
                    ),
                    _connector="OR",
                ),
                name="case_escalated_whole",
            ),
        ),
        migrations.RunSQL(statement("0031_escalation"), migrations.RunSQL.noop),
    ]
