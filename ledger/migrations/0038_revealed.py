"""How many hidden values a person looks at within a day is kept by the database, too."""

from django.db import migrations, models

from ledger.sql import statement


class Migration(migrations.Migration):
    dependencies = [("ledger", "0037_marked")]
    operations = [
        migrations.AddIndex(
            "event",
            models.Index(name="event_revealed", fields=["at"], condition=models.Q(kind="revealed")),
        ),
        migrations.RunSQL(statement("0038_revealed"), migrations.RunSQL.noop),
    ]
