"""Whether an answer said itself that it was given before under the same key."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the mark to attempts."""

    dependencies = [("ledger", "0004_corrections")]
    operations = [
        migrations.AddField(
            model_name="attempt",
            name="replayed",
            field=models.BooleanField(db_default=False, default=False),
        ),
    ]
