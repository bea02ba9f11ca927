"""A record of nobody's answers one difference: as its own, or as the match of one that is missing."""

from django.db import migrations

from reconcile.differences.guards import MATCHED_OFTEN, MATCHED_ONCE


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0021_sweeps")]
    operations = [migrations.RunSQL(MATCHED_ONCE, MATCHED_OFTEN)]
