"""What has been kept for its time is found without walking through all notices and messages."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("review", "0021_saved_sight")]
    operations = [
        migrations.AddIndex(
            "notice",
            models.Index(name="notice_read", fields=["read_at"], condition=models.Q(read_at__isnull=False)),
        ),
        migrations.AddIndex(
            "message",
            models.Index(name="message_over", fields=["made_at"], condition=~models.Q(state="waiting")),
        ),
    ]
