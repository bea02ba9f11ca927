"""What a run has to say of a world, by its plain facts: slow, obvious, and in no word taken from the SQL.

It is written from what people are promised (docs/reconciliation.md): each item in one class, asked in their
order; amounts are whole minor units.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, time
from fractions import Fraction
from zoneinfo import ZoneInfo

from tests.reconcile import oracle_rules as declared
from tests.reconcile import oracle_source as sources
from tests.reconcile.worlds import DECIMALS, NOW, Meant, Order, Reversal, Row, Rules, There

CHECKS_MAX, BLIND_MAX = 200, 3
"""A run checks so many absent operations, and stops after so many in a row that could not be looked up."""
STANDING = ("done", "pending")
IN_ORDER = ("matched", "in_flight", "out_of_scope")

Sum = tuple[int, int]
"""How many, and how much in minor units."""
NOTHING: Sum = (0, 0)


@dataclass(frozen=True)
class Item:
    """An operation or a record, its class, and what it is compared with."""

    side: str
    reference: str
    id: str
    item_class: str
    """Of a record that is compared with an operation: nothing, for the item is the operation's."""
    other: str = ""


@dataclass(frozen=True)
class Difference:
    """What somebody has to explain."""

    item_class: str
    reference: str
    items: int
    amount: int | None
    currency: str


@dataclass(frozen=True)
class Line:
    """A class in one currency: its items, and what they hold on each side."""

    items: int = 0
    ledger: Sum = NOTHING
    destination: Sum = NOTHING
    source: Sum = NOTHING


@dataclass
class Judged:
    """All that a run says."""

    items: Counter[Item] = field(default_factory=Counter)
    differences: Counter[Difference] = field(default_factory=Counter)
    ledger: dict[str, Sum] = field(default_factory=dict)
    destination: dict[str, Sum] = field(default_factory=dict)
    source: dict[str, Sum] = field(default_factory=dict)
    lines: dict[tuple[str, str], Line] = field(default_factory=lambda: defaultdict(Line))
    """By class and currency."""
    reversed: dict[tuple[str, str], tuple[int, int, int]] = field(default_factory=dict)
    """By reference and currency: how many records, what was too much of them, and what is left."""


@dataclass(frozen=True)
class Known:
    """An order as a run comes to know it: what it holds of it, and what a check has said."""

    order: Order
    held: tuple[There, ...]
    checked: str = ""
    tied: bool = False
    """A rule says that what it holds is of it."""
    unclear: frozenset[int] = frozenset()
    """The numbers of its records for which a rule found several operations, or none that had only one."""
    unclear_itself: bool = False
    capped: bool = False
    """Tolerances have let too much pass of its currency, and this with it."""
    group: declared.Group | None = None
    """What its operation is a part of."""
    grouped: tuple[tuple[declared.Group, There], ...] = ()
    """Its records that are parts of groups."""


def judge(rules: Rules, orders: Sequence[Order]) -> Judged:
    """Judge all orders of a run."""
    told = sources.by_key(orders)
    orders = _told_by_places(orders) if rules.places else orders
    known = [Known(order, tuple(one for one in order.there if not one.late)) for order in orders]
    checked = _checked(rules, declared.tied(rules, known))
    known = [
        replace(one, held=seen.held, checked=seen.checked) if seen.checked else one
        for one, seen in zip(known, checked, strict=True)
    ]
    known = _capped(rules, declared.tied(rules, known))
    judged = Judged()
    for one in known:
        _judge_order(rules, one, judged, told)
    _judge_rows(rules, told, known, judged=judged)
    _judge_groups(rules, known, judged)
    judged.ledger, judged.destination = _totals(rules, known)
    return judged


def _told_by_places(orders: Sequence[Order]) -> list[Order]:
    """Give records to the operation whose key is made of the source that they name, and to no other."""
    told = []
    for order in orders:
        ours = [one for one in orders if one.meant is not None and one.source == order.source]
        if order.carries == "key" and ours and not (order.meant is not None and order.plain):
            told.append(replace(order, there=()))
            told.append(replace(order, meant=None, carries="several"))
        else:
            told.append(order)
    return told


