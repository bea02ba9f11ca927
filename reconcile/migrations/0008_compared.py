"""Lines of two files while they are compared: written in a transaction that is never committed.

Unlogged: nothing of them is to outlive a crash. The application's role may make no temporary tables.
"""

from django.db import migrations

CREATE = """
CREATE UNLOGGED TABLE reconcile_compared (
    run_id bigint NOT NULL, id bigint NOT NULL, side text NOT NULL, number integer NOT NULL,
    external_id text NOT NULL, shown text NOT NULL, reference text NOT NULL, amount numeric(20, 4),
    currency text NOT NULL, occurred_on date, readable boolean NOT NULL, why text NOT NULL, operation_id bigint,
    own boolean NOT NULL DEFAULT false, looked text NOT NULL DEFAULT 'absent', item_class text, pair_id bigint,
    occurred_at timestamptz, standing text NOT NULL DEFAULT 'done', state text NOT NULL DEFAULT 'completed',
    cancelled boolean NOT NULL DEFAULT false, held boolean NOT NULL DEFAULT false,
    fresh boolean NOT NULL DEFAULT false,
    CHECK (side IN ('ledger', 'destination')), CHECK (readable OR (why <> '' AND amount IS NULL))
)
"""


class Migration(migrations.Migration):
    """Make the table; it has no model, because no row of it is ever kept."""

    dependencies = [("reconcile", "0007_versions")]

    operations = [migrations.RunSQL(CREATE, "DROP TABLE reconcile_compared")]
