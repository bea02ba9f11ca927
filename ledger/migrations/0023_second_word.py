"""The database asks for the second person's word where an operation leaves doubt on a word."""

from django.db import migrations

from ledger.sql import statement


class Migration(migrations.Migration):
    """A guard of its own; the type's limit is read where it stands."""

    dependencies = [("ledger", "0022_callers_pauses")]

    operations = [migrations.RunSQL(statement("0023_second_word"), migrations.RunSQL.noop)]
