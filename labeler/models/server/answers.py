"""What the answer to a call means that went well: a reply, or none at all."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from email.utils import parsedate_to_datetime
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel

from labeler.errors import CallFailed, Misconfigured, NoCompletion, NotFound, Retryable
from labeler.files.boundary import count, log_probability
from labeler.model import (
    NO_COMPLETION,
    NO_TEXT,
    Bound,
    Headers,
    JsonObject,
    Reply,
    status_of_ending,
    whole,
)
from labeler.text.objects import after_thoughts, objects_in
from labeler.wire.addresses import masked

# Where the text, the thoughts, the calls and the ending stand in an answer, whoever's it is.
#
# Each provider nests them in its own way: `choices` (chat completions), `content` (Anthropic),
# `output` (OpenAI's Responses, Bedrock), `candidates` (Gemini), `message` (Ollama, Cohere).

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

    def _take_object(self, part: JsonObject) -> None:
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


def turns_in(answer: JsonObject) -> Sequence[ModelTurn]:
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


def _choice(choice: JsonObject) -> ModelTurn:
    logprobs = choice.get("logprobs")
    tokens = logprobs.get("content") if isinstance(logprobs, dict) else None
    return ModelTurn(as_text(choice.get("finish_reason")), tokens).take({**choice["message"]})


def as_text(value: object) -> str:
    """A text as it can be written to a file; empty of anything else."""
    return whole(value) if isinstance(value, str) else ""


# What an answer says that a call took: tokens, those of thoughts, and those that were cached.

_INSIDE = """prompt_tokens input_tokens promptTokenCount inputTokens
prompt_eval_count""".split()  # noqa: SIM905 - read as words, not quotes
_OUTSIDE = """completion_tokens output_tokens candidatesTokenCount outputTokens
eval_count""".split()  # noqa: SIM905 - read as words, not quotes
_BOTH = "total_tokens totalTokenCount totalTokens".split()  # noqa: SIM905 - read as words, not quotes
_COUNTED_BESIDE = """cache_read_input_tokens cache_creation_input_tokens cacheReadInputTokens
cacheWriteInputTokens""".split()  # noqa: SIM905 - read as words, not quotes
"""What is counted beside the rest of the request, and not in it."""

_CACHED = """cached_tokens prompt_cache_hit_tokens cache_read_input_tokens
cacheReadInputTokens cachedContentTokenCount""".split()  # noqa: SIM905 - read as words, not quotes
_THOUGHT_COUNTS = "reasoning_tokens thinking_tokens thoughtsTokenCount".split()  # noqa: SIM905 - read as words, not quotes


def usage_in(body: bytes) -> JsonObject:
    """What an answer says that it took, whatever else it is; empty where it says nothing."""
    try:
        return usage_of(json.loads(body))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return {}


def usage_of(answer: Any) -> JsonObject:
    """The same of an answer that was read; Ollama counts beside all else that it says."""
    beside = answer if "eval_count" in answer else {}
    usage = answer.get("usage") or answer.get("usageMetadata") or beside
    if not isinstance(usage, dict):
        return {}
    tokens = usage.get("tokens")  # Cohere's, beside those that it bills
    return {**usage, **tokens} if isinstance(tokens, dict) else usage


def is_nothing(usage: JsonObject) -> bool:
    """Whether a usage says that no tokens were taken."""
    counted = _counts(usage)
    return any(n is not None for n in counted) and not any(counted)


def tokens_used(usage: JsonObject, text: str) -> tuple[int, int]:
    """The tokens of the request and of the reply; two zeros where a server does not say both.

    Where it only says their sum, as many are the reply's as its text can have: one for a byte.
    Where their sum is more than both, a model thought in tokens that are billed as the reply's.
    """
    inside, outside, both = _counts(usage)
    if both and inside is None:
        outside = min(both, len(text.encode("utf-8", "replace"))) if outside is None else outside
        inside = both - outside
    if outside is None and inside is not None:
        outside = both - inside if both else None if text else 0
    if not inside or inside < 0 or outside is None or outside < 0:
        return 0, 0
    return inside, max(outside, (both or 0) - inside)


def thought_tokens(usage: JsonObject, text: str, used: int) -> int:
    """How many tokens went into thoughts: as counted, or what the sum holds beside all else.

    `used` are those of the reply, as `tokens_used` says.
    """
    outside = _first(usage, _OUTSIDE)
    beside = used - (outside or 0) if (outside is not None or not text) else 0
    return max(beside, _most(usage, _THOUGHT_COUNTS))


def cached_tokens(usage: JsonObject) -> int:
    """The tokens of the request that the server had ready from an earlier one; 0 if it says none.

    Some servers say so in details of the prompt's tokens, others beside them.
    """
    return _most(usage, _CACHED)


def _counts(usage: JsonObject) -> tuple[int | None, int | None, int | None]:
    """The tokens of the request, of the reply, and of both."""
    inside, outside, both = (_first(usage, names) for names in (_INSIDE, _OUTSIDE, _BOTH))
    if usage.keys().isdisjoint(_COUNTED_BESIDE):
        return inside, outside, both
    beside = sum(count(usage[name]) or 0 for name in _COUNTED_BESIDE if name in usage)
    if (
        beside
        and inside
        and "prompt_tokens" not in usage
        and inside + beside <= (both or beside + inside)
    ):
        inside += beside
    return inside, outside, both


def _first(usage: JsonObject, names: Sequence[str]) -> int | None:
    for name in names:
        number = count(usage[name]) if name in usage else None
        if number is not None:
            return number
    return None


def _most(usage: JsonObject, names: Sequence[str]) -> int:
    """The largest count of those names, at the top and in whatever details there are."""
    most = _first(usage, names) or 0
    for part in usage.values():
        if isinstance(part, dict):
            most = max(most, _first(part, names) or 0)
    return most


# What an answer means that is not a 200: another try, a call that failed, or the run's end.

LONGEST_WAIT = 300.0
"""Seconds; whatever a server asks for beyond them, another try tells."""

SHOWN = 300
"""Characters of a server's own words that go into an error."""

