"""Addresses of servers: which are meant, and how they are shown."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable
from ipaddress import IPv4Address
from urllib.parse import SplitResult, urlsplit, urlunsplit

from labeler.errors import Misconfigured

OPENAI = "https://api.openai.com/v1"
THIS_MACHINE = "127.0.0.1"
LOOPBACK = frozenset([THIS_MACHINE, "localhost", "::1"])
"""The names under which servers of one's own machine are asked."""

HIDDEN = "?hidden="
"""What stands in place of a query, before a hash of it: a query may choose who answers."""


def server_address(base_url: str | None) -> str:
    """The address that will be asked: the one given, the environment's, or OpenAI's."""
    address = (base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI).strip().rstrip("/")
    parts = _parts(address)
    if parts is None:
        raise Misconfigured(f"{masked(address)}: expected an address as http://127.0.0.1:8000/v1")
    if parts.username or parts.password:
        problem = "the address holds a user or a password; give the key in OPENAI_API_KEY instead"
        raise Misconfigured(f"{masked(address)}: {problem}")
    if HIDDEN in address:
        problem = "the query of this address is not kept, only a hash of it; give the whole address"
        raise Misconfigured(f"{masked(address)}: {problem}")
    return address


def identity(address: str) -> str:
    """What tells an address from all others, without its secrets.

    This machine has several names, and one identity.
    """
    query = address.partition("?")[2].partition("#")[0]
    digest = hashlib.sha256(query.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return _shown(address, host_of) + (f"{HIDDEN}{digest}" if query else "")


def host_of(parts: SplitResult) -> str:
    """The host of an address, where this machine's own names are one."""
    host = parts.hostname or ""
    return THIS_MACHINE if host in LOOPBACK else host


def masked(address: str) -> str:
    """An address fit for screens and files: without user, password, query or fragment.

    Of what is no address, all before the last `@` may be a password.
    """
    return _shown(address, lambda parts: parts.hostname or "")


def _shown(address: str, host_in: Callable[[SplitResult], str]) -> str:
    parts = _parts(address)
    if parts is None:
        scheme = re.match(r"https?://", address)
        rest = address[scheme.end() :] if scheme else address
        shown = re.split(r"[?#]", rest.rpartition("@")[2])[0]
        return f"{scheme[0] if scheme else ''}{shown}"
    host = host_in(parts)
    host = f"[{host}]" if ":" in host else host
    port = f":{parts.port}" if parts.port else ""
    return urlunsplit((parts.scheme, host + port, parts.path, "", ""))


def _parts(address: str) -> SplitResult | None:
    """The parts of an address that can be asked; None where it is none."""
    from yarl import URL

    try:
        parts = urlsplit(address)
        is_usable = parts.port != 0 and address.isprintable() and " " not in address
        host = URL(address).host if is_usable else None
        (URL(address).raw_host or "").encode("idna")  # as the resolver will
        if host and not host.strip("0123456789."):
            IPv4Address(host)  # `127.1` or `2130706433` may be another place to each who reads it
    except ValueError:
        return None
    return parts if host and parts.scheme in {"http", "https"} else None
