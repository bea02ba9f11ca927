"""What is expected is written down in its turn and settled once due; what a run has staged stays with its end."""

from django.db import migrations

from reconcile.expected.guards import AHEAD, AT_WILL
from reconcile.guards import LINES_GO, LINES_STAY


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0030_days")]
    operations = [migrations.RunSQL(AHEAD, AT_WILL), migrations.RunSQL(LINES_STAY, LINES_GO)]
