"""Days that were asked for with their first or their last one alone are signed as days are."""

from django.db import migrations

from reconcile.signing.guards import SIGNABLE, SIGNABLE_OF_EITHER_DAY


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0031_in_turn")]
    operations = [migrations.RunSQL(SIGNABLE_OF_EITHER_DAY, SIGNABLE)]
