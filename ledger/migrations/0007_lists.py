"""The order of the API's lists: each type's and state's operations by their last change."""

from django.db import migrations, models


class Migration(migrations.Migration):
    """Index what lists read."""

    dependencies = [("ledger", "0006_pauses")]
    operations = [
        migrations.AddIndex(
            model_name="operation",
            index=models.Index(
                fields=["operation_type", "state", "changed_at", "uid"], name="operation_listed"
            ),
        ),
    ]
