"""The address of a PostgreSQL database, without a password: that comes from the environment."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from labeler.errors import Misconfigured

SCHEMES = ("postgresql", "postgres")
PORT = 5432
EXAMPLE = "postgresql://user@host/database"


@dataclass(frozen=True, slots=True)
class DatabaseAddress:
    """Where a database is; it is shown as it stands, as it holds no secret."""

    host: str
    database: str
    user: str
    port: int = PORT
    unsent: Path | None = None

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
            problem = "a store's address holds a password; give it in PGPASSWORD instead"
            raise Misconfigured(problem, parameter="store")
        database = unquote(parts.path.strip("/"))
        user = unquote(parts.username or "") or os.environ.get("PGUSER", "")
        has_all = parts.scheme in SCHEMES and parts.hostname and database and user
        if not has_all or parts.query or parts.fragment:
            problem = f"{text.partition('?')[0]}: no address of a database; expected {EXAMPLE}"
            raise Misconfigured(problem, parameter="store")
        return cls(parts.hostname or "", database, user, port, unsent)

    def __str__(self) -> str:
        port = "" if self.port == PORT else f":{self.port}"
        return f"postgresql://{self.user}@{self.host}{port}/{self.database}"

    @property
    def name(self) -> str:
        """What a file of the same replies is called."""
        return "replies.db"

    def exists(self) -> bool:
        """Whether there is a store: the database makes its tables when it is first opened."""
        return True


def is_database(text: str) -> bool:
    """Whether a text is meant as the address of a database."""
    return text.startswith(tuple(f"{scheme}://" for scheme in SCHEMES))
