"""A view is shared with who sees all that its maker saw as they made it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("review", "0020_by_rank")]
    operations = [migrations.AddField("savedview", "entities", models.JSONField(null=True))]
