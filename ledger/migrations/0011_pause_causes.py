"""Why a destination was paused, in words."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Add the words to pauses."""

    dependencies = [("ledger", "0010_payload_life")]
    operations = [
        migrations.AddField(
            model_name="pause",
            name="why",
            field=models.CharField(db_default="", default="", max_length=500),
        ),
    ]
