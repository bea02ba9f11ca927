"""What a run came to is mailed to its plan's recipients: written with its end, one message for each address."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import Q

from review.sql import statement


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0022_matched_once"), ("review", "0022_sweeps")]
    operations = [
        migrations.RemoveConstraint("message", "message_of_somebody"),
        migrations.AddField("message", "about", models.CharField(blank=True, db_default="", max_length=100)),
        migrations.AddField(
            "message", "address", models.CharField(blank=True, db_default="", max_length=320)
        ),
        migrations.AddField(
            "message",
            "run",
            models.ForeignKey(
                "reconcile.Run",
                django.db.models.deletion.PROTECT,
                db_index=False,
                null=True,
                related_name="messages",
            ),
        ),
        migrations.AddIndex(
            "message", models.Index(name="message_of_run", fields=["run"], condition=Q(run__isnull=False))
        ),
        migrations.AddConstraint(
            "message",
            models.UniqueConstraint(
                name="message_one_report", fields=["about", "address"], condition=~Q(address="")
            ),
        ),
        migrations.AddConstraint(
            "message",
            models.CheckConstraint(
                name="message_of_somebody",
                condition=Q(person__isnull=False, day__isnull=False, address="", about="", run__isnull=True)
                | Q(person__isnull=True, day__isnull=True, address="", about="", run__isnull=True)
                | Q(Q(person__isnull=True, day__isnull=True), ~Q(address=""), ~Q(about="")),
            ),
        ),
        migrations.RunSQL(
            statement("reported"),
            "DROP TRIGGER run_reported ON reconcile_run; DROP FUNCTION review_report_of_run();",
        ),
    ]
