"""All that is said of dropped files is sealed; what was dropped in the hour before is let go."""

from django.db import migrations, models

EMPTIED = "TRUNCATE reconcile_comparison, reconcile_piece"


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0013_reversed")]

    operations = [
        migrations.RunSQL(EMPTIED, migrations.RunSQL.noop),
        migrations.RemoveConstraint("comparison", "comparison_failure_has_words"),
        *(migrations.RemoveField("comparison", name) for name in ("files", "read", "report", "why")),
        migrations.AddField("comparison", "size", models.PositiveBigIntegerField()),
        migrations.AddField("comparison", "sealed", models.BinaryField()),
        migrations.RunSQL(migrations.RunSQL.noop, EMPTIED),
    ]
