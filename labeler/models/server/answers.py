"""What a server's answer means: a reply, a call that may be tried again, or the end of the run."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

from labeler.errors import CallFailed, Misconfigured, NoCompletion, NotFound, Retryable
from labeler.files.numbers import log_probability
from labeler.model import NO_COMPLETION, NO_TEXT, Bound, Reply, whole
from labeler.models.ending import status_of_ending
from labeler.models.server.usage import cached_tokens, is_nothing, tokens_used, usage_in
from labeler.wire.addresses import masked

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


def _texts(choices: Sequence[Any]) -> Iterator[str]:
    """What each choice says: nobody asks for several, but two that differ are no grade."""
    for choice in choices:
        yield _content(choice["message"])


def _content(message: Mapping[str, Any]) -> str:
    """What a message says: a text, or a list of parts whose texts make one."""
    content = message.get("content")
    if not isinstance(content, list):
        return _text(content)
    texts = (part.get("text") if isinstance(part, dict) else part for part in content)
    return "".join(map(_text, texts))


def _ending(choice: Mapping[str, Any], text: str) -> str:
    """How a reply ended; `NO_TEXT` where it holds something else in place of a text."""
    message, ending = choice["message"], _text(choice.get("finish_reason"))
    if text or message.get("refusal") or status_of_ending(ending):
        return ending
    is_other = message.get("tool_calls") or message.get("function_call") or message.get("content")
    return NO_TEXT if is_other else ending


def read_answer(body: bytes, where: str, headers: Mapping[str, str], bound: Bound = None) -> Reply:
    """The reply in the body of a 200; one that ended with `NO_COMPLETION` where it holds none and
    counts tokens, and `NoCompletion` where it does not even count.
    """
    try:
        answer = json.loads(body)
        choice = answer["choices"][0]
        message = choice["message"]
        usage = answer.get("usage") if isinstance(answer.get("usage"), dict) else {}
        text = "\n".join(dict.fromkeys(_texts(answer["choices"])))
        tokens = tokens_used(usage, text)
        return Reply(
            text,
            _ending(choice, text),
            _text(message.get("refusal")) or None,
            _text(answer.get("model")),
            *tokens,
            top_tokens=_top_tokens(choice.get("logprobs")),
            body=body if len(body) <= USUAL_BODY else _what_is_used(answer),
            hold=hold_of(headers),
            thought=_thought(message, usage),
            completion_id=_text(answer.get("id")),
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

_USED = ("id", "object", "created", "model", "choices", "usage")


def _what_is_used(answer: Mapping[str, Any]) -> bytes:
    """A large answer without its padding, and without what nothing here reads."""
    used = {name: answer[name] for name in _USED if name in answer}
    return json.dumps(used, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _without_completion(body: bytes, usage: Mapping[str, Any], headers: Mapping[str, str]) -> Reply:
    """The reply that an answer is whose tokens are counted, and which holds no completion."""
    tokens = tokens_used(usage, body.decode("utf-8", "replace"))
    served, hold = _text(json.loads(body).get("model")), hold_of(headers)
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


def _text(value: object) -> str:
    return whole(value) if isinstance(value, str) else ""


def _top_tokens(logprobs: Any) -> tuple[Mapping[str, float], ...]:
    """The log probabilities; none where they are not as they should be, which spoils no reply."""
    try:
        return tuple(
            dict(map(_log_probability, [entry, *(entry.get("top_logprobs") or ())]))
            for entry in logprobs["content"]
        )
    except (KeyError, TypeError, ValueError, AttributeError):
        return ()


def _log_probability(entry: Mapping[str, Any]) -> tuple[str, float]:
    """A token and its log probability; `ValueError` where it has none."""
    logprob = log_probability(entry["logprob"])
    if logprob is None:
        raise ValueError("no log probability")
    return whole(entry["token"]), logprob


def _thought(message: Mapping[str, Any], usage: Mapping[str, Any]) -> bool:
    details = usage.get("completion_tokens_details")
    counted = details.get("reasoning_tokens") if isinstance(details, dict) else 0
    return bool(counted or message.get("reasoning_content") or message.get("reasoning"))


def hold_of(headers: Mapping[str, str]) -> float:
    """How long to begin no call, where the headers say that none or no token is left."""
    holds = [
        _duration(headers.get(f"x-ratelimit-reset-{what}", ""))
        for what in ("requests", "tokens")
        if headers.get(f"x-ratelimit-remaining-{what}") == "0"
    ]
    return min(LONGEST_WAIT, max(holds, default=0.0))


_UNITS = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}


def _duration(text: str) -> float:
    """Seconds in `6m0.5s`, `20ms` or `7`; 0 for anything else."""
    if not re.fullmatch(r"([0-9]+(\.[0-9]+)?(ms|s|m|h|))+", text):
        return 0.0
    parts = re.findall(r"([0-9]+(?:\.[0-9]+)?)(ms|s|m|h|)", text)
    return sum(float(number) * _UNITS[unit] for number, unit in parts)


def read_refusal(code: int, body: bytes, where: str, headers: Mapping[str, str]) -> Reply:
    """Raise what any status but 200 means; a content filter's 400 is a reply."""
    try:
        return _refusal(code, body, where, headers)
    except CallFailed as error:
        tokens = tokens_used(usage_in(body), body.decode("utf-8", "replace"))
        error.tokens = tokens if any(tokens) else None
        error.may_be_billed = 200 <= code < 300 or code in _GIVEN_UP
        raise


