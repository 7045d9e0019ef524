"""From a document as its file has it to passages with ids, titles and places in the source."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

from labeler.corpus.blocks import Lengths, Passage
from labeler.corpus.chunk import passages
from labeler.corpus.readers.extracted import PAGE
from labeler.corpus.readers.rows import SourceDocument
from labeler.corpus.spans import Spans
from labeler.data import Document


def passages_of(
    source: SourceDocument, shown_path: str, digest: str, lengths: Lengths
) -> Iterator[Document]:
    """The passages of a document; an id is the file's path and the hash of title and text.

    So an id never comes to stand for another text, and a passage that an edit leaves as it was
    keeps its id, and with it its judgements.
    """
    stem = writable(Path(shown_path).name).split(".")[0]
    first = next((block.headings[0] for block in source.blocks if block.headings), "")
    where_in_text = _where_in_text(source)
    for passage in passages(source.blocks, lengths):
        title = _title(source.title, stem, first, passage.headings)
        content = hashlib.sha256(f"{title}\0{passage.text}".encode()).hexdigest()[:10]
        where = {
            "source": writable(shown_path),
            "line": max(passage.line, source.line),
            **where_in_text(passage),
            "sha256": digest,
        }
        metadata = {**source.metadata, **where, "headings": list(passage.headings)}
        yield Document(f"{id_part(shown_path)}:{content}", passage.text, title, metadata)


def _where_in_text(source: SourceDocument) -> Callable[[Passage], dict[str, object]]:
    """What says where a passage stands: its characters, and which text's where not the file's."""
    spans_in = source.spans_in
    if spans_in is None:
        return lambda _passage: {}
    spans = Spans(spans_in.text, source.blocks, any_line_end=spans_in.any_line_end)
    digest = "" if spans_in.own else hashlib.sha256(spans_in.text.encode()).hexdigest()

    def where(passage: Passage) -> dict[str, object]:
        start, end = spans.of(passage)
        page = {"page": spans_in.text.count(PAGE, 0, start) + 1} if spans_in.paged else {}
        return {**page, "start": start, "end": end, **({"text_sha256": digest} if digest else {})}

    return where


def _title(own: str, stem: str, first: str, headings: tuple[str, ...]) -> str:
    """The heading path below the document's title: its own, else the first heading.

    A document with several topmost headings is called by its file's name under all but the first.
    """
    document = own or (first if headings[:1] == (first,) else "") or stem
    path = headings[1:] if headings[:1] == (document,) else headings
    return " > ".join((document, *path))


def id_part(path: str) -> str:
    """Return a path as a part of an id: white space and invisible letters are percent-encoded."""
    return "".join(
        c if c.isprintable() and not c.isspace() and c != "%" else _percent(c) for c in path
    )


def writable(text: str) -> str:
    """Replace the bytes of a file name that are not UTF-8, so that the text can be written."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _percent(character: str) -> str:
    raw = character.encode("utf-8", "surrogateescape")
    return "".join(f"%{byte:02X}" for byte in raw)
