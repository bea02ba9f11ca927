"""Webhooks to others: which there are, how long they are tried, and which addresses they may go to."""

from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address
from typing import Literal

Kind = Literal["permit.open", "operation.completed", "operation.held", "operation.corrected"]
HOUR_S = 3600.0
PAUSES_S = (5.0, 300.0, 1800.0, *(hours * HOUR_S for hours in (2, 5, 10, 14, 20, 24)))
"""How long after each failed try the next one comes; after the last of them, about three days, none does."""
GIVEN_UP_S = 80 * HOUR_S
"""What is older is given up where its receiver has not answered for as long."""
LATEST = 100
"""As many stay, however old they are: what the page of deliveries shows first."""
REST_S, REST_MAX_S = 5.0, 300.0
GONE = 410

_GLOBAL_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")


def pause_s(tries: int) -> float | None:
    """Return how long after so many failed tries the next one comes, in seconds; None where none does."""
    return PAUSES_S[tries - 1] if tries <= len(PAUSES_S) else None


def rest_s(failures: int) -> float:
    """Return how long a receiver is left alone after so many failures in a row, in seconds."""
    return float(min(REST_S * 2.0 ** min(failures - 1, 60), REST_MAX_S))


def public(address: str) -> bool:
    """Say whether an IP address is one of the open internet: no private, local, shared or special one."""
    try:
        ip = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    if isinstance(ip, IPv4Address):
        return ip.is_global and not ip.is_multicast
    inner = ip.ipv4_mapped or (IPv4Address(int(ip) & 0xFFFFFFFF) if ip in _NAT64 else None)
    if inner is not None:
        return public(str(inner))
    return _plain(ip) and ip.is_global and not ip.is_multicast


def _plain(ip: IPv6Address) -> bool:
    """Say whether it carries no other address inside, which would be where it really leads."""
    return ip in _GLOBAL_UNICAST and ip.sixtofour is None and ip.teredo is None
