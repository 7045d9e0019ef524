"""What the answer to a call means that went well: a reply, or none at all."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from labeler.errors import Misconfigured, NoCompletion
from labeler.files.numbers import log_probability
from labeler.model import NO_COMPLETION, NO_TEXT, Bound, Reply, whole
from labeler.models.ending import status_of_ending
from labeler.models.server.refusals import SHOWN, hold_of
from labeler.models.server.shapes import ModelTurn, as_text, turns_in
from labeler.models.server.usage import (
    cached_tokens,
    is_nothing,
    thought_tokens,
    tokens_used,
    usage_in,
    usage_of,
)

_THOUGHTS = re.compile(r"(?s)\s*(<[\w:|]*think|\[THINK]|<\|channel\|>analysis)|.*?</[\w:|]*think")
"""How thoughts stand in a text that no server has taken them out of."""


def read_answer(body: bytes, where: str, headers: Mapping[str, str], bound: Bound = None) -> Reply:
    """The reply in the body of a 200; one that ended with `NO_COMPLETION` where it holds none and
    counts tokens, and `NoCompletion` where it does not even count.
    """
    try:
        answer = json.loads(body)
        turns = turns_in(answer)
        turn, usage = turns[0], usage_of(answer)
        text = "\n".join(dict.fromkeys(turn.text for turn in turns))
        ending, tokens = _ending(turn, text), tokens_used(usage, text)
        return Reply(
            text,
            ending,
            turn.refusal or None,
            as_text(answer.get("model", answer.get("modelVersion"))),
            *tokens,
            top_tokens=_top_tokens(turn.logprobs),
            body=body if len(body) <= USUAL_BODY else _what_is_used(answer),
            hold=hold_of(headers),
            thought=_thought(turn, text, ending, usage),
            completion_id=as_text(answer.get("id", answer.get("responseId"))),
            is_bound=bound,
            cached_tokens=min(tokens[0], cached_tokens(usage)),
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        usage, problem = usage_in(body), NoCompletion(_expected(where, body))
        if usage and not is_nothing(usage):
            return _without_completion(body, usage, headers)
        problem.tokens = (0, 0) if usage else None
        raise problem from None


USUAL_BODY = 64 * 1024
"""Bytes of an answer that is kept as it came over the wire; of a larger one, what is used is."""

_USED = """id object created model choices usage content stop_reason output status
incomplete_details message done_reason finish_reason eval_count prompt_eval_count candidates
usageMetadata modelVersion stopReason""".split()  # noqa: SIM905 - read as words, not quotes


def _what_is_used(answer: Mapping[str, Any]) -> bytes:
    """A large answer without its padding, and without what nothing here reads."""
    used = {name: answer[name] for name in _USED if name in answer}
    return json.dumps(used, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _without_completion(body: bytes, usage: Mapping[str, Any], headers: Mapping[str, str]) -> Reply:
    """The reply that an answer is whose tokens are counted, and which holds no completion."""
    tokens = tokens_used(usage, body.decode("utf-8", "replace"))
    served, hold = as_text(json.loads(body).get("model")), hold_of(headers)
    return Reply("", NO_COMPLETION, None, served, *tokens, body=body, hold=hold)


def _expected(where: str, body: bytes) -> str:
    shown = " ".join(body[:SHOWN].decode("utf-8", "replace").split()) or "nothing"
    return f"{where}: expected a chat completion, found: {shown}"


def read_models(body: bytes, where: str) -> list[str]:
    """The names in a server's list of models, sorted; `Misconfigured` where it is no such list."""
    try:
        return sorted(whole(str(model["id"])) for model in json.loads(body)["data"])
    except (ValueError, KeyError, TypeError, RecursionError):
        shown = " ".join(body[:SHOWN].decode("utf-8", "replace").split()) or "nothing"
        problem = f"expected a list of models, found: {shown}; {IS_IT_COMPATIBLE}"
        raise Misconfigured(f"{where}: {problem}") from None


IS_IT_COMPATIBLE = "is this an OpenAI-compatible address? it usually ends in /v1"


def _top_tokens(logprobs: Any) -> tuple[Mapping[str, float], ...]:
    """The log probabilities; none where they are not as they should be, which spoils no reply."""
    try:
        return tuple(
            dict(map(_log_probability, [entry, *(entry.get("top_logprobs") or ())]))
            for entry in logprobs or ()
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return ()


def _log_probability(entry: Mapping[str, Any]) -> tuple[str, float]:
    """A token and its log probability; `ValueError` where it has none."""
    logprob = log_probability(entry["logprob"])
    if logprob is None:
        raise ValueError("no log probability")
    return whole(entry["token"]), logprob


def _ending(turn: ModelTurn, text: str) -> str:
    """How a reply ended; `NO_TEXT` where it holds something else in place of a text."""
    if text or turn.refusal or status_of_ending(turn.ending):
        return turn.ending
    return NO_TEXT if turn.has_parts and not turn.has_thought else turn.ending


def _thought(turn: ModelTurn, text: str, ending: str, usage: Mapping[str, Any]) -> bool:
    """Whether the model thought before it answered, by any sign of it.

    What was cut before its first word was cut in a thought.
    """
    if turn.has_thought or thought_tokens(usage, text) or _THOUGHTS.match(text):
        return True
    return not text and status_of_ending(ending) == "truncated"
