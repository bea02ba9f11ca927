"""Nobody approves what who they stand in for has proposed."""

from django.db import migrations

GUARD = """
CREATE FUNCTION reconcile_proposal_one_hand() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF ledger_one_hand(NEW.maker_account, NEW.decided_by_account, OLD.made_at, NEW.decided_at) THEN
        RAISE EXCEPTION 'nobody approves what who they stand in for has proposed' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NEW;
END $$;
-- Triggers go by their names: this one comes after proposal_once, which writes the account.
CREATE TRIGGER proposal_then_one_hand BEFORE UPDATE ON reconcile_proposal FOR EACH ROW
    WHEN (NEW.answer = 'approved') EXECUTE FUNCTION reconcile_proposal_one_hand();
"""


class Migration(migrations.Migration):
    dependencies = [("reconcile", "0005_display"), ("ledger", "0027_deputies")]
    operations = [migrations.RunSQL(GUARD, migrations.RunSQL.noop)]
