"""Nobody is given an administrator's role and one that decides."""

from django.db import migrations

from review.sql import statement


class Migration(migrations.Migration):
    dependencies = [("review", "0013_notices_kept")]
    operations = [migrations.RunSQL(statement("roles_apart"), statement("roles_apart_back"))]
