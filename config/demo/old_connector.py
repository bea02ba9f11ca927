"""An older connector that writes into Durban Books by itself: no key, and it repeats after each time-out."""

import os
from datetime import datetime
from zoneinfo import ZoneInfo

import httpx

from config.demo.afternoon import OUTSIDE


def main() -> None:
    """Write what it wrote that afternoon; an order that is there already is left alone, so it runs once."""
    now = datetime.now(ZoneInfo("Africa/Johannesburg"))
    mailed_at = f"{now.day} {now:%b}, {now:%H:%M}"
    with httpx.Client(base_url=os.environ["SANDBOX_URL"], timeout=10) as books:
        for number, total, times in OUTSIDE:
            reference = f"order/webshop/{number}/v1"
            held = books.get("/_effects", params={"key": reference}).json()["count"]
            for turn in range(times if held == 0 else 0):
                invoice = {
                    "order": str(number),
                    "total": total,
                    "currency": "ZAR",
                    "metadata": {"operation": reference},
                    # The first two went out to the customer before anybody noticed.
                    "mailed_at": mailed_at if turn < 2 else None,
                }
                books.post("/invoices", json=invoice).raise_for_status()


if __name__ == "__main__":
    main()
