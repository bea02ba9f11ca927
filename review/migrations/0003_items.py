"""The queue's items: derived by the database itself, so that a page reads them from one narrow table."""

import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.db import migrations, models

from review.sql import statement


class Migration(migrations.Migration):
    initial = True

    dependencies = [
        ("ledger", "0020_references"),
        ("reconcile", "0003_elsewhere"),
        ("review", "0002_readers"),
    ]

    operations = [
        migrations.CreateModel(
            name="Item",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("state", models.CharField(blank=True, max_length=10)),
                ("kind", models.CharField(blank=True, max_length=20)),
                ("owner", models.CharField(blank=True, max_length=100)),
                ("verdict", models.CharField(blank=True, max_length=20)),
                ("amount", models.DecimalField(decimal_places=4, max_digits=20, null=True)),
                ("currency", models.CharField(blank=True, max_length=3)),
                ("band", models.IntegerField()),
                ("size", models.FloatField()),
                ("lightness", models.FloatField()),
                ("since", models.DateTimeField()),
                ("since_s", models.FloatField()),
                ("due_at", models.DateTimeField(null=True)),
                ("due_s", models.FloatField()),
                ("entered_at", models.DateTimeField()),
                ("words", django.contrib.postgres.search.SearchVectorField()),
                (
                    "case",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="ledger.case",
                    ),
                ),
                (
                    "finding",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="reconcile.finding",
                    ),
                ),
                (
                    "operation",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="ledger.operation",
                    ),
                ),
                (
                    "operation_type",
                    models.ForeignKey(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="ledger.operationtype",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["currency", "band", "since_s"], name="item_by_risk"),
                    models.Index(fields=["since_s", "id"], name="item_by_age"),
                    models.Index(fields=["due_s", "id"], name="item_by_due"),
                    models.Index(fields=["lightness", "id"], name="item_by_amount"),
                    models.Index(fields=["kind"], name="item_by_kind"),
                    models.Index(fields=["owner"], name="item_by_owner"),
                    models.Index(fields=["state"], name="item_by_state"),
                    models.Index(fields=["verdict"], name="item_by_verdict"),
                    models.Index(fields=["entered_at"], name="item_entered"),
                    django.contrib.postgres.indexes.GinIndex(fields=["words"], name="item_by_words"),
                ],
                "constraints": [
                    models.UniqueConstraint(fields=("operation",), name="item_of_operation"),
                    models.UniqueConstraint(
                        condition=models.Q(("operation__isnull", True)), fields=("case",), name="item_of_case"
                    ),
                    models.UniqueConstraint(
                        condition=models.Q(("case__isnull", True), ("operation__isnull", True)),
                        fields=("finding",),
                        name="item_of_finding",
                    ),
                ],
            },
        ),
        migrations.RunSQL(statement("items"), migrations.RunSQL.noop),
    ]
