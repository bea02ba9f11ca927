"""Notices of different legal entities are not counted as one, and messages that were given up end with age."""

from django.db import migrations

from review.sql import statement


class Migration(migrations.Migration):
    """Change the functions and the guard; what was written before stays as it is."""

    dependencies = [
        ("ledger", "0033_seen"),
        ("reconcile", "0013_reversed"),
        ("review", "0011_terms"),
    ]

    operations = [migrations.RunSQL(statement("notices_apart"), migrations.RunSQL.noop)]
