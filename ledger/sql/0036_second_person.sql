-- One rule for whatever is asked, and for both answers: not who asked, under whatever name, nor who stood in for them or for
-- whom they did at any moment of it, nor whom it is about. A table says how it calls who answered, their account, since
-- when it is asked and when it was answered.
CREATE FUNCTION ledger_answered_by_another() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    asked jsonb := to_jsonb(NEW);
    account integer := asked ->> TG_ARGV[1];
    maker integer := asked ->> 'maker_account';
BEGIN
    IF asked ->> TG_ARGV[0] = asked ->> 'maker' OR account = maker OR account = (asked ->> 'about_account')::integer
       OR ledger_one_hand(maker, account, (asked ->> TG_ARGV[2])::timestamptz, (asked ->> TG_ARGV[3])::timestamptz) THEN
        RAISE EXCEPTION 'a second person answers: not who asked, nor who they stand in for or the other way round, nor whom it is about'
            USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;

-- After the row's own constraints have spoken.
CREATE TRIGGER approval_by_another AFTER UPDATE ON ledger_approval FOR EACH ROW
    WHEN (OLD.answer = '' AND NEW.answer IN ('approved', 'refused'))
    EXECUTE FUNCTION ledger_answered_by_another('decided_by', 'decided_by_account', 'made_at', 'decided_at');
DROP TRIGGER approval_then_one_hand ON ledger_approval;
DROP FUNCTION ledger_approval_one_hand();
