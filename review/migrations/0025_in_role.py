"""An approval is the word of an account that is open and approves at that moment."""

from django.db import migrations

from review.sql import statement


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0038_revealed"),
        ("reconcile", "0022_matched_once"),
        ("review", "0024_missed"),
    ]
    operations = [migrations.RunSQL(statement("in_role"), migrations.RunSQL.noop)]
