"""The tables of a store: one SQLite file, in WAL mode, that any SQLite program can read.

`replies` holds one row a reply: `key` is the SHA-256 of the canonical request
without its limit on tokens (of a reply that was cut at that limit, of both), `model` whom it was
asked of, `served` the name that the server gave itself, `at` the time in seconds since 1970, `cost`
dollars or NULL where no price was known, `sent` the parameters that the server was sent as JSON,
`top_tokens` log probabilities as JSON or NULL. `wires`
holds, under the same `id`, the canonical request (NULL in a redacted store) and the body as it came
over the wire. `checksum` covers its row. `labeler.store.keys` makes keys, requests and checksums.

`failures` holds the last call under a key that failed for good; `at` is negative once the key was
asked again. `facts` holds what was found out about servers. `owners` (processes, each with its
machine as `place`) and `leases` say which process is asking what; they mean nothing once none runs.

A copy of a store, which may be in use: `sqlite3 replies.db ".backup copy.db"`. To take in the
replies of another store, attach it as `other` and run `MERGE`; what is there already stays, and
`labeler store verify` checks the rest.
"""

from __future__ import annotations

from labeler.store.columns import REPLY

APPLICATION_ID = 0x6C61626C  # "labl"
VERSION = 3

TABLES = """
CREATE TABLE replies (
    id INTEGER PRIMARY KEY,
    key BLOB NOT NULL UNIQUE,
    checksum BLOB NOT NULL,
    model TEXT NOT NULL,
    served TEXT NOT NULL,
    text TEXT NOT NULL,
    finish_reason TEXT NOT NULL,
    refusal TEXT,
    prompt_tokens INTEGER NOT NULL,
    completion_tokens INTEGER NOT NULL,
    at REAL NOT NULL,
    cost REAL,
    sent TEXT,
    top_tokens TEXT
) STRICT;
CREATE TABLE wires (
    id INTEGER PRIMARY KEY,
    checksum BLOB NOT NULL,
    request TEXT,
    body BLOB NOT NULL
) STRICT;
CREATE TABLE failures (
    key BLOB PRIMARY KEY,
    at REAL NOT NULL,
    status TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE facts (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
CREATE TABLE owners (
    id INTEGER PRIMARY KEY,
    place TEXT NOT NULL,
    process INTEGER NOT NULL,
    started TEXT NOT NULL,
    until REAL NOT NULL,
    until_wall REAL NOT NULL
) STRICT;
CREATE TABLE leases (
    key BLOB PRIMARY KEY,
    owner INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
"""

MERGE = f"""
INSERT OR IGNORE INTO replies (checksum, {REPLY})
    SELECT checksum, {REPLY} FROM other.replies ORDER BY id;
INSERT OR IGNORE INTO wires (id, checksum, request, body)
    SELECT here.id, wire.checksum, wire.request, wire.body
    FROM other.wires AS wire
    JOIN other.replies AS there USING (id)
    JOIN replies AS here ON here.key = there.key;
"""
