"""Which grades are of texts that have changed since: each row keeps a hash of what was shown.

It stands behind the rule by which the texts were shown, so that it can be made again without the
prompt: `query=03fbc2a1d7e0 passage:50000=9d1c07b2e6aa` is of a query's text, and of the first
50,000 characters of a document's title and text. Of documents that are shown together (in a list,
two by two) each counts for its own pair alone, and examples count for none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from labeler.collection.corpus import corpus_lines
from labeler.collection.judgements import read_judgements
from labeler.collection.layout import Collection
from labeler.collection.queries import read_queries
from labeler.data import Document, Judgement, Pair, Query
from labeler.errors import BadInput
from labeler.files.paths import true_path
from labeler.messages import count_of
from labeler.text.terms import text_to_search
from labeler.text.visible import bounded, visible

if TYPE_CHECKING:
    from labeler.prompt import Prompt

Label = TypeVar("Label")
_OF_A_DOCUMENT = {"title", "text", "passage"}
_OF_THE_PROMPT = {
    *("mark", "passages", "first", "second", "count"),
    *("criterion", "criteria", "question", "examples"),
}


def hash_of(*texts: str) -> str:
    """Twelve hex digits of some texts; others have others."""
    whole = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(whole).hexdigest()[:12]


def rules_of(prompt: Prompt) -> str:
    """The rules by which a prompt shows texts: the fields that it asks for, and where it cuts."""
    names, writer = prompt.placeholders, prompt.question_writer
    names |= writer.placeholders | {"questions"} if writer else set()
    of_query = "+".join(sorted(names - _OF_A_DOCUMENT - _OF_THE_PROMPT)) or "query"
    of_document = "+".join(sorted(names & _OF_A_DOCUMENT)) or "passage"
    return f"{of_query} {of_document}:{prompt.max_chars or ''}"


def shown_by(rules: str, query: Query, document: Document) -> str:
    """The rules, each with the hash of the texts that it shows; hashes that it has are put anew."""
    of_query, of_document = rules.split()
    return f"{_shown(of_query, query)} {_shown(of_document, document)}"


def _shown(rule: str, record: Query | Document) -> str:
    rule = rule.partition("=")[0]
    names, _, most = rule.partition(":")
    texts = (visible(_field(record, name)) for name in names.split("+"))
    return f"{rule}={hash_of(*(bounded(text, int(most) if most else None) for text in texts))}"


def _field(record: Query | Document, name: str) -> str:
    if isinstance(record, Document):
        return text_to_search(record) if name == "passage" else str(getattr(record, name, ""))
    return record.text if name == "query" else str(record.metadata.get(name) or "")


def stale_in(
    path: Path | None, warn: Callable[[str], None] = lambda _line: None, stale: str = "drop"
) -> set[Pair]:
    """The stale pairs of qrels or judgements in a collection's folder; of other files none.

    `warn` is given a line that counts them, and says what becomes of them.
    """
    true = true_path(path) if path else Path()
    if true.parent.name not in ("qrels", "judgements"):
        return set()
    folder, name = true.parent.parent, true.name.removesuffix(".gz").rpartition(".")[0]
    pairs = stale_pairs(Collection(folder), name)
    if pairs:
        grades = count_of(len(pairs), "grade is", "grades are")
        left = "left out" if stale == "drop" else "counted all the same"
        again = f"labeler judge {folder} --as {name}, with its prompt and model"
        warn(f"{name}: {grades} of texts that have changed since, {left}; next: {again}")
    return pairs


def without(
    labels: Mapping[str, Mapping[str, Label]], pairs: Container[tuple[str, str]], source: object
) -> dict[str, dict[str, Label]]:
    """Grades or other labels without those of some pairs; `BadInput` where none is left."""
    rest = {
        query: {doc: label for doc, label in row.items() if (query, doc) not in pairs}
        for query, row in labels.items()
    }
    if not any(rest.values()) and any(labels.values()):
        raise BadInput(f"{source}: all of its grades are of texts that have changed since")
    return {query: row for query, row in rest.items() if row}


def stale_pairs(collection: Collection, name: str) -> set[Pair]:
    """The pairs of a set of judgements with a grade of other texts than are shown of them now.

    Where the query or the document is gone, or no row says what was shown, a pair is none of them.
    """
    return stale_by_set(collection, [name])[name]


def stale_by_set(collection: Collection, names: Sequence[str]) -> dict[str, set[Pair]]:
    """The same of several sets, for which the documents are gone through once."""
    queries, documents = dict[str, set[str]](), dict[str, set[str]]()
    for name in names:
        for pair, (query, document) in _graded(collection.judgements(name)):
            queries.setdefault(pair.query_id, set()).add(query)
            documents.setdefault(pair.doc_id, set()).add(document)
    if not documents or not (collection.corpus.is_file() and collection.queries.is_file()):
        return {name: set() for name in names}
    of_queries = {*_changed(read_queries(collection.queries).values(), queries)}
    of_documents = {*_changed((d for _, d in corpus_lines(collection.corpus)), documents)}
    return {
        name: {
            pair
            for pair, (query, document) in _graded(collection.judgements(name))
            if (pair.query_id, query) in of_queries or (pair.doc_id, document) in of_documents
        }
        for name in names
    }


def _graded(path: Path) -> Iterator[tuple[Pair, Sequence[str]]]:
    """The pairs with a grade, and what was shown of the query and of the document."""
    for row in read_judgements(path) if path.is_file() else ():
        if row.judged.shown and isinstance(row.judged.outcome, Judgement):
            yield row.judged.outcome.pair, row.judged.shown.split()


def _changed(
    records: Iterable[Query | Document], shown: Mapping[str, Iterable[str]]
) -> Iterator[tuple[str, str]]:
    """The ids of records that are shown otherwise now, each with what it was shown as."""
    for record in records:
        for each in shown.get(record.id, ()):
            if _shown(each, record) != each:
                yield record.id, each
