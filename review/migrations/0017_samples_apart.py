"""A sample says what of its population was corrections and reversals; of earlier ones that is not known."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("review", "0016_by_another")]
    operations = [migrations.AddField("sample", "apart", models.JSONField(null=True))]
