"""Stale grades: those of texts that have changed since; each row keeps a hash of what was shown.

Before the hash stand the rules by which texts were shown, so that it can be made again without the
prompt: `query passage:50000 03fbc2a1d7e0 9d1c07b2e6aa` is of a query's text, and of the first
50,000 characters of a document's title and text. Of documents that are shown together (in a list,
two by two) each counts for its own pair alone, and examples count for none.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby, zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labeler.collection.corpus import distinct_documents
from labeler.collection.judged_set import FIRST, JudgedSet, judged_in
from labeler.collection.layout import Collection
from labeler.collection.queries import read_queries
from labeler.data import Document, Pair, Query
from labeler.errors import BadInput, Misuse
from labeler.files.paths import true_path
from labeler.messages import Note, count_of, quiet
from labeler.text.terms import text_to_search
from labeler.text.visible import bounded, visible
from labeler.trec.pairs import NONE, PairColumns

if TYPE_CHECKING:
    from labeler.prompt import Prompt

_OF_A_DOCUMENT = {"title", "text", "passage"}
_OF_THE_PROMPT = {
    *("mark", "passages", "first", "second", "count"),
    *("criterion", "criteria", "question", "examples"),
}


def hash_of(*texts: str) -> str:
    """Twelve hex digits of some texts; others have others."""
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def rules_of(prompt: Prompt) -> str:
    """The rules by which a prompt shows texts: the fields that it asks for, and where it cuts."""
    names, writer = prompt.placeholders, prompt.question_writer
    names |= writer.placeholders | {"questions"} if writer else set()
    of_query = "+".join(sorted(names - _OF_A_DOCUMENT - _OF_THE_PROMPT)) or "query"
    of_document = "+".join(sorted(names & _OF_A_DOCUMENT)) or "passage"
    return f"{of_query} {of_document}:{prompt.max_chars or ''}"


def shown_by(rules: str, query: Query, document: Document) -> str:
    """The rules with the hashes of the texts that they show; hashes behind them are put anew."""
    of_query, of_document, *_ = rules.split()
    return f"{of_query} {of_document} {_hash(of_query, query)} {_hash(of_document, document)}"


def _hash(rule: str, record: Query | Document) -> str:
    names, _, most = rule.partition(":")
    texts = (_field(record, name) for name in names.split("+"))
    return _hash_of(int(most) if most else None, *texts)


@lru_cache(256)
def _hash_of(most: int | None, *texts: str) -> str:
    """The hash of texts as they are shown, made once as long as their pairs come together."""
    return hash_of(*(bounded(visible(text), most) for text in texts))


def _field(record: Query | Document, name: str) -> str:
    if isinstance(record, Document):
        return text_to_search(record) if name == "passage" else str(getattr(record, name, ""))
    return record.text if name == "query" else str(record.metadata.get(name) or "")


def stale_in(
    sources: Iterable[object],
    warn: Note = quiet,
    stale: str = "drop",
    read: Iterable[JudgedSet] = (),
) -> set[Pair]:
    """The pairs with stale grades in those `sources` that are a collection's qrels or judgements.

    Other sources have none. For each file with stale grades `warn` is given a line that counts
    them, and says whether they are left out (`stale` is `drop`) or counted (`keep`). `read` are the
    sets of the first sources, in their order, where they were read already.
    """
    if stale not in ("drop", "keep"):
        raise Misuse(f"stale is drop or keep, not {stale!r}", parameter="stale")
    sets: dict[Path, dict[str, JudgedSet]] = {}
    for source, judged in zip_longest(sources, read):
        true = true_path(Path(source)) if isinstance(source, str | os.PathLike) else Path()
        if true.parent.name in ("qrels", "judgements"):
            folder, name = true.parent.parent, true.name.removesuffix(".gz").rpartition(".")[0]
            of_folder = sets.setdefault(folder, {})
            of_folder |= _read(Collection(folder), [name]) if judged is None else {name: judged}
    changed = set[Pair]()
    for folder, read_sets in sets.items():
        for name, pairs in _stale(Collection(folder), read_sets).items():
            if pairs:
                grades = count_of(len(pairs), "grade is", "grades are")
                left = "left out" if stale == "drop" else "counted all the same"
                again = f"labeler judge {folder}, as {name}, with its prompt and model"
                warn(f"{name}: {grades} of texts that have changed since, {left}; next: {again}")
            changed |= pairs
    return changed


def _read(collection: Collection, names: Iterable[str]) -> dict[str, JudgedSet]:
    paths = {name: collection.judgements(name) for name in names}
    return {name: judged_in(path) for name, path in paths.items() if path.is_file()}


def without(labels: Mapping[str, Mapping[str, Any]], pairs: set[Pair]) -> PairColumns[Any]:
    """Grades or other labels without those of stale pairs; `BadInput` where none is left."""
    rest = PairColumns.of(labels)
    if pairs:
        rest = rest.keep(rest.outside(pairs))
        if not rest.size:
            raise BadInput("all grades are of texts that have changed since they were judged")
    return rest


def stale_pairs(collection: Collection, name: str) -> set[Pair]:
    """The pairs of a set of judgements with a grade of other texts than are shown of them now.

    Where the query or the document is gone, or no row says what was shown, a pair is none of them.
    """
    return stale_by_set(collection, [name])[name]


def stale_by_set(collection: Collection, names: Sequence[str]) -> dict[str, set[Pair]]:
    """The same of several sets; each document is looked at once."""
    return {name: set() for name in names} | _stale(collection, _read(collection, names))


def _stale(collection: Collection, read: Mapping[str, JudgedSet]) -> dict[str, set[Pair]]:
    sets = [(each, each.shown.firsts) for each in read.values() if each.shown is not None]
    matches = (match for _, firsts in sets for match in map(FIRST.fullmatch, firsts))
    now: dict[str, dict[str, int]] = {match[2]: {} for match in matches if match}
    if not (now and collection.corpus.is_file() and collection.queries.is_file()):
        return {name: set() for name in read}
    ids = set[str]().union(*(each.states.documents for each, _ in sets))
    for document in distinct_documents(collection.corpus):
        for rule, hashes in now.items() if document.id in ids else ():
            hashes[document.id] = int(_hash(rule, document), 16)
    queries = read_queries(collection.queries)
    return {name: _stale_in_set(each, queries, now) for name, each in read.items()}


_GONE, _ANOTHER = -2, -3
"""In place of what is shown now: the query or document is not there, or was never shown so."""


def _stale_in_set(
    judged: JudgedSet, queries: Mapping[str, Query], documents: Mapping[str, Mapping[str, int]]
) -> set[Pair]:
    """The pairs of which both texts are there now, and either is another one than was shown.

    `documents` are the hashes of what is shown of documents now, by a rule and their ids.
    """
    pairs, shown = judged.states, judged.shown
    if shown is None:
        return set()
    changed = np.zeros(pairs.size, dtype=np.bool_)
    code_of = {text: at for at, text in enumerate(shown.firsts) if FIRST.fullmatch(text)}
    for rules, of_rules in groupby(sorted(code_of), lambda first: first.rpartition(" ")[0]):
        of_query, of_document = rules.split()
        firsts, hashes = [code_of[first] for first in of_rules], documents[of_document]
        first = [
            code_of.get(f"{rules} {_hash(of_query, queries[each])}", _ANOTHER)
            if each in queries
            else _GONE
            for each in pairs.queries
        ]
        query = np.array(first, dtype=np.int32)[pairs.query]
        document = np.array([hashes.get(each, _GONE) for each in pairs.documents], dtype=np.int64)
        document = document[pairs.document]
        is_other = (query != shown.first) | (document != shown.document)
        changed |= is_other & (query != _GONE) & (document != _GONE) & np.isin(shown.first, firsts)
    return set(pairs.keep(changed & judged.is_graded & (shown.document != NONE)).pairs())


def shown_in(path: Path) -> Iterator[tuple[Pair, str]]:
    """The pairs with a grade, each with what its row says that was shown."""
    judged = judged_in(path) if path.is_file() else JudgedSet.of_grades({})
    for row, pair in enumerate(judged.states.pairs()):
        if shown := judged.shown_to(row):
            yield pair, shown
