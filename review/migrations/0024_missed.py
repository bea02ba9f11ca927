"""What was due and has not started, or is late, is mailed to its plan's recipients."""

from django.db import migrations

from review.sql import statement


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0024_expected"), ("review", "0023_reported")]
    operations = [
        migrations.RunSQL(
            statement("missed"),
            "DROP TRIGGER event_missed ON ledger_event; DROP FUNCTION review_mail_of_missed();",
        ),
    ]
