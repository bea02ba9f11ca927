"""What was signed of a period line by line, and what later runs found of it otherwise."""

import django.db.models.deletion
from django.db import migrations, models

from reconcile.periods.guards import DRIFT, NO_DRIFT


class Migration(migrations.Migration):
    dependencies = [
        ("reconcile", "0038_remarks"),
    ]

    operations = [
        migrations.CreateModel(
            name="LateItem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("side", models.CharField(max_length=11)),
                ("name", models.CharField(max_length=200)),
                ("nth", models.PositiveIntegerField(default=1)),
                ("reference", models.CharField(blank=True, max_length=200)),
                ("amount", models.DecimalField(decimal_places=4, max_digits=20, null=True)),
                ("currency", models.CharField(blank=True, max_length=3)),
                ("day", models.DateField()),
                ("kind", models.CharField(max_length=10)),
                ("was_amount", models.DecimalField(decimal_places=4, max_digits=20, null=True)),
                ("was_currency", models.CharField(blank=True, max_length=3)),
                (
                    "found_in",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT, related_name="+", to="reconcile.run"
                    ),
                ),
                (
                    "into",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="late",
                        to="reconcile.period",
                    ),
                ),
                (
                    "over_in",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reconcile.run",
                    ),
                ),
                (
                    "report",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reconcile.periodreport",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=models.Q(("over_in", None)),
                        fields=("report", "side", "name", "nth"),
                        name="lateitem_once",
                    ),
                    models.CheckConstraint(
                        condition=models.Q(
                            ("kind__in", ["again", "changed", "gone", "moved", "new", "voided"])
                        ),
                        name="lateitem_kind_known",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PeriodLine",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("side", models.CharField(max_length=11)),
                ("name", models.CharField(max_length=200)),
                ("nth", models.PositiveIntegerField(default=1)),
                ("reference", models.CharField(blank=True, max_length=200)),
                ("amount", models.DecimalField(decimal_places=4, max_digits=20, null=True)),
                ("currency", models.CharField(blank=True, max_length=3)),
                ("day", models.DateField()),
                ("stands", models.BooleanField()),
                (
                    "report",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="+",
                        to="reconcile.periodreport",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(fields=("report", "side", "name", "nth"), name="periodline_once")
                ],
            },
        ),
        migrations.RunSQL(DRIFT, NO_DRIFT),
    ]
