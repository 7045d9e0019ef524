"""Where the text, the thoughts, the calls and the ending stand in an answer, whoever's it is.

Each provider nests them in its own way: `choices` (chat completions), `content` (Anthropic),
`output` (OpenAI's Responses, Bedrock), `candidates` (Gemini), `message` (Ollama, Cohere).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from labeler.model import whole

_THOUGHTS = frozenset(("thinking", "redacted_thinking", "reasoning"))
_BESIDE = "reasoning_content reasoning thinking reasoning_details".split()  # noqa: SIM905 - read as words, not quotes
"""Where thoughts stand beside a text."""

_NESTED = """content parts text tool_calls function_call function functionCall toolUse""".split()  # noqa: SIM905 - read as words, not quotes


@dataclass(slots=True)
class ModelTurn:
    """What a model said in one turn.

    `calls` are the arguments of tools that it called; `has_parts` is true where it holds more than
    a plain text; `logprobs` is a list of tokens, as the server gave it.
    """

    ending: str = ""
    logprobs: Any = None
    texts: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    refusal: str = ""
    has_thought: bool = False
    has_parts: bool = False

    @property
    def text(self) -> str:
        """What it says: its text, else the arguments of what it calls."""
        return "".join(self.texts) or "\n".join(dict.fromkeys(self.calls))

    def take(self, part: Any) -> ModelTurn:
        """Take in a message, a part of one, or a list of parts."""
        if isinstance(part, str):
            self.texts.append(whole(part))
        elif isinstance(part, list):
            for each in part:
                self.take(each)
        elif isinstance(part, dict):
            is_thought = part.get("type") in _THOUGHTS or part.get("thought") is True
            if is_thought or "reasoningContent" in part:
                self.has_thought |= any(v for key, v in part.items() if key not in {"type", "id"})
            else:
                self._take_object(part)
        return self

    def _take_object(self, part: Mapping[str, Any]) -> None:
        self.has_thought |= any(map(part.get, _BESIDE))
        self.refusal = as_text(part.get("refusal")) or self.refusal
        self.logprobs = part.get("logprobs") or self.logprobs
        arguments = part.get("arguments") or part.get("input") or part.get("args")
        if arguments and arguments != "{}":
            is_text = isinstance(arguments, str)
            self.calls.append(whole(arguments if is_text else json.dumps(arguments)))
        for nested in filter(None, map(part.get, _NESTED)):
            self.has_parts |= not isinstance(nested, str)
            self.take(nested)


def turns_in(answer: Mapping[str, Any]) -> Sequence[ModelTurn]:
    """The turns of an answer, of which there is one where nobody asked for several.

    Raises a `LookupError`, `TypeError` or `AttributeError` where it is of no form that is known.
    """
    if "choices" in answer:
        return [_choice(choice) for choice in answer["choices"]]
    if candidates := answer.get("candidates"):
        return [
            ModelTurn(as_text(c.get("finishReason"))).take(c.get("content")) for c in candidates
        ]
    if "promptFeedback" in answer:  # Gemini's, of a prompt that was blocked
        return [ModelTurn("content_filter")]
    output = answer.get("output", answer.get("message"))
    if isinstance(output, dict):
        named = (answer.get(name) for name in ("stopReason", "done_reason", "finish_reason"))
        ending = as_text(next(filter(None, named), ""))
        return [ModelTurn(ending, answer.get("logprobs")).take(output.get("message", output))]
    if isinstance(output, list):
        reason = (answer.get("incomplete_details") or {}).get("reason")
        return [ModelTurn(as_text(reason or answer.get("status"))).take({"content": output})]
    return [ModelTurn(as_text(answer["stop_reason"])).take({"content": answer["content"]})]


def _choice(choice: Mapping[str, Any]) -> ModelTurn:
    logprobs = choice.get("logprobs")
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    return ModelTurn(as_text(choice.get("finish_reason")), tokens).take({**choice["message"]})


def as_text(value: object) -> str:
    """A text as it can be written to a file; empty of anything else."""
    return whole(value) if isinstance(value, str) else ""
