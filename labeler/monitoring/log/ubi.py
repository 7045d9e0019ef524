"""OpenSearch's User Behavior Insights: queries and events as they are exported."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from labeler.exchange.fields import EventFields, value_at

KIND = "User Behavior Insights"
HITS = "hits"
"""The documents that a query returned, in the order of their ranks."""

_FIELDS: dict[str, tuple[str, ...]] = {
    "query": ("user_query",),
    "document": ("event_attributes.object.object_id",),
    "rank": ("event_attributes.position.ordinal",),
    "session": ("session_id", "event_attributes.session_id"),
    "time": ("timestamp",),
    "user": ("client_id",),
    "search": ("query_id",),
    "action": ("action_name",),
    "dwell": ("event_attributes.dwell_time",),
    "application": ("application",),
    "agent": ("event_attributes.browser", "event_attributes.user_agent"),
    HITS: ("query_response_hit_ids",),
}
"""Where each part of a row stands, as OpenSearch's specification of them says."""

PARTS = tuple(_FIELDS)


def is_ubi(columns: Iterable[str]) -> bool:
    """Whether rows with these columns are queries or events of User Behavior Insights."""
    names = set(columns)
    is_event = {"action_name", "timestamp"} <= names and bool(
        names & {"event_attributes", "message_type", "client_id"}
    )
    return is_event or {"user_query", "query_id", "timestamp"} <= names


def parts_of_ubi(row: Mapping[str, Any], own: Mapping[str, str]) -> dict[str, Any]:
    """The parts of a row; `own` are the fields that the user named."""
    parts = {name: _first(row, fields) for name, fields in _FIELDS.items()}
    parts |= {name: value_at(row, column) for name, column in own.items()}
    if not parts["query"] and row.get("message_type") == "QUERY":
        parts["query"] = row.get("message")  # there, the specification says, it is what was typed
    return parts


def _first(row: Mapping[str, Any], fields: Sequence[str]) -> Any:
    values = (value_at(row, name) for name in fields)
    return next((value for value in values if value not in (None, "")), None)


def named_fields(fields: EventFields, settings: Mapping[str, str]) -> dict[str, str]:
    """The columns that the user named, by the part of a row that they hold."""
    named = {part: getattr(fields, setting) for part, setting in settings.items()}
    return {part: column for part, column in named.items() if column}
