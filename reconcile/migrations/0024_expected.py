"""Each time of a plan has a row before it comes, with the instant by which its run has to have reported."""

import django.db.models.deletion
from django.db import migrations, models

import ledger.models.clock
from reconcile.expected.guards import FORGOTTEN, KEPT


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0023_find_reference")]
    operations = [
        migrations.AddField(
            "plan", "report_by", models.CharField(max_length=10, default="2h", db_default="2h")
        ),
        migrations.AddIndex("run", models.Index(name="run_by_start", fields=["plan", "started_at"])),
        migrations.CreateModel(
            name="ExpectedRun",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("due_at", models.DateTimeField()),
                ("report_by", models.DateTimeField()),
                ("made_at", models.DateTimeField(db_default=ledger.models.clock.TieoutNow())),
                ("settled_at", models.DateTimeField(null=True)),
                (
                    "plan",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="expected",
                        to="reconcile.plan",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(name="expected_open", fields=["due_at"], condition=models.Q(settled_at=None))
                ],
                "constraints": [
                    models.UniqueConstraint(name="expected_once", fields=["plan", "due_at"]),
                    models.CheckConstraint(
                        name="expected_report_later",
                        condition=models.Q(report_by__gt=models.F("due_at")),
                    ),
                ],
            },
        ),
        migrations.RunSQL(KEPT, FORGOTTEN),
    ]
