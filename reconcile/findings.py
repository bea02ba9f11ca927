"""Findings: what somebody has to explain, told in words."""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Q, QuerySet

from ledger import actions
from ledger.models import Operation, OperationType
from ledger.rules.digests import canonical
from ledger.rules.states import LIVE, Standing, State
from reconcile import carrying, contents, lateness
from reconcile.classes import ItemClass, is_finding
from reconcile.comparing import whole_sets
from reconcile.models import Finding, Record, Run
from reconcile.rules import groups
from reconcile.sources import telling
from reconcile.sums import shown as money
from reconcile.telling import record_shown, shown
from reconcile.tying import held

CLASSES = [str(item_class) for item_class in ItemClass if is_finding(item_class)]
IDS_SHOWN = 4
NOT_LISTED = "Not on the list."
NOBODYS = "No operation of this type carries its reference."
CHUNK = 1000
"""References that are asked for at once."""

Groups = dict[str, list[Record]]


@dataclass(frozen=True)
class Beside:
    """What stands beside the items: the destination's records by reference, the source's row by its item."""

    there: Groups
    rows: Mapping[int, Record]
    surplus: Mapping[int, Sequence[Record]]
    """The source's other rows of an operation."""


def found(run: Run) -> list[Finding]:
    """Make a run's findings, in the order of their classes and then of their lines; nothing is stored."""
    # By number, for two of one reference tell the same and would stand as the table happens to hold them.
    every = Record.objects.filter(run=run, item_class__in=CLASSES).order_by("number")
    apart = Q(item_class__in=(ItemClass.AMOUNT_OVER, ItemClass.AMOUNT_UNDER)) & ~Q(grouped="")
    items = every.exclude(apart)
    rows = items.filter(side="source").select_related("operation")
    beside = Beside(_groups(run), telling.rows_of(run, CLASSES), _surplus(rows))
    findings = [
        *(
            _of_operation(run, line, beside)
            for line in items.filter(side="ledger").select_related("operation__after", "pair")
        ),
        *_of_records(run, items.filter(side="destination").select_related("operation"), beside),
    ]
    findings += _of_groups(run, every.filter(apart).select_related("operation"), beside)
    told = {one.operation_id for one in findings if one.item_class == ItemClass.AMBIGUOUS}
    findings += _of_rows(
        run, [row for row in rows if not (_is_surplus(row) and row.operation_id in told)], beside
    )
    order = {str(item_class): place for place, item_class in enumerate(ItemClass)}
    findings.sort(key=lambda finding: (order[finding.item_class], finding.reference, finding.fingerprint))
    _look_elsewhere(run, findings)
    carrying.carry_on(run, findings)
    return findings


def _look_elsewhere(run: Run, findings: Sequence[Finding]) -> None:
    """Note which operations of other types carry what no operation of the plan's type does."""
    nobodys = defaultdict(list)
    for finding in findings:
        if finding.operation is None and finding.reference:
            nobodys[finding.reference].append(finding)
    kinds, references = _others_there(run.plan.operation_type) if nobodys else [], list(nobodys)
    for start in range(0, len(references) if kinds else 0, CHUNK):
        carriers = Operation.objects.filter(
            operation_type__in=kinds, key__in=references[start : start + CHUNK]
        )
        for one in carriers.select_related("operation_type").order_by("pk"):
            shown = {"id": str(one.uid), "type": one.operation_type.name, "key": one.key, "state": one.state}
            for finding in nobodys[one.key]:
                finding.elsewhere.append(shown)


def _others_there(own: OperationType) -> list[OperationType]:
    """Return the other types at the address that was listed, in whichever accounts."""
    if own.destination.trouble:
        return []
    kinds = OperationType.objects.configured().exclude(pk=own.pk).select_related("destination")
    return [
        kind
        for kind in kinds
        if not kind.destination.trouble and kind.destination.place.beside(own.destination.place)
    ]


