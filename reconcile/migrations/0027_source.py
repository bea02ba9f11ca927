"""The third side of a plan: its source, what a run reads of it, and what a difference has of it."""

from django.db import migrations, models

OF_SOURCE = models.Q(("item_class__isnull", True), ("side", "source"))


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0026_rejects")]
    operations = [
        migrations.AddField("plan", "source", models.JSONField(null=True)),
        migrations.AddField("run", "sides", models.JSONField(default=dict)),
        migrations.AddField("finding", "source", models.JSONField(null=True)),
        migrations.AddField("finding", "by_source", models.BooleanField(default=False, db_default=False)),
        migrations.RemoveConstraint("record", "record_side_known"),
        migrations.AlterField(
            "record",
            "side",
            models.CharField(
                choices=[("source", "Source"), ("ledger", "Ledger"), ("destination", "Destination")],
                max_length=11,
            ),
        ),
        migrations.AddField(
            "record",
            "backs",
            models.ForeignKey(
                "reconcile.record",
                null=True,
                on_delete=models.DO_NOTHING,
                related_name="backed_by",
                db_constraint=False,
                db_index=False,
            ),
        ),
        migrations.AddConstraint(
            "record",
            models.CheckConstraint(
                name="record_side_known",
                condition=models.Q(("side__in", ["source", "ledger", "destination"])),
            ),
        ),
        migrations.AddConstraint(
            "record",
            models.CheckConstraint(
                name="record_backs_from_source",
                condition=models.Q(("backs__isnull", True), OF_SOURCE, _connector="OR"),
            ),
        ),
        migrations.AddConstraint(
            "record",
            models.UniqueConstraint(
                name="record_backed_once",
                fields=["backs"],
                condition=models.Q(("backs__isnull", False)),
            ),
        ),
    ]
