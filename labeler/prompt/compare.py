"""`prompts diff`: in what two prompts differ, and what that means for judging."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from labeler.prompt.listing import calls_in_words, scale_of, tokens_of
from labeler.prompt.template import FrontMatter, Prompt, Source, cut_source, schema_of
from labeler.report.table import Column, Row, Table


class ChangedLine(NamedTuple):
    """A line that is in one of two texts: its numbers there, 0 where it is missing, its text."""

    change: Literal["removed", "added"]
    line_a: int
    line_b: int
    text: str


def changed_lines(a: Sequence[str], b: Sequence[str]) -> Iterator[ChangedLine]:
    """The lines in which two texts differ, numbered from 1."""
    for _, from_a, to_a, from_b, to_b in SequenceMatcher(None, a, b).get_opcodes():
        if a[from_a:to_a] != b[from_b:to_b]:
            yield from (ChangedLine("removed", at + 1, 0, a[at]) for at in range(from_a, to_a))
            yield from (ChangedLine("added", 0, at + 1, b[at]) for at in range(from_b, to_b))


@dataclass(frozen=True)
class PromptDiff:
    """Two prompts: the keys and lines in which they differ, and what that does to judging."""

    a: Prompt
    b: Prompt

    @cached_property
    def front(self) -> dict[str, tuple[Any, Any]]:
        """The keys of the front matter that have other values, with both."""
        pairs = {key: (getattr(self.a.front, key), getattr(self.b.front, key)) for key in _FIELDS}
        return {key: values for key, values in pairs.items() if values[0] != values[1]}

    @cached_property
    def lines(self) -> tuple[ChangedLine, ...]:
        """The lines of the templates that differ, with their numbers in the files."""
        (text_a, above_a), (text_b, above_b) = _template(self.a), _template(self.b)
        return tuple(
            line._replace(
                line_a=line.line_a and line.line_a + above_a,
                line_b=line.line_b and line.line_b + above_b,
            )
            for line in changed_lines(text_a, text_b)
        )

    @property
    def is_asked_anew(self) -> bool:
        """Whether the requests differ, so that no stored reply of one is one of the other."""
        differs = self.a.turns != self.b.turns or _schema(self.a) != _schema(self.b)
        return differs or bool(self.front.keys() - _NOT_IN_A_REQUEST)

    @property
    def is_comparable(self) -> bool:
        """Whether a grade of one is a grade of the other: both grade, by the same integers."""
        return self.a.front.kind == self.b.front.kind == "grade" and self.a.grades == self.b.grades

    def consequences(self) -> list[str]:
        """What the differences mean for judging, a sentence each."""
        if self.a.front.kind != self.b.front.kind:
            kinds = f"{self.a.name} is of kind {self.a.front.kind}"
            return [f"{kinds}, {self.b.name} of kind {self.b.front.kind}: they are not comparable."]
        sentences = [self._on_replies()]
        if self.a.front.kind == "grade":
            sentences += _on_grades(self.a, self.b)
        takes = []
        for prompt in (self.a, self.b):
            inside, outside = tokens_of(prompt)
            size = f"about {inside:,} tokens, a reply {outside:,} at most"
            takes.append(f"calls a document: {calls_in_words(prompt)}; the template has {size}")
        if takes[0] != takes[1]:
            names = (self.a.name, self.b.name)
            sentences += [f"{name}: {taken}." for name, taken in zip(names, takes, strict=True)]
        return sentences

    def _on_replies(self) -> str:
        if self.is_asked_anew:
            return "The requests differ: every pair is asked about anew."
        same = "Both send the same requests: stored replies serve both, and nothing is asked anew"
        if {"combine", "reply", "scale"} & self.front.keys():
            return f"{same}, but grades are read from them otherwise."
        return f"{same}."

    def as_json(self) -> dict[str, Any]:
        """The differences and what they mean, by name."""
        return {
            "a": self.a.id,
            "b": self.b.id,
            "front": {key: {"a": old, "b": new} for key, (old, new) in self.front.items()},
            "lines": [line._asdict() for line in self.lines],
            "asked_anew": self.is_asked_anew,
            "comparable": self.is_comparable,
            "schema": {"a": _schema(self.a), "b": _schema(self.b)},
            "tokens": {"a": tokens_of(self.a).inside, "b": tokens_of(self.b).inside},
            "consequences": self.consequences(),
        }

    def table(self) -> Table:
        """A row for each key and each line that differs."""
        columns = [
            Column("change", align="left"),
            Column("line a", title=self.a.name, format="d", undefined=""),
            Column("line b", title=self.b.name, format="d", undefined=""),
            Column("text", align="left", widest=None),
        ]
        keys = [
            f"{key}: {value_text(old)} -> {value_text(new)}"
            for key, (old, new) in self.front.items()
        ]
        rows: list[Row] = [["key", None, None, text] for text in keys]
        rows += [
            [line.change, line.line_a or None, line.line_b or None, line.text]
            for line in self.lines
        ]
        return Table("differences", columns, rows)

    def _repr_html_(self) -> str:
        return self.table()._repr_html_()


_FIELDS = tuple(FrontMatter.model_fields)
_NOT_IN_A_REQUEST = {
    *("description", "source", "shown_with", "fidelity", "measured", "based_on", "combine"),
    *("kind", "scale", "reply", "reason"),  # but for what the schema says of them
}


def diff_prompts(a: Prompt, b: Prompt) -> PromptDiff:
    """In what two prompts differ, and what that means for judging.

    >>> from labeler.prompt import find_prompt
    >>> changes = diff_prompts(find_prompt("four-grades"), find_prompt("basic"))
    >>> changes.is_comparable, "reason" in changes.front
    (True, True)
    """
    return PromptDiff(a, b)


def _template(prompt: Prompt) -> tuple[list[str], int]:
    """The lines from the first section on, and how many lines stand above them."""
    source = cut_source(prompt.text)
    assert isinstance(source, Source), "a prompt was read from parts"
    above = source.sections[0].heading - 1
    return prompt.text.rstrip("\n").split("\n")[above:], above


def _schema(prompt: Prompt) -> dict[str, Any] | None:
    return schema_of(prompt) if prompt.is_bound else None


def _on_grades(a: Prompt, b: Prompt) -> Iterator[str]:
    """Whether grades of both may be compared, and in what words they differ."""
    if a.grades != b.grades:
        scales = f"{a.name} grades on {scale_of(a)}, {b.name} on {scale_of(b)}"
        yield f"{scales}: map one onto the other before you compare or mix grades."
        return
    names_a, names_b = (
        {int(grade): name for grade, name in prompt.front.scale.items()} for prompt in (a, b)
    )
    renamed = [grade for grade in a.grades if names_a[grade] != names_b[grade]]
    if not renamed:
        yield f"Both grade on {scale_of(a)} by the same names: grades are comparable."
        return
    pairs = ", ".join(f'{grade} "{names_a[grade]}" and "{names_b[grade]}"' for grade in renamed)
    yield (
        f"Both grade on {scale_of(a)}, and some grades have other names ({pairs}): "
        "they are comparable as far as these mean the same."
    )


def value_text(value: object) -> str:
    """A value of the front matter on one line."""
    if value is None:
        return "none"
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, dict):
        return ", ".join(f"{key} = {name}" for key, name in value.items()) or "none"
    if isinstance(value, bool):
        return str(value).lower()
    return repr(value) if value != "" else "none"
