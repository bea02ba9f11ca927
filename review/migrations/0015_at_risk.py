"""The queue's items know what is at stake, which is not always what was meant."""

from django.db import migrations, models

from review.sql import statement


class Migration(migrations.Migration):
    dependencies = [("review", "0014_roles_apart")]
    operations = [
        migrations.AddField(
            "item", "at_risk", models.DecimalField(decimal_places=4, max_digits=20, null=True)
        ),
        migrations.RunSQL(statement("at_risk")),
    ]
