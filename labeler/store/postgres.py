"""A store in a PostgreSQL database, which several machines share.

A connection is made anew where it was lost. Leases are dated by the server's clock.
"""

from __future__ import annotations

import os
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from ssl import SSLError
from typing import TYPE_CHECKING, Any, TypeVar

from labeler.errors import BadInput, LabelerError, Misconfigured, StatementFailed
from labeler.files.boundary import needing
from labeler.messages import missing_extra
from labeler.store.address import TLS_MODES, DatabaseAddress
from labeler.store.base import REPLY, Keys, Statements, StoredRow, Waiting
from labeler.store.keys import LEASE_SECONDS, LeaseHolder, has_ended, this_process
from labeler.wire.gate import on_the_way

if TYPE_CHECKING:
    from pg8000.native import Connection

# The tables of a store in PostgreSQL, in a schema of their own, `labeler`.
#
# They are those of a store in a file (`labeler.store.sqlite`), and so are keys and
# checksums. Texts are kept as their bytes in UTF-8, since PostgreSQL's own texts cannot hold all
# that a model may answer; the view `labeler.readable` shows them as text. Leases are dated by the
# server's clock.

VERSION = 2

TABLES = """
CREATE SCHEMA IF NOT EXISTS labeler;
CREATE TABLE IF NOT EXISTS labeler.version (version integer PRIMARY KEY);
CREATE TABLE IF NOT EXISTS labeler.replies (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    key bytea NOT NULL UNIQUE,
    checksum bytea NOT NULL,
    model bytea NOT NULL,
    served bytea NOT NULL,
    text bytea NOT NULL,
    finish_reason bytea NOT NULL,
    refusal bytea,
    prompt_tokens bigint NOT NULL,
    completion_tokens bigint NOT NULL,
    at double precision NOT NULL,
    cost double precision,
    sent bytea,
    top_tokens bytea
);
CREATE TABLE IF NOT EXISTS labeler.wires (
    id bigint PRIMARY KEY,
    checksum bytea NOT NULL,
    request bytea,
    body bytea NOT NULL
);
CREATE TABLE IF NOT EXISTS labeler.failures (
    key bytea PRIMARY KEY,
    at double precision NOT NULL,
    status text NOT NULL,
    detail bytea NOT NULL
);
CREATE TABLE IF NOT EXISTS labeler.facts (name text PRIMARY KEY, value text NOT NULL);
CREATE TABLE IF NOT EXISTS labeler.owners (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    place text NOT NULL,
    process integer NOT NULL,
    started text NOT NULL,
    until timestamptz NOT NULL
);
CREATE TABLE IF NOT EXISTS labeler.leases (
    key bytea PRIMARY KEY,
    owner bigint NOT NULL REFERENCES labeler.owners ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS leases_by_owner ON labeler.leases (owner);
CREATE OR REPLACE VIEW labeler.readable AS
    SELECT id, encode(key, 'hex') AS key, convert_from(model, 'UTF8') AS model,
        convert_from(served, 'UTF8') AS served, encode(text, 'escape') AS text,
        prompt_tokens, completion_tokens, to_timestamp(at) AS at, cost
    FROM labeler.replies;
INSERT INTO labeler.version VALUES (2) ON CONFLICT DO NOTHING
"""
"""Statements, each made so that it may run again, and in two processes at once under the lock."""

LOCK = 0x6C61626C  # "labl"
"""The advisory lock that every transaction takes which writes: they run one after the other."""


# How a connection to PostgreSQL is encrypted: `sslmode`, as PostgreSQL's own programs have it.


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


CONNECT_SECONDS = 10.0
STATEMENT_SECONDS = 600.0
"""How long an answer may take: for others to write before, or to look through millions of rows."""

POLL_SECONDS = 0.5
Result = TypeVar("Result")
Rows = list[list[Any]]

