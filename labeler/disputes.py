"""Where else in a reply a grade is spoken of: other keys, other objects, the prose around them."""

from __future__ import annotations

import re
from collections.abc import Iterator

STATED = re.compile(
    r"\b(?:grade|score|relevance|rating)\**\s*(?:is|[:=])[\s*]*(-?[0-9]{1,1000})\b"
    r"(?!\s*(?:%|[-–/.,]\s*[0-9]|(?:to|or)\s+[0-9]))",
    re.IGNORECASE,
)
_MENTIONED = re.compile(
    r"(?<![^\W_])(?:graded?|scored?|rate[ds]?|rating|label|verdict|final answer"
    r"|relevanc[ey](?=(?:[^\w\n]{1,20}[^\W\d]{1,40}){0,2}[^\w\n]{1,20}[0-9])"
    r"|final(?=[\s*]*[:=])|I(?:['’]\w+| \w+)? (?:give|assign|choose))\b"
    r"(?:[^\w.!?;{}\n]{1,20}[^\W\d]{1,40}){0,6}[^\w.!?;{}\n]{1,20}?"
    r"(-?[0-9]+(?:\.[0-9]+)?)(?!\.?\w)(?!\s*(?:[-–—~]|to|through)\s*[0-9])",
    re.IGNORECASE,
)
"""A number close behind a word for a grade, in one sentence: too loose to be read as a verdict,
enough to doubt one. A range, as of the scale, is left out."""
_ENDS = r"(?=\s*(?:[.,;:)*<\"'\n]|$|because\b|since\b|out of\b))(?!\.[0-9])"
_CONCLUDED = re.compile(
    r"\\boxed\{\s*(-?[0-9]+)\s*\}|"
    r"(?<![^\W_])(?:answer|result|score|grade)\W{0,4}(?:is|[:=>])[^\w-]{0,4}(-?[0-9]+)"
    + _ENDS
    + r"|"
    r"\b(?:therefore|thus|hence|so)[^\w-]{1,3}(-?[0-9]+)" + _ENDS + r"|"
    r"\b(?:gave|gives?|deserves|merits|earns|gets|receives)\b[^.!?\n{}]{0,40}\ban?\s+\**([0-9]+)"
    + _ENDS,
    re.IGNORECASE,
)
"""A number that ends what a sentence concludes, or a box."""
_SPELLED = {
    word: number
    for number, word in enumerate(
        ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
    )
}
_WORD = rf"({'|'.join(_SPELLED)})"
_IN_WORDS = re.compile(
    r"(?<![^\W_])(?:graded?|scored?|rate[ds]?|rating|label|verdict|relevance|answer)"
    r"(?:\W{1,4}(?:is|of|as|an?|this|it|the|passage|therefore|thus|be|at|to|would)\b){0,6}"
    rf"\W{{1,4}}{_WORD}\b{_ENDS}|^[ \t*]{{0,20}}{_WORD}[ \t*.]{{0,20}}\r?$",
    re.IGNORECASE | re.MULTILINE,
)
"""A grade spelled as a word, right behind a word for a grade, or alone on its line."""
_ALONE = re.compile(
    r"^[ \t*]{0,20}(?:[-•][ \t]+)?[(\[*]{0,4}(-?[0-9]+)[)\]*]{0,4}[ \t*]{0,20}\r?$", re.MULTILINE
)
_ALIAS = re.compile(
    r"(?:(?:final|overall|relevance|relevancy)[\W_]*)?"
    r"(?:grade|score|relevance|relevancy|rating|label|verdict)(?:[\W_]*(?:level|value))?",
    re.IGNORECASE,
)
_LEADING = re.compile(r"\s*(-?[0-9]+(?:\.[0-9]+)?)(?!\.?\w)", re.ASCII)


def mentioned_grades(text: str) -> list[float]:
    """The numbers that prose names as a grade, in digits or as a word."""
    ways = (STATED, _MENTIONED, _CONCLUDED, _ALONE)
    digits = [float(one[one.lastindex or 1]) for way in ways for one in way.finditer(text)]
    words = [one[one.lastindex or 1].lower() for one in _IN_WORDS.finditer(text)]
    return [*digits, *(float(_SPELLED[word]) for word in words)]


def named_grades(value: object) -> Iterator[float]:
    """The numbers that stand under a name for a grade, however deep and also as text."""
    for name, held in entries_inside(value):
        written = _LEADING.match(str(held)) if type(held) in (int, float, str) else None
        if written and _ALIAS.fullmatch(name.strip()):
            yield float(written[1])


def entries_inside(value: object) -> Iterator[tuple[str, object]]:
    """Every key of the objects inside, with what it holds."""
    waiting = [value]
    while waiting:
        inner = waiting.pop()
        if isinstance(inner, dict):
            yield from inner.items()
            waiting.extend(inner.values())
        elif isinstance(inner, list):
            waiting.extend(inner)
