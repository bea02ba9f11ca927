"""Each run names the versions of the rules that it went by."""

from django.db import migrations, models

COUNTED = """
CREATE TRIGGER plan_rules_counted BEFORE UPDATE ON reconcile_plan FOR EACH ROW
    EXECUTE FUNCTION ledger_rules_counted('rules_version', 'changed_at', 'next_run_at');
CREATE TRIGGER run_rules_stay BEFORE UPDATE OF rules_version, type_version ON reconcile_run FOR EACH ROW
    WHEN ((OLD.rules_version, OLD.type_version) IS DISTINCT FROM (NEW.rules_version, NEW.type_version))
    EXECUTE FUNCTION ledger_refuse();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("ledger", "0029_versions"),
        ("reconcile", "0006_one_hand"),
    ]

    operations = [
        migrations.AddField(
            model_name="plan",
            name="rules_version",
            field=models.PositiveIntegerField(db_default=1, default=1),
        ),
        migrations.AddField(
            model_name="run",
            name="rules_version",
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="type_version",
            field=models.PositiveIntegerField(null=True),
        ),
        migrations.RunSQL(COUNTED, migrations.RunSQL.noop),
    ]
