"""How a connection to PostgreSQL is encrypted: `sslmode`, as PostgreSQL's own programs have it."""

from __future__ import annotations

import os
import ssl

from labeler.errors import Misconfigured
from labeler.store.postgres.address import TLS_MODES, DatabaseAddress


def tls_context(address: DatabaseAddress) -> ssl.SSLContext | bool | None:
    """How to encrypt: False is not at all, None if the server can, else what is checked.

    `require` encrypts, and checks nothing where no certificates are named; `verify-ca` checks who
    signed the server's certificate, `verify-full` also that it is for this host.
    """
    mode = address.tls or os.environ.get("PGSSLMODE") or "prefer"
    if mode not in TLS_MODES:
        raise Misconfigured(f"PGSSLMODE is one of {', '.join(TLS_MODES)}, not {mode!r}")
    if mode == "disable":
        return False
    if mode in {"allow", "prefer"}:
        return None
    named = address.certificates or os.environ.get("PGSSLROOTCERT", "")
    try:
        context = ssl.create_default_context(cafile=None if named == "system" else named or None)
    except OSError as error:
        raise Misconfigured(f"{named}: no certificates can be read ({error})") from None
    context.check_hostname = mode == "verify-full"
    if mode == "require" and not named:
        context.verify_mode = ssl.CERT_NONE
    return context
