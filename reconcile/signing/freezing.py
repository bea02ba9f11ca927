"""What is signed, as it is at that moment: the run's figures, and each open difference with whose it is."""

import hashlib
from datetime import datetime
from typing import Any

from ledger.rules.digests import canonical
from reconcile import findings, provenance, reports
from reconcile.differences import waivers
from reconcile.differences.models import Decision
from reconcile.models import Finding, Period, Run, SignOff


def frozen(asked: SignOff, *, signer: str, why: str, now: datetime) -> dict[str, Any]:
    """Return what somebody signs: where it comes from, figures, digest, open differences, and both people."""
    run = asked.run
    waived = waivers.waived(run, now)
    return {
        "run": run.pk,
        "provenance": provenance.of(run, author=signer, now=now),
        **reports.figures(run),
        "tie_out": reports.tie_out(run, waived),
        "open": still_open(run, waived),
        "prepared": {"by": asked.maker, "at": asked.made_at.isoformat(), "note": asked.reason},
        "signed": {"by": signer, "at": now.isoformat(), "note": why},
        **({} if asked.period is None else {"period": _of_period(asked.period, run)}),
    }


def _of_period(period: Period, run: Run) -> dict[str, Any]:
    """Return which period is signed, and by its SHA-256 which report of it."""
    report = run.period_report
    return {
        "id": str(period.uid),
        "month": f"{period.first_day:%Y-%m}",
        "cut_off": period.cut_off_at.isoformat(),
        "report": report.digest,
        "headline": report.document["headline"],
        "open_at_cut_off": report.open_count,
    }


def still_open(run: Run, waived: waivers.Waived) -> list[dict[str, Any]]:
    """Return each open difference as it stands: amount, whose it is, when it is due, who has waived it."""
    by = {finding.pk: waiver for finding, waiver in waived}
    still = findings.stored(run).filter(is_open=True)
    return [_open(finding, run, by.get(finding.pk)) for finding in still]


def seen(still: list[dict[str, Any]]) -> str:
    """Return the SHA-256 of the open differences as a page shows them to who is about to sign."""
    return hashlib.sha256(canonical(still)).hexdigest()


def _open(finding: Finding, run: Run, waiver: Decision | None) -> dict[str, Any]:
    case = finding.case
    shown = reports.finding_shown(finding)
    return {
        **{name: shown[name] for name in ("class", "reference", "amount", "currency", "why")},
        "first_seen": finding.first_seen_at.isoformat(),
        "owner": case.owner if case else run.plan.operation_type.owner,
        "assignee": case.assignee if case else "",
        "due": case.due_at.isoformat() if case else None,
        "waived": {
            "by": waiver.maker,
            "until": waiver.until.isoformat() if waiver.until else None,
            "reason": waiver.reason,
        }
        if waiver
        else None,
    }


def digest(signed: dict[str, Any]) -> str:
    """Return the SHA-256 of what was signed, so that who holds a copy can prove it."""
    return hashlib.sha256(canonical(signed)).hexdigest()
