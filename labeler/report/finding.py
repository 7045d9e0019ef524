"""A finding: what a reader of figures should know, as one type wherever it comes from."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal


@dataclass(frozen=True)
class Setting:
    """A parameter, set to a value, that a finding mentions; without a value the parameter alone.

    As text it is what a caller of the library writes: `missing="skip"`, `map_other={0: 1}`.
    """

    parameter: str
    value: object = field(default=None, hash=False)

    def __str__(self) -> str:
        if self.value is None:
            return self.parameter
        value = f'"{self.value}"' if isinstance(self.value, str) else repr(self.value)
        return f"{self.parameter}={value}"

    def as_option(self, option: str) -> str:
        """The same on a command line whose option for the parameter is `option`.

        An option that takes several parameters ends with the one meant, as `column` with `query:`.
        """
        if self.value is None or self.value is True:
            return option
        value = self.value
        if isinstance(value, Mapping):
            value = ",".join(f"{old}={new}" for old, new in value.items())
        if isinstance(value, range):
            value = f"{value[0]}:{value[-1]}"
        return f"{option}{value}" if option[-1:] in {":", "="} else f"{option} {value}"


@dataclass(frozen=True)
class Finding:
    """A sentence that a reader of figures should know.

    `about` names the run, file or measure that it concerns, where it concerns one. `settings` are
    those that the text mentions, in the words of `str(setting)`, so that a caller who knows the
    parameters by other names can put those in their place; `advice` is the part of the text that
    says what they would do. Findings that differ in `about` and `count` alone are told as one:
    `each` is what is said of the count.
    """

    text: str
    about: str = ""
    settings: tuple[Setting, ...] = ()
    level: Literal["warning", "note"] = "warning"
    each: str = ""
    count: int | None = None
    advice: str = ""

    def __str__(self) -> str:
        return self.text

    def __contains__(self, words: str) -> bool:
        return words in self.text

    def worded(self, spell: Callable[[Setting], str]) -> str:
        """The text with each setting as `spell` writes it."""
        text = self.text
        for setting in self.settings:
            text = text.replace(str(setting), spell(setting))
        return text

    def without_advice(self) -> Finding:
        """The finding for a reader who has no such settings, without what they would do."""
        text, each = (self._without_advice(words) for words in (self.text, self.each))
        return replace(self, text=text, each=each, settings=(), advice="")

    def _without_advice(self, words: str) -> str:
        words = words.replace(self.advice, "")
        for setting in self.settings:
            words = re.sub(rf" \([^()]*{re.escape(str(setting))}[^()]*\)", "", words)
            words = words.replace(str(setting), setting.parameter)
        return words


def as_findings(texts: Iterable[Finding | str]) -> Iterator[Finding]:
    """Findings as they are, and sentences as findings."""
    return (text if isinstance(text, Finding) else Finding(text) for text in texts)


NAMED = 3
"""A merged finding names up to this many runs; of more it says the number."""


def merged(findings: Iterable[Finding | str]) -> Iterator[Finding]:
    """Findings with those of one kind as one sentence, where the first of them stood."""
    groups: dict[object, list[Finding]] = {}
    for finding in as_findings(findings):
        groups.setdefault((finding.each, finding.level) if finding.each else finding, []).append(
            finding
        )
    for group in groups.values():
        yield group[0] if len(group) == 1 or not group[0].each else _as_one(group)


def _as_one(group: Sequence[Finding]) -> Finding:
    *names, last = dict.fromkeys(finding.about for finding in group)
    whom = f"{', '.join(names)} and {last}" if names else last
    if len(names) >= NAMED:
        whom = f"{len(names) + 1} runs"
    counts = sorted({finding.count for finding in group if finding.count is not None})
    many = " to ".join(f"{number:,}" for number in dict.fromkeys(counts[:1] + counts[-1:]))
    each = f"{many} {group[0].each}" if many else group[0].each
    return replace(group[0], text=f"{whom}: {each}", about=", ".join([*names, last]))
