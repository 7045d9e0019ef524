"""Read the files of inputs as documents with stable ids, and count what was not read."""

from __future__ import annotations

import hashlib
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from labeler.corpus.chunk import passages
from labeler.corpus.find import InputFiles, find_files
from labeler.corpus.read import KINDS, LARGEST_FILE, WHOLE, holds_rows, kind_of, read_documents_of
from labeler.corpus.readers.rows import SourceDocument
from labeler.data import Document, Query
from labeler.errors import BadInput, FileProblem, Misuse, TooLarge
from labeler.exchange.fields import FieldNames
from labeler.files.read import file_problems
from labeler.messages import Advance

_USUAL = FieldNames()

FirstByText = dict[tuple[str, str], Document]
"""The first passage that has a title and text, by these two."""


@dataclass(repr=False)
class Ingested:
    """The documents by id, and what became of every file.

    `unread` says of each file that could not be read why, and `too_large` counts those of them that
    are larger than a document may be; `other_kinds` counts the files of kinds that are not read, by
    ending; `collection_files` are those of a collection beside its corpus; `duplicates` counts
    passages that an earlier file had already, `removed` the documents of an earlier corpus that are
    not among these; `links_out` are links that lead out of their folder; `parameter` is the one
    that would help to read a file.
    """

    documents: dict[str, Document] = field(default_factory=dict)
    files: int = 0
    unread: list[str] = field(default_factory=list)
    other_kinds: Counter[str] = field(default_factory=Counter)
    too_large: int = 0
    collection_files: list[str] = field(default_factory=list)
    duplicates: int = 0
    removed: int = 0
    queries: dict[str, Query] = field(default_factory=dict)
    links_out: list[str] = field(default_factory=list)
    parameter: str = ""

    def as_json(self) -> dict[str, object]:
        """The counts by name, and what was not read."""
        return {
            "files": self.files,
            "documents": len(self.documents),
            "duplicates": self.duplicates,
            "unread": self.unread,
            "too_large": self.too_large,
            "links_out": self.links_out,
            "other_kinds": dict(sorted(self.other_kinds.items())),
            "queries": len(self.queries),
        }

    def __repr__(self) -> str:
        documents, unread = len(self.documents), len(self.unread)
        return f"Ingested({documents} documents from {self.files} files, {unread} not read)"


def read_documents(  # noqa: PLR0913  the settings of `ingest`
    inputs: Sequence[str],
    leave_out: Iterable[Path] = (),
    advance: Advance = lambda _done, _total: None,
    max_file_size: int = LARGEST_FILE,
    *,
    follow_links: bool = False,
    fields: FieldNames = _USUAL,
) -> Ingested:
    """The documents of folders, files and patterns.

    Raises `BadInput` where none of the files holds any.
    """
    input_files = find_files(inputs, leave_out, follow_links=follow_links)
    result = Ingested(
        links_out=[_writable(str(path)) for path in input_files.links_out],
        collection_files=[_writable(str(path)) for path in input_files.collection_files],
        unread=[_writable(problem) for problem in input_files.unread],
    )
    if max_file_size < 1:
        raise Misuse("expected a size of 1 byte or more", parameter="max_file_size")
    first_by_text: FirstByText = {}
    for position, path in enumerate(input_files.files):
        is_named = str(path) in inputs
        sources = _sources_of(path, result, max_file_size, fields, is_named=is_named)
        if sources:
            _add_file(path, input_files.base, sources, result, first_by_text)
        advance(position + 1, len(input_files.files))
    if not result.documents:
        problem = _nothing_read(inputs, input_files, result)
        raise BadInput(problem, parameter=result.parameter)
    return result


def _sources_of(
    path: Path, result: Ingested, most: int, fields: FieldNames, *, is_named: bool
) -> list[SourceDocument]:
    """The documents in a file; where there are none, the result says why.

    A file that was named is read by its content where its name says nothing.
    """
    kind = kind_of(path)
    try:
        if kind not in KINDS and not (is_named and holds_rows(path)):
            result.other_kinds[kind or path.name] += 1
            return []
        sources = read_documents_of(path, most, fields)
        _refuse_repeated_ids(path, sources, result)
    except (BadInput, FileProblem) as error:
        result.unread.append(_writable(str(error)))
        result.parameter = result.parameter or error.parameter
        result.too_large += kind in WHOLE and isinstance(error, TooLarge)
        return []
    if not any(block.text for source in sources for block in source.blocks):
        result.unread.append(_writable(f"{path}: no text in it besides headings and markup"))
        return []
    return sources