_GIVEN_UP = {408, 504, 524}
"""What a server or a gateway says that gave up waiting for a model, which may have gone on."""


def _refusal(code: int, body: bytes, where: str, headers: Mapping[str, str]) -> Reply:
    message, codes = _message_and_codes(body)
    if code == 400 and "content_filter" in codes:
        return Reply("", "content_filter", refusal=message, body=body)
    if code in _ADVICE or _is_spent(code, codes, message, headers):
        advice = _ADVICE.get(code, _ADVICE[402])
        problem = f"{where}: {code}: {advice} ({message})"
        raise NotFound(problem, parameter="model") if code == 404 else Misconfigured(problem)
    if 300 <= code < 400:
        target = masked(headers.get("location", "")) or "another address"
        problem = f"{code}: redirects to {target}; the key does not follow, so give that address"
        raise Misconfigured(f"{where}: {problem}")
    if code in {408, 409, 429} or code >= 500:
        wait = retry_after(headers)
        raise Retryable(f"{where}: {code}: {message}", wait, busy=code in {429, 503})
    problem = " ".join([f"{where}: {code}:", *sorted(codes), message])
    raise CallFailed(problem, refused=code in {400, 413, 422})


_SPENT_CODES = {
    "insufficient_quota",
    "billing_hard_limit_reached",
    "billing_not_active",
    "insufficient_credits",
    "insufficient_balance",
    "credit_balance_too_low",
}
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


def _is_spent(code: int, codes: set[str], message: str, headers: Mapping[str, str]) -> bool:
    """Whether the account may spend no more; a 429 that names a pace or a time may pass."""
    if codes & _SPENT_CODES:
        return True
    may_pass = code == 429 and (_PACE.search(message) or "retry-after" in headers)
    return code in {400, 429} and not may_pass and bool(_SPENT.search(message))


def _message_and_codes(body: bytes) -> tuple[str, set[str]]:
    """The server's own words, on one line and cut, and the code and type that it names."""
    try:
        answer = json.loads(body)
        error = (answer[0] if isinstance(answer, list) else answer)["error"]
        if isinstance(error, str):
            error = {"message": error}
        codes = {str(error[name]) for name in ("code", "type") if error.get(name)}
        message = str(error.get("message") or "")
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, RecursionError):
        message, codes = body[: 4 * SHOWN].decode("utf-8", "replace"), set()
    return whole(" ".join(message.split())[:SHOWN]), set(map(whole, codes))


def retry_after(headers: Mapping[str, str]) -> float | None:
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
