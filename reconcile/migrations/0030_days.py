"""Days, such as a month, are signed once they are over, and once what was due in them has reported."""

from django.db import migrations

from reconcile.signing.guards import SIGNABLE


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0029_signing")]
    operations = [migrations.RunSQL(SIGNABLE, migrations.RunSQL.noop)]
