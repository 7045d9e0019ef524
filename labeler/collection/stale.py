"""Stale grades: those of texts that have changed since; each row keeps a hash of what was shown.

Before the hash stand the rules by which texts were shown, so that it can be made again without the
prompt: `query passage:50000 03fbc2a1d7e0 9d1c07b2e6aa` is of a query's text, and of the first
50,000 characters of a document's title and text. Of documents that are shown together (in a list,
two by two) each counts for its own pair alone, and examples count for none.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from labeler.collection.corpus import corpus_on_demand
from labeler.collection.judgements import JudgedBlock, judged_blocks
from labeler.collection.layout import Collection
from labeler.collection.queries import read_queries
from labeler.data import Document, Pair, Query
from labeler.errors import BadInput, Misuse
from labeler.files.paths import true_path
from labeler.messages import Note, count_of
from labeler.text.terms import text_to_search
from labeler.text.visible import bounded, visible

if TYPE_CHECKING:
    from labeler.prompt import Prompt

_SHOWN = re.compile(r"[\w+]{1,200} [a-z+]{1,99}:[0-9]{0,9}(?: [0-9a-f]{12}){2}")
Label = TypeVar("Label")
Grades = dict[str, dict[str, Label]]
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


def stale_in(source: object, warn: Note = lambda _line: None, stale: str = "drop") -> set[Pair]:
    """The stale pairs of a file of qrels or judgements in a collection; of other sources none.

    `warn` is given a line that counts them, and says what becomes of them: `drop` or `keep`.
    """
    if stale not in ("drop", "keep"):
        raise Misuse(f"stale is drop or keep, not {stale!r}", parameter="stale")
    true = true_path(Path(source)) if isinstance(source, str | os.PathLike) else Path()
    if true.parent.name not in ("qrels", "judgements"):
        return set()
    folder, name = true.parent.parent, true.name.removesuffix(".gz").rpartition(".")[0]
    pairs = stale_pairs(Collection(folder), name)
    if pairs:
        grades = count_of(len(pairs), "grade is", "grades are")
        left = "left out" if stale == "drop" else "counted all the same"
        again = f"labeler judge {folder}, as {name}, with its prompt and model"
        warn(f"{name}: {grades} of texts that have changed since, {left}; next: {again}")
    return pairs


def without(labels: Mapping[str, Mapping[str, Label]], pairs: set[Pair]) -> Grades[Label]:
    """Grades or other labels without those of stale pairs; `BadInput` where none is left."""
    rest = {
        query: {doc: label for doc, label in row.items() if (query, doc) not in pairs}
        for query, row in labels.items()
    }
    if pairs and not any(rest.values()):
        raise BadInput("all grades are of texts that have changed since they were judged")
    return {query: row for query, row in rest.items() if row}


def stale_pairs(collection: Collection, name: str) -> set[Pair]:
    """The pairs of a set of judgements with a grade of other texts than are shown of them now.

    Where the query or the document is gone, or no row says what was shown, a pair is none of them.
    """
    return stale_by_set(collection, [name])[name]


def stale_by_set(collection: Collection, names: Sequence[str]) -> dict[str, set[Pair]]:
    """The same of several sets; each document is looked at once."""
    stale: dict[str, set[Pair]] = {name: set() for name in names}
    names_shown = [name for name in names if any(shown_in(collection.judgements(name)))]
    if not (names_shown and collection.corpus.is_file() and collection.queries.is_file()):
        return stale
    queries, documents = read_queries(collection.queries), corpus_on_demand(collection.corpus)
    of_query = cache(lambda id_, rule: _hash(rule, queries[id_]) if id_ in queries else "")
    of_document = cache(lambda id_, rule: _hash(rule, documents[id_]) if id_ in documents else "")
    for name in names_shown:
        for pair, shown in shown_in(collection.judgements(name)):
            query, document, *hashes = shown.split()
            now = [of_query(pair.query_id, query), of_document(pair.doc_id, document)]
            if hashes != now and all(now):
                stale[name].add(pair)
    return stale


def shown_in(path: Path) -> Iterator[tuple[Pair, str]]:
    """The pairs with a grade, each with what its row says that was shown."""
    for block in judged_blocks(path) if path.is_file() else ():
        each = zip(block.pairs(), shown_in_block(block), strict=True)
        yield from ((pair, shown) for pair, shown in each if shown)


def shown_in_block(block: JudgedBlock) -> list[str]:
    """What was shown for each grade; empty of a failure, and where that is not known."""
    each = zip(block.state, map(bytes.decode, block.shown), strict=True)
    return [
        shown if state.grade is not None and _SHOWN.fullmatch(shown) else ""
        for state, shown in each
    ]
