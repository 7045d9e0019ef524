"""Which hosts are this machine alone, and which are addresses in digits."""

from __future__ import annotations

from ipaddress import ip_address


def is_loopback(host: str) -> bool:
    """Whether nobody but this machine reaches what listens at a host."""
    return host.lower() == "localhost" or (is_address(host) and ip_address(host).is_loopback)


def is_address(text: str) -> bool:
    """Whether a host is an address in digits, and no name that may lead anywhere."""
    try:
        ip_address(text)
    except ValueError:
        return False
    return True
