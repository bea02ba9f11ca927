"""Who cannot answer a request is not told that it is overdue: not whom it is about, nor one hand with who asked."""

from django.db import migrations

from review.sql import statement


class Migration(migrations.Migration):
    dependencies = [("review", "0021_saved_sight")]
    operations = [migrations.RunSQL(statement("overdue"), migrations.RunSQL.noop)]
