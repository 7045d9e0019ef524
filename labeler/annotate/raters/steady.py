"""Steady grades of pairs, beside which a rater's strictness is seen; samples; lengths of texts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from labeler.annotate.samples import purposes
from labeler.collection.annotations import JournalRow
from labeler.collection.card import card_section, read_card
from labeler.collection.layout import Collection
from labeler.collection.on_demand import corpus_on_demand
from labeler.collection.people import read_sample, sample_path
from labeler.data import Pair
from labeler.trec.qrels import read_qrels

OTHERS = "the other raters'"


class SampleFacts(NamedTuple):
    """How many pairs a random sample has, whose it is, and the qrels that it was balanced over."""

    pairs: int
    rater: str | None
    source: str | None


def random_samples(collection: Collection) -> dict[str, SampleFacts]:
    """The random samples of a collection by id; routed ones are none."""
    entries = card_section(read_card(collection), "samples")
    samples = {}
    for name, purpose in purposes(collection).items():
        if purpose == "audit":
            entry = card_section(entries, name)
            pairs = len(read_sample(sample_path(collection.folder, name)))
            samples[name] = SampleFacts(
                pairs, _text(entry.get("rater")), _text(entry.get("source"))
            )
    return samples


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def steady_grades(
    collection: Collection,
    rows: Sequence[JournalRow],
    others: Sequence[JournalRow],
    samples: Mapping[str, SampleFacts],
) -> dict[str, dict[Pair, float]]:
    """The mean grade of the other raters, and the assessor's grade, of a rater's pairs, by name."""
    pairs = {row.pair for row in rows}
    grades: dict[Pair, list[int]] = {}
    for row in others:
        if row.pair in pairs and row.grade is not None:
            grades.setdefault(row.pair, []).append(row.grade)
    steady = {OTHERS: {pair: sum(given) / len(given) for pair, given in grades.items()}}
    sources = {samples[row.sample].source for row in rows if row.sample in samples}
    for source in sorted(name for name in sources if name):
        path = collection.qrels(source)
        if path.is_file():
            qrels = read_qrels(path)
            of_pairs = {p: qrels.get(p.query_id, {}).get(p.doc_id) for p in pairs}
            steady[f"{source}'s"] = {p: float(g) for p, g in of_pairs.items() if g is not None}
    return {name: by_pair for name, by_pair in steady.items() if by_pair}


def words_of_documents(collection: Collection, rows: Sequence[JournalRow]) -> dict[str, int]:
    """How many words, parted by spaces, the documents have that are still there."""
    if not collection.corpus.is_file():
        return {}
    documents = corpus_on_demand(collection.corpus)
    ids = dict.fromkeys(row.doc_id for row in rows if row.doc_id in documents)
    return {doc_id: _words(documents[doc_id].text) for doc_id in ids}


def _words(text: str) -> int:
    return len(text.split())
