"""The tables of a store in PostgreSQL, in a schema of their own, `labeler`.

They are those of a store in a file (`labeler.store.sqlite.schema`), and so are keys and checksums.
Texts are kept as their bytes in UTF-8, since PostgreSQL's own texts cannot hold all that a model
may answer; the view `labeler.readable` shows them as text. Leases are dated by the server's clock.
"""

from __future__ import annotations

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
