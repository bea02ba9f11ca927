"""What was told to others is kept for its time."""

from django.db import migrations, models

from ledger.sql import statement


class Migration(migrations.Migration):
    dependencies = [("ledger", "0018_accounts")]
    operations = [
        migrations.AddIndex(
            model_name="delivery",
            index=models.Index(
                condition=models.Q(("state__in", ["delivered", "dropped"])),
                fields=["made_at"],
                name="delivery_over",
            ),
        ),
        migrations.RunSQL(statement("0019_deliveries_kept"), migrations.RunSQL.noop),
    ]