def key_of(order: Order) -> str:
    """Return the reference that an order's records are known by."""
    if order.carries in ("drill", "nothing"):
        return {"drill": f"drill/0123456789ab/{order.name}", "nothing": ""}[order.carries]
    if order.source and not (order.meant is not None and order.plain):
        return f"number = {order.source}, shop = shop"
    return order.name


def id_of(record: There) -> str:
    """Return a record's id, as far as it can be read."""
    return "" if record.trouble == "id" else f"INV-{record.number}"


def amount_of(record: There) -> int | None:
    """Return a record's amount, if it can be read: without its currency no amount can."""
    return None if record.trouble in ("amount", "currency") else record.amount


def currency_of(record: There) -> str:
    """Return the currency that a record counts in."""
    return "" if amount_of(record) is None else record.currency


def stands(record: There) -> bool:
    """Say whether it is neither reversed nor declined; a status that cannot be read does not say so."""
    return record.trouble == "status" or record.standing in STANDING


def of_window(rules: Rules, moment: datetime | date | None) -> bool:
    """Say whether what was made then is of the window; what tells no time is of every window."""
    if moment is None:
        return True
    if isinstance(moment, datetime):
        return rules.window_from <= moment < rules.window_to
    return rules.days[0] <= moment <= rules.days[1]


def meant_here(rules: Rules, order: Order) -> bool:
    """Say whether its operation was accepted in the window."""
    return order.meant is not None and of_window(rules, order.meant.accepted)


def in_grace(rules: Rules, meant: Meant) -> bool:
    """Say whether it is too early to miss it."""
    since = NOW - rules.grace
    if meant.accepted > since or (meant.tried is not None and meant.tried > since):
        return True
    if not meant.after or meant.state != "pending" or meant.held:
        return False
    return meant.due > since if meant.due is not None else _goes_on(meant)


def _goes_on(meant: Meant) -> bool:
    """Say whether what it waits for goes on by itself."""
    for first in meant.after:
        if first.held or (first.state == "failed" and not first.permitted):
            return False
        if first.state != "pending":
            return True
    return True


def compared(rules: Rules, order: Order, held: Sequence[There]) -> There | None:
    """Of all under one reference: one that stands, else any; the operation's own, else the earliest."""
    if not held or not key_of(order):
        return None
    readable = [one for one in held if not one.trouble]
    among = (
        [one for one in readable if stands(one)] or readable or [one for one in held if stands(one)] or held
    )
    own = [one for one in among if one.own and order.meant is not None]
    return own[0] if own else min(among, key=lambda one: (_when(rules, one), one.late, one.number))


def _when(rules: Rules, record: There) -> datetime:
    """Return when it was made: a day begins with its midnight, and what tells no time comes last."""
    made = record.made
    if made is None:
        return datetime.max.replace(tzinfo=UTC)
    if isinstance(made, datetime):
        return made
    return datetime.combine(made, time.min, tzinfo=ZoneInfo(rules.zone)).astimezone(UTC)


def class_of_operation(rules: Rules, known: Known) -> str:
    """Return the class of an operation of the window."""
    meant = known.order.meant
    assert meant is not None
    if known.unclear_itself:
        return "ambiguous"
    if known.group is not None:
        done = known.group.apart or meant.state == "completed"
        return known.group.item_class if done else "in_flight" if meant.state == "running" else "uncertain"
    found = _class_by_facts(rules, known)
    if found != "matched":
        return found
    # A rule completes nothing.
    if known.tied and meant.state != "completed":
        return "uncertain"
    if known.capped:
        return "amount_over" if _let_pass(rules, known) > 0 else "amount_under"
    return "matched"


