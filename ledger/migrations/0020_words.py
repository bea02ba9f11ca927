"""A word that a try did nothing is noted beside the proof, and does not stand for it."""

from django.db import migrations, models

from ledger.sql import statement

NO_WORD = ("worded_at__isnull", True)
UNPROVED = models.Q(("cleared_at__isnull", True), ("closed_at__isnull", False))


class Migration(migrations.Migration):
    """What was said stays in doubt until it is proved."""

    dependencies = [("ledger", "0021_transactions")]

    operations = [
        migrations.AddField(model_name="attempt", name="worded_at", field=models.DateTimeField(null=True)),
        migrations.AddConstraint(
            model_name="attempt",
            constraint=models.CheckConstraint(
                condition=models.Q(NO_WORD, UNPROVED, _connector="OR"), name="attempt_word_is_no_proof"
            ),
        ),
        migrations.RunSQL(statement("0020_words"), migrations.RunSQL.noop),
    ]
