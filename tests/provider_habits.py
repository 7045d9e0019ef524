"""Servers with the habits of real providers, one habit a model name, on `FakeServer`.

What each does is what its provider documents or was seen to answer; the grade is always the same:
how many words of the query stand in the passage. Nothing here is known to the package.
"""

import json
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from labeler.testing import Answer, Call, FakeServer, completion

CONTEXT = 4096
"""Tokens that the servers with a short context take."""

Message = dict[str, Any]


@dataclass(frozen=True)
class Asked:
    """A request as a server sees it: its texts, the limit it gives, and what stands beside them."""

    body: Mapping[str, Any]
    system: str
    user: str
    limit: int | None

    @property
    def tokens(self) -> int:
        """About as many tokens as its texts have."""
        return (len(self.system) + len(self.user)) // 4 + 8

    @property
    def grade(self) -> int:
        """From 0 to 3: the share of the query's words that the passage has."""
        query = re.search(r"^Query: (.+)$", self.user, re.MULTILINE)
        if query is None:
            return 1
        rest = set(re.findall(r"\w+", self.user[query.end() :].lower()))
        words = set(re.findall(r"\w+", query[1].lower())) or {""}
        return round(3 * len(words & rest) / len(words))

    @property
    def is_trivial(self) -> bool:
        """Whether there is nothing to think about."""
        return self.tokens < 100

    def thoughts(self, least: int, most: int) -> int:
        """How many tokens of thought it takes, the same each time it is asked."""
        return least + zlib.crc32(self.user.encode()) % (most - least)

    def turn(self, of: int) -> int:
        """One of so many ways to answer, the same each time it is asked."""
        return zlib.crc32(self.user[::-1].encode()) % of


Habit = Callable[[Asked], Answer]
HABITS: dict[str, Habit] = {}


def habit(name: str) -> Callable[[Habit], Habit]:
    """Enter a habit under a model's name."""

    def enter(answer: Habit) -> Habit:
        HABITS[name] = answer
        return answer

    return enter


def asked_of(call: Call) -> Asked:
    """A chat request as it arrived."""
    turns = call.body["messages"]
    system = "".join(m["content"] for m in turns if m["role"] in {"system", "developer"})
    user = "".join(m["content"] for m in turns if m["role"] == "user")
    limit = call.body.get("max_completion_tokens", call.body.get("max_tokens"))
    return Asked(call.body, system, user, limit)


def answer_by_habit(call: Call) -> Answer:
    """The answer of the model that a call names; 404 where there is none."""
    answer = HABITS.get(call.body.get("model", ""))
    return answer(asked_of(call)) if answer else refused("no such model", 404)


def habits_server() -> FakeServer:
    """A server that has all the habits, each as a model."""
    return FakeServer(answer_by_habit, tuple(HABITS))


def refused(message: str, status: int = 400, **more: object) -> Answer:
    """An error as OpenAI words it."""
    error = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return Answer({"error": error | more}, status)


def usage(inside: int, outside: int, **more: object) -> dict[str, Any]:
    """What a call took."""
    both = {"prompt_tokens": inside, "completion_tokens": outside}
    return {**both, "total_tokens": inside + outside, **more}


def said(asked: Asked, text: str, **changes: Any) -> Answer:
    """A whole reply, cut where the limit is below its length."""
    length = len(text) // 4 + 1
    limit = asked.limit or length
    taken = usage(asked.tokens, min(length, limit))
    if length > limit:
        changes, text = {"finish_reason": "length", **changes}, text[: 4 * limit]
    return Answer(completion(text, **{"usage": taken, "model": asked.body["model"], **changes}))


def with_message(answer: Answer, **message: object) -> Answer:
    """The same answer with other keys in its message."""
    assert isinstance(answer.body, Mapping)
    choice = answer.body["choices"][0]
    choice["message"] = choice["message"] | message
    return answer


def grade_object(asked: Asked) -> str:
    """The reply that was asked for."""
    return json.dumps({"grade": asked.grade})


# Models that think


def _gpt5(asked: Asked, status: int) -> Answer:
    body = asked.body
    if "max_tokens" in body:
        what = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
        return refused(
            f"Unsupported parameter: {what}", param="max_tokens", code="unsupported_parameter"
        )
    if body.get("temperature", 1) != 1:
        what = "'temperature' does not support 0.0 with this model. Only the default (1) value is"
        return refused(
            f"Unsupported value: {what} supported.", param="temperature", code="unsupported_value"
        )
    if "logprobs" in body:
        return refused("You are not allowed to request logprobs from this model", status)
    return _thinking(asked, asked.thoughts(300, 1500))


def _thinking(asked: Asked, thoughts: int, **message: object) -> Answer:
    """A reply after so many tokens of thought, which its usage counts."""
    limit = asked.limit or 100_000
    details = {"completion_tokens_details": {"reasoning_tokens": min(thoughts, limit)}}
    if thoughts >= limit:
        taken = usage(asked.tokens, limit, **details)
        return with_message(said(asked, "", finish_reason="length", usage=taken), **message)
    taken = usage(asked.tokens, thoughts + 6, **details)
    return with_message(said(asked, grade_object(asked), usage=taken), **message)


@habit("gpt-5-403")
def gpt5_403(asked: Asked) -> Answer:
    """Refuses `max_tokens`, a temperature, then log probabilities with a 403; thinks always."""
    return _gpt5(asked, 403)


@habit("gpt-5-400")
def gpt5_400(asked: Asked) -> Answer:
    """The same with a 400 in place of the 403."""
    return _gpt5(asked, 400)