def stored(run: Run) -> QuerySet[Finding]:
    """Return the findings that a run has stored, in the order in which they were found."""
    return run.findings.select_related("operation", "case").order_by("pk")


def _groups(run: Run) -> Groups:
    """Gather what the destination holds under each reference of a finding, the compared record first."""
    items = Record.objects.filter(run=run, item_class__in=CLASSES).exclude(reference="")
    lines = Record.objects.filter(run=run, side="destination", reference__in=items.values("reference"))
    groups: Groups = defaultdict(list)
    with whole_sets():
        for line in lines.order_by("number").select_related("paired_with"):
            groups[line.reference].append(line)
    for group in groups.values():
        group.sort(key=_compared_first)
    return groups


def _compared_first(line: Record) -> tuple[bool, bool]:
    compared = hasattr(line, "paired_with") or line.item_class != ItemClass.DUPLICATE
    return not compared, not _stands(line)


def _stands(line: Record) -> bool:
    return line.standing in LIVE


def _of_operation(run: Run, line: Record, beside: Beside) -> Finding:
    operation, pair, row = line.operation, line.pair, beside.rows.get(line.pk)
    assert operation is not None  # every line of the ledger has one: a constraint
    operation.operation_type = run.plan.operation_type
    amount, currency = line.amount, line.currency
    if pair is not None and pair.amount is not None:
        if line.item_class == ItemClass.UNEXPECTED:
            amount, currency = pair.amount, pair.currency
        elif line.item_class in (ItemClass.AMOUNT_OVER, ItemClass.AMOUNT_UNDER):
            amount, currency = telling.apart(run, line, pair, row), line.currency or pair.currency
    others = beside.surplus.get(operation.pk, []) if line.item_class == ItemClass.AMBIGUOUS else []
    return _finding(
        run,
        line.item_class,
        reference=line.reference,
        items=1 + len(others),
        operation=operation,
        state=line.state,
        amount=amount,
        currency=currency,
        why=_why_of_operation(run, line, pair, row),
        records=beside.there.get(line.reference, []),
        of=[(line, pair, row), *((other, None, None) for other in others)],
        row=row,
        by_source=telling.alone(run, line, pair, row),
        rule=line.rule or (pair.rule if pair is not None else ""),
        fields=contents.differing(line, pair) if line.item_class == ItemClass.PAYLOAD_DIFFERS else [],
    )


def _of_records(run: Run, lines: Iterable[Record], beside: Beside) -> Iterator[Finding]:
    surplus: dict[tuple[str, str], list[Record]] = defaultdict(list)
    for line in lines:
        if line.item_class == ItemClass.DUPLICATE:
            surplus[line.reference, line.currency].append(line)
        else:
            yield _of_record(run, line, beside)
    for (reference, currency), extra in surplus.items():
        amounts = [line.amount for line in extra if line.amount is not None]
        yield _finding(
            run,
            ItemClass.DUPLICATE,
            reference=reference,
            operation=extra[0].operation,
            state=extra[0].state,
            amount=sum(amounts, Decimal(0)) if amounts else None,
            currency=currency,
            items=len(extra),
            why=_why_several(beside.there[reference], extra),
            records=beside.there[reference],
            of=[(line, None, None) for line in extra],
        )


def _of_groups(run: Run, lines: Iterable[Record], beside: Beside) -> Iterator[Finding]:
    """Make one finding of all that a rule has taken together and whose sums are not the same."""
    found: Groups = defaultdict(list)
    for line in lines:
        found[line.grouped].append(line)
    for grouped, together in found.items():
        first = together[0]
        ours = [line for line in together if line.side == Record.Side.LEDGER]
        theirs = [line for line in together if line.side == Record.Side.DESTINATION]
        assert first.sum_apart is not None  # a constraint
        yield _finding(
            run,
            first.item_class,
            reference=grouped,
            operation=None,
            state="",
            amount=abs(first.sum_apart),
            currency=first.currency,
            items=len(together),
            why=groups.why(first, ours, theirs),
            records=theirs,
            of=[(line, None, beside.rows.get(line.pk)) for line in together],
            rule=first.rule,
            meant=[groups.meant(line) for line in ours],
        )