def _class_by_facts(rules: Rules, known: Known) -> str:
    meant, record = known.order.meant, compared(rules, known.order, known.held)
    assert meant is not None
    dropped = meant.cancelled or (meant.corrected and meant.state == "failed")
    if meant.state == "running":
        return "in_flight"
    if record is None:
        if dropped:
            return "out_of_scope"
        if in_grace(rules, meant) and meant.state != "failed":
            return "in_flight"
        return "missing_at_destination" if known.checked == "absent" else "uncertain"
    if record.trouble:
        return "unreadable"
    if not stands(record):
        return "out_of_scope" if dropped else "status_differs"
    if meant.state in ("failed", "pending"):
        return "unexpected_at_destination"
    return _apart(rules, meant, record, tied=known.tied)


def _let_pass(rules: Rules, known: Known) -> int:
    """Return what is there of an operation less what was meant."""
    pair, meant = compared(rules, known.order, known.held), known.order.meant
    if pair is None or meant is None or meant.amount is None:
        return 0
    return pair.amount - meant.amount


def _capped(rules: Rules, known: Sequence[Known]) -> list[Known]:
    """Mark what tolerances have let pass, where all of one currency is more than the cap."""
    passed: dict[str, list[int]] = defaultdict(list)
    places: dict[str, set[int]] = defaultdict(set)
    for place, one in enumerate(known):
        meant = one.order.meant
        if meant is None or not meant_here(rules, one.order) or class_of_operation(rules, one) != "matched":
            continue
        if one.group is None and _let_pass(rules, one):
            passed[meant.currency].append(abs(_let_pass(rules, one)))
            places[meant.currency].add(place)
    beyond = {cur for cur, most in (rules.cap or {}).items() if sum(passed[cur]) > most}
    marked = set().union(*(places[currency] for currency in beyond))
    return [replace(one, capped=place in marked) for place, one in enumerate(known)]


def _apart(rules: Rules, meant: Meant, record: There, *, tied: bool) -> str:
    if meant.amount is not None and not tied:
        if meant.currency != record.currency:
            return "currency_differs"
        apart = record.amount - meant.amount
        if abs(apart) > (rules.tolerance or {}).get(meant.currency, 0):
            return "amount_over" if apart > 0 else "amount_under"
    if rules.contents and meant.says is not None and meant.says != record.says:
        return "payload_differs"
    if record.standing == "pending":
        if meant.state == "completed":
            return "status_differs"
        return "uncertain" if meant.held else "in_flight"
    return "matched"


def class_of_record(rules: Rules, known: Known, record: There) -> str:
    """Return the class of a record that is not compared with an operation of the window."""
    order = known.order
    if not of_window(rules, record.made) and not meant_here(rules, order):
        return "out_of_scope"
    if order.carries == "drill":
        return "out_of_scope"
    unclear = record.number in known.unclear
    if record.trouble or (order.carries == "nothing" and not unclear):
        return "unreadable"
    if not stands(record) and not left_of(record):
        return "out_of_scope"
    if order.carries == "several" or unclear:
        return "ambiguous"
    if record is not compared(rules, order, known.held):
        return "duplicate_at_destination"
    if order.meant is None or order.meant.state in ("failed", "pending"):
        return "unexpected_at_destination"
    return "out_of_scope"


def done_by(record: There) -> Reversal | None:
    """Return the reversal that is done; a record whose id cannot be read is not known as the one."""
    by = record.reversal
    done = by is not None and by.state == "completed" and not by.corrected
    return by if done and record.trouble != "id" else None


def is_reversed(record: There) -> bool:
    """Say whether its reversal is done and the list bears that out, wholly or in part."""
    return done_by(record) is not None and (not stands(record) or left_of(record) != 0)


def left_of(record: There) -> int:
    """Return what is left of what was reversed in part; nothing where all of it was, or nothing."""
    by, listed = done_by(record), amount_of(record)
    if by is None or listed is None or record.currency != by.currency:
        return 0
    return listed if 0 < listed < by.amount or by.amount < listed < 0 else 0


