"""Queries and documents as JSON for the page: inert texts, with the query's words marked."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from typing import Any

from labeler.annotate.passages import FOLDING, Folding, marked_line, shown, shown_line
from labeler.annotate.task import Shown
from labeler.collection.annotations import TOPIC, texts_identity
from labeler.collection.layout import Collection
from labeler.collection.on_demand import corpus_on_demand
from labeler.collection.queries import read_queries
from labeler.collection.rows import check_exists
from labeler.data import Document, Query
from labeler.text.languages import language_of

GONE = "This text is no longer in the collection."


class PageTexts:
    """The texts of a collection as the page shows them, each read when it is asked for.

    Several threads may ask: neither the reader of documents nor the stemmers are made for that.
    """

    def __init__(self, collection: Collection) -> None:
        check_exists(collection.queries)
        self.documents: Mapping[str, Document] = corpus_on_demand(collection.corpus)
        self.queries: Mapping[str, Query] = read_queries(collection.queries)
        self._lock = threading.Lock()

    def query(self, query_id: str) -> Shown:
        """A query with its topic, as JSON."""
        query = self.queries[query_id]
        more = {key: _lines(query.metadata.get(key)) for key in TOPIC}
        return {"id": shown_line(query.id), "text": shown_line(query.text), **more}

    def document(self, doc_id: str, query_id: str, folding: Folding = FOLDING) -> Shown:
        """A document as JSON, folded around what answers the query best."""
        with self._lock:
            document, query = self.documents[doc_id], self.queries[query_id]
            language = language_of(document.text)
            paragraphs = shown(document.text, query.text, language, folding)
            title = marked_line(document.title, query.text, language)
        return {
            "id": shown_line(document.id),
            "title": shown_line(document.title),
            "title_runs": title,
            "path": _path(document),
            "paragraphs": [paragraph.as_json() for paragraph in paragraphs],
            "words": sum(paragraph.words for paragraph in paragraphs),
            "language": language or None,
        }

    def identity(self, query_id: str, *doc_ids: str) -> str:
        """What identifies the texts that a rater reads."""
        with self._lock:
            documents = [self.documents[doc_id] for doc_id in doc_ids]
        return texts_identity(self.queries[query_id], *documents)


def _lines(text: Any) -> str:
    """Some lines of text; empty where a query's metadata holds something else."""
    return "\n".join(map(shown_line, text.split("\n"))) if isinstance(text, str) else ""


def _path(document: Document) -> str:
    """Where a document comes from: its file, and the headings that its title does not hold."""
    source, headings = document.metadata.get("source"), document.metadata.get("headings")
    listed = headings if isinstance(headings, list) else []
    in_title = bool(listed) and isinstance(listed[-1], str) and listed[-1] in document.title
    steps = [source, *([] if in_title else listed)]
    return " › ".join(shown_line(step) for step in steps if isinstance(step, str) and step)
