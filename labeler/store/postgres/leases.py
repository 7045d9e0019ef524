"""Leases in a database: which process of which machine is asking what, by the server's clock.

All of it runs inside the caller's transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from labeler.store.base import LEASE_SECONDS, Failed
from labeler.store.holder import LeaseHolder, has_ended, this_process
from labeler.store.postgres.rows import bytes_of, text_of

if TYPE_CHECKING:
    from pg8000.native import Connection

_UNTIL = f"now() + interval '{LEASE_SECONDS:g} seconds'"
RENEW = f"UPDATE labeler.owners SET until = {_UNTIL} WHERE id = :owner RETURNING id"
"""The statement that renews the leases of an owner; without a row, it was forgotten."""

HOLDER = (
    "SELECT place, process, started FROM labeler.leases"
    " JOIN labeler.owners ON owners.id = leases.owner WHERE key = :key"
)
"""The statement that says who holds the lease on a key."""


def registered(connection: Connection, owner: int | None) -> int:
    """The number under which this process holds leases, renewed, or made anew."""
    if owner is not None and connection.run(RENEW, owner=owner):
        return owner
    holder = this_process()
    rows = connection.run(
        "INSERT INTO labeler.owners (place, process, started, until)"
        f" VALUES (:place, :process, :started, {_UNTIL}) RETURNING id",
        place=holder.machine,
        process=holder.process,
        started=holder.started,
    )
    return int(rows[0][0])


def claim(connection: Connection, owner: int, keys: Sequence[bytes]) -> set[bytes]:
    """Take a lease on each key that nobody else holds; those that are now this owner's."""
    query = (
        "INSERT INTO labeler.leases SELECT unnest(CAST(:keys AS bytea[])), :owner"
        " ON CONFLICT DO NOTHING"
    )
    if keys:
        connection.run(query, keys=list(keys), owner=owner)
    return held_by(connection, owner, keys)


def held_by(connection: Connection, owner: int, keys: Sequence[bytes]) -> set[bytes]:
    """Those of these keys that a process has leases on."""
    if not keys:
        return set()
    query = "SELECT key FROM labeler.leases WHERE owner = :owner AND key = ANY(:keys)"
    return {bytes(key) for (key,) in connection.run(query, owner=owner, keys=list(keys))}


def release(connection: Connection, keys: Collection[bytes]) -> None:
    """End the leases on these keys."""
    if keys:
        connection.run("DELETE FROM labeler.leases WHERE key = ANY(:keys)", keys=list(keys))


def release_dead(connection: Connection) -> None:
    """Release the leases of processes that are gone: by the server's clock, or by a look here."""
    connection.run("DELETE FROM labeler.owners WHERE until < now()")
    query = "SELECT id, place, process, started FROM labeler.owners WHERE place = :place"
    for number, *holder in connection.run(query, place=this_process().machine):
        if has_ended(LeaseHolder(*holder)):
            connection.run("DELETE FROM labeler.owners WHERE id = :id", id=number)


def keep_failure(connection: Connection, failed: Failed) -> None:
    """Keep how a call failed."""
    connection.run(
        "INSERT INTO labeler.failures"
        " VALUES (:key, extract(epoch FROM clock_timestamp()), :status, :detail) ON CONFLICT (key)"
        " DO UPDATE SET at = excluded.at, status = excluded.status, detail = excluded.detail",
        key=failed.key,
        status=failed.status,
        detail=bytes_of(failed.detail),
    )


def fresh_failures(
    connection: Connection, keys: Sequence[bytes]
) -> dict[bytes, tuple[float, Failed]]:
    """When and how the calls under these keys failed, where none began since."""
    if not keys:
        return {}
    query = "SELECT key, at, status, detail FROM labeler.failures WHERE at > 0 AND key = ANY(:keys)"
    return {
        bytes(key): (at, Failed(bytes(key), status, text_of(detail)))
        for key, at, status, detail in connection.run(query, keys=list(keys))
    }


def mark_asked_again(connection: Connection, keys: Collection[bytes]) -> None:
    """Note that these keys are asked again, so that how they failed is of an earlier call."""
    if keys:
        query = "UPDATE labeler.failures SET at = -at WHERE at > 0 AND key = ANY(:keys)"
        connection.run(query, keys=list(keys))