def _checked(rules: Rules, known: list[Known]) -> list[Known]:
    """Ask about what the list does not hold, the largest first, as long as anything is answered."""
    if not rules.asks:
        return known
    absent = [one for one in known if _is_absent(rules, one)]
    said: dict[str, Known] = {}
    blind = 0
    for one in sorted(absent, key=_largest_first)[:CHECKS_MAX]:
        late = tuple(record for record in one.order.there if record.late)
        assert one.order.meant is not None
        answer = "found" if late else one.order.meant.answer
        said[one.order.name] = replace(one, held=late, checked=answer)
        blind = blind + 1 if answer == "blind" else 0
        if blind == BLIND_MAX:
            break
    return [said.get(one.order.name, one) for one in known]


def _is_absent(rules: Rules, one: Known) -> bool:
    if one.held or not meant_here(rules, one.order) or (rules.places and not one.order.plain):
        return False
    return class_of_operation(rules, one) == "uncertain"


def _largest_first(one: Known) -> tuple[bool, Fraction, datetime]:
    meant = one.order.meant
    assert meant is not None
    amount = Fraction(meant.amount or 0, 10 ** DECIMALS.get(meant.currency, 0))
    return meant.amount is None, -amount, meant.accepted


def _judge_order(rules: Rules, known: Known, judged: Judged, told: dict[str, sources.Rows]) -> None:
    order, here = known.order, meant_here(rules, known.order)
    pair = compared(rules, order, known.held) if here else None
    surplus: dict[str, list[There]] = defaultdict(list)
    if here:
        item_class = _beside_source(rules, known, told)
        own = next((id_of(one) for one in order.there if one.own), "")
        if order.meant is not None and order.meant.known:
            own = f"INV-{order.meant.known}"
        other = id_of(pair) if pair is not None else ""
        judged.items[Item("ledger", order.name, own, item_class, other)] += 1
        row = told[order.name].first(rules) if rules.source and order.name in told else None
        grouped = known.group is not None and bool(known.group.apart)
        _add_operation(
            rules,
            judged,
            order,
            pair=pair,
            row=row,
            item_class=item_class,
            tied=known.tied,
            grouped=grouped,
            capped=known.capped,
        )
    for record in known.held:
        if record is pair:
            judged.items[Item("destination", key_of(order), id_of(record), "", order.name)] += 1
            continue
        item_class = class_of_record(rules, known, record)
        judged.items[Item("destination", key_of(order), id_of(record), item_class)] += 1
        _hold(judged, item_class, record)
        _count(judged, item_class, currency_of(record))
        if item_class == "duplicate_at_destination":
            surplus[record.currency].append(record)
        elif item_class not in IN_ORDER:
            judged.differences[
                Difference(item_class, key_of(order), 1, amount_of(record), currency_of(record))
            ] += 1
    for currency, extra in surplus.items():
        total = sum(one.amount for one in extra)
        judged.differences[
            Difference("duplicate_at_destination", key_of(order), len(extra), total, currency)
        ] += 1
    _add_reversed(judged, known)


def _beside_source(rules: Rules, known: Known, told: dict[str, sources.Rows]) -> str:
    """Return the class of an operation of the window, with what the source says of it."""
    item_class, meant = class_of_operation(rules, known), known.order.meant
    if (
        not rules.source
        or meant is None
        or (known.group is not None and item_class != "missing_at_destination")
    ):
        return item_class
    pair = compared(rules, known.order, known.held)
    return sources.of_operation(
        rules,
        item_class,
        meant=meant,
        pair=as_meant(meant, pair) if pair is not None and known.tied else pair,
        told=told.get(known.order.name, sources.Rows()),
        grace=in_grace(rules, meant),
    )