_ADVICE = {
    401: "the server refused the API key; set OPENAI_API_KEY, or give another server's address",
    402: "the account has no credit left",
    403: "the server refused access; does the key's account have access to this model?",
    404: "the server has no such model or address; check both (does the address end in /v1?)",
}


_CODES = ("code", "type", "status", "param")


class Refusal(NamedTuple):
    """A server's own words, on one line and cut; the codes and the parameter that it names."""

    message: str
    codes: frozenset[str] = frozenset()

    def says(self, pattern: re.Pattern[str]) -> bool:
        """Whether its words or its codes have something in them."""
        return bool(pattern.search(" ".join((self.message, *self.codes))))


_FILTER = re.compile(
    r"content_filter|content_policy_violation|data_?inspection_?failed|ResponsibleAIPolicy|"
    r"invalid_prompt|content (management|moderation|filter(ing)?|safety) policy|"
    r"content exists risk|(was|been|input) flagged|(sensitive|inappropriate) content",
    re.IGNORECASE,
)
_PARAMETER = re.compile(
    r"log[ _]?probs?\b|log probabilit|temperature|top_[pk]\b|\bseed\b|stop_sequences|max_\w*tokens|"
    r"response_format|output_config|json_(schema|object)|structured output|reasoning[ ._]effort|"
    r"enable_thinking|budget_tokens|requested parameters",
    re.IGNORECASE,
)
"""Parameters by their own names, so that no model's name is taken for one."""


def read_reply(code: int, body: bytes, where: str, headers: Headers, bound: Bound = None) -> Reply:
    """The reply that an answer is; raises what any status but 200 means, but a content filter's."""
    if code == 200:
        return read_answer(body, where, headers, bound)
    try:
        return _refusal(code, body, where, headers)
    except CallFailed as error:
        tokens = tokens_used(usage_in(body), body.decode("utf-8", "replace"))
        error.tokens = tokens if any(tokens) else None
        error.may_be_billed = 200 <= code < 300 or code in _GIVEN_UP
        raise


