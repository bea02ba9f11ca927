-- What is still left to refund of what an operation refunds: the effect that its source record is known to have, less
-- what other refunds of the same record have claimed before and is not proved not done. What may not exist counts on
-- neither side in a refund's favour: an original in doubt, or one that was corrected, is nothing to refund; a refund in
-- doubt takes its place, corrected or not. What reverses a surplus is neither. NULL where its type refunds nothing.
-- Who asks holds the record's refunds until the end of the transaction: of two at once, one sees the other.
CREATE FUNCTION ledger_refundable(refund_id bigint) RETURNS numeric LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    this record;
    meant numeric;
    refunded numeric;
BEGIN
    SELECT o.id, o.source_system, o.source_reference, o.currency, nullif(t.review ->> 'refunds', '') AS refunds INTO this
    FROM ledger_operation AS o JOIN ledger_operationtype AS t ON t.id = o.operation_type_id
    WHERE o.id = refund_id;
    IF this.refunds IS NULL THEN
        RETURN NULL;
    END IF;
    PERFORM pg_advisory_xact_lock(hashtextextended(
        concat_ws(chr(31), this.refunds, this.source_system, this.source_reference, this.currency), 20261130));
    -- Each question is asked anew after the wait for the lock, and sees whatever was committed by then.
    SELECT coalesce(sum(abs(o.amount)), 0) INTO meant
    FROM ledger_operation AS o JOIN ledger_operationtype AS t ON t.id = o.operation_type_id
    WHERE o.source_reference = this.source_reference AND o.source_reference <> '' AND t.name = this.refunds
        AND lower(o.source_reference) COLLATE "C" = lower(this.source_reference) COLLATE "C"
        AND o.source_system = this.source_system AND o.currency = this.currency AND o.state = 'completed'
        AND o.corrected_at IS NULL AND o.reverses_id IS NULL;
    SELECT coalesce(sum(abs(o.amount)), 0) INTO refunded
    FROM ledger_operation AS o JOIN ledger_operationtype AS t ON t.id = o.operation_type_id
    WHERE o.source_reference = this.source_reference AND o.source_reference <> ''
        AND lower(o.source_reference) COLLATE "C" = lower(this.source_reference) COLLATE "C"
        AND t.review ->> 'refunds' = this.refunds AND o.source_system = this.source_system
        AND o.currency = this.currency AND o.id <> this.id AND o.attempt_count > 0 AND o.state <> 'failed'
        AND o.reverses_id IS NULL;
    RETURN meant - refunded;
END $$;

CREATE FUNCTION ledger_refund_fits() RETURNS trigger LANGUAGE plpgsql
    SET search_path = public, pg_temp AS $$
DECLARE
    room numeric := ledger_refundable(NEW.id);
BEGIN
    IF room IS NOT NULL AND (NEW.amount IS NULL OR abs(NEW.amount) > room) THEN
        RAISE EXCEPTION 'more would be refunded than there is' USING ERRCODE = 'check_violation';
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER operation_refunds_new AFTER INSERT ON ledger_operation
    FOR EACH ROW WHEN (NEW.state = 'running') EXECUTE FUNCTION ledger_refund_fits();
CREATE TRIGGER operation_refunds AFTER UPDATE OF state ON ledger_operation
    FOR EACH ROW WHEN (NEW.state = 'running'
        AND (OLD.state = 'failed' OR (OLD.state = 'pending' AND OLD.attempt_count = 0)))
    EXECUTE FUNCTION ledger_refund_fits();
