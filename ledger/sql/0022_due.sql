-- When a request should be answered is a part of what is asked, and never changes either.
CREATE OR REPLACE FUNCTION ledger_approval_once() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
BEGIN
    IF TG_OP = 'INSERT' THEN
        IF NEW.decided_at IS NOT NULL THEN
            RAISE EXCEPTION 'an approval is asked for before it is given' USING ERRCODE = 'check_violation';
        END IF;
        NEW.maker_account := ledger_account_of(NEW.maker, NEW.data);
        NEW.decided_by_account := NULL;
        RETURN NEW;
    END IF;
    IF OLD.decided_at IS NOT NULL THEN
        RAISE EXCEPTION 'an approval is decided once' USING ERRCODE = 'check_violation';
    END IF;
    IF (OLD.uid, OLD.operation_id, OLD.action, OLD.maker, OLD.reason, OLD.command_id, OLD.made_at, OLD.expires_at,
        OLD.due_at, OLD.payload_digest, OLD.attempt_count, OLD.lookup_id, OLD.data, OLD.meant_digest, OLD.maker_account)
        IS DISTINCT FROM
       (NEW.uid, NEW.operation_id, NEW.action, NEW.maker, NEW.reason, NEW.command_id, NEW.made_at, NEW.expires_at,
        NEW.due_at, NEW.payload_digest, NEW.attempt_count, NEW.lookup_id, NEW.data, NEW.meant_digest, NEW.maker_account)
       OR (NEW.meant_sealed IS NOT NULL AND NEW.meant_sealed IS DISTINCT FROM OLD.meant_sealed) THEN
        RAISE EXCEPTION 'what an approval is asked for never changes' USING ERRCODE = 'check_violation';
    END IF;
    NEW.decided_by_account := (SELECT id FROM auth_user WHERE username = NEW.decided_by);
    RETURN NEW;
END $$;
