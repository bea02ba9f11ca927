"""Make the roles that people can have."""

from django.db import migrations

ROLES = ("viewer", "reviewer", "approver", "administrator")


def make_roles(apps, schema_editor):
    group = apps.get_model("auth", "Group")
    for role in ROLES:
        group.objects.using(schema_editor.connection.alias).get_or_create(name=role)


class Migration(migrations.Migration):
    """Groups with these names; what each may do is written in `review.access`."""

    initial = True
    dependencies = [("auth", "0012_alter_user_first_name_max_length")]
    operations = [migrations.RunPython(make_roles, migrations.RunPython.noop)]