def _judge_groups(rules: Rules, known: Sequence[Known], judged: Judged) -> None:
    """Judge the records of groups, and make one difference of each group whose sums are not the same."""
    parts: Counter[declared.Group] = Counter()
    for one in known:
        if one.group is not None and meant_here(rules, one.order):
            parts[one.group] += 1
        for group, record in one.grouped:
            judged.items[Item("destination", group.name, id_of(record), group.item_class)] += 1
            _hold(judged, group.item_class, record)
            _count(judged, group.item_class, record.currency)
            parts[group] += 1
    for group, items in parts.items():
        if group.item_class not in IN_ORDER:
            currency = group.name.rpartition(" ")[2]
            judged.differences[
                Difference(group.item_class, group.name, items, abs(group.apart), currency)
            ] += 1


def as_meant(meant: Meant, pair: There) -> There:
    """Return a record that a rule has tied with the amount that was meant: as far as it may, it differs."""
    return pair if meant.amount is None else replace(pair, amount=meant.amount)


def _judge_rows(
    rules: Rules, told: dict[str, sources.Rows], known: Sequence[Known], *, judged: Judged
) -> None:
    """Put each row beside the one item that it is of, or into a class of its own."""
    operations = {
        one.order.name: meant_here(rules, one.order) for one in known if one.order.meant is not None
    }
    nobodys = {key_of(one.order): one for one in known if one.order.meant is None}
    for key, rows in told.items():
        here = operations.get(key, False)
        beside = _class_of(judged, key) if here else ""
        if key and key not in operations and key in nobodys:
            beside = _class_of_nobodys(rules, nobodys[key])
        ambiguous: list[Row] = []
        for row in rows.rows:
            first = bool(key) and row is rows.first(rules)
            item_class = beside if first else ""
            if item_class:
                judged.items[Item("source", key, "", "", key)] += 1
            else:
                item_class = sources.of_row(
                    rules,
                    row,
                    alone=first and rows.alike,
                    operation=key in operations,
                    here=here,
                    in_window=of_window(rules, row.dated),
                )
                judged.items[Item("source", key, "", item_class)] += 1
                _count(judged, item_class, sources.currency_of(row))
                _add_row(judged, key, row, item_class=item_class)
                ambiguous += [row] if item_class == "ambiguous" else []
            _hold_row(judged, item_class, row)
        _add_ambiguous(judged, key, ambiguous, told=beside == "ambiguous")


def _add_row(judged: Judged, key: str, row: Row, *, item_class: str) -> None:
    if item_class not in (*IN_ORDER, "ambiguous"):
        name = "" if item_class == "unreadable" else key
        amount, currency = sources.amount_of(row), sources.currency_of(row)
        judged.differences[Difference(item_class, name, 1, amount, currency)] += 1


def _hold_row(judged: Judged, item_class: str, row: Row) -> None:
    """Count what a row comes to at the source; a cancelled one comes to nothing."""
    if row.cancelled:
        return
    currency, one = sources.currency_of(row), (1, sources.amount_of(row) or 0)
    line = judged.lines[item_class, currency]
    judged.lines[item_class, currency] = replace(line, source=_plus(line.source, one))
    judged.source[currency] = _plus(judged.source.get(currency, NOTHING), one)


def _add_ambiguous(judged: Judged, key: str, rows: Sequence[Row], *, told: bool) -> None:
    """Make one difference of the rows of a key; `told`: that of their operation has them, too."""
    if not rows:
        return
    if told:
        one = next(one for one in judged.differences if (one.item_class, one.reference) == ("ambiguous", key))
        del judged.differences[one]
        judged.differences[replace(one, items=one.items + len(rows))] += 1
        return
    same = len({row.currency for row in rows}) == 1
    amount = sum(row.amount for row in rows) if same else None
    currency = rows[0].currency if same else ""
    judged.differences[Difference("ambiguous", key, len(rows), amount, currency)] += 1


def _class_of(judged: Judged, key: str) -> str:
    """Return the class of an operation's item, which has been judged."""
    return next(item.item_class for item in judged.items if item.side == "ledger" and item.reference == key)


