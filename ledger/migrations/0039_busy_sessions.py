"""By which session a worker says that it is busy: a mark that outlives its worker hides that nothing goes through."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0038_revealed"),
    ]

    operations = [
        migrations.AddField(
            model_name="heartbeat",
            name="busy_pid",
            field=models.IntegerField(null=True),
        ),
        migrations.AddField(
            model_name="heartbeat",
            name="busy_since",
            field=models.DateTimeField(null=True),
        ),
    ]
