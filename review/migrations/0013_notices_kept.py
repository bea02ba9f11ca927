"""What was said to people stays for its time."""

from django.db import migrations

from review.sql import statement


class Migration(migrations.Migration):
    dependencies = [("review", "0012_notices_apart")]
    operations = [migrations.RunSQL(statement("notices_kept"), migrations.RunSQL.noop)]
