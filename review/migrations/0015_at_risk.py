"""The queue's items know what is at stake, which is not always what was meant."""

import re

from django.db import migrations, models

from review.sql import statement

KEPT = re.findall(
    r"^CREATE (FUNCTION review_keep_\w+\(.*?^END \$\$;)$", statement("items"), re.DOTALL | re.MULTILINE
)
BEFORE = "\n".join(
    [
        *(f"CREATE OR REPLACE {function}" for function in KEPT),
        "DROP FUNCTION review_at_risk(bigint, numeric, text, text);",
        "DROP FUNCTION review_remains(bigint, jsonb), review_apart(jsonb, numeric);",
        "ALTER TABLE review_item DISABLE TRIGGER item_derived;",
        "UPDATE review_item SET (band, size, lightness) = (SELECT * FROM review_weighed(amount, operation_type_id));",
        "ALTER TABLE review_item ENABLE TRIGGER item_derived;",
    ]
)
"""The functions as they were, and items weighed by what was meant."""


class Migration(migrations.Migration):
    dependencies = [("review", "0014_roles_apart")]
    operations = [
        migrations.AddField(
            "item", "at_risk", models.DecimalField(decimal_places=4, max_digits=20, null=True)
        ),
        migrations.RunSQL(statement("at_risk"), BEFORE),
    ]