def _class_of_nobodys(rules: Rules, known: Known) -> str:
    """Return "unexpected" where a record that no operation carries is the one that a row is beside."""
    record = compared(rules, known.order, known.held)
    found = class_of_record(rules, known, record) if record is not None else ""
    return found if found == "unexpected_at_destination" else ""


def _add_operation(
    rules: Rules,
    judged: Judged,
    order: Order,
    *,
    pair: There | None,
    row: Row | None,
    item_class: str,
    tied: bool,
    grouped: bool,
    capped: bool,
) -> None:
    meant = order.meant
    assert meant is not None
    _count(judged, item_class, meant.currency, ledger=(1, meant.amount or 0))
    if pair is not None:
        _hold(judged, item_class, pair)
    if item_class in IN_ORDER or grouped:
        return
    amount, currency = meant.amount, meant.currency
    if item_class in ("amount_over", "amount_under") and pair is not None:
        pair = as_meant(meant, pair) if tied and not capped else pair
        apart = abs(pair.amount - (pair.amount if amount is None else amount))
        if row is not None and not capped and apart <= (rules.tolerance or {}).get(pair.currency, 0):
            apart = abs(sources.difference(rules, meant, pair, row))
        amount, currency = apart, pair.currency
    elif item_class == "unexpected_at_destination" and pair is not None:
        amount, currency = pair.amount, pair.currency
    judged.differences[Difference(item_class, order.name, 1, amount, currency)] += 1


def _add_reversed(judged: Judged, known: Known) -> None:
    for record in filter(is_reversed, known.held):
        assert record.reversal is not None
        name = (known.order.name, record.reversal.currency)
        items, surplus, left = judged.reversed.get(name, (0, 0, 0))
        judged.reversed[name] = (items + 1, surplus + record.reversal.amount, left + left_of(record))


def _count(judged: Judged, item_class: str, currency: str, *, ledger: Sum = NOTHING) -> None:
    line = judged.lines[item_class, currency]
    judged.lines[item_class, currency] = replace(
        line, items=line.items + 1, ledger=_plus(line.ledger, ledger)
    )


def _hold(judged: Judged, item_class: str, record: There) -> None:
    """Count what a record comes to at the destination; what does not stand comes to nothing."""
    if stands(record):
        line = judged.lines[item_class, currency_of(record)]
        held = _plus(line.destination, (1, amount_of(record) or 0))
        judged.lines[item_class, currency_of(record)] = replace(line, destination=held)


def _plus(one: Sum, other: Sum) -> Sum:
    return one[0] + other[0], one[1] + other[1]


def _totals(rules: Rules, known: Sequence[Known]) -> tuple[dict[str, Sum], dict[str, Sum]]:
    """Sum both sides, and ask no class."""
    ledger: dict[str, Sum] = {}
    destination: dict[str, Sum] = {}
    for one in known:
        meant = one.order.meant
        if meant is not None and meant_here(rules, one.order):
            ledger[meant.currency] = _plus(ledger.get(meant.currency, NOTHING), (1, meant.amount or 0))
        for record in filter(stands, (*one.held, *(record for _, record in one.grouped))):
            currency = currency_of(record)
            destination[currency] = _plus(destination.get(currency, NOTHING), (1, amount_of(record) or 0))
    return ledger, destination


def explained(judged: Judged) -> bool:
    """Say whether the classes add up to the totals, for each currency and on either side."""
    for name in ("source", "ledger", "destination"):
        held: dict[str, Sum] = defaultdict(lambda: NOTHING)
        totals: dict[str, Sum] = getattr(judged, name)
        for (_, currency), line in judged.lines.items():
            held[currency] = _plus(held[currency], getattr(line, name))
        if any(held[currency] != totals.get(currency, NOTHING) for currency in held.keys() | totals.keys()):
            return False
    return True