_GIVEN_UP = {408, 504, 524}
"""What a server or a gateway says that gave up waiting for a model, which may have gone on."""


def _refusal(code: int, body: bytes, where: str, headers: Headers) -> Reply:
    refusal = refusal_in(body)
    message, codes = refusal.message, refusal.codes
    if code in {400, 403, 422} and refusal.says(_FILTER):
        return Reply("", "content_filter", refusal=message, body=body)
    is_of_parameter = code in {403, 404} and refusal.says(_PARAMETER)
    if (code in _ADVICE and not is_of_parameter) or _is_spent(code, refusal, headers):
        advice = _ADVICE.get(code, _ADVICE[402])
        problem = f"{where}: {code}: {advice} ({message})"
        raise NotFound(problem, parameter="model") if code == 404 else Misconfigured(problem)
    if 300 <= code < 400:
        target = masked(headers.get("location", "")) or "another address"
        raise Misconfigured(
            f"{where}: {code}: redirects to {target}; the key does not follow, so give that address"
        )
    if code in {408, 409, 429} or code >= 500:
        wait = retry_after(headers)
        raise Retryable(f"{where}: {code}: {message}", wait, busy=code in {429, 503})
    problem = " ".join([f"{where}: {code}:", *sorted(codes), message])
    raise CallFailed(problem, refused=is_of_parameter or code in {400, 413, 422})


_SPENT_CODE = re.compile(
    "insufficient_(quota|credits|balance)|billing_(hard_limit_reached|not_active)|"
    "credit_balance_too_low"
)
_SPENT = re.compile(
    r"(credit )?balance is too low|insufficient (credit|balance|fund|quota)|out of credit|"
    r"billing.{0,20}limit|exceeded your current quota|quota.{0,12}(exceeded|exhausted|used up)|"
    r"^\W*(quota|out of quota)\W*$",
    re.IGNORECASE,
)
_PACE = re.compile(
    r"\b(per|a|each)[ -]?(second|minute|hour|day)|/min|\b[rt]p[md]\b|\brate\b|\bretry|try again",
    re.IGNORECASE,
)
"""What a server says where waiting would do."""


def _is_spent(code: int, refusal: Refusal, headers: Headers) -> bool:
    """Whether the account may spend no more; a 429 that names a pace or a time may pass."""
    if _SPENT_CODE.search(" ".join(refusal.codes)):
        return True
    may_pass = code == 429 and (_PACE.search(refusal.message) or "retry-after" in headers)
    return code in {400, 429} and not may_pass and bool(_SPENT.search(refusal.message))


def refusal_in(body: bytes) -> Refusal:
    """What a server says that refused, in whatever form it says it; else its words as they are."""
    try:
        answer = json.loads(body)
        answer = answer[0] if isinstance(answer, list) else answer
        error = answer.get("error") or answer
        error = error if isinstance(error, dict) else {"message": error}
        inner = {**(error.get("metadata") or {}), **(error.get("innererror") or {})}
        words = (error.get("message") or error.get("detail"), inner.get("raw"))
        named = [part.get(name) for part in (error, inner) for name in _CODES]
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return Refusal(_on_one_line(body[: 4 * SHOWN].decode("utf-8", "replace")))
    message = " ".join(w if isinstance(w, str) else json.dumps(w) for w in words if w)
    return Refusal(_on_one_line(message), frozenset(whole(str(c)) for c in named if c))


def _on_one_line(text: str) -> str:
    return whole(" ".join(text.split())[:SHOWN])


