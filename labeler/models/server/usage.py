"""What an answer says that a call took: tokens, those of thoughts, and those that were cached."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from labeler.files.numbers import count

_INSIDE = """prompt_tokens input_tokens promptTokenCount inputTokens
prompt_eval_count""".split()  # noqa: SIM905 - read as words, not quotes
_OUTSIDE = """completion_tokens output_tokens candidatesTokenCount outputTokens
eval_count""".split()  # noqa: SIM905 - read as words, not quotes
_BOTH = "total_tokens totalTokenCount totalTokens".split()  # noqa: SIM905 - read as words, not quotes
_BESIDE = """cache_read_input_tokens cache_creation_input_tokens cacheReadInputTokens
cacheWriteInputTokens""".split()  # noqa: SIM905 - read as words, not quotes
"""What is counted beside the rest of the request, and not in it."""

_CACHED = """cached_tokens prompt_cache_hit_tokens cache_read_input_tokens
cacheReadInputTokens cachedContentTokenCount""".split()  # noqa: SIM905 - read as words, not quotes
_THOUGHTS = "reasoning_tokens thinking_tokens thoughtsTokenCount".split()  # noqa: SIM905 - read as words, not quotes


def usage_in(body: bytes) -> Mapping[str, Any]:
    """What an answer says that it took, whatever else it is; empty where it says nothing."""
    try:
        return usage_of(json.loads(body))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}


def usage_of(answer: Any) -> Mapping[str, Any]:
    """The same of an answer that was read; Ollama counts beside all else that it says."""
    beside = answer if "eval_count" in answer else {}
    usage = answer.get("usage") or answer.get("usageMetadata") or beside
    if not isinstance(usage, dict):
        return {}
    tokens = usage.get("tokens")  # Cohere's, beside those that it bills
    return {**usage, **tokens} if isinstance(tokens, dict) else usage


def is_nothing(usage: Mapping[str, Any]) -> bool:
    """Whether a usage says that no tokens were taken."""
    counted = [_first(usage, names) for names in (_INSIDE, _OUTSIDE, _BOTH)]
    return any(n is not None for n in counted) and not any(counted)


def tokens_used(usage: Mapping[str, Any], text: str) -> tuple[int, int]:
    """The tokens of the request and of the reply; two zeros where a server does not say both.

    Where it only says their sum, as many are the reply's as its text can have: one for a byte.
    Where their sum is more than both, a model thought in tokens that are billed as the reply's.
    """
    inside, outside, both = _counts(usage)
    if both and inside is None:
        most = len(text.encode("utf-8", "replace"))
        outside = min(both, most) if outside is None else outside
        inside = both - outside
    if outside is None and inside is not None:
        outside = both - inside if both else None if text else 0
    if not inside or inside < 0 or outside is None or outside < 0:
        return 0, 0
    return inside, max(outside, (both or 0) - inside)


def thought_tokens(usage: Mapping[str, Any], text: str) -> int:
    """How many tokens went into thoughts: as counted, or what the sum holds beside all else."""
    outside = _first(usage, _OUTSIDE)
    is_told = outside is not None or not text
    beside = tokens_used(usage, text)[1] - (outside or 0) if is_told else 0
    return max(beside, _most(usage, _THOUGHTS))


def cached_tokens(usage: Mapping[str, Any]) -> int:
    """The tokens of the request that the server had ready from an earlier one; 0 if it says none.

    Some servers say so in details of the prompt's tokens, others beside them.
    """
    return _most(usage, _CACHED)


def _counts(usage: Mapping[str, Any]) -> tuple[int | None, int | None, int | None]:
    """The tokens of the request, of the reply, and of both."""
    inside, outside, both = (_first(usage, names) for names in (_INSIDE, _OUTSIDE, _BOTH))
    beside = sum(count(usage[name]) or 0 for name in _BESIDE if name in usage)
    if (
        beside
        and inside
        and "prompt_tokens" not in usage
        and inside + beside <= (both or beside + inside)
    ):
        inside += beside
    return inside, outside, both


def _first(usage: Mapping[str, Any], names: Sequence[str]) -> int | None:
    for name in names:
        number = count(usage[name]) if name in usage else None
        if number is not None:
            return number
    return None


def _most(usage: Mapping[str, Any], names: Sequence[str]) -> int:
    """The largest count of those names, at the top and in whatever details there are."""
    parts = (part for part in (usage, *usage.values()) if isinstance(part, dict))
    return max(_first(part, names) or 0 for part in parts)
