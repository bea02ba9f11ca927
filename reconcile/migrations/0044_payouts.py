"""A plan says where a payout tells its parts; a line keeps them, and what they do not explain."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reconcile", "0043_groups"),
    ]

    operations = [
        migrations.AddField(
            model_name="plan",
            name="payout",
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name="record",
            name="gross",
            field=models.DecimalField(decimal_places=4, max_digits=20, null=True),
        ),
        migrations.AddField(
            model_name="record",
            name="parts",
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name="record",
            name="unexplained",
            field=models.DecimalField(decimal_places=4, max_digits=20, null=True),
        ),
    ]
