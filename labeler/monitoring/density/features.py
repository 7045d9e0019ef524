"""Features of queries that people name changes by: words, length, form and language."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from labeler.arrays import Floats, Integers
from labeler.queries.kinds import is_question, kind_of
from labeler.text.languages import NAMES, language_of
from labeler.text.terms import term_of, words_to_stem

_LENGTHS = ((1, 1), (2, 2), (3, 4), (5, 7), (8, 10_000))

PeopleOf = Callable[[Integers], int]
"""How many people searched for any of some texts."""

FEWEST_SEARCHES = 5
"""A word of fewer searches could not be told to have moved."""

MOST_TERMS = 300


@dataclass(frozen=True, eq=False)
class Features:
    """Features of texts, `(texts, features)` of zeros and ones, with their kinds and names."""

    values: Floats
    names: list[tuple[str, str]]

    @classmethod
    def of(
        cls, texts: Sequence[str], times: Floats, min_count: int, people_of: PeopleOf
    ) -> Features:
        """Of texts that were searched for so many times; words of fewer people are left out."""
        columns: list[Floats] = []
        names: list[tuple[str, str]] = []
        for kind, name, has in _simple(texts):
            column = np.array([float(has(text)) for text in texts])
            if 0 < column @ times < times.sum():
                columns.append(column)
                names.append((kind, name))
        for term, word, inside in _terms(texts, times, min_count, people_of):
            column = np.zeros(len(texts))
            column[inside] = 1.0
            columns.append(column)
            names.append(("word", word or term))
        values = np.column_stack(columns) if columns else np.zeros((len(texts), 0))
        return cls(values, names)


def _simple(texts: Sequence[str]) -> Iterable[tuple[str, str, Callable[[str], bool]]]:
    """Length, form and language: what each is called, and which texts have it."""
    for low, high in _LENGTHS:
        name = f"{low} word" if high == 1 else f"{low} words" if low == high else f"{low} to {high}"
        name = "8 words or more" if high > 100 else name if "word" in name else f"{name} words"
        yield "length", name, lambda text, lo=low, hi=high: lo <= len(text.split()) <= hi  # type: ignore[misc]
    yield "form", "question", is_question
    for kind in ("how-to", "comparative"):
        yield "form", kind, lambda text, kind=kind: kind_of(text) == kind  # type: ignore[misc]
    yield "form", "with digits", lambda text: any(map(str.isdigit, text))
    languages = {text: language_of(text) for text in texts}
    for code in sorted({code for code in languages.values() if code}):
        yield "language", NAMES[code], lambda text, code=code: languages[text] == code  # type: ignore[misc]


def _terms(
    texts: Sequence[str], times: Floats, min_count: int, people_of: PeopleOf
) -> list[tuple[str, str, list[int]]]:
    """The terms with the most searches, each with its usual form and the texts that hold it."""
    inside: dict[str, list[int]] = {}
    forms: dict[str, Counter[str]] = {}
    for index, text in enumerate(texts):
        for word in dict.fromkeys(words_to_stem(text)):
            term = term_of(word)
            if not (held := inside.setdefault(term, [])) or held[-1] != index:
                held.append(index)
            forms.setdefault(term, Counter())[word] += max(1, int(times[index]))
    counts = {term: float(times[shown].sum()) for term, shown in inside.items()}
    often = [t for t in counts if counts[t] >= FEWEST_SEARCHES and not _is_long_number(t)]
    ordered = sorted(often, key=lambda t: (-counts[t], t))
    shared = (t for t in ordered if people_of(np.array(inside[t])) >= min_count)
    ordered = list(islice(shared, MOST_TERMS))
    return [(t, forms[t].most_common(1)[0][0], inside[t]) for t in ordered]


def _is_long_number(term: str) -> bool:
    return term.isdigit() and len(term) > 4