def _surplus(rows: Iterable[Record]) -> Mapping[int, Sequence[Record]]:
    found: dict[int, list[Record]] = defaultdict(list)
    for row in filter(_is_surplus, rows):
        assert row.operation_id is not None  # asked
        found[row.operation_id].append(row)
    return found


def _is_surplus(row: Record) -> bool:
    return row.item_class == ItemClass.AMBIGUOUS and row.operation_id is not None


def _of_rows(run: Run, lines: Iterable[Record], beside: Beside) -> Iterator[Finding]:
    """Make the findings of rows that are items of their own; those that cannot be told apart are one."""
    several: Groups = defaultdict(list)
    for row in lines:
        one_of = row.reference if row.item_class == ItemClass.AMBIGUOUS else f"{row.item_class} {row.pk}"
        several[one_of].append(row)
    for rows in several.values():
        first = rows[0]
        amounts = [row.amount for row in rows if row.amount is not None]
        same = len({row.currency for row in rows}) == 1
        unreadable = first.item_class == ItemClass.UNREADABLE
        yield _finding(
            run,
            first.item_class,
            # The destination's may be unreadable under the same reference: they are two differences.
            reference="" if unreadable else first.reference,
            operation=first.operation,
            state=first.state,
            amount=sum(amounts, Decimal(0)) if amounts and same else None,
            currency=first.currency,
            items=len(rows),
            why=telling.why_of_rows(run, rows),
            records=[] if unreadable else beside.there.get(first.reference, []),
            of=[(row, None, None) for row in rows],
            row=first,
            by_source=not unreadable,
        )


def _of_record(run: Run, line: Record, beside: Beside) -> Finding:
    why, row = line.why, beside.rows.get(line.pk)
    if line.item_class == ItemClass.UNEXPECTED:
        why = NOBODYS if line.operation is None else _why_unexpected(line, line.state)
        why = telling.with_row(run, why, row)
    return _finding(
        run,
        line.item_class,
        reference=line.reference,
        operation=line.operation,
        state=line.state,
        amount=line.amount,
        currency=line.currency,
        why=why,
        records=[line]
        if line.item_class == ItemClass.UNREADABLE
        else beside.there.get(line.reference, [line]),
        of=[(line, None, row)],
        row=row,
        rule=line.rule,
    )


def _finding(
    run: Run,
    item_class: str | None,
    *,
    reference: str,
    operation: Operation | None,
    amount: Decimal | None,
    currency: str,
    why: str,
    records: Sequence[Record],
    of: Sequence[tuple[Record, Record | None, Record | None]],
    state: str,
    items: int = 1,
    row: Record | None = None,
    by_source: bool = False,
    rule: str = "",
    fields: Sequence[str] = (),
    meant: list[dict[str, str]] | None = None,
) -> Finding:
    destination = [record_shown(record) for record in records]
    finding = Finding(
        run=run,
        item_class=str(item_class),
        reference=reference,
        items=items,
        operation=operation,
        state=state,
        amount=amount,
        currency=currency if amount is not None else "",
        why=why[:500],
        first_seen_at=run.started_at,
        destination=destination,
        source=None if row is None else telling.row_shown(row),
        by_source=by_source,
        rule=rule,
        contents=list(fields),
        came_late=next(filter(None, (lateness.words(run, one) for both in of for one in both)), ""),
        meant=meant,
        held=held(run, str(item_class), of),
        seen_at=max((record.seen_at for record in records if record.seen_at), default=None),
    )
    told = [finding.item_class, reference, items, sorted(str(sorted(shown.items())) for shown in destination)]
    if meant is not None:
        told.append(sorted(str(sorted(one.items())) for one in meant))
    if finding.source is not None:
        told.append(str(sorted(finding.source.items())))
    if fields:
        told += [one for line, pair, _ in of if pair is not None for one in contents.known_by(line, pair)]
    finding.fingerprint = hashlib.sha256(canonical(told)).hexdigest()
    return finding