_RETRIED = ("40001", "40P01", "57P01", "57P02", "57P03", "53300")
"""Codes that may pass: serialization, deadlock, shutdown, starting up, too many connections."""

_REFUSED = ("28000", "28P01", "3D000", "42501")
"""Codes of who may not come in: authorization, password, no such database, no privilege."""

_OF_PASSWORDS = ("28000", "28P01")
PASSWORD = "PGPASSWORD"
"""The variable of the environment that holds the password."""


_TEXTS = frozenset(
    {"model", "served", "text", "finish_reason", "refusal", "sent", "top_tokens"}
    | {"request", "detail"}
)
"""Columns, and values of statements, that are texts here and bytes in the database."""

_KINDS = {
    **dict.fromkeys(["prompt_tokens", "completion_tokens"], "bigint"),
    **dict.fromkeys(["at", "cost"], "double precision"),
}
"""The types of a reply's columns that are not bytes."""

_GIVEN = ["checksum", *REPLY.split(", "), "wire_sum", "request", "body"]
_ARRAYS = ", ".join(f"CAST(:{name} AS {_KINDS.get(name, 'bytea')}[])" for name in _GIVEN)
_INSERT = f"""
WITH given AS (
    SELECT * FROM unnest({_ARRAYS}) WITH ORDINALITY AS row({", ".join(_GIVEN)}, number)
), kept AS (
    INSERT INTO replies (checksum, {REPLY})
    SELECT checksum, {REPLY} FROM given ORDER BY number
    ON CONFLICT (key) DO NOTHING RETURNING id, key
), wired AS (
    INSERT INTO wires (id, checksum, request, body)
    SELECT DISTINCT ON (kept.id) kept.id, wire_sum, request, body
    FROM kept JOIN given ON given.key = kept.key ORDER BY kept.id, given.number
), cleared AS (
    DELETE FROM failures WHERE key IN (SELECT key FROM kept)
)
SELECT key FROM kept
"""

_KEPT_TABLES = ("labeler.replies", "labeler.wires")
_UNTIL = f"now() + interval '{LEASE_SECONDS:g} seconds'"


def _given(name: str, value: Any) -> Any:
    """A value as the database takes it, or a list of them."""
    if isinstance(value, list):
        return [_given(name, each) for each in value]
    if isinstance(value, str) and name in _TEXTS:
        return value.encode("utf-8", "surrogatepass")
    return value


def _read(name: str, value: Any) -> Any:
    """A value as it was before it was kept."""
    if not isinstance(value, bytes | bytearray | memoryview):
        return value
    return bytes(value).decode("utf-8", "surrogatepass") if name in _TEXTS else bytes(value)


@dataclass(slots=True)
class _Statements:
    """Runs SQL on a connection; a table of keys takes the place of `{keys}`."""

    connection: Any

    def run(self, query: str, keys: Keys | None = None, **values: Any) -> Rows:
        if keys is not None:
            if not keys:
                return []
            values["keys"] = list(keys)
            query = query.replace("{keys}", "SELECT unnest(CAST(:keys AS bytea[]))")
        given = {name: _given(name, value) for name, value in values.items()}
        rows = self.connection.run(query, **given) or []
        names = [column["name"] for column in self.connection.columns or ()]
        return [[_read(*cell) for cell in zip(names, row, strict=True)] for row in rows]


