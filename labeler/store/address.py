"""The address of a PostgreSQL database, without a password: that comes from the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

from labeler.errors import Misconfigured

SCHEMES = ("postgresql", "postgres")
PORT = 5432
EXAMPLE = "postgresql://user@host/database"
TLS_MODES = ("disable", "allow", "prefer", "require", "verify-ca", "verify-full")
"""How sure a connection is, by the names that PostgreSQL's own programs have (`sslmode`)."""

_SETTINGS = {"sslmode": "tls", "sslrootcert": "certificates"}


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """Where a database is; it is shown as it stands, as it holds no secret.

    `tls` is one of `TLS_MODES`, and `certificates` the file of those that sign the server's; empty
    where the environment says so (PGSSLMODE, PGSSLROOTCERT), or where PostgreSQL's default holds.
    """

    host: str
    database: str
    user: str
    port: int = PORT
    unsent: Path | None = None
    tls: str = ""
    certificates: str = ""

    @classmethod
    def of(cls, text: str, unsent: Path | None = None) -> DatabaseAddress:
        """Read an address; `Misconfigured` where it is none, or holds a password.

        `unsent` is the file that takes in replies which the database does not, until it does.
        """
        try:
            parts = urlsplit(text)
            port = parts.port or PORT
        except ValueError:
            raise Misconfigured(f"a store's address cannot be read; expected {EXAMPLE}") from None
        if parts.password:
            raise Misconfigured(
                "a store's address holds a password; give it in PGPASSWORD instead",
                parameter="store",
            )
        database = unquote(parts.path.strip("/"))
        user = unquote(parts.username or "") or os.environ.get("PGUSER", "")
        has_all = parts.scheme in SCHEMES and parts.hostname and database and user
        if not has_all or parts.fragment or "@" in parts.path:
            # what is no address is not shown: a password may stand anywhere in it
            raise Misconfigured(
                f"this is no address of a database; expected {EXAMPLE}", parameter="store"
            )
        return cls(parts.hostname or "", database, user, port, unsent, **_settings(parts.query))

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        port = "" if self.port == PORT else f":{self.port}"
        settings = {"sslmode": self.tls, "sslrootcert": self.certificates}
        query = urlencode({name: value for name, value in settings.items() if value}, safe="/")
        user, database = quote(self.user, safe=""), quote(self.database, safe="")
        return f"postgresql://{user}@{host}{port}/{database}{f'?{query}' if query else ''}"

    @property
    def name(self) -> str:
        """What a file of the same replies is called."""
        return "replies.db"

    def exists(self) -> bool:
        """Whether there is a store: the database makes its tables when it is first opened."""
        return True


def _settings(query: str) -> dict[str, str]:
    """What an address says after its `?`; `Misconfigured` of what is not understood."""
    given = parse_qs(query, keep_blank_values=True)
    if strange := sorted(given.keys() - _SETTINGS.keys()):
        raise Misconfigured(
            f"a store's address may set {' and '.join(_SETTINGS)}, not {strange[0]!r}",
            parameter="store",
        )
    settings = {_SETTINGS[name]: values[-1] for name, values in given.items()}
    if settings.get("tls", "prefer") not in TLS_MODES:
        raise Misconfigured(
            f"sslmode of a store's address is one of {', '.join(TLS_MODES)}", parameter="store"
        )
    return settings
