"""`queries from-log`: a sample of real queries that stands for the traffic they come from."""

from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from labeler.data import Query
from labeler.errors import BadInput
from labeler.exchange.fields import LogFields
from labeler.exchange.logs import LogRow, read_log
from labeler.files.jsonl import JsonObject
from labeler.messages import count_of, counts_of, squeezed
from labeler.options import COUNT, SEED, Options, option
from labeler.queries.filter import words
from labeler.report.result import Result

# Personal data in what people type: what kinds a text holds, so that it is left out.

_DIGITS = re.compile(r"\d(?:[ \-./()]?\d)+")
_IBAN = re.compile(r"\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){2,7}(?: ?[A-Z0-9]{1,3})?\b")
_PHONE = re.compile(
    r"(?<![\w.])(?:\+|00)\d[\d \-./()]{5,}\d|\(?\b0\d{1,4}\)?[ \-./]\d[\d \-./]{3,}\d"
)
_LONG = 9
"""Digits in a row, spaces and dashes aside, from which a number may be somebody's, or a card's."""


def personal(text: str) -> Sequence[str]:
    """The kinds of personal data that a text holds: mail address or name, account, phone, number.

    >>> personal("invoice of jane.doe@example.org"), personal("iphone 13")
    (('mail address or name with @',), ())
    """
    kinds = {
        "mail address or name with @": any("@" in w and w != "@" for w in text.split()),
        "bank account": _IBAN.search(text),
        "phone number": _PHONE.search(text),
        "long number": any(
            sum(map(str.isdigit, match[0])) >= _LONG for match in _DIGITS.finditer(text)
        ),
    }
    return tuple(kind for kind, is_there in kinds.items() if is_there)


def no_query(text: str) -> str:
    """Why a text is not taken for somebody's query; empty where it is."""
    if kinds := personal(text):
        return kinds[0]
    if not words(text):
        return "no word"
    return f"more than {LONGEST} characters" if len(text) > LONGEST else ""


STRATA = ("head", "torso", "tail")
"""Queries by frequency: each stratum has about a third of the traffic."""

LONGEST = 300
"""Characters; what is longer was pasted, and is no query."""


@dataclass(frozen=True, slots=True)
class TrafficOptions(Options):
    """How real queries are taken from a log.

    `queries` is how many, spread evenly over the strata; `seed` decides which. Those that occur
    less than `min_count` times are left out: what one person typed once may name that person.
    `fields` say what the log's columns are called.
    """

    queries: int = option(100, "How many queries, spread over strata.", COUNT)
    seed: int = option(0, "Decides which are drawn.", SEED)
    min_count: int = option(1, "Leave out what was typed less often: it may name somebody.", COUNT)
    fields: LogFields = field(default_factory=LogFields)


class Stratum(NamedTuple):
    """Queries of similar frequency: how many there are and were drawn, and how often typed."""

    name: str
    queries: int
    searches: int
    drawn: int


@dataclass(frozen=True, eq=False, repr=False)
class Traffic(Result):
    """A sample of real queries whose weights make a weighted mean an estimate of the traffic's.

    `dropped` counts the different queries that were left out, by reason.
    """

    queries: list[Query]
    strata: Sequence[Stratum]
    dropped: Mapping[str, int]
    searches: int

    def as_json(self) -> JsonObject:
        """The counts by name."""
        return self.picked("searches", "dropped", "strata", queries=len(self.queries))

    @property
    def sentences(self) -> list[str]:
        """What was drawn from which stratum, and what was left out, in lines for people."""
        lines = [
            f"{s.name}: {s.drawn:,} of {count_of(s.queries, 'query', 'queries')},"
            f" typed {count_of(s.searches, 'time')}"
            for s in self.strata
        ]
        if self.dropped:
            lines.append(f"left out: {counts_of(self.dropped)}")
        return lines