def _why_of_operation(run: Run, line: Record, pair: Record | None, row: Record | None) -> str:
    """Say why it is a difference, and what the source has of it, where it has been asked."""
    if line.several:
        return telling.with_row(run, line.several, row)
    said = _why_by_rule(line, pair) if pair is not None and pair.rule else ""
    if line.capped:
        most = money(Decimal(run.plan.tolerance_cap[line.currency]), line.currency)
        said = f"{said or _why_of_both(line, pair)} All that tolerances let pass comes to more than {most}."
    if said:
        return telling.with_row(run, said, row)
    if pair is not None and telling.alone(run, line, pair, row):
        words = telling.why_alone(run, line, pair, row)
        if words:
            return words
    return telling.with_row(run, _why_of_both(line, pair), row)


def _why_by_rule(line: Record, pair: Record) -> str:
    """Say what a rule found, and why that is a difference all the same."""
    found = f"Rule {pair.rule} finds {pair.external_id or 'a record'} for it: {shown(pair)} there"
    if line.item_class == ItemClass.UNCERTAIN and pair.standing != Standing.PENDING:
        return f"{found}. A rule completes nothing that is in doubt: confirm it with that number, or check."
    return f"{found}, {shown(line)} meant. {_why_of_both(line, pair)}"


def _why_of_both(line: Record, pair: Record | None) -> str:
    if pair is None:
        gone = line.item_class == ItemClass.MISSING and line.state == State.COMPLETED and line.external_id
        before = f"{line.external_id} was on record as done." if gone else _waits(line)
        return f"{before} {line.why or NOT_LISTED}".strip()
    match ItemClass(line.item_class or ""):
        case ItemClass.UNREADABLE:
            return pair.why
        case ItemClass.UNEXPECTED:
            return _why_unexpected(pair, line.state)
        case ItemClass.STATUS_DIFFERS:
            what = "it is not final" if pair.standing == Standing.PENDING else "it does not stand"
            return f"{pair.external_id} is {pair.status or pair.standing} there: {what}."
        case ItemClass.PAYLOAD_DIFFERS:
            fields = ", ".join(contents.differing(line, pair))
            return f"{pair.external_id} is there with other contents than were meant: {fields}."
        case ItemClass.UNCERTAIN:
            return f"{pair.external_id} is {pair.status or pair.standing} there, and not final in time."
        case _:
            return f"{shown(pair)} there, {shown(line)} meant."


def _waits(line: Record) -> str:
    """Say what an operation waits for that comes after another; unnamed, for not all who read may know it."""
    first = actions.first_fact(line.operation) if line.operation and line.state == State.PENDING else None
    return first.why_called("another operation") if first is not None else ""


def _why_unexpected(record: Record, state: str) -> str:
    ours = "is still to be sent" if state == State.PENDING else "is on record as not happened"
    return f"The operation {ours}, and {record.external_id} is there."


def _why_several(records: Sequence[Record], surplus: Sequence[Record]) -> str:
    standing = sum(map(_stands, surplus))
    words = [_why_carried(records, standing)] if standing else []
    for line in [line for line in surplus if not _stands(line)][:IDS_SHOWN]:
        words.append(f"{line.external_id} is reversed in part: {shown(line)} is left.")
    return " ".join(words)


def _why_carried(records: Sequence[Record], surplus: int) -> str:
    ids = [record.external_id for record in records if _stands(record)]
    named = ", ".join(ids[:IDS_SHOWN]) + (f" and {len(ids) - IDS_SHOWN} more" if len(ids) > IDS_SHOWN else "")
    return f"{named} carry it: {surplus} too many."
