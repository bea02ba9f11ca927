"""What a run found is a record: it is neither rewritten nor removed."""

from django.db import migrations

from reconcile.guards import FOUND


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0014_sealed")]
    operations = [migrations.RunSQL(FOUND, migrations.RunSQL.noop)]