def from_log(path: Path | str, options: TrafficOptions | None = None) -> Traffic:
    """Sample real queries from a log, in strata of frequency, without personal data.

    A query's `weight` is its searches times the queries of its stratum for each one drawn, divided
    by the sum over the sample: the mean of a measure with these weights estimates the mean over all
    searches. Its `chance` is that of being drawn.

    >>> import tempfile
    >>> log = Path(tempfile.mkdtemp()) / "log.csv"
    >>> _ = log.write_text("query,count\\nusb hub,12\\nme@example.org,3\\nlcd monitor,5\\n")
    >>> found = from_log(log)
    >>> [query.text for query in found.queries], dict(found.dropped)
    (['usb hub', 'lcd monitor'], {'mail address or name with @': 1})
    """
    options = options or TrafficOptions()
    typed = _Typed()
    for row in read_log(path, options.fields):
        typed.add(row)
    counts = {}
    left_out = Counter[str]()
    for key, by_form in typed.forms.items():
        total = typed.searches(key)
        reason = no_query(max(by_form, key=lambda form: len(personal(form))))
        if reason := reason or ("too rare" if total < max(1, options.min_count) else ""):
            left_out[reason] += 1
        else:
            counts[key] = total
    dropped = dict(left_out.most_common())
    if not counts:
        reasons = counts_of(dropped) or "nobody typed anything"
        raise BadInput(f"{path}: no query is left ({reasons})")
    strata = _strata(counts)
    drawn = _drawn(strata, options.queries, options.seed)
    return Traffic(
        _weighted(strata, drawn, counts, typed.forms),
        tuple(
            Stratum(name, len(keys), sum(counts[key] for key in keys), len(drawn[name]))
            for name, keys in strata.items()
        ),
        dropped,
        sum(counts.values()),
    )


class _Typed:
    """What was typed: the forms of each query, and how often it was searched for."""

    def __init__(self) -> None:
        self.forms = defaultdict[str, Counter[str]](Counter)
        self._alone = Counter[str]()
        self._by_document = defaultdict[str, Counter[str]](Counter)
        self._sessions = defaultdict[str, set[int]](set)

    def add(self, row: LogRow) -> None:
        """Count a row."""
        text = normalized(row.query)
        key = text.casefold()
        self.forms[key][text] += row.times
        if row.session:
            self._sessions[key].add(hash(row.session))
        elif row.doc_id:
            self._by_document[key][row.doc_id] += row.times
        else:
            self._alone[key] += row.times

    def searches(self, key: str) -> int:
        """How often a query was searched for.

        A search shows a document once: so of rows about documents, the most frequent one's count.
        Where the log names sessions, a query counts once in each, however often it stands there.
        """
        documents = self._by_document.get(key)
        alone = self._alone[key] + (max(documents.values()) if documents else 0)
        return alone + len(self._sessions.get(key, ()))


def normalized(text: str) -> str:
    """A query in one form of its letters and spaces."""
    return squeezed(unicodedata.normalize("NFKC", text))


def _strata(counts: Mapping[str, int]) -> dict[str, list[str]]:
    """The queries of each stratum, the most frequent first; equals in the order of their texts."""
    ordered = sorted(counts, key=lambda key: (-counts[key], key))
    total = sum(counts.values())
    so_far = 0
    strata: dict[str, list[str]] = {name: [] for name in STRATA}
    for key in ordered:
        strata[STRATA[min(2, 3 * so_far // total)]].append(key)
        so_far += counts[key]
    return {name: keys for name, keys in strata.items() if keys}


def _drawn(strata: Mapping[str, Sequence[str]], most: int, seed: int) -> dict[str, list[str]]:
    """As many of each stratum as of the others, where it has so many; the rest from those left."""
    sizes = dict.fromkeys(strata, 0)
    while sum(sizes.values()) < most:
        open_strata = [name for name in strata if sizes[name] < len(strata[name])]
        if not open_strata:
            break
        sizes[min(open_strata, key=lambda name: sizes[name])] += 1
    chance = random.Random(f"traffic\0{seed}")
    return {name: chance.sample(keys, sizes[name]) for name, keys in strata.items()}


def _weighted(
    strata: Mapping[str, Sequence[str]],
    drawn: Mapping[str, Sequence[str]],
    counts: Mapping[str, int],
    forms: Mapping[str, Counter[str]],
) -> list[Query]:
    """The drawn queries, the most frequent first, each with the share of searches it stands for."""
    stratum = {key: name for name, keys in drawn.items() for key in keys}
    stands_for = {
        key: counts[key] * len(strata[name]) / len(drawn[name]) for key, name in stratum.items()
    }
    total = sum(stands_for.values())
    ordered = sorted(stratum.items(), key=lambda each: (-counts[each[0]], each[0]))
    return [
        Query(
            f"t{number}",
            max(forms[key], key=lambda form: (forms[key][form], form)),
            {
                "origin": "real",
                "stratum": name,
                "searches": counts[key],
                "chance": len(drawn[name]) / len(strata[name]),
                "weight": stands_for[key] / total,
            },
        )
        for number, (key, name) in enumerate(ordered, start=1)
    ]
