"""What is prepared to be signed is told of as whatever else waits for a second person."""

from django.db import migrations

from review.sql import statement


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0029_signing"), ("review", "0025_in_role")]
    operations = [migrations.RunSQL(statement("signed"), migrations.RunSQL.noop)]
