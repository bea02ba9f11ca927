"""Of an address only the domain is written in small letters: a mailbox may tell its own apart."""

from django.db import migrations

from review.sql import statement


class Migration(migrations.Migration):
    dependencies = [("review", "0028_asked_in_role")]
    operations = [migrations.RunSQL(statement("addresses"), statement("addresses_back"))]