@habit("gemini")
def gemini(asked: Asked) -> Answer:
    """Counts its thoughts in the total alone, and says nothing where they took all the limit."""
    thoughts, limit = asked.thoughts(200, 1200), asked.limit or 100_000
    if thoughts >= limit:
        taken = {"prompt_tokens": asked.tokens, "total_tokens": asked.tokens + limit}
        return with_message(said(asked, "", finish_reason="length", usage=taken), content=None)
    taken = {**usage(asked.tokens, 6), "total_tokens": asked.tokens + thoughts + 6}
    return said(asked, grade_object(asked), usage=taken)


@habit("hybrid")
def hybrid(asked: Asked) -> Answer:
    """Thinks about real pairs alone, so that a trivial question tells nothing."""
    return (
        said(asked, grade_object(asked))
        if asked.is_trivial
        else _thinking(asked, asked.thoughts(200, 1000))
    )


@habit("reasoning-content")
def reasoning_content(asked: Asked) -> Answer:
    """Gives its thoughts beside the text, and counts them as the reply's without saying so."""
    thoughts = asked.thoughts(200, 900)
    answer = _thinking(asked, thoughts, reasoning_content="Hmm. " * 40)
    assert isinstance(answer.body, dict)
    del answer.body["usage"]["completion_tokens_details"]
    return answer


@habit("think-tags")
def think_tags(asked: Asked) -> Answer:
    """Writes its thoughts into the text, before the reply, as servers without a parser give it."""
    thoughts = "is {grade: 3} right? " * (asked.thoughts(200, 900) // 5)
    return said(asked, f"<think>\n{thoughts}\n</think>\n\n{grade_object(asked)}")


# Models that decorate


@habit("claude")
def claude(asked: Asked) -> Answer:
    """Ignores the form of replies that is asked for, as Anthropic's compatible address does."""
    reply = grade_object(asked)
    ways = (
        reply,
        f"```json\n{reply}\n```",
        f"Here is my assessment:\n\n```json\n{reply}\n```",
        f"{reply}\n\nThe passage speaks of the query's subject.",
    )
    return said(asked, ways[asked.turn(4)], usage=usage(asked.tokens, 24))


_FORMS: Mapping[str, Callable[[int], str]] = {
    "quoted": lambda grade: f'{{"grade": "{grade}"}}',
    "other-case": lambda grade: f'{{"Grade": {grade}}}',
    "list": lambda grade: f'[{{"grade": {grade}}}]',
    "confidence": lambda grade: f'{{"grade": {grade}, "confidence": 0.9}}',
    "note": lambda grade: f'{{"note": "a 14 inch screen", "grade": {grade}}}',
    "prose": lambda grade: f'Here is the JSON object: {{"grade": {grade}}}',
    "bold": lambda grade: f'**{{"grade": {grade}}}**',
    "plain": str,
}


def _in_form(form: Callable[[int], str]) -> Habit:
    return lambda asked: said(asked, form(asked.grade))


for _name, _form in _FORMS.items():
    HABITS[_name] = _in_form(_form)


@habit("tool-call")
def tool_call(asked: Asked) -> Answer:
    """Gives the object as the arguments of a call of a tool that nobody offered."""
    function = {"name": "reply", "arguments": grade_object(asked)}
    calls = [{"id": "call_1", "type": "function", "function": function}]
    answer = said(asked, "", finish_reason="tool_calls", usage=usage(asked.tokens, 12))
    return with_message(answer, content=None, tool_calls=calls)


# Servers with bounds of their own


@habit("ollama")
def ollama(asked: Asked) -> Answer:
    """Cuts the beginning of a prompt that is longer than its context, and says nothing of it."""
    if asked.tokens <= CONTEXT:
        return said(asked, grade_object(asked))
    kept = asked.user[-4 * (CONTEXT - 8) :]
    cut = replace(asked, system="", user=kept)
    return said(cut, grade_object(cut), usage=usage(CONTEXT, 6))


def _too_long(asked: Asked) -> Answer | None:
    limit = asked.limit or 16
    if asked.tokens + limit <= CONTEXT:
        return None
    what = f"This model's maximum context length is {CONTEXT} tokens. However, you requested"
    parts = f"({asked.tokens} in the messages, {limit} in the completion)"
    return refused(
        f"{what} {asked.tokens + limit} tokens {parts}. Please reduce the length of the messages "
        "or completion.",
        type="BadRequestError",
        code=400,
    )


@habit("short")
def short(asked: Asked) -> Answer:
    """Has a short context, as vLLM may, and refuses what is longer with the reply's limit."""
    return _too_long(asked) or said(asked, grade_object(asked))


@habit("short-thinks")
def short_thinks(asked: Asked) -> Answer:
    """The same, and thinks, so that a large allowance for thoughts is refused too."""
    return _too_long(asked) or _thinking(asked, asked.thoughts(200, 900), reasoning="Hmm.")


@habit("no-system")
def no_system(asked: Asked) -> Answer:
    """Has a template without a system turn, as older Gemmas."""
    if asked.system:
        return refused("System role not supported", type="BadRequestError", code=400)
    return said(asked, grade_object(asked))


@habit("no-limit")
def no_limit(asked: Asked) -> Answer:
    """Honours no limit of tokens: each reply is followed by a long essay that is billed."""
    text = grade_object(asked) + "\n\nThe passage is of some interest to the query. " * 160
    return said(replace(asked, limit=None), text)