class PostgresDatabase:
    """The tables of a store on a server.

    The connection is made anew where it was lost, for as long as `waiting` allows.
    """

    now = "extract(epoch FROM clock_timestamp())"

    def __init__(self, address: DatabaseAddress, waiting: Waiting | None) -> None:
        with needing(missing_extra("postgres", "a team's store needs")):
            import pg8000  # noqa: F401  said before anything is asked of the database
        self.address = address
        self.beside = address.unsent
        self._waiting = waiting or Waiting()
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._make_tables()

    def _make_tables(self) -> None:
        """Make what is missing; `BadInput` where another version made it."""

        def make(to: Statements) -> None:
            for statement in TABLES.split(";\n"):
                to.run(statement)

        if not self._rows("SELECT to_regclass('labeler.version') IS NOT NULL")[0][0]:
            self.transaction(make)
        versions = {row[0] for row in self._rows("SELECT version FROM labeler.version")}
        if versions != {VERSION}:
            raise BadInput(
                f"{self.address}: its tables are of version {max(versions, default=0)}, not "
                f"{VERSION}; another labeler made them"
            )

    def transaction(self, work: Callable[[Statements], Result], *, writing: bool = True) -> Result:
        """Do work in one transaction, which is durable when this returns.

        While it is writing, no other does, on any machine. Work is done twice where an answer to
        its end was lost: it has to come to the same then.
        """
        with self._lock:
            return self._again_where_lost(lambda: self._once(work, lock=writing))

    def _rows(self, query: str) -> Sequence[Sequence[Any]]:
        return self.transaction(lambda to: to.run(query), writing=False)

    def insert(self, to: Statements, rows: Sequence[StoredRow]) -> set[bytes]:
        """Write replies, by one statement; the keys of those that are kept."""
        if not rows:
            return set()
        cells = [(each.checksum, *each.values, *each[2:]) for each in rows]
        columns = map(list, zip(*cells, strict=True))
        return {key for (key,) in to.run(_INSERT, **dict(zip(_GIVEN, columns, strict=True)))}

    def registered(self, to: Statements, owner: int | None) -> int:
        """The number under which this process holds leases, renewed, or made anew."""
        renewed = f"UPDATE owners SET until = {_UNTIL} WHERE id = :owner RETURNING id"
        if owner is not None and to.run(renewed, owner=owner):
            return owner
        columns = (
            f"(place, process, started, until) VALUES (:machine, :process, :started, {_UNTIL})"
        )
        return int(
            to.run(f"INSERT INTO owners {columns} RETURNING id", **this_process()._asdict())[0][0]
        )

    def release_dead(self, to: Statements) -> None:
        """Release the leases of processes that are gone: by the server's clock, or by a look."""
        to.run("DELETE FROM owners WHERE until < now()")
        query = "SELECT id, place, process, started FROM owners WHERE place = :place"
        for number, *holder in to.run(query, place=this_process().machine):
            if has_ended(LeaseHolder(*holder)):
                to.run("DELETE FROM owners WHERE id = :id", id=number)

    def is_lost(self, error: LabelerError) -> bool:
        """Nothing is lost for good; but from now on nothing is waited for."""
        self.stop_waiting()
        return False

    def rows_left(self) -> Iterator[list[StoredRow]]:
        """Nothing: it is all on the server."""
        return iter(())

    def check(self) -> None:
        """Nothing is done to a server that its answers would not show."""

    def problems(self) -> list[str]:
        """The server looks after its tables itself."""
        return []

    def size(self) -> int:
        """How many bytes the replies take, with all that belongs to them."""
        sizes = " + ".join(f"pg_total_relation_size('{table}')" for table in _KEPT_TABLES)
        return int(self._rows(f"SELECT {sizes}")[0][0])

    def collect_garbage(self) -> tuple[int, int]:
        """Give unused room back to the disk; the bytes before and after.

        Meanwhile other machines wait. `Misconfigured` for who does not own the tables.
        """
        owner = "SELECT pg_get_userbyid(relowner), pg_has_role(relowner, 'USAGE') FROM pg_class"
        owner += f" WHERE oid = CAST('{_KEPT_TABLES[0]}' AS regclass)"
        [(name, is_owner)] = self._rows(owner)
        if not is_owner:
            raise Misconfigured(
                f"{self.address}: only {name}, who owns the tables, can give their room back",
                parameter="store",
            )
        before = self.size()
        with self._lock:
            vacuum = f"VACUUM (FULL, ANALYZE) {', '.join(_KEPT_TABLES)}"  # in no transaction
            self._again_where_lost(lambda: self._open().run(vacuum))
        return before, self.size()

    def _again_where_lost(self, work: Callable[[], Result]) -> Result:
        """Do work, and again where that may help, for as long as one would wait."""
        from pg8000.exceptions import DatabaseError, InterfaceError

        began, noted = time.monotonic(), False
        while True:
            try:
                return work()
            except (DatabaseError, InterfaceError, OSError) as error:
                self._drop()
                problem = self._problem(error)
                may_pass = isinstance(problem, StatementFailed) and problem.may_pass
                is_late = time.monotonic() - began > self._waiting.seconds
                if not may_pass or is_late or self._waiting.is_stopped():
                    raise problem from None
            if not noted:
                self._waiting.note(f"waiting for {problem}")
                noted = True
            time.sleep(POLL_SECONDS)

    def _once(self, work: Callable[[Statements], Result], *, lock: bool) -> Result:
        connection = self._open()
        connection.run("BEGIN")
        try:
            if lock:
                connection.run(f"SELECT pg_advisory_xact_lock({LOCK})")
            result = work(_Statements(connection))
            connection.run("COMMIT")
        except BaseException:
            with suppress(Exception):  # the connection may be what failed
                connection.run("ROLLBACK")
            raise
        return result

    def _open(self) -> Connection:
        if self._connection is None:
            from pg8000.native import Connection

            address = self.address
            with on_the_way(str(address)):
                opened = _socket_to(address)
            try:
                self._connection = Connection(
                    address.user,
                    host=address.host,
                    database=address.database,
                    password=os.environ.get(PASSWORD, ""),
                    application_name="labeler",
                    ssl_context=tls_context(address),
                    startup_params={"client_encoding": "UTF8"},
                    sock=opened,
                )
            except BaseException:
                _end(opened)  # which pg8000 leaves open
                raise
            _allow_long_answers(self._connection)
            self._connection.run("SET search_path = labeler")
        return self._connection

    def _problem(self, error: Exception) -> LabelerError:
        """What went wrong in one line."""
        details = error.args[0] if error.args else ""
        code, message = "", str(error)
        if isinstance(details, dict):
            code, message = str(details.get("C", "")), str(details.get("M", ""))
        line = f"{self.address}: {' '.join(message.split())[:200]}"
        if code in _OF_PASSWORDS and not os.environ.get(PASSWORD):
            line += f"; {PASSWORD} is not set"
        if code in _REFUSED or isinstance(error, SSLError) or "refuses SSL" in message:
            return Misconfigured(line, parameter="store")
        return StatementFailed(line, code, may_pass=not code or code in _RETRIED)

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            opened = getattr(connection, "_usock", None)
            with suppress(Exception):  # it is of no use any more
                connection.close()
            _end(opened)

    def stop_waiting(self) -> None:
        """From now on, try once, and wait for nothing."""
        self._waiting = replace(self._waiting, seconds=-1.0)

    def close(self) -> None:
        """End the connection."""
        self._drop()


def _socket_to(address: DatabaseAddress) -> socket.socket:
    """A connection to the server, before anything is said."""
    from pg8000.exceptions import InterfaceError

    try:
        opened = socket.create_connection((address.host, address.port), CONNECT_SECONDS)
    except OSError as error:
        raise InterfaceError(f"no connection: {error}") from error
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    return opened


def _end(opened: socket.socket | None) -> None:
    """Close a connection at once: what reads from it would else keep it open until that is gone."""
    descriptor = opened.detach() if opened is not None else -1
    if descriptor >= 0:
        socket.close(descriptor)


def _allow_long_answers(connection: Connection) -> None:
    """Wait longer for answers than for the connection, and find out when the other side is gone."""
    opened: socket.socket | None = getattr(connection, "_usock", None)
    if opened is None:
        return
    opened.settimeout(STATEMENT_SECONDS)
    for name, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, name):
            opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, name), value)
