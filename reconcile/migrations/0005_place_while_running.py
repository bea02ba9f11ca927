"""Where a list goes on may hold a secret of the destination's: no run keeps it that has ended."""

from django.db import migrations, models
from django.db.models import Q

FORGET = "UPDATE reconcile_run SET place = NULL WHERE state <> 'running' AND place IS NOT NULL"


class Migration(migrations.Migration):
    dependencies = [
        ("reconcile", "0004_findings_live_and_runs_resume"),
    ]

    operations = [
        migrations.RunSQL(FORGET, migrations.RunSQL.noop),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.CheckConstraint(
                condition=Q(("state", "running"), ("place__isnull", True), _connector="OR"),
                name="run_place_while_running",
            ),
        ),
    ]