def retry_after(headers: Headers) -> float | None:
    """The seconds that the server asks to wait, from any of the headers in use."""
    try:
        if "retry-after-ms" in headers:
            seconds = float(headers["retry-after-ms"]) / 1000
        elif re.fullmatch(r"\s*[0-9]+(\.[0-9]+)?\s*", headers["retry-after"]):
            seconds = float(headers["retry-after"])
        else:
            seconds = parsedate_to_datetime(headers["retry-after"]).timestamp() - time.time()
    except (KeyError, ValueError, TypeError, OverflowError):
        return None
    return min(max(0.0, seconds), LONGEST_WAIT) if math.isfinite(seconds) else None


_THOUGHT_MARKS = re.compile(
    r"(?s)\s*(<[\w:|]*think|\[THINK]|<\|channel\|>analysis)|.*?</[\w:|]*think"
)
"""How thoughts stand in a text that no server has taken them out of."""


def read_answer(body: bytes, where: str, headers: Headers, bound: Bound = None) -> Reply:
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
            thought=_thought(turn, text, ending, thought_tokens(usage, text, tokens[1])),
            completion_id=as_text(answer.get("id", answer.get("responseId"))),
            is_bound=bound,
            cached_tokens=min(tokens[0], cached_tokens(usage)),
        )
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        usage, problem = (
            usage_in(body),
            NoCompletion(f"{where}: expected a chat completion, found: {begin_of(body)}"),
        )
        if usage and not is_nothing(usage):
            return _without_completion(body, usage, headers)
        problem.tokens = (0, 0) if usage else None
        raise problem from None


USUAL_BODY = 64 * 1024
"""Bytes of an answer that is kept as it came over the wire; of a larger one, what is used is."""

_USED = """id object created model choices usage content stop_reason output status
incomplete_details message done_reason finish_reason eval_count prompt_eval_count candidates
usageMetadata modelVersion stopReason""".split()  # noqa: SIM905 - read as words, not quotes


def _what_is_used(answer: JsonObject) -> bytes:
    """A large answer without its padding, and without what nothing here reads."""
    used = {name: answer[name] for name in _USED if name in answer}
    return json.dumps(used, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _without_completion(body: bytes, usage: JsonObject, headers: Headers) -> Reply:
    """The reply that an answer is whose tokens are counted, and which holds no completion."""
    tokens = tokens_used(usage, body.decode("utf-8", "replace"))
    served = as_text(json.loads(body).get("model"))
    return Reply("", NO_COMPLETION, None, served, *tokens, body=body)


def begin_of(body: bytes) -> str:
    """The begin of what came, on one line, to be shown."""
    return " ".join(body[:SHOWN].decode("utf-8", "replace").split()) or "nothing"


def read_models(body: bytes, where: str) -> list[str]:
    """The names in a server's list of models, sorted; `Misconfigured` where it is no such list."""
    try:
        return sorted(whole(str(model["id"])) for model in json.loads(body)["data"])
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Misconfigured(
            f"{where}: expected a list of models, found: {begin_of(body)}; {IS_IT_COMPATIBLE}"
        ) from None


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


def _log_probability(entry: JsonObject) -> tuple[str, float]:
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


def _thought(turn: ModelTurn, text: str, ending: str, tokens: int) -> bool:
    """Whether the model thought before it answered, by any sign of it.

    What was cut before its first word was cut in a thought.
    """
    if turn.has_thought or tokens or _THOUGHT_MARKS.match(text):
        return True
    return not text.strip() and status_of_ending(ending) == "truncated"


# The JSON object that a reply is, validated.

LONGEST = 20_000
"""Characters; a longer reply is no answer."""

Answer = TypeVar("Answer", bound=BaseModel)


def parsed(reply: Reply, kind: type[Answer]) -> Answer | None:
    """The object that a reply is, validated; None where it is none, or was cut short."""
    if reply.refusal or status_of_ending(reply.finish_reason) or len(reply.text) > LONGEST:
        return None
    text = whole(reply.text)
    try:
        objects, _ = objects_in(text[after_thoughts(text) :])
        return kind.model_validate(objects[-1]) if objects else None
    except ValueError:  # pydantic's own are such, too
        return None
