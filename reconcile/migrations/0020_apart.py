"""One open decision about a difference: of duplicates, one in each currency."""

from django.db import migrations, models

OPEN = models.Q(("answer__in", ["", "approved"]), ("ended_at", None))
APART = models.Case(
    models.When(item_class="duplicate_at_destination", then="currency"), default=models.Value("")
)


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0019_staged")]
    operations = [
        migrations.RemoveConstraint("decision", "decision_one_open"),
        migrations.AddConstraint(
            "decision",
            models.UniqueConstraint(
                "plan", "item_class", "name", APART, name="decision_one_open", condition=OPEN
            ),
        ),
    ]
