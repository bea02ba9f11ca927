"""The latest finding of each is found by an index that ends with it, however many runs there were."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("reconcile", "0002_record_of_its_own"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="finding", name="finding_by_reference"),
        migrations.AddIndex(
            model_name="finding",
            index=models.Index(fields=["item_class", "reference", "-id"], name="finding_latest"),
        ),
        migrations.AddIndex(
            model_name="finding",
            index=models.Index(
                fields=["item_class", "fingerprint", "-id"],
                name="finding_latest_unnamed",
                condition=models.Q(("reference", "")),
            ),
        ),
    ]
