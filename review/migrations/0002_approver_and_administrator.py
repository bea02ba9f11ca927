"""Make the roles of those who approve and of those who administer."""

from django.db import migrations

ROLES = ("approver", "administrator")


def make_roles(apps, schema_editor):
    group = apps.get_model("auth", "Group")
    for role in ROLES:
        group.objects.using(schema_editor.connection.alias).get_or_create(name=role)


class Migration(migrations.Migration):
    """Groups with these names; what each may do is written in `review.access`."""

    dependencies = [("review", "0001_roles")]
    operations = [migrations.RunPython(make_roles, migrations.RunPython.noop)]
