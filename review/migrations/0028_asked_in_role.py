"""Who prepares a run to be signed is somebody: an open account that decides."""

from django.db import migrations

from review.sql import statement


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0029_signing"), ("review", "0027_some_types")]
    operations = [
        migrations.RunSQL(
            statement("asked_in_role"),
            "DROP TRIGGER signoff_asked_in_role ON reconcile_signoff; DROP FUNCTION review_prepared_in_role()",
        )
    ]
