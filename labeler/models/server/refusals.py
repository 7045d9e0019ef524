"""What an answer means that is not a 200: another try, a call that failed, or the run's end."""

from __future__ import annotations

import json
import math
import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime
from typing import NamedTuple

from labeler.errors import CallFailed, Misconfigured, NotFound, Retryable
from labeler.model import Reply, whole
from labeler.models.server.usage import tokens_used, usage_in
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
    refusal = _refusal_in(body)
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
        problem = f"{code}: redirects to {target}; the key does not follow, so give that address"
        raise Misconfigured(f"{where}: {problem}")
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


def _is_spent(code: int, refusal: Refusal, headers: Mapping[str, str]) -> bool:
    """Whether the account may spend no more; a 429 that names a pace or a time may pass."""
    if _SPENT_CODE.search(" ".join(refusal.codes)):
        return True
    may_pass = code == 429 and (_PACE.search(refusal.message) or "retry-after" in headers)
    return code in {400, 429} and not may_pass and bool(_SPENT.search(refusal.message))


def _refusal_in(body: bytes) -> Refusal:
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
