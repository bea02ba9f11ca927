"""A run goes step by step, stores differences as it compares, and is done with what it staged."""

from django.db import migrations

from reconcile.guards import STAGED, UNSTAGED


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0018_marked")]
    operations = [migrations.RunSQL(STAGED, UNSTAGED)]
