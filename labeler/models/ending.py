"""How a server says that a reply ended, and what that makes of it. Pure."""

from __future__ import annotations

_WELL = frozenset(
    """stop eos eos_token end end_turn stop_sequence stop_token complete completed finished done
    null none tool_calls tool_call tool_use function_call""".split()  # noqa: SIM905 - read as words, not quotes
)
_TRUNCATED = (
    *("length", "max_tokens", "max_output_tokens", "max_len", "model_length"),
    "model_context_window_exceeded",
)
_FILTERED = (
    "content_filter",
    "content_filtered",
    "safety",
    "recitation",
    "prohibited_content",
    "blocklist",
    "spii",
    "sensitive",
    "guardrail_intervened",
    "error_toxic",
    "image_safety",
)
_BADLY = {
    **dict.fromkeys(_TRUNCATED, "truncated"),
    **dict.fromkeys(_FILTERED, "filtered"),
    "refusal": "refused",
}


def status_of_ending(reason: str) -> str | None:
    """The status of a reply that ended so; None where it is whole, or no reason is given.

    What is in no list broke the reply off: `unparsable`, so that it is asked again.
    """
    name = reason.partition(":")[0].strip().lower().replace("-", "_")
    name = name.removeprefix("finish_").removeprefix("reason_")
    return None if not name or name in _WELL else _BADLY.get(name, "unparsable")


def is_cut(reason: str) -> bool:
    """Whether a reply ended at the limit on its tokens."""
    return reason != "stop" and status_of_ending(reason) == "truncated"
