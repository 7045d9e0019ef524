"""Prompts as rows: what each asks, of which scale, where its method is from, and what it takes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from labeler.model import Request
from labeler.models.cost import Tokens, sizes_of
from labeler.prompt.read import prompt_files, read_prompt
from labeler.prompt.template import PLACEHOLDERS, Prompt
from labeler.report.table import Column, Row, Table


def shipped_prompts() -> list[Prompt]:
    """The shipped prompts, those that grade first, each kind in the order of the names."""
    prompts = [read_prompt(path) for path in prompt_files().values()]
    return sorted(prompts, key=lambda prompt: list(PLACEHOLDERS).index(prompt.front.kind))


def tokens_of(prompt: Prompt) -> Tokens:
    """About how many tokens the template takes in each call, and the most that a reply may.

    The query and the document, and a topic where there is one, come on top.
    """
    turns = prompt.render(dict.fromkeys(PLACEHOLDERS[prompt.front.kind], ""))
    return sizes_of(Request(turns, {"max_tokens": prompt.front.max_tokens})).about


def calls_in_words(prompt: Prompt) -> str:
    """The calls that a document takes: `1`, `4`, or `1/10` where a call holds ten documents.

    `1 + 1/query` is one for each document, and one for each query to write its questions.
    """
    front, calls = prompt.front, 1
    if front.has_parts and not prompt.asks_several:
        calls = len(front.criteria) or (front.questions.count if front.questions else 1)
    once = " + 1/query" if front.questions else ""
    return str(calls) + once if front.batch == 1 else f"{calls}/{front.batch}"


def scale_of(prompt: Prompt) -> str:
    """The ends of a scale, as `0-3`, or its grades where it has gaps; empty where there is none."""
    grades = prompt.grades
    if not grades:
        return ""
    if list(grades) == list(range(grades[0], grades[-1] + 1)):
        return f"{grades[0]}-{grades[-1]}"
    return ",".join(map(str, grades))


def facts_of(prompt: Prompt) -> dict[str, Any]:
    """What a listing says of a prompt, by name."""
    front, tokens = prompt.front, tokens_of(prompt)
    return {
        "prompt": prompt.id,
        "kind": front.kind,
        "what it asks": front.description,
        "source": front.source,
        "fidelity": front.fidelity,
        "shown with": front.shown_with,
        "measured": front.measured or "nothing",
        "based on": front.based_on,
        "scale": scale_of(prompt),
        "reply": front.reply,
        "reason first": front.reason,
        "documents a call": front.batch,
        "calls a document": calls_in_words(prompt),
        "tokens": tokens.inside,
        "reply tokens": tokens.outside,
    }


def prompt_tables(prompts: Iterable[Prompt], *, for_people: bool) -> list[Table]:
    """Prompts that grade, with their method, and the others; all facts of all for programs."""
    facts = list(map(facts_of, prompts))
    if not for_people:
        return [_table("prompts", tuple(facts[0]), facts, title="")]
    grading = [fact for fact in facts if fact["kind"] == "grade"]
    others = [fact for fact in facts if fact["kind"] != "grade"]
    return [
        _table("to grade with", ("prompt", *_OF_GRADING, "source"), grading),
        _table("for other purposes", ("prompt", "kind", "tokens", "what it asks"), others),
    ]


_OF_GRADING = ("scale", "calls a document", "tokens", "reply tokens", "measured", "fidelity")
_NUMBERS = {"tokens", "reply tokens", "documents a call"}
_TITLES = {"reason first": "reason", "calls a document": "calls", "reply tokens": "reply"}


def _table(
    name: str, keys: Sequence[str], facts: Iterable[dict[str, Any]], title: str | None = None
) -> Table:
    columns = [
        Column(key, _TITLES.get(key, ""), ",d", align="right" if key in _NUMBERS else "left")
        for key in keys
    ]
    rows: list[Row] = [[_cell(fact[key]) for key in keys] for fact in facts]
    return Table(name, columns, rows, title=name if title is None else title)


def _cell(value: object) -> str | int:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return value if isinstance(value, int) else str(value)