def _add_file(
    path: Path,
    base: Path,
    sources: Sequence[SourceDocument],
    result: Ingested,
    first_by_text: FirstByText,
) -> None:
    result.files += 1
    shown_path = _relative_path(path, base)
    with file_problems(path), path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    for source in sources:
        if source.id is not None:
            document = Document(source.id, source.text, source.title, source.metadata)
            result.documents[source.id] = document
            continue
        for document in _passages_of(source, shown_path, digest):
            _add_passage(document, shown_path, result, first_by_text)


def _add_passage(
    document: Document, shown_path: str, result: Ingested, first_by_text: FirstByText
) -> None:
    """Add a passage; where an earlier one is the same, note this file in its metadata instead."""
    first = first_by_text.setdefault((document.title, document.text), document)
    if first is document:
        result.documents[document.id] = document
        return
    result.duplicates += 1
    if _writable(shown_path) == first.metadata["source"]:
        return
    if "also_in" in first.metadata:  # a boilerplate may stand in every one of many files
        first.metadata["also_in"].append(_writable(shown_path))
        return
    same = replace(first, metadata={**first.metadata, "also_in": [_writable(shown_path)]})
    first_by_text[document.title, document.text] = result.documents[first.id] = same


def _relative_path(path: Path, base: Path) -> str:
    """Return a file's path as documents name it: relative to the input, with slashes."""
    absolute, above = path.absolute(), base.absolute()
    shown = absolute.relative_to(above) if absolute.is_relative_to(above) else absolute
    return unicodedata.normalize("NFC", shown.as_posix())


def _passages_of(source: SourceDocument, shown_path: str, digest: str) -> Iterator[Document]:
    """The passages of a document; an id is the file's path and the hash of title and text.

    So an id never comes to stand for another text, and a passage that an edit leaves as it was
    keeps its id, and with it its judgements.
    """
    stem = _writable(Path(shown_path).name).split(".")[0]
    first = next((block.headings[0] for block in source.blocks if block.headings), "")
    for passage in passages(source.blocks):
        title = _title(source.title, stem, first, passage.headings)
        content = hashlib.sha256(f"{title}\0{passage.text}".encode()).hexdigest()[:10]
        where = {
            "source": _writable(shown_path),
            "line": max(passage.line, source.line),
            "sha256": digest,
        }
        metadata = {**source.metadata, **where, "headings": list(passage.headings)}
        yield Document(f"{id_part(shown_path)}:{content}", passage.text, title, metadata)


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


def _writable(text: str) -> str:
    """Replace the bytes of a file name that are not UTF-8, so that the text can be written."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _percent(character: str) -> str:
    raw = character.encode("utf-8", "surrogateescape")
    return "".join(f"%{byte:02X}" for byte in raw)


def _refuse_repeated_ids(path: Path, sources: Sequence[SourceDocument], result: Ingested) -> None:
    for source in sources:
        if source.id in result.documents:
            raise BadInput.at(
                path, source.line, f"the id {source.id!r} stands in an earlier file too"
            )


def _nothing_read(inputs: Sequence[str], input_files: InputFiles, result: Ingested) -> str:
    names = ", ".join(inputs)
    if result.unread:
        more = f" (and {len(result.unread) - 1} more)" if len(result.unread) > 1 else ""
        return f"{names}: no document could be read: {result.unread[0]}{more}"
    if input_files.files:
        kinds = ", ".join(sorted(result.other_kinds))
        return (
            f"{names}: no file of a kind that can be read, only {kinds}; known: {', '.join(KINDS)}"
        )
    if result.links_out:
        return f"{names}: nothing in it but links that lead out of it, as {result.links_out[0]}"
    return f"{names}: no file in it; files and folders whose names begin with a dot are passed over"
