"""Webhooks are told beside the queue: who has waited longest for a turn is read off the last one's end."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ledger", "0016_one_proof")]

    operations = [migrations.RemoveField(model_name="webhook", name="nudged_at")]
