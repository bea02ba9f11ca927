"""Records that came late: what run should have had them, and the words of it on a difference."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0040_contents")]
    operations = [
        migrations.AddField(
            "record",
            "came_late",
            models.CharField(
                max_length=5,
                blank=True,
                default="",
                db_default="",
                choices=[("run", "By a run"), ("grace", "By the grace")],
            ),
        ),
        migrations.AddField("record", "missed_by", models.PositiveBigIntegerField(null=True)),
        migrations.AddConstraint(
            "record",
            models.CheckConstraint(
                name="record_late_by_known_run",
                condition=models.Q(came_late="run", missed_by__isnull=False)
                | models.Q(came_late__in=["", "grace"], missed_by__isnull=True),
            ),
        ),
        migrations.AddField(
            "finding", "came_late", models.CharField(max_length=200, blank=True, default="", db_default="")
        ),
    ]
