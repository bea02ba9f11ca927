"""What is signed is what the run came to, of the two people that its row names."""

from django.db import migrations

from reconcile.signing.guards import SIGNED_ANYHOW, SIGNED_WHOLE


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0033_find_parts")]
    operations = [migrations.RunSQL(SIGNED_WHOLE, SIGNED_ANYHOW)]
